//! A heap from the graph that V8 wrote.
//!
//! Objects are the nodes in their order, without the root and its groups, then what V8 has no nodes for: the names of
//! functions and the like where no string node has that text, all held by one object, and last the pairs of
//! weak maps. An object's number is V8's id of the node, which Chrome's tools print as `@1234`.
//!
//! Elsewhere: what the classes are (`classes.rs`), the fields (`slots.rs`), the roots (`roots.rs`), the pairs (`pairs.rs`), what strings
//! say that consist of others (`joined.rs`).

use std::collections::{BTreeSet, HashMap, HashSet};

use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{Columns, Lacks, ObjectId, Snapshot, encode_values};
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind, Root, RootKind};

use super::classes::{Classes, DETACHED, OwnNames, SYSTEM, Sort};
use super::graph::{Graph, NO_NODE};
use super::joined::{Joined, Text, is_whole};
use super::meta::{Meta, NodeKind};
use super::pairs::{PAIR, Pairs};
use super::roots::Roots;
use super::slots::{Slots, Start};
use crate::budget::Budget;

/// The object that holds the names, by its class.
pub const NAMES: &str = "(names)";
/// What is shown beside an object whose class has nodes of many names.
pub const CAPTION: &str = "name";
/// What the bytes of an `ArrayBuffer` are.
const BUFFER_DATA: &str = "system / JSArrayBufferData";
/// V8's description of objects, and what it calls a small integer.
const MAP: &[u8] = b"system / Map";
const SMALL: &[u8] = b"smi number";
/// The first classes are interfaces.
const INTERFACES: u32 = 2;

/// Makes a heap of the graph in a file of `bytes` bytes. Without `values`, strings have no text, but for names.
pub fn build(meta: &Meta, mut graph: Graph, bytes: u64, values: bool) -> Result<Snapshot, String> {
    let starts = starts(&graph);
    let detached = graph.detached(meta, &starts);
    let roots = Roots::find(&graph, meta, &starts);
    let classes = Classes::find(&graph, meta, &detached, &roots.removed);
    let pairs = Pairs::find(&graph, meta, &starts, &roots.removed);
    drop(starts);
    let slots = Slots::find(&mut graph, meta, &classes, &pairs, &roots);
    let objects = graph.nodes() - roots.removed.len();
    let room = objects as u64 + graph.strings.len() as u64 + pairs.list.len() as u64 + 1;
    if room >= NO_NODE as u64 {
        return Err(format!("{room} objects are more than a heap holds"));
    }
    let mut builder = Builder {
        object_of: object_of(graph.nodes(), &roots.removed),
        captions: Captions::of(&graph, meta),
        numbers: numbers(&graph, meta, &slots),
        joined: Joined::default(),
        budget: Budget::for_input(usize::try_from(bytes).unwrap_or(usize::MAX)),
        columns: Columns {
            lacks: Lacks {
                numbers: meta.lacks.numbers || lacks_numbers(&graph, meta),
                ..meta.lacks
            },
            ..Columns::default()
        },
        infos: Vec::new(),
        values,
        pointer_bytes: pointer_bytes(&graph, meta),
        unplaced: 0,
        untold: 0,
        unknown: meta.unknown.clone(),
        notes: meta.notes.clone(),
        graph,
        classes,
        roots,
        pairs,
        slots,
    };
    builder.make_classes()?;
    if values {
        builder.joined = Joined::find(
            &builder.graph,
            &builder.classes,
            &builder.slots,
            &builder.unknown,
            &mut builder.budget,
        );
    }
    builder.find_names();
    builder.add_nodes();
    builder.add_names();
    builder.add_pairs();
    builder.add_roots();
    builder.finish()
}

/// Where the edges of each node start, and where the last one's end.
fn starts(graph: &Graph) -> Vec<u64> {
    let mut starts = Vec::with_capacity(graph.nodes() + 1);
    let mut at = 0;
    starts.push(0);
    for &count in &graph.edge_count {
        at += count as u64;
        starts.push(at);
    }
    starts
}

