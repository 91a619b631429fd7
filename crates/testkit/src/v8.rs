//! Writes tiny heap snapshots of V8, line by line, for tests of their reader.

use std::collections::HashMap;

/// The kinds of nodes, as Node 20 lists them.
const NODES: [&str; 16] = [
    "hidden",
    "array",
    "string",
    "object",
    "code",
    "closure",
    "regexp",
    "number",
    "native",
    "synthetic",
    "concatenated string",
    "sliced string",
    "symbol",
    "bigint",
    "object shape",
    "wasm object",
];

/// The kinds of edges.
const EDGES: [&str; 7] = [
    "context", "element", "property", "internal", "hidden", "shortcut", "weak",
];

/// A node, by its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node(usize);

/// A heap snapshot that is being written. Its first two nodes are the root and `(GC roots)`.
#[derive(Debug)]
pub struct V8File {
    nodes: Vec<Row>,
    strings: Vec<String>,
    by_text: HashMap<String, usize>,
    /// In which order the numbers of a node come.
    pub node_fields: Vec<&'static str>,
    /// In which order the numbers of an edge come.
    pub edge_fields: Vec<&'static str>,
}

#[derive(Debug)]
struct Row {
    kind: usize,
    name: usize,
    id: u64,
    bytes: u64,
    detached: u8,
    edges: Vec<(usize, usize, usize)>,
}

impl Default for V8File {
    fn default() -> Self {
        Self::new()
    }
}

impl V8File {
    /// A file with no more than its root.
    pub fn new() -> Self {
        let mut file = Self {
            nodes: Vec::new(),
            strings: Vec::new(),
            by_text: HashMap::new(),
            node_fields: vec![
                "type",
                "name",
                "id",
                "self_size",
                "edge_count",
                "trace_node_id",
                "detachedness",
            ],
            edge_fields: vec!["type", "name_or_index", "to_node"],
        };
        let root = file.node("synthetic", "", 0);
        let roots = file.node("synthetic", "(GC roots)", 0);
        file.element(root, 1, roots);
        file
    }

    /// The root.
    pub fn root(&self) -> Node {
        Node(0)
    }

    fn string(&mut self, text: &str) -> usize {
        if let Some(&at) = self.by_text.get(text) {
            return at;
        }
        self.strings.push(text.into());
        self.by_text.insert(text.into(), self.strings.len() - 1);
        self.strings.len() - 1
    }

    /// Adds a node. Its id is the next odd number.
    pub fn node(&mut self, kind: &str, name: &str, bytes: u64) -> Node {
        let kind = NODES.iter().position(|it| *it == kind);
        let name = self.string(name);
        self.nodes.push(Row {
            kind: kind.expect("a kind of nodes"),
            name,
            id: 2 * self.nodes.len() as u64 + 1,
            bytes,
            detached: 0,
            edges: Vec::new(),
        });
        Node(self.nodes.len() - 1)
    }

    /// Says that a node is attached (1) or detached (2).
    pub fn set_detachedness(&mut self, node: Node, state: u8) {
        self.nodes[node.0].detached = state;
    }

    /// The id of a node.
    pub fn id(&self, node: Node) -> u64 {
        self.nodes[node.0].id
    }

    /// Adds an edge with a name.
    pub fn edge(&mut self, from: Node, kind: &str, name: &str, to: Node) {
        let kind = EDGES.iter().position(|it| *it == kind);
        let name = self.string(name);
        let kind = kind.expect("a kind of edges");
        self.nodes[from.0].edges.push((kind, name, to.0));
    }

    /// Adds an edge at an index.
    pub fn element(&mut self, from: Node, index: usize, to: Node) {
        self.nodes[from.0].edges.push((1, index, to.0));
    }

    /// Adds an edge that has neither.
    pub fn hidden(&mut self, from: Node, index: usize, to: Node) {
        self.nodes[from.0].edges.push((4, index, to.0));
    }

    /// Adds a group of roots.
    pub fn group(&mut self, name: &str) -> Node {
        let group = self.node("synthetic", name, 0);
        let index = self.nodes[1].edges.len() + 1;
        self.element(Node(1), index, group);
        group
    }

    /// Makes a node a global of the program.
    pub fn global(&mut self, node: Node) {
        let index = self.nodes[0].edges.len() + 1;
        self.edge(Node(0), "shortcut", &index.to_string(), node);
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let quoted = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|it| format!("\"{it}\"")).collect();
            names.join(",")
        };
        let types = |fields: &[&str], kinds: &[&str]| {
            let kind = |field: &&str| match *field {
                "type" => format!("[{}]", quoted(kinds)),
                _ => "\"number\"".into(),
            };
            fields.iter().map(kind).collect::<Vec<_>>().join(",")
        };
        let mut nodes = Vec::new();
        let mut edges = Vec::new();
        for row in &self.nodes {
            let number = |field: &&str| match *field {
                "type" => row.kind as u64,
                "name" => row.name as u64,
                "id" => row.id,
                "self_size" => row.bytes,
                "edge_count" => row.edges.len() as u64,
                "detachedness" => row.detached as u64,
                _ => 0,
            };
            let numbers = self.node_fields.iter().map(number);
            let numbers: Vec<String> = numbers.map(|it| it.to_string()).collect();
            nodes.push(numbers.join(","));
            for &(kind, name, to) in &row.edges {
                let number = |field: &&str| match *field {
                    "type" => kind,
                    "name_or_index" => name,
                    "to_node" => to * self.node_fields.len(),
                    _ => 0,
                };
                let numbers = self.edge_fields.iter().map(number);
                let numbers: Vec<String> = numbers.map(|it| it.to_string()).collect();
                edges.push(numbers.join(","));
            }
        }
        let escape = |text: &String| {
            let mut quoted = String::from("\"");
            for unit in text.encode_utf16() {
                match unit {
                    0x22 | 0x5c => quoted.extend(['\\', unit as u8 as char]),
                    0x20..0x7f => quoted.push(unit as u8 as char),
                    _ => quoted += &format!("\\u{unit:04X}"),
                }
            }
            quoted + "\""
        };
        let strings: Vec<String> = self.strings.iter().map(escape).collect();
        let (count, edge_count) = (nodes.len(), edges.len());
        format!(
            "{{\"snapshot\":{{\"meta\":{{\"node_fields\":[{}],\"node_types\":[{}],\"edge_fields\":[{}],\"edge_types\":[{}],\
             \"location_fields\":[\"object_index\"]}},\"node_count\":{count},\"edge_count\":{edge_count},\
             \"trace_function_count\":0}},\n\"nodes\":[{}\n],\n\"edges\":[{}\n],\n\"trace_function_infos\":[\n],\n\
             \"trace_tree\":[],\n\"samples\":[],\n\"locations\":[0,1,\n2,3],\n\"strings\":[{}]}}\n",
            quoted(&self.node_fields),
            types(&self.node_fields, &NODES),
            quoted(&self.edge_fields),
            types(&self.edge_fields, &EDGES),
            nodes.join("\n,"),
            edges.join("\n,"),
            strings.join(",\n"),
        )
    }
}
