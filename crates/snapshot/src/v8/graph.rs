//! A snapshot as V8 writes it: nodes, edges and strings, in columns.
//!
//! The strings come last in the file, so that nodes and edges have the numbers of theirs. A node takes 21 bytes,
//! an edge nine. After reading, every number leads to something that is there.
//!
//! Elsewhere: what becomes of it (`build.rs`).

use std::collections::HashMap;
use std::io::Read;

use super::meta::{EdgeKind, Meta};
use super::tokens::{Failure, Parsed, Tokens, failure};

/// The head has some thousand bytes.
const MOST_META_BYTES: usize = 16 << 20;
/// A node's number, and one that is none.
pub const NO_NODE: u32 = u32::MAX;

/// Nodes, edges and strings.
#[derive(Default)]
pub struct Graph {
    /// By node: the place of its kind among the meta's.
    pub kind: Vec<u8>,
    pub name: Vec<u32>,
    pub id: Vec<u64>,
    pub size: Vec<u32>,
    pub huge: HashMap<u32, u64>,
    pub edge_count: Vec<u32>,
    /// Nodes that V8 says are attached (1) or detached (2), in order.
    pub detachedness: Vec<(u32, u8)>,
    /// By edge, those of the first node first: the place of its kind among the meta's.
    pub edge_kind: Vec<u8>,
    /// A string or an index.
    pub edge_name: Vec<u32>,
    pub edge_to: Vec<u32>,
    pub strings: Strings,
}

/// Many strings in one.
#[derive(Default)]
pub struct Strings {
    text: Vec<u8>,
    /// Where each ends.
    ends: Vec<u64>,
}

impl Strings {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// A string. Its bytes are UTF-8.
    pub fn get(&self, at: u32) -> &[u8] {
        let at = at as usize;
        let start = match at {
            0 => 0,
            at => self.ends[at - 1],
        };
        &self.text[start as usize..self.ends[at] as usize]
    }

    pub fn str(&self, at: u32) -> &str {
        std::str::from_utf8(self.get(at)).unwrap_or("\u{fffd}")
    }
}

/// Reads a snapshot.
pub fn read_graph<R: Read>(tokens: &mut Tokens<'_, R>, bytes: u64) -> Parsed<(Meta, Graph)> {
    let mut graph = Graph::default();
    let mut meta = None;
    let whole = "the snapshot";
    let mut places = Places::default();
    let mut goes_on = tokens.opens(b'{', b'}', whole)?;
    let mut key = Vec::new();
    while goes_on {
        tokens.next()?;
        let at = tokens.place();
        key.clear();
        tokens.string(&mut key, whole)?;
        tokens.expect(b':', whole)?;
        let again = |there: bool, what: &str| match there {
            true => failure(at, format!("`{what}` is there twice")),
            false => Ok(()),
        };
        match key.as_slice() {
            b"snapshot" => {
                again(meta.is_some(), "snapshot")?;
                tokens.next()?;
                let at = tokens.place();
                let mut text = Vec::new();
                tokens.value(Some(&mut text), MOST_META_BYTES, "the head of the snapshot")?;
                meta = Some(Meta::parse(&text).map_err(|message| Failure { at, message })?);
            }
            b"nodes" => {
                again(places.nodes.is_some(), "nodes")?;
                places.nodes = Some(at);
                graph.read_nodes(tokens, known(&meta, at)?, bytes)?;
            }
            b"edges" => {
                again(places.edges.is_some(), "edges")?;
                places.edges = Some(at);
                graph.read_edges(tokens, known(&meta, at)?, bytes)?;
            }
            b"strings" => {
                again(places.strings.is_some(), "strings")?;
                places.strings = Some(at);
                graph.read_strings(tokens)?;
            }
            // Where functions are, and what was recorded while the program ran.
            _ => tokens.value(None, 0, &format!("`{}`", String::from_utf8_lossy(&key)))?,
        }
        goes_on = tokens.goes_on(b'}', whole)?;
    }
    if tokens.next()?.is_some() {
        return failure(tokens.place(), "something follows the snapshot");
    }
    let end = tokens.place();
    let missing = |what: &str| Failure {
        at: end,
        message: format!("the snapshot has no `{what}`"),
    };
    let meta = meta.ok_or_else(|| missing("snapshot"))?;
    let nodes = places.nodes.ok_or_else(|| missing("nodes"))?;
    let edges = places.edges.ok_or_else(|| missing("edges"))?;
    places.strings.ok_or_else(|| missing("strings"))?;
    graph.check(&meta, nodes, edges)?;
    Ok((meta, graph))
}