/// The object of each node.
fn object_of(nodes: usize, removed: &[u32]) -> Vec<u32> {
    let mut removed = removed.iter().copied().peekable();
    let mut next = 0;
    let object = |node| match removed.next_if_eq(&node) {
        Some(_) => NO_NODE,
        None => {
            next += 1;
            next - 1
        }
    };
    (0..nodes as u32).map(object).collect()
}

/// How many bytes a reference takes in V8's heap: a number is one and eight bytes more.
fn pointer_bytes(graph: &Graph, meta: &Meta) -> Option<u32> {
    let mut nodes = graph.kind.iter().zip(&graph.name).zip(&graph.size);
    let number = nodes.find(|((kind, name), _)| {
        meta.node_kinds[**kind as usize] == NodeKind::Number
            && graph.strings.get(**name) == b"heap number"
    });
    let bytes = number?.1.checked_sub(8);
    bytes.filter(|it| [4, 8].contains(it))
}

/// Whether V8 wrote no small integers: what has no node is not told, unless the program asked for values. Others than V8 write no maps.
fn lacks_numbers(graph: &Graph, meta: &Meta) -> bool {
    let mut nodes = graph.kind.iter().zip(&graph.name);
    let is_number = |kind: u8| meta.node_kinds[kind as usize] == NodeKind::Number;
    let has_maps = nodes.any(|(_, name)| graph.strings.get(*name).starts_with(MAP));
    let mut numbers = graph.kind.iter().zip(&graph.name);
    has_maps && !numbers.any(|(kind, name)| is_number(*kind) && graph.strings.get(*name) == SMALL)
}

/// The values of number nodes. They have an edge to a string with the value, if the program
/// asked for values.
fn numbers(graph: &Graph, meta: &Meta, slots: &Slots) -> HashMap<u32, f64> {
    let mut numbers = HashMap::new();
    let mut edge = 0;
    for (node, (&kind, &count)) in graph.kind.iter().zip(&graph.edge_count).enumerate() {
        let edges = edge..edge + count as usize;
        edge = edges.end;
        if meta.node_kinds[kind as usize] != NodeKind::Number {
            continue;
        }
        for edge in edges {
            if Start::of(graph.edge_kind[edge]) == Start::Slot
                && slots.name(graph.edge_name[edge], &graph.strings) == "value"
                && let text = graph.name[graph.edge_to[edge] as usize]
                && let Ok(number) = graph.strings.str(text).parse()
            {
                numbers.insert(node as u32, number);
            }
        }
    }
    numbers
}

/// The objects that have the names of nodes for text.
struct Captions {
    /// By string, the first string node of that text.
    node_of: Vec<u32>,
    /// Strings that have no node, in the order of their objects, and the places of those by string.
    made: Vec<u32>,
    made_at: HashMap<u32, u32>,
}

impl Captions {
    fn of(graph: &Graph, meta: &Meta) -> Self {
        let mut node_of = vec![NO_NODE; graph.strings.len()];
        for (node, (&kind, &name)) in graph.kind.iter().zip(&graph.name).enumerate() {
            let known = &mut node_of[name as usize];
            if *known == NO_NODE && meta.node_kinds[kind as usize] == NodeKind::String {
                *known = node as u32;
            }
        }
        Self {
            node_of,
            made: Vec::new(),
            made_at: HashMap::new(),
        }
    }
}

struct Builder {
    graph: Graph,
    classes: Classes,
    roots: Roots,
    pairs: Pairs,
    slots: Slots,
    object_of: Vec<u32>,
    captions: Captions,
    numbers: HashMap<u32, f64>,
    joined: Joined,
    budget: Budget,
    columns: Columns,
    infos: Vec<Info>,
    values: bool,
    /// How many bytes a reference takes, where that is known.
    pointer_bytes: Option<u32>,
    /// Strong edges that have no place, and strings whose text has none.
    unplaced: usize,
    untold: usize,
    /// Strings that stand for names that are not known.
    unknown: HashSet<u32>,
    /// What the file says of the heap as a whole.
    notes: Vec<String>,
}

/// What is known of a class when its objects are made.
#[derive(Clone, Copy, Default)]
struct Info {
    fields: u32,
    /// The field for the name.
    caption: Option<u32>,
    sort: Option<Sort>,
}

