//! The classes of a snapshot: constructors by their names, and what has none as Chrome's tools call it.
//!
//! A detached node's class extends that of the attached ones, and implements `Detached`, unless it is one of Node's own. What is
//! V8's own implements `(system)`. Both interfaces are always there, so that rules can speak of them.
//!
//! Elsewhere: the fields of classes (`slots.rs`).

use std::collections::HashSet;

use foldhash::HashMap;

use super::graph::Graph;
use super::meta::{Meta, NodeKind};

/// What is no object has no class.
const NO_CLASS: u32 = u32::MAX;
/// The interface of what is detached.
pub const DETACHED: &str = "Detached";
/// The interface of what is V8's own.
pub const SYSTEM: &str = "(system)";
/// V8 calls its own classes so.
const OF_SYSTEM: &str = "system / ";
/// Node says of its own native objects that are held weakly that they are detached. They are no nodes of a document.
const OF_NODE: &str = "Node / ";
/// Chrome called detached nodes so, before it gave them a state.
pub const DETACHED_PREFIX: &str = "Detached ";

/// Why a class is one: nodes of one sort and name are of one class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sort {
    /// By the name of its nodes.
    Named,
    Function,
    RegExp,
    Code,
    Array,
    String,
    ConsString,
    SlicedString,
    Number,
    Symbol,
    BigInt,
    /// A kind that we do not know.
    Kind(u8),
}

impl Sort {
    /// Whether its nodes are text.
    pub fn is_text(self) -> bool {
        matches!(self, Self::String | Self::ConsString | Self::SlicedString)
    }
}

/// A class whose fields are still to be found.
#[derive(Debug)]
pub struct Class {
    pub name: String,
    pub sort: Sort,
    /// The class of attached nodes, if this is the one of detached ones.
    pub attached: Option<u32>,
    pub is_system: bool,
    /// Whether it implements `Detached`.
    pub is_detached: bool,
    /// Whether the names of its nodes say more than its own.
    pub is_captioned: bool,
}

/// The classes, and which one a node has.
pub struct Classes {
    pub list: Vec<Class>,
    /// By node.
    pub of: Vec<u32>,
}

impl Classes {
    /// Finds the classes of all nodes. `detached` are nodes, in order, and so are `removed`, which are no objects and have none.
    pub fn find(graph: &Graph, meta: &Meta, detached: &[u32], removed: &[u32]) -> Self {
        let mut finder = Finder {
            graph,
            meta,
            list: Vec::new(),
            by_key: HashMap::default(),
            names: OwnNames::default(),
        };
        for taken in [DETACHED, SYSTEM] {
            finder.names.take(taken.into());
        }
        let mut of = Vec::with_capacity(graph.nodes());
        let mut known: HashMap<(u8, u32, bool), u32> = HashMap::default();
        let mut detached = detached.iter().copied().peekable();
        let mut removed = removed.iter().copied().peekable();
        for (node, (&kind, &name)) in graph.kind.iter().zip(&graph.name).enumerate() {
            let is_detached = detached.next_if_eq(&(node as u32)).is_some();
            if removed.next_if_eq(&(node as u32)).is_some() {
                of.push(NO_CLASS);
                continue;
            }
            let name = match names_class(meta.node_kinds[kind as usize]) {
                true => name,
                false => 0,
            };
            let class = known.entry((kind, name, is_detached));
            of.push(*class.or_insert_with(|| finder.class(kind, name, is_detached)));
        }
        let list = finder.list;
        Self { list, of }
    }

    /// The class whose fields a class has.
    pub fn fields_of(&self, class: u32) -> u32 {
        self.list[class as usize].attached.unwrap_or(class)
    }
}

/// Whether the class of such nodes depends on their names.
fn names_class(kind: NodeKind) -> bool {
    use NodeKind::{Code, Hidden, Native, Object, Shape, Synthetic};
    matches!(kind, Object | Native | Hidden | Shape | Synthetic | Code)
}

struct Finder<'g> {
    graph: &'g Graph,
    meta: &'g Meta,
    list: Vec<Class>,
    by_key: HashMap<(Sort, String, bool), u32>,
    /// What classes are called.
    names: OwnNames,
}

