//! The fields of classes: the union of the names that their objects use.
//!
//! Objects of one constructor may have different properties. Where one has very many names, because its objects are
//! used as maps, the names that most objects use are fields, and what has another name is an element behind the others.
//!
//! A name that occurs twice in an object, or as a property and for V8's own purposes, is a field each: `elements`
//! and `elements~2`.

use foldhash::HashMap;

use super::classes::{Classes, OwnNames, Sort};
use super::graph::{Graph, Strings};
use super::meta::{EdgeKind, Meta};
use super::pairs::Pairs;
use super::roots::Roots;

/// How many names a class has for fields.
const MOST_FIELDS: usize = 1 << 14;
/// How often one name may occur in an object.
const MOST_TIMES: u8 = 4;
/// A string that is no number below 2³¹.
const NO_NUMBER: u32 = u32::MAX;
/// The name of what has none.
const NAMELESS: u32 = u32::MAX;
const NO_OBJECT: u32 = u32::MAX;

/// Where in its object an edge starts. Those of a graph are found by [`Slots::find`], which puts them into its columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Start {
    /// At an element, by its index.
    Element,
    /// Behind the elements.
    Behind,
    /// At a slot, by its number among all.
    Slot,
    /// It is not an edge of the heap.
    Nowhere,
}

impl Start {
    pub fn of(byte: u8) -> Self {
        [Self::Element, Self::Behind, Self::Slot, Self::Nowhere][byte as usize & 3]
    }
}

/// In which order the fields of a class come. Paths take the first of several slots, so that the ways that a
/// programmer knows come before V8's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rank {
    Property,
    Internal,
    Weak,
    Prototype,
    Map,
}

/// A name that objects of a class use.
#[derive(Debug)]
pub struct Slot {
    pub class: u32,
    pub rank: Rank,
    pub is_weak: bool,
    name: u32,
    uses: u32,
    /// Its place among the fields of its class, if it is one.
    pub field: Option<u32>,
}

/// The slots of all classes.
pub struct Slots {
    pub list: Vec<Slot>,
    /// By class, in the order of fields.
    pub fields: Vec<Vec<u32>>,
    /// Classes that have more names than fields, and how many names those are.
    pub crowded: Vec<(u32, usize)>,
    /// Edges that hold nothing and have no place.
    pub dropped: usize,
}

impl Slots {
    /// Finds the slots of all edges. Then an edge's kind is a [`Start`], and its name an index or a slot's number.
    pub fn find(
        graph: &mut Graph,
        meta: &Meta,
        classes: &Classes,
        pairs: &Pairs,
        roots: &Roots,
    ) -> Self {
        let names = Names::of(graph, meta);
        let mut finder = Finder {
            names,
            by_key: HashMap::default(),
            recent: vec![(Key::default(), 0); RECENT],
            list: Vec::new(),
            last: Vec::new(),
            dropped: 0,
        };
        let mut edge = 0;
        let mut of_pairs = pairs.edges.iter().copied().peekable();
        let mut removed = roots.removed.iter().copied().peekable();
        let nulls = &roots.nulls;
        let last_null = nulls.last().copied().unwrap_or(0);
        for node in 0..graph.nodes() {
            let edges = edge..edge + graph.edge_count[node] as usize;
            edge = edges.end;
            if removed.next_if_eq(&(node as u32)).is_some() {
                while of_pairs.next_if(|it| *it < edge).is_some() {}
                graph.edge_kind[edges].fill(Start::Nowhere as u8);
                continue;
            }
            let class = classes.fields_of(classes.of[node]);
            // The elements of a string are its text.
            let sort = classes.list[class as usize].sort;
            let is_text = sort.is_text();
            // V8 has weak edges to keys and values as well, which tell no more than the pairs.
            let is_table = sort == Sort::Array && pairs.is_table(node as u32);
            for edge in edges {
                let kind = meta.edge_kinds[graph.edge_kind[edge] as usize];
                let name = graph.edge_name[edge];
                let (start, name) = match of_pairs.next_if_eq(&edge).is_some() {
                    true => (Start::Nowhere, 0),
                    false => finder.start(node as u32, class, kind, name, is_table),
                };
                let to = graph.edge_to[edge];
                let is_null = to <= last_null && nulls.contains(&to);
                let (start, name) = match start {
                    // Null is no object here.
                    _ if is_null && holds_value(kind, start) => (Start::Nowhere, 0),
                    Start::Element | Start::Behind if is_text => {
                        finder.slot(node as u32, class, NAMELESS, Rank::Internal, false)
                    }
                    _ => (start, name),
                };
                graph.edge_kind[edge] = start as u8;
                graph.edge_name[edge] = name;
            }
        }
        finder.finish(classes)
    }

    /// The name of a slot in the snapshot.
    pub fn name<'s>(&self, slot: u32, strings: &'s Strings) -> &'s str {
        match self.list[slot as usize].name {
            NAMELESS => "(hidden)",
            name => strings.str(name),
        }
    }

    /// What the fields of a class are called. Those that two slots share get a number.
    pub fn field_names(&self, class: u32, strings: &Strings, own: &mut OwnNames) -> Vec<String> {
        let fields = self.fields[class as usize].iter();
        let taken = fields.map(|&slot| own.take(self.name(slot, strings).into()));
        taken.collect()
    }
}

/// Whether an edge is from where a program keeps values, and not V8.
fn holds_value(kind: EdgeKind, start: Start) -> bool {
    matches!(kind, EdgeKind::Property | EdgeKind::Context) || start == Start::Element
}

/// What the strings that name edges mean.
struct Names {
    /// By string: the number that it is.
    numbers: Vec<u32>,
    map: Option<u32>,
    prototype: Option<u32>,
}