impl Builder {
    /// Makes the classes. Which of them are arrays is known when their objects are made.
    fn make_classes(&mut self) -> Result<(), String> {
        for (at, name) in [DETACHED, SYSTEM].into_iter().enumerate() {
            self.columns.classes.push(ClassInfo {
                is_interface: true,
                ..class(at as u32, name)
            });
        }
        for (at, draft) in self.classes.list.iter().enumerate() {
            let mut info = class(at as u32 + INTERFACES, &draft.name);
            let of = draft.attached.unwrap_or(at as u32);
            let is_captioned = draft.is_captioned || self.classes.list[of as usize].is_captioned;
            let mut own = OwnNames::default();
            // Not a property that has the name, too.
            let caption = is_captioned.then(|| own.take(CAPTION.into()));
            let names = self.slots.field_names(of, &self.graph.strings, &mut own);
            let of_class = &self.slots.fields[of as usize];
            let mut add = |name: String, kind| {
                let offset = 8 + 8 * info.fields.len() as u32;
                info.fields.push(FieldInfo { name, offset, kind });
                info.fields.len() as u32 - 1
            };
            let mut bytes = draft.name.len();
            for (name, &slot) in names.into_iter().zip(of_class) {
                bytes += size_of::<FieldInfo>() + name.len();
                let kind = match self.slots.list[slot as usize].is_weak {
                    true => FieldKind::Weak,
                    false => FieldKind::Opt,
                };
                add(name, kind);
            }
            let caption = caption.map(|name| add(name, FieldKind::Weak));
            if draft.sort == Sort::Number && !self.numbers.is_empty() {
                add(own.take("number".into()), FieldKind::Plain(PlainKind::F64));
            }
            if !self.budget.spend(bytes) {
                return Err("names and fields take too much memory in all".into());
            }
            info.caption = caption;
            info.elements = match draft.sort {
                sort if sort.is_text() => Some(Elements::Text),
                Sort::Array => Some(Elements::Refs),
                _ if draft.name == BUFFER_DATA => Some(Elements::Plain(PlainKind::U8)),
                _ => None,
            };
            if let Some(attached) = draft.attached {
                info.superclass = Some(ClassId(attached + INTERFACES + 1));
            }
            if draft.is_detached {
                info.interfaces.push(ClassId(1));
            }
            if draft.is_system {
                info.interfaces.push(ClassId(2));
            }
            self.infos.push(Info {
                fields: info.fields.len() as u32,
                caption,
                sort: Some(draft.sort),
            });
            self.columns.classes.push(info);
        }
        Ok(())
    }

    fn add_nodes(&mut self) {
        let objects = self.graph.nodes() - self.roots.removed.len();
        self.columns.class_of.reserve(objects);
        self.columns.bytes_of.reserve(objects);
        self.columns.first_edge.reserve(objects + 1);
        self.columns.first_value.reserve(objects + 1);
        self.columns.numbers = Vec::with_capacity(objects);
        self.columns.targets.reserve(self.graph.edge_to.len());
        self.columns.steps.reserve(self.graph.edge_to.len());
        self.columns.values.reserve(self.graph.strings.bytes());
        let mut first_pair = 0;
        let mut edge = 0;
        let mut edges = Vec::new();
        for node in 0..self.graph.nodes() as u32 {
            let range = edge..edge + self.graph.edge_count[node as usize] as usize;
            edge = range.end;
            let start = first_pair;
            while self
                .pairs
                .list
                .get(first_pair)
                .is_some_and(|it| it.table == node)
            {
                first_pair += 1;
            }
            if self.object_of[node as usize] == NO_NODE {
                continue;
            }
            let class = self.classes.of[node as usize];
            self.add_object(node, class);
            let elements = self.place_edges(node, class, range, start..first_pair, &mut edges);
            self.add_length(node, class, elements);
            self.add_values(node, class);
        }
    }

    fn add_object(&mut self, node: u32, class: u32) {
        let bytes = match self.graph.size[node as usize] {
            u32::MAX => self.graph.huge[&node],
            bytes => bytes as u64,
        };
        let class = ClassId(class + INTERFACES + 1);
        self.columns
            .push_object(class, usize::try_from(bytes).unwrap_or(usize::MAX));
        self.columns.numbers.push(self.graph.id[node as usize]);
    }

