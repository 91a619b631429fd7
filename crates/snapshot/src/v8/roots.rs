//! Where traces start in a snapshot: the edges of its synthetic root, and of the groups that it has.
//!
//! V8's root node leads to the globals of the program and to `(GC roots)`, that to groups such as `(Global handles)`,
//! and those to what they hold. Groups are no objects: what a group holds becomes a root, by the group's name.
//! The globals come first, as in Chrome's tools.
//!
//! The groups of all internalized and all external strings are left out. V8 holds those strings weakly, and
//! whoever uses one has an edge to it. So are the tables of V8's compiler: whether it was at work when the snapshot
//! was taken says nothing about who holds an object.

use std::collections::{BTreeSet, HashMap, HashSet};

use heaphound_heap::{Root, RootKind};

use super::classes::OwnNames;
use super::graph::Graph;
use super::meta::{EdgeKind, Meta, NodeKind};

/// The thread that ran the program. V8 writes the heap of one.
pub const THREAD: &str = "main";
/// The group of groups.
pub const GC_ROOTS: &str = "(GC roots)";
/// Groups of what the stack holds.
pub const STACKS: [&str; 2] = ["(Stack roots)", "(Handle scope)"];
/// Groups of what handles hold.
pub const HANDLES: [&str; 3] = ["(Global handles)", "(Eternal handles)", "(Traced handles)"];
/// The groups of other heaps that were written as snapshots (`write.rs`): their edges have the names of roots.
pub const STATICS: &str = "(Statics)";
pub const THREAD_OBJECTS: &str = "(Thread objects)";
pub const OTHER_HANDLES: &str = "(Handles)";
pub const FINALIZERS: &str = "(Finalizers)";
/// The name of a thread follows, and a parenthesis.
pub const STACK_OF: &str = "(Stack of ";
/// What V8 calls the roots of its `null`, `undefined` and hole.
const NULLS: [&str; 3] = ["null_value", "undefined_value", "the_hole_value"];
/// Groups that hold nothing strongly.
const WEAK: [&str; 2] = ["(Internalized strings)", "(External strings)"];
/// What V8 calls the roots in the tables of its compiler.
const COMPILER: &str = "IdentityMapBase";

/// The roots, and which nodes are no objects.
pub struct Roots {
    /// With the nodes that they lead to.
    pub list: Vec<(Root, u32)>,
    /// Nodes, in order.
    pub removed: Vec<u32>,
    /// The nodes that stand for JavaScript's `null` and `undefined`, and for holes in arrays, in order.
    pub nulls: Vec<u32>,
}

impl Roots {
    /// Finds them. `starts` says where the edges of a node start.
    pub fn find(graph: &Graph, meta: &Meta, starts: &[u64]) -> Self {
        let root = meta.root as u32;
        let finder = Finder {
            graph,
            meta,
            starts,
        };
        let groups = finder.groups(root);
        let within: HashSet<u32> = groups.iter().copied().chain([root]).collect();
        if finder.are_entered(root, &within) {
            // Not what V8 writes. Then all nodes are objects.
            let list = vec![(Root::new(RootKind::Other, "(root)"), root)];
            let (removed, nulls) = Default::default();
            return Self {
                list,
                removed,
                nulls,
            };
        }
        let mut list = Vec::new();
        let mut names = OwnNames::default();
        // Statics of other heaps are globals as well, for Chrome's tools.
        let statics = groups.iter().filter(|&&it| finder.name_of(it) == STATICS);
        let statics = statics.flat_map(|&it| finder.edges_of(it));
        let statics: HashSet<u32> = statics.map(|edge| graph.edge_to[edge]).collect();
        for edge in finder.edges_of(root) {
            let to = graph.edge_to[edge];
            let is_shortcut = finder.edge_kind(edge) == EdgeKind::Shortcut;
            if within.contains(&to) || is_shortcut && statics.contains(&to) {
                continue;
            }
            let name = finder.name_of(to);
            let kind = match is_shortcut {
                true => RootKind::Static,
                false => RootKind::Other,
            };
            let name = names.take(name.into());
            list.push((Root::new(kind, &name), to));
        }
        let mut counts = HashMap::new();
        for &group in &groups {
            finder.add_group(group, &within, &mut counts, &mut list);
        }
        let mut removed = groups;
        removed.push(root);
        removed.sort_unstable();
        let nulls = list.iter().filter(|(root, _)| {
            let name = root.scope.as_deref();
            name.is_some_and(|name| NULLS.contains(&name))
        });
        let nulls: BTreeSet<u32> = nulls.map(|it| it.1).collect();
        let is_own = |&it: &u32| finder.kind_of(it) == NodeKind::Hidden;
        Self {
            nulls: nulls.into_iter().filter(is_own).collect(),
            list,
            removed,
        }
    }
}