impl Names {
    fn of(graph: &Graph, meta: &Meta) -> Self {
        let strings = &graph.strings;
        let all = 0..strings.len() as u32;
        let find = |name: &[u8]| all.clone().find(|&it| strings.get(it) == name);
        // The prototype is held by the map. Without maps, nothing else holds it.
        let map = find(b"map").filter(|&map| {
            let mut edges = graph.edge_kind.iter().zip(&graph.edge_name);
            edges.any(|(&kind, &name)| {
                name == map && meta.edge_kinds[kind as usize] == EdgeKind::Internal
            })
        });
        Self {
            numbers: all.clone().map(|it| number(strings.get(it))).collect(),
            map,
            prototype: map.and_then(|_| find(b"__proto__")),
        }
    }
}

/// The number that a string is, as V8 writes one.
fn number(text: &[u8]) -> u32 {
    let is_number = match text {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.len() < 9 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    match is_number {
        true => text
            .iter()
            .fold(0, |it, digit| it * 10 + (digit - b'0') as u32),
        false => NO_NUMBER,
    }
}

/// What a slot is found by: a class, a name, whether it is a property, internal or weak, and which of several.
type Key = (u32, u32, u8);

/// How many slots are found without the table.
const RECENT: usize = 1 << 12;

struct Finder {
    names: Names,
    by_key: HashMap<Key, u32>,
    /// Some slots by a hash of their keys, with their numbers and one more.
    recent: Vec<(Key, u32)>,
    list: Vec<Slot>,
    /// By slot, the last object that had an edge there.
    last: Vec<u32>,
    dropped: usize,
}

impl Finder {
    /// Where an edge starts.
    #[inline]
    fn start(
        &mut self,
        node: u32,
        class: u32,
        kind: EdgeKind,
        name: u32,
        is_table: bool,
    ) -> (Start, u32) {
        let rank = match kind {
            EdgeKind::Element => return (Start::Element, name),
            EdgeKind::Hidden => return (Start::Behind, 0),
            EdgeKind::Internal => {
                if self.names.map == Some(name) {
                    return self.slot(node, class, name, Rank::Map, false);
                }
                // V8 writes the elements of its arrays so.
                let number = self.names.numbers[name as usize];
                if number != NO_NUMBER {
                    return (Start::Element, number);
                }
                Rank::Internal
            }
            EdgeKind::Weak if is_table && self.names.numbers[name as usize] != NO_NUMBER => {
                return (Start::Nowhere, 0);
            }
            EdgeKind::Weak | EdgeKind::Shortcut => {
                return self.slot(node, class, name, Rank::Weak, true);
            }
            EdgeKind::Property if self.names.prototype == Some(name) => {
                // V8 makes this one up: an object has its map, and that has the prototype.
                return self.slot(node, class, name, Rank::Prototype, true);
            }
            EdgeKind::Property | EdgeKind::Context => Rank::Property,
        };
        self.slot(node, class, name, rank, false)
    }

    /// The slot of that name of a class, and another one if the object has an edge there.
    #[inline]
    fn slot(
        &mut self,
        node: u32,
        class: u32,
        name: u32,
        rank: Rank,
        is_weak: bool,
    ) -> (Start, u32) {
        for time in 0..MOST_TIMES {
            let key = (class, name, rank as u8 * MOST_TIMES + time);
            let slot = self.number_of(key, rank, is_weak);
            let last = &mut self.last[slot as usize];
            if *last != node {
                *last = node;
                self.list[slot as usize].uses += 1;
                return (Start::Slot, slot);
            }
        }
        match is_weak || name == NAMELESS {
            true => {
                self.dropped += 1;
                (Start::Nowhere, 0)
            }
            false => (Start::Behind, 0),
        }
    }

    #[inline]
    fn number_of(&mut self, key: Key, rank: Rank, is_weak: bool) -> u32 {
        let hash = key.0.wrapping_mul(0x9e37_79b1) ^ key.1.wrapping_mul(0x85eb_ca6b);
        let hash = hash.wrapping_add(key.2 as u32);
        let recent = (hash ^ hash >> 15) as usize % RECENT;
        let (known, number) = self.recent[recent];
        if known == key && number > 0 {
            return number - 1;
        }
        let slot = *self.by_key.entry(key).or_insert_with(|| {
            self.last.push(NO_OBJECT);
            self.list.push(Slot {
                class: key.0,
                rank,
                is_weak,
                name: key.1,
                uses: 0,
                field: None,
            });
            self.list.len() as u32 - 1
        });
        self.recent[recent] = (key, slot + 1);
        slot
    }

    /// Decides which names are fields.
    fn finish(mut self, classes: &Classes) -> Slots {
        let mut fields: Vec<Vec<u32>> = vec![Vec::new(); classes.list.len()];
        for (at, slot) in self.list.iter().enumerate() {
            fields[slot.class as usize].push(at as u32);
        }
        let mut crowded = Vec::new();
        for (class, of_class) in fields.iter_mut().enumerate() {
            if of_class.len() > MOST_FIELDS {
                crowded.push((class as u32, of_class.len()));
                let uses = |slot: &u32| std::cmp::Reverse(self.list[*slot as usize].uses);
                of_class.sort_by_key(uses);
                of_class.truncate(MOST_FIELDS);
            }
            of_class.sort_unstable_by_key(|&slot| (self.list[slot as usize].rank, slot));
            for (field, &slot) in of_class.iter().enumerate() {
                self.list[slot as usize].field = Some(field as u32);
            }
        }
        Slots {
            list: self.list,
            fields,
            crowded,
            dropped: self.dropped,
        }
    }
}