    /// Adds the edges of the last object, in the order of their places. Returns how many elements it has at least.
    fn place_edges(
        &mut self,
        node: u32,
        class: u32,
        range: std::ops::Range<usize>,
        pairs: std::ops::Range<usize>,
        edges: &mut Vec<(u64, u32)>,
    ) -> u32 {
        let info = self.infos[class as usize];
        let fields = info.fields as u64;
        edges.clear();
        // Where what has no index of its own comes.
        let mut behind = fields;
        let mut homeless: Vec<u32> = Vec::new();
        for edge in range {
            let to = self.object_of[self.graph.edge_to[edge] as usize];
            let name = self.graph.edge_name[edge];
            match Start::of(self.graph.edge_kind[edge]) {
                Start::Element => {
                    let place = fields + name as u64;
                    behind = behind.max(place + 1);
                    edges.push((place, to));
                }
                Start::Slot => {
                    let slot = &self.slots.list[name as usize];
                    match slot.field {
                        Some(field) => edges.push((field as u64, to)),
                        None if slot.is_weak => self.slots.dropped += 1,
                        None => homeless.push(to),
                    }
                }
                Start::Behind => homeless.push(to),
                Start::Nowhere => {}
            }
        }
        if let Some(field) = info.caption
            && let Some(to) = self.caption(node)
        {
            edges.push((field as u64, to));
        }
        if !edges.is_sorted() {
            edges.sort_by_key(|it| it.0);
        }
        // Two elements of one index: V8 writes an object's own and those of its store.
        if edges.windows(2).any(|two| two[0].0 == two[1].0) {
            let mut last = None;
            edges.retain(|&(place, to)| {
                let is_new = last != Some(place);
                last = Some(place);
                if !is_new {
                    homeless.push(to);
                }
                is_new
            });
        }
        let first_pair = self.first_pair();
        homeless.extend(pairs.map(|pair| first_pair + pair as u32));
        if !homeless.is_empty() {
            let of_text = info.sort.is_some_and(Sort::is_text);
            let room = match of_text {
                true => 0,
                false => (u32::MAX as u64 + 1).saturating_sub(behind),
            };
            let fit = homeless
                .len()
                .min(usize::try_from(room).unwrap_or(usize::MAX));
            self.unplaced += homeless.len() - fit;
            edges.extend((behind..).zip(homeless.into_iter().take(fit)));
        }
        let mut last = 0;
        let mut has_elements = false;
        for &(place, to) in edges.iter() {
            let Ok(at) = u32::try_from(place) else {
                self.unplaced += 1;
                continue;
            };
            has_elements |= place >= fields;
            self.columns.push_edge(at - last, to);
            last = at;
        }
        if has_elements {
            self.columns.classes[(class + INTERFACES) as usize].elements = Some(Elements::Refs);
            return (last - info.fields).saturating_add(1);
        }
        0
    }

    /// Says how many elements the last object has, if it is an array of V8's own, whose size tells, or
    /// the bytes of a buffer.
    fn add_length(&mut self, node: u32, class: u32, elements: u32) {
        let bytes = self.graph.size[node as usize];
        let info = &self.columns.classes[(class + INTERFACES) as usize];
        let length = match (info.elements, self.pointer_bytes) {
            (Some(Elements::Refs), Some(width))
                if self.infos[class as usize].sort == Some(Sort::Array) =>
            {
                (bytes.saturating_sub(2 * width) / width).max(elements)
            }
            (Some(Elements::Plain(PlainKind::U8)), _) => bytes,
            _ => return,
        };
        let object = self.columns.class_of.len() as u32 - 1;
        self.columns.lengths.push((object, length));
    }

    /// The first object that is made for a name.
    fn first_name(&self) -> u32 {
        (self.graph.nodes() - self.roots.removed.len()) as u32
    }

    /// The first object that is made for a pair: behind the names and what holds them.
    fn first_pair(&self) -> u32 {
        let names = self.captions.made.len() as u32;
        self.first_name() + names + u32::from(names > 0)
    }