/// Where the parts start.
#[derive(Default)]
struct Places {
    nodes: Option<u64>,
    edges: Option<u64>,
    strings: Option<u64>,
}

fn known(meta: &Option<Meta>, at: u64) -> Parsed<&Meta> {
    match meta {
        Some(meta) => Ok(meta),
        None => failure(
            at,
            "`snapshot`, which says what the numbers mean, must come before",
        ),
    }
}

/// How much room is made at first: what the head promises, if so much fits into the file. A
/// file's size may be unknown.
fn room(promised: u64, fields: usize, bytes: u64) -> usize {
    promised.min(bytes / (2 * fields as u64) + 1024) as usize
}

impl Graph {
    pub fn nodes(&self) -> usize {
        self.kind.len()
    }

    fn read_nodes<R: Read>(
        &mut self,
        tokens: &mut Tokens<'_, R>,
        meta: &Meta,
        bytes: u64,
    ) -> Parsed<()> {
        let room = room(meta.nodes, meta.node_fields, bytes);
        self.kind.reserve_exact(room);
        self.name.reserve_exact(room);
        self.id.reserve_exact(room);
        self.size.reserve_exact(room);
        self.edge_count.reserve_exact(room);
        let kinds = meta.node_kinds.len() as u64;
        let inside = "the nodes";
        tokens.for_each_row(&mut vec![0; meta.node_fields], inside, |row, at| {
            let node = self.kind.len() as u32;
            let kind = row[meta.node_type];
            if kind >= kinds {
                return failure(at, format!("there is no kind of nodes {kind}"));
            }
            if node == NO_NODE {
                return failure(at, format!("{node} nodes are more than a heap holds"));
            }
            self.kind.push(kind as u8);
            self.name.push(small(row[meta.node_name], at)?);
            self.id.push(row[meta.node_id]);
            self.edge_count.push(small(row[meta.node_edges], at)?);
            let size = row[meta.node_size];
            self.size.push(match u32::try_from(size) {
                Ok(size) if size != u32::MAX => size,
                _ => {
                    self.huge.insert(node, size);
                    u32::MAX
                }
            });
            if let Some(field) = meta.node_detached
                && let state @ 1..=2 = row[field]
            {
                self.detachedness.push((node, state as u8));
            }
            Ok(())
        })
    }

    fn read_edges<R: Read>(
        &mut self,
        tokens: &mut Tokens<'_, R>,
        meta: &Meta,
        bytes: u64,
    ) -> Parsed<()> {
        let room = room(meta.edges, meta.edge_fields, bytes);
        self.edge_kind.reserve_exact(room);
        self.edge_name.reserve_exact(room);
        self.edge_to.reserve_exact(room);
        let kinds = meta.edge_kinds.len() as u64;
        let fields = meta.node_fields as u64;
        let inside = "the edges";
        tokens.for_each_row(&mut vec![0; meta.edge_fields], inside, |row, at| {
            let (kind, to) = (row[meta.edge_type], row[meta.edge_to]);
            if kind >= kinds {
                return failure(at, format!("there is no kind of edges {kind}"));
            }
            if to % fields != 0 {
                return failure(at, format!("an edge leads to {to}, where no node begins"));
            }
            self.edge_kind.push(kind as u8);
            self.edge_name.push(small(row[meta.edge_name], at)?);
            self.edge_to.push(small(to / fields, at)?);
            Ok(())
        })
    }