struct Finder<'g> {
    graph: &'g Graph,
    meta: &'g Meta,
    starts: &'g [u64],
}

impl Finder<'_> {
    fn edges_of(&self, node: u32) -> std::ops::Range<usize> {
        self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize
    }

    fn name_of(&self, node: u32) -> &str {
        self.graph.strings.str(self.graph.name[node as usize])
    }

    fn kind_of(&self, node: u32) -> NodeKind {
        self.meta.node_kinds[self.graph.kind[node as usize] as usize]
    }

    fn edge_kind(&self, edge: usize) -> EdgeKind {
        self.meta.edge_kinds[self.graph.edge_kind[edge] as usize]
    }

    /// `(GC roots)` and the groups below it.
    fn groups(&self, root: u32) -> Vec<u32> {
        let is_group = |node: u32| {
            self.kind_of(node) == NodeKind::Synthetic && self.graph.size[node as usize] == 0
        };
        let tos = |node| self.edges_of(node).map(|edge| self.graph.edge_to[edge]);
        let mut groups = Vec::new();
        for gc_roots in tos(root).filter(|&it| is_group(it) && self.name_of(it) == GC_ROOTS) {
            groups.push(gc_roots);
            groups.extend(tos(gc_roots).filter(|&it| is_group(it)));
        }
        groups.retain(|&it| it != root);
        let mut met = HashSet::new();
        groups.retain(|&it| met.insert(it));
        groups
    }

    /// Whether anything but the root and the groups leads to them, or back to the root.
    fn are_entered(&self, root: u32, within: &HashSet<u32>) -> bool {
        let mut inner = within.iter().flat_map(|&node| self.edges_of(node));
        if inner.any(|edge| self.graph.edge_to[edge] == root) {
            return true;
        }
        let count =
            |edges: &mut dyn Iterator<Item = u32>| edges.filter(|to| within.contains(to)).count();
        // They are nearly always the first nodes: few targets are looked up.
        let last = within.iter().max().copied().unwrap_or(0);
        let all = self.graph.edge_to.iter().copied();
        let all = count(&mut all.filter(|&to| to <= last));
        let edges = within.iter().flat_map(|&node| self.edges_of(node));
        let own = count(&mut edges.map(|edge| self.graph.edge_to[edge]));
        all != own
    }

    /// Makes roots of what a group holds. `counts` are the roots of a name so far: two groups may have one.
    fn add_group<'n>(
        &'n self,
        group: u32,
        within: &HashSet<u32>,
        counts: &mut HashMap<(RootKind, &'n str), u32>,
        list: &mut Vec<(Root, u32)>,
    ) {
        let name = self.name_of(group);
        if WEAK.contains(&name) {
            return;
        }
        let is_stack = STACKS.contains(&name);
        let thread = name
            .strip_prefix(STACK_OF)
            .and_then(|it| it.strip_suffix(')'));
        let kind = match name {
            STATICS => RootKind::Static,
            THREAD_OBJECTS => RootKind::ThreadObject,
            FINALIZERS => RootKind::Finalizer,
            _ if is_stack || thread.is_some() => RootKind::ThreadStack,
            _ if name == OTHER_HANDLES || HANDLES.contains(&name) => RootKind::Handle,
            _ => RootKind::Other,
        };
        // Whether the edges have the names of roots.
        let labels = [STATICS, THREAD_OBJECTS, FINALIZERS, OTHER_HANDLES].contains(&name);
        for edge in self.edges_of(group) {
            let (to, kind_of_edge) = (self.graph.edge_to[edge], self.edge_kind(edge));
            if kind_of_edge == EdgeKind::Weak || within.contains(&to) {
                continue;
            }
            let label = match kind_of_edge.is_named() {
                true => self.graph.strings.str(self.graph.edge_name[edge]),
                false => "",
            };
            if kind == RootKind::Other && told(label) == Some(COMPILER) {
                continue;
            }
            let (name, scope) = match (is_stack, thread) {
                _ if labels => (label, None),
                (true, _) => (THREAD, Some(name)),
                (_, Some(thread)) => (thread, told(label)),
                _ => (name, told(label)),
            };
            let index = counts.entry((kind, name)).or_default();
            let root = Root {
                kind,
                name: name.into(),
                index: *index,
                scope: scope.map(Into::into),
            };
            *index += 1;
            list.push((root, to));
        }
    }
}

/// What the name of an edge tells: V8 counts the edges of a group, and puts the number before a name.
fn told(label: &str) -> Option<&str> {
    let told = match label.split_once(" / ") {
        Some((number, rest)) if is_number(number) => rest,
        _ => label,
    };
    Some(told).filter(|it| !it.is_empty() && !is_number(it))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}