    /// Finds the names that no string node has.
    fn find_names(&mut self) {
        for (node, &class) in self.classes.of.iter().enumerate() {
            if self.object_of[node] == NO_NODE || self.infos[class as usize].caption.is_none() {
                continue;
            }
            let (name, captions) = (self.graph.name[node], &mut self.captions);
            let is_node = captions.node_of[name as usize] != NO_NODE;
            if is_node || self.graph.strings.get(name).is_empty() {
                continue;
            }
            captions.made_at.entry(name).or_insert_with(|| {
                captions.made.push(name);
                captions.made.len() as u32 - 1
            });
        }
    }

    /// Whether the name of a node is not known.
    fn is_unknown(&self, node: u32) -> bool {
        !self.unknown.is_empty() && self.unknown.contains(&self.graph.name[node as usize])
    }

    /// The object with the name of a node.
    fn caption(&self, node: u32) -> Option<u32> {
        let name = self.graph.name[node as usize];
        if self.graph.strings.get(name).is_empty() {
            return None;
        }
        if let Some(&object) = self
            .object_of
            .get(self.captions.node_of[name as usize] as usize)
        {
            return Some(object);
        }
        let made = self.captions.made_at.get(&name);
        made.map(|at| self.first_name() + at)
    }

    /// Adds the text of a string, or the value of a number.
    fn add_values(&mut self, node: u32, class: u32) {
        let start = self.columns.values.len() as u64;
        self.columns.first_value.push(start);
        match self.infos[class as usize].sort {
            Some(Sort::String) if self.values && !self.is_unknown(node) => {
                let bytes = self.columns.bytes_of.last().copied().unwrap_or(0);
                self.add_text(self.graph.name[node as usize], class, bytes as usize);
            }
            Some(Sort::ConsString) if self.values => {
                if let Some(text) = self.joined.take(node) {
                    self.add_joined(&text, class);
                }
            }
            Some(Sort::Number) if self.values => {
                if let Some(number) = self.numbers.get(&node) {
                    let info = &self.columns.classes[(class + INTERFACES) as usize];
                    let bits = |_| Some(number.to_bits());
                    encode_values(info, bits, None, &mut self.columns.values);
                }
            }
            _ => {}
        }
    }

    fn add_text(&mut self, string: u32, class: u32, bytes: usize) {
        let text = self.graph.strings.get(string);
        if !self.budget.spend(text.len()) {
            self.untold += 1;
            return;
        }
        let info = &self.columns.classes[(class + INTERFACES) as usize];
        encode_values(info, |_| None, Some(text), &mut self.columns.values);
        if let Err(length) = is_whole(self.graph.strings.str(string), bytes) {
            let object = self.columns.class_of.len() as u32 - 1;
            self.columns.lengths.push((object, length));
        }
    }

    /// Adds the text of the last object, which consists of others.
    fn add_joined(&mut self, text: &Text, class: u32) {
        let info = &self.columns.classes[(class + INTERFACES) as usize];
        let bytes = text.start.as_bytes();
        encode_values(info, |_| None, Some(bytes), &mut self.columns.values);
        if !text.is_whole {
            let object = self.columns.class_of.len() as u32 - 1;
            self.columns.lengths.push((object, bytes.len() as u32 + 1));
        }
    }

    /// Adds an object that is no node.
    fn add_made(&mut self, class: u32, number: &mut u64) {
        let class = ClassId(class);
        self.columns.push_object(class, 0);
        self.columns.numbers.push(*number);
        *number += 1;
        let start = self.columns.values.len() as u64;
        self.columns.first_value.push(start);
    }

    /// A class that V8 has no nodes of.
    fn add_class(&mut self, name: &str) -> u32 {
        let is_there = |name: &str| self.columns.classes.iter().any(|it| it.name == name);
        let mut own = name.to_string();
        let mut nth = 2;
        while is_there(&own) {
            own = format!("{name}~{nth}");
            nth += 1;
        }
        let id = self.columns.classes.len() as u32;
        self.columns.classes.push(class(id, &own));
        id + 1
    }

    fn first_number(&self) -> u64 {
        let most = self.columns.numbers.iter().copied().max().unwrap_or(0);
        most.saturating_add(1)
    }
}