impl Finder<'_> {
    fn class(&mut self, kind: u8, name: u32, detached: bool) -> u32 {
        let of_kind = self.meta.node_kinds[kind as usize];
        let text = match names_class(of_kind) {
            true => self.graph.strings.str(name),
            false => "",
        };
        let is_system =
            text.starts_with(OF_SYSTEM) || matches!(of_kind, NodeKind::Hidden | NodeKind::Shape);
        let (text, was_detached) = match text.strip_prefix(DETACHED_PREFIX) {
            Some(rest) if of_kind == NodeKind::Native => (rest, true),
            _ => (text, false),
        };
        let short = element_name(text);
        let is_captioned = short != text || self.meta.unknown.contains(&name);
        let (sort, name) = match of_kind {
            NodeKind::Closure => (Sort::Function, "Function".into()),
            NodeKind::RegExp => (Sort::RegExp, "RegExp".into()),
            NodeKind::Code if !is_system => (Sort::Code, "(compiled code)".into()),
            NodeKind::Array => (Sort::Array, "(array)".into()),
            NodeKind::String => (Sort::String, "(string)".into()),
            NodeKind::ConsString => (Sort::ConsString, "(concatenated string)".into()),
            NodeKind::SlicedString => (Sort::SlicedString, "(sliced string)".into()),
            NodeKind::Number => (Sort::Number, "(number)".into()),
            NodeKind::Symbol => (Sort::Symbol, "(symbol)".into()),
            NodeKind::BigInt => (Sort::BigInt, "(bigint)".into()),
            NodeKind::Other(at) => {
                let name = format!("({})", self.meta.node_kind_names[at as usize]);
                (Sort::Kind(at), name)
            }
            _ => (Sort::Named, short),
        };
        let is_captioned = is_captioned
            || matches!(
                sort,
                Sort::Function
                    | Sort::RegExp
                    | Sort::Code
                    | Sort::Array
                    | Sort::Symbol
                    | Sort::BigInt
                    | Sort::Kind(_)
            );
        let class = self.add(sort, name.clone(), None, is_system, is_captioned);
        match detached || was_detached {
            true => self.add(sort, name, Some(class), is_system, is_captioned),
            false => class,
        }
    }

    /// The class of that sort and name, which may be there; of what is detached, if there is a class of what is not. What it is called
    /// can differ from its name, which another may have taken.
    fn add(
        &mut self,
        sort: Sort,
        name: String,
        attached: Option<u32>,
        is_system: bool,
        is_captioned: bool,
    ) -> u32 {
        let key = (sort, name, attached.is_some());
        if let Some(&class) = self.by_key.get(&key) {
            let class_there = &mut self.list[class as usize];
            class_there.is_captioned |= is_captioned;
            return class;
        }
        let class = self.list.len() as u32;
        let is_detached = attached.is_some() && !key.1.starts_with(OF_NODE);
        let name = match attached {
            Some(of) => format!("{DETACHED_PREFIX}{}", self.list[of as usize].name),
            None => key.1.clone(),
        };
        let name = self.names.take(name);
        self.by_key.insert(key, class);
        self.list.push(Class {
            name,
            sort,
            attached,
            is_system,
            is_detached,
            is_captioned,
        });
        class
    }
}

/// Names, none of them twice.
#[derive(Default)]
pub struct OwnNames {
    names: HashSet<String>,
    /// The number that the next of a name gets.
    next: HashMap<String, u32>,
}

impl OwnNames {
    /// That name, or the first one behind it that nobody has yet: `Node`, `Node~2`.
    pub fn take(&mut self, name: String) -> String {
        if self.names.insert(name.clone()) {
            return name;
        }
        let next = self.next.entry(name.clone()).or_insert(2);
        loop {
            let own = format!("{name}~{next}");
            *next += 1;
            if self.names.insert(own.clone()) {
                return own;
            }
        }
    }
}

/// What Chrome calls an element, without its attributes: `<div>` for `<div class="a">`.
fn element_name(name: &str) -> String {
    let inside = name.strip_prefix('<').and_then(|it| it.strip_suffix('>'));
    match inside.and_then(|it| it.split_once(' ')) {
        Some((tag, _)) if tag.starts_with(|it: char| it.is_ascii_alphabetic()) => {
            format!("<{tag}>")
        }
        _ => name.into(),
    }
}
