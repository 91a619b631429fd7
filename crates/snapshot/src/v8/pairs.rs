//! The pairs of weak maps.
//!
//! V8 writes two strong edges for a pair: from the key to the value and from the map's table to the value, both
//! called `part of key (K @1) -> value (V @3) pair in WeakMap (table @5)`. In truth the value lives while the
//! key and the table do. So a pair becomes an object of its own, which the table holds: `key` is a weak slot, and `value` a
//! dependent one.

use foldhash::{HashMap, HashSet};

use super::graph::Graph;
use super::meta::{EdgeKind, Meta};

/// What pairs are called as objects.
pub const PAIR: &str = "(WeakMap pair)";

/// A pair, by nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    pub table: u32,
    pub key: u32,
    pub value: u32,
}

/// The pairs of a graph.
#[derive(Default)]
pub struct Pairs {
    /// In the order of tables.
    pub list: Vec<Pair>,
    /// The edges that V8 wrote for them, in order.
    pub edges: Vec<usize>,
    tables: HashSet<u32>,
}

impl Pairs {
    /// Finds them. `starts` says where the edges of a node start, `removed` which nodes are no objects, in order.
    pub fn find(graph: &Graph, meta: &Meta, starts: &[u64], removed: &[u32]) -> Self {
        let is_object = |node: u32| removed.binary_search(&node).is_err();
        let strings = &graph.strings;
        let ends = |at: u32| strings.get(at).ends_with(b")");
        let named = |at: u32| Some((at, Ids::parse(ends(at).then(|| strings.str(at))?)?));
        let named: HashMap<u32, Ids> = (0..strings.len() as u32).filter_map(named).collect();
        if named.is_empty() {
            return Self::default();
        }
        let wanted: HashSet<u64> = named.values().flat_map(|it| [it.key, it.table]).collect();
        let nodes = graph.id.iter().zip(0..);
        let nodes = nodes.filter(|(id, _)| wanted.contains(id));
        let node_of: HashMap<u64, u32> = nodes.map(|(id, node)| (*id, node)).collect();
        // Who has an edge of such a name.
        let internal =
            |edge: usize| meta.edge_kinds[graph.edge_kind[edge] as usize] == EdgeKind::Internal;
        let mut edges: Vec<(u32, usize, Ids)> = Vec::new();
        let mut from = 0;
        for (edge, name) in graph.edge_name.iter().enumerate() {
            while starts[from as usize + 1] <= edge as u64 {
                from += 1;
            }
            if internal(edge)
                && let Some(&ids) = named.get(name)
            {
                edges.push((from, edge, ids));
            }
        }
        let mut pairs = Self::default();
        let mut met = HashSet::default();
        for &(from, edge, ids) in &edges {
            let is_table = node_of.get(&ids.table) == Some(&from);
            let value = graph.edge_to[edge];
            if let Some(&key) = node_of.get(&ids.key).filter(|_| is_table)
                && [from, key, value].into_iter().all(is_object)
            {
                pairs.list.push(Pair {
                    table: from,
                    key,
                    value,
                });
                pairs.edges.push(edge);
                pairs.tables.insert(from);
                met.insert((from, key, value));
            }
        }
        for &(from, edge, ids) in &edges {
            let table = node_of.get(&ids.table);
            if table.is_some_and(|&table| met.contains(&(table, from, graph.edge_to[edge]))) {
                pairs.edges.push(edge);
            }
        }
        pairs.edges.sort_unstable();
        pairs.edges.dedup();
        pairs
    }

    /// Whether a node is the table of a weak map.
    pub fn is_table(&self, node: u32) -> bool {
        !self.tables.is_empty() && self.tables.contains(&node)
    }
}

/// The ids in the name of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ids {
    key: u64,
    table: u64,
}

impl Ids {
    fn parse(name: &str) -> Option<Self> {
        // Names of constructors stand inside, which may be anything: what is ours is found from the end.
        let rest = name.strip_suffix(')')?;
        let (rest, table) = rest.rsplit_once(" pair in WeakMap (table @")?;
        let (key, _) = rest.rsplit_once(") -> value (")?;
        let (before, key) = key.rsplit_once(" @")?;
        before.contains("part of key (").then_some(())?;
        Some(Self {
            key: key.parse().ok()?,
            table: table.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_edge_tells_its_pair() {
        let name =
            "6 / part of key (Foo @77493) -> value (Object @86339) pair in WeakMap (table @86337)";
        let ids = Ids::parse(name).unwrap();
        assert_eq!((ids.key, ids.table), (77493, 86337));
        let odd = "part of key () -> value (x @1) @3) -> value (b @5) pair in WeakMap (table @7)";
        let ids = Ids::parse(odd).unwrap();
        assert_eq!((ids.key, ids.table), (3, 7));
        for wrong in [
            "",
            "part of key",
            "part of key (a @1) -> value (b @2)",
            "table @7)",
        ] {
            assert_eq!(Ids::parse(wrong), None);
        }
    }
}