/// A class without fields.
fn class(at: u32, name: &str) -> ClassInfo {
    ClassInfo {
        id: ClassId(at + 1),
        name: name.into(),
        superclass: None,
        interfaces: Vec::new(),
        is_interface: false,
        fields: Vec::new(),
        elements: None,
        caption: None,
    }
}

impl Builder {
    /// Adds the pairs of weak maps.
    fn add_pairs(&mut self) {
        if self.pairs.list.is_empty() {
            return;
        }
        let class = self.add_class(PAIR);
        let info = &mut self.columns.classes[class as usize - 1];
        for (at, (name, kind)) in [("key", FieldKind::Weak), ("value", FieldKind::Dependent)]
            .into_iter()
            .enumerate()
        {
            info.fields.push(FieldInfo {
                name: name.into(),
                offset: 8 + 8 * at as u32,
                kind,
            });
        }
        let mut number = self.first_number();
        for pair in std::mem::take(&mut self.pairs.list) {
            self.add_made(class, &mut number);
            let object = |node: u32| self.object_of[node as usize];
            let (key, value) = (object(pair.key), object(pair.value));
            self.columns.push_edge(0, key);
            self.columns.push_edge(1, value);
        }
    }

    /// Adds the names that no string node has, and what holds them.
    fn add_names(&mut self) {
        let made = std::mem::take(&mut self.captions.made);
        if made.is_empty() {
            return;
        }
        let strings = self.classes.list.iter();
        let strings = strings.clone().position(|it| it.sort == Sort::String);
        let class = match strings {
            Some(class) => class as u32,
            None => {
                let class = self.add_class("(string)");
                self.columns.classes[class as usize - 1].elements = Some(Elements::Text);
                class - INTERFACES - 1
            }
        };
        let mut number = self.first_number();
        let first = self.columns.class_of.len() as u32;
        for &string in &made {
            self.add_made(class + INTERFACES + 1, &mut number);
            // What is not known is a string without text, and not null.
            if !self.unknown.contains(&string) {
                self.add_text(string, class, 0);
            }
        }
        let holder = self.add_class(NAMES);
        self.columns.classes[holder as usize - 1].elements = Some(Elements::Refs);
        self.add_made(holder, &mut number);
        for at in 0..made.len() as u32 {
            self.columns.push_edge(u32::from(at > 0), first + at);
        }
        let holder = ObjectId(self.columns.class_of.len() as u32 - 1);
        let root = Root::new(RootKind::Other, NAMES);
        self.columns.roots.push((root, holder));
    }

    fn add_roots(&mut self) {
        let mut threads = BTreeSet::new();
        let mut known = HashSet::new();
        for (mut root, node) in std::mem::take(&mut self.roots.list) {
            let object = self.object_of[node as usize];
            if object == NO_NODE {
                continue;
            }
            // A thread has one object.
            if root.kind == RootKind::ThreadObject && !known.insert(root.name.clone()) {
                root.kind = RootKind::Other;
            }
            if matches!(root.kind, RootKind::ThreadStack | RootKind::ThreadObject) {
                threads.insert(root.name.clone());
            }
            self.columns.roots.push((root, ObjectId(object)));
        }
        self.columns.threads.extend(threads);
    }

    fn finish(mut self) -> Result<Snapshot, String> {
        let end = self.columns.values.len() as u64;
        self.columns.first_value.push(end);
        self.columns.notes = self.notes();
        self.columns.lacks.parts |= self.unplaced > 0;
        // The graph is not needed any more.
        let Self { columns, .. } = self;
        columns.finish().map_err(|malformed| malformed.0)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        for &(class, names) in &self.slots.crowded {
            let name = &self.classes.list[class as usize].name;
            let fields = self.slots.fields[class as usize].len();
            notes.push(format!(
                "`{name}` has objects with {names} names of properties in all; the {fields} that most objects use are \
                 fields, and what has another name is an element"
            ));
        }
        let mut say = |count: usize, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        say(
            self.slots.dropped,
            "weak edges have no place and are left out",
        );
        say(self.unplaced, "edges have no place and are left out");
        say(
            self.untold,
            "strings are left without their text, which takes too much memory",
        );
        notes
    }
}
