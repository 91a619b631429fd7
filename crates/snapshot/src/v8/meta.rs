//! The head of a snapshot: which numbers a node and an edge have, and what they mean.
//!
//! V8 adds fields and types from time to time. All of them are found by their names here, never by their
//! places.

use std::collections::HashSet;

use heaphound_heap::snapshot::Lacks;
#[cfg(feature = "v8")]
use serde_json::Value;

/// What kind of node V8 says that it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NodeKind {
    Hidden,
    Array,
    String,
    Object,
    Code,
    Closure,
    RegExp,
    Number,
    Native,
    Synthetic,
    ConsString,
    SlicedString,
    Symbol,
    BigInt,
    Shape,
    /// One that we do not know, by its place in the list of kinds.
    Other(u8),
}

/// What kind of edge V8 says that it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeKind {
    Context,
    Element,
    Property,
    Internal,
    /// Strong, and nameless. One that we do not know is taken for it.
    Hidden,
    Shortcut,
    Weak,
}

/// Where in a row the numbers of a node are.
#[derive(Debug)]
pub struct Meta {
    pub node_fields: usize,
    pub node_type: usize,
    pub node_name: usize,
    pub node_id: usize,
    pub node_size: usize,
    pub node_edges: usize,
    pub node_detached: Option<usize>,
    pub node_kinds: Vec<NodeKind>,
    /// What V8 calls the kinds.
    pub node_kind_names: Vec<String>,
    pub edge_fields: usize,
    pub edge_type: usize,
    pub edge_name: usize,
    pub edge_to: usize,
    pub edge_kinds: Vec<EdgeKind>,
    /// How many there are to be: a hint.
    pub nodes: u64,
    pub edges: u64,
    /// The number of the root node among the nodes.
    pub root: u64,
    /// What Heaphound says of a snapshot that it wrote: what is said of the heap as a whole, what the heap lacks, and the strings that name nodes
    /// whose text or name is not known.
    pub notes: Vec<String>,
    pub lacks: Lacks,
    pub unknown: HashSet<u32>,
}

/// A node with more fields than this was not written by V8.
const MOST_FIELDS: usize = 64;

impl Meta {
    /// Says that nobody can read it here.
    #[cfg(not(feature = "v8"))]
    pub fn parse(_: &[u8]) -> Result<Self, String> {
        Err("heap snapshots are read only with the cargo feature `v8`".into())
    }

    /// Reads the value of `snapshot`.
    #[cfg(feature = "v8")]
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(text)
            .map_err(|error| format!("the head of the snapshot is not JSON: {error}"))?;
        let meta = &value["meta"];
        let names = |key: &str, list: &Value| -> Result<Vec<String>, String> {
            let list = list.as_array();
            let list = list.ok_or_else(|| format!("the snapshot's `{key}` is missing"))?;
            if list.is_empty() || list.len() > MOST_FIELDS {
                return Err(format!("the snapshot's `{key}` has {} entries", list.len()));
            }
            let names = list.iter().map(|it| it.as_str().unwrap_or("").to_string());
            Ok(names.collect())
        };
        let node_fields = names("node_fields", &meta["node_fields"])?;
        let edge_fields = names("edge_fields", &meta["edge_fields"])?;
        let place = |fields: &[String], key: &str, name: &str| {
            let found = fields.iter().position(|it| it == name);
            found.ok_or_else(|| format!("the snapshot's `{key}` has no `{name}`"))
        };
        let node = |name| place(&node_fields, "node_fields", name);
        let edge = |name| place(&edge_fields, "edge_fields", name);
        let (node_type, edge_type) = (node("type")?, edge("type")?);
        let node_kind_names = names("node_types", &meta["node_types"][node_type])?;
        let edge_kind_names = names("edge_types", &meta["edge_types"][edge_type])?;
        let node_kind = |(at, name): (usize, &String)| NodeKind::of(name, at as u8);
        let count = |key: &str| value[key].as_u64().unwrap_or(0);
        let root = count("root_index");
        if root % node_fields.len() as u64 != 0 {
            return Err(format!(
                "no node begins at {root}, the snapshot's `root_index`"
            ));
        }
        let list = |key: &str| value[key].as_array().into_iter().flatten();
        let words = |key: &str| list(key).filter_map(Value::as_str);
        let mut lacks = Lacks::default();
        for word in words("heaphound_lacks") {
            lacks.add(word);
        }
        let unknown = list("heaphound_unknown").filter_map(Value::as_u64);
        Ok(Self {
            node_fields: node_fields.len(),
            node_type,
            node_name: node("name")?,
            node_id: node("id")?,
            node_size: node("self_size")?,
            node_edges: node("edge_count")?,
            node_detached: node("detachedness").ok(),
            node_kinds: node_kind_names.iter().enumerate().map(node_kind).collect(),
            node_kind_names,
            edge_fields: edge_fields.len(),
            edge_type,
            edge_name: edge("name_or_index")?,
            edge_to: edge("to_node")?,
            edge_kinds: edge_kind_names.iter().map(|it| EdgeKind::of(it)).collect(),
            nodes: count("node_count"),
            edges: count("edge_count"),
            root: root / node_fields.len() as u64,
            notes: words("heaphound_notes").map(Into::into).collect(),
            lacks,
            unknown: unknown.filter_map(|it| u32::try_from(it).ok()).collect(),
        })
    }
}

impl NodeKind {
    fn of(name: &str, place: u8) -> Self {
        match name {
            "hidden" => Self::Hidden,
            "array" => Self::Array,
            "string" => Self::String,
            "object" => Self::Object,
            "code" => Self::Code,
            "closure" => Self::Closure,
            "regexp" => Self::RegExp,
            "number" => Self::Number,
            "native" => Self::Native,
            "synthetic" => Self::Synthetic,
            "concatenated string" => Self::ConsString,
            "sliced string" => Self::SlicedString,
            "symbol" => Self::Symbol,
            "bigint" => Self::BigInt,
            "object shape" => Self::Shape,
            _ => Self::Other(place),
        }
    }
}

impl EdgeKind {
    fn of(name: &str) -> Self {
        match name {
            "context" => Self::Context,
            "element" => Self::Element,
            "property" => Self::Property,
            "internal" => Self::Internal,
            "shortcut" => Self::Shortcut,
            "weak" => Self::Weak,
            _ => Self::Hidden,
        }
    }

    /// Whether the edge has a string for a name, and not a number.
    pub fn is_named(self) -> bool {
        !matches!(self, Self::Element | Self::Hidden)
    }
}