    fn read_strings<R: Read>(&mut self, tokens: &mut Tokens<'_, R>) -> Parsed<()> {
        let inside = "the strings";
        let mut goes_on = tokens.opens(b'[', b']', inside)?;
        while goes_on {
            if self.strings.len() == u32::MAX as usize {
                return failure(tokens.place(), "there are too many strings");
            }
            tokens.string(&mut self.strings.text, inside)?;
            self.strings.ends.push(self.strings.text.len() as u64);
            goes_on = tokens.goes_on(b']', inside)?;
        }
        Ok(())
    }

    /// Every number leads to something that is there.
    fn check(&self, meta: &Meta, nodes_at: u64, edges_at: u64) -> Parsed<()> {
        let (nodes, strings) = (self.nodes(), self.strings.len());
        if nodes == 0 || meta.root >= nodes as u64 {
            return failure(nodes_at, "the snapshot has no root node");
        }
        let counted: u64 = self.edge_count.iter().map(|&it| it as u64).sum();
        if counted != self.edge_to.len() as u64 {
            let there = self.edge_to.len();
            let message = format!("the nodes have {counted} edges in all, and {there} are there");
            return failure(nodes_at, message);
        }
        if let Some(name) = self.name.iter().find(|&&it| it as usize >= strings) {
            let message = format!("a node has string {name} for a name, of {strings} strings");
            return failure(nodes_at, message);
        }
        if let Some(to) = self.edge_to.iter().find(|&&it| it as usize >= nodes) {
            return failure(
                edges_at,
                format!("an edge leads to node {to}, of {nodes} nodes"),
            );
        }
        let named: Vec<bool> = meta.edge_kinds.iter().map(|it| it.is_named()).collect();
        let mut edges = self.edge_kind.iter().zip(&self.edge_name);
        let odd = edges.find(|it| named[*it.0 as usize] && *it.1 as usize >= strings);
        if let Some((_, name)) = odd {
            let message = format!("an edge has string {name} for a name, of {strings} strings");
            return failure(edges_at, message);
        }
        Ok(())
    }

    /// The nodes that count as detached: those that V8 says are, and the native ones that hang on
    /// them and of which it says nothing. So do Chrome's tools.
    pub fn detached(&self, meta: &Meta, starts: &[u64]) -> Vec<u32> {
        use super::meta::NodeKind::Native;
        if !self.detachedness.iter().any(|&(_, state)| state == 2) {
            return Vec::new();
        }
        let mut states: HashMap<u32, u8> = self.detachedness.iter().copied().collect();
        for wanted in [1, 2] {
            let of_state = self.detachedness.iter().filter(|it| it.1 == wanted);
            let mut left: Vec<u32> = of_state.map(|it| it.0).collect();
            while let Some(node) = left.pop() {
                let edges = starts[node as usize] as usize..starts[node as usize + 1] as usize;
                for edge in edges {
                    let kind = meta.edge_kinds[self.edge_kind[edge] as usize];
                    let to = self.edge_to[edge];
                    let is_native = meta.node_kinds[self.kind[to as usize] as usize] == Native;
                    let follows = !matches!(kind, EdgeKind::Weak | EdgeKind::Hidden);
                    if is_native && follows && !states.contains_key(&to) {
                        states.insert(to, wanted);
                        left.push(to);
                    }
                }
            }
        }
        let detached = states.into_iter().filter(|it| it.1 == 2);
        let mut detached: Vec<u32> = detached.map(|it| it.0).collect();
        detached.sort_unstable();
        detached
    }
}

fn small(number: u64, at: u64) -> Parsed<u32> {
    match u32::try_from(number) {
        Ok(number) => Ok(number),
        Err(_) => failure(
            at,
            format!("{number} is too large for a number of a node or string"),
        ),
    }
}
