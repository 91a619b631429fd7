//! Backbones: the classes that recursive data structures are made of.
//!
//! A class is a backbone if its objects refer to objects of the same class: directly
//! (`Node.next`), or through one other class, an array or a part that belongs to them alone
//! (a B-tree's `Node.children`, which is a `Node[]`); or if objects of two classes refer to each other through
//! arrays (students to courses, and courses to students). Arrays that are elements of arrays are one, too.
//! All that is read off a summary.
//!
//! Other classes are *parts* of the structure, and belong to the same family:
//!
//! - those that a slot refers to as well as to the backbone: the leaves of a rope;
//! - those that the backbone refers to and that refer back, directly or through arrays: nodes of a graph
//!   whose edges are objects;
//! - those that only the family refers to: the items of a list, and the arrays in between.
//!
//! The degree of an object counts references inside its structure only: from backbones, and from
//! the arrays and parts that they go through.

use std::collections::{BTreeMap, BTreeSet};

use heaphound_heap::class::Elements;
use heaphound_heap::view::Place;
use heaphound_heap::{ClassId, ClassInfo, FieldKind};

use crate::slot::{SlotId, SlotIds};
use crate::summary::Summary;

/// A class that a recursive data structure is made of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Backbone {
    /// The class.
    pub class: ClassId,
    /// The class between one object of the backbone and the next, if there is one.
    pub through: Option<ClassId>,
    /// What the class is to its structure.
    pub role: Role,
    /// A class that all classes of one structure have in common: a backbone.
    pub family: ClassId,
}

/// What a class is to its structure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// The structure is recursive through it.
    Backbone,
    /// It belongs to the structure.
    Part,
    /// It is an array that belongs to the structure. Its elements count for whoever refers to it.
    Array,
}

/// Where a slot leads, as far as a summary has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Leads {
    /// Never to its own structure.
    #[default]
    Outside,
    /// Always to one class of its own structure, unless it is null.
    Inside(ClassId),
    /// To several classes.
    Mixed,
}

/// All backbones of a heap, and what a collector needs to know to count their degrees.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Backbones {
    /// Ordered by class.
    list: Vec<Backbone>,
    /// By class id: the place in `list`.
    rows: Vec<Option<u32>>,
    /// By slot: its class, if it may raise degrees.
    sources: Vec<Option<ClassId>>,
    /// Classes that raise the degrees of families, each with one of these.
    raising: Vec<(ClassId, ClassId)>,
    /// By slot of a class of the list, and of arrays of references.
    leads: Vec<Leads>,
    /// Classes of arrays of references that are looked at for the sake of who refers to them.
    arrays: Vec<ClassId>,
    /// By slot of a class of the list: whether it leads to arrays of references, and whether these are
    /// read.
    to_arrays: Vec<(bool, bool)>,
    /// Bytes of the elements of all arrays of references.
    array_bytes: u64,
    /// Classes of the list, each with two slots that are looked at together.
    beside: Vec<(ClassId, SlotId, SlotId)>,
}

impl Backbones {
    /// Returns the backbones that a summary shows.
    pub fn find(summary: &Summary, classes: &[ClassInfo], ids: &SlotIds) -> Self {
        let graph = Graph::new(summary, classes, ids);
        Self::new(graph.list(), summary, classes, ids)
    }

    fn new(list: Vec<Backbone>, summary: &Summary, classes: &[ClassInfo], ids: &SlotIds) -> Self {
        let mut all = Self {
            rows: vec![None; ids.classes() + 1],
            sources: vec![None; ids.end() as usize],
            raising: Vec::new(),
            leads: vec![Leads::Outside; ids.end() as usize],
            to_arrays: vec![(false, false); ids.end() as usize],
            array_bytes: 0,
            arrays: Vec::new(),
            beside: Vec::new(),
            list,
        };
        for (place, it) in all.list.iter().enumerate() {
            all.rows[it.class.0 as usize] = Some(place as u32);
        }
        for it in &all.list {
            let own = Some(it.class).filter(|_| it.role == Role::Backbone);
            for source in own.into_iter().chain(it.through) {
                all.raising.push((source, it.family));
                for slot in ids.of(source) {
                    all.sources[slot.0 as usize] = Some(source);
                }
            }
        }
        all.raising.sort_unstable();
        for place in 0..all.list.len() {
            let own = all.list[place];
            for slot in ids.of(own.class) {
                all.leads[slot.0 as usize] = all.leads_now(summary, slot, &own);
                all.to_arrays[slot.0 as usize] = reads_arrays(summary, classes, slot);
            }
        }
        let arrays = classes.iter().take(ids.classes()).map(|class| class.id);
        let is_looked_into = |it: &ClassId| is_array(classes, *it) && !all.looks_at(*it);
        all.arrays = arrays.filter(is_looked_into).collect();
        let arrays = summary.classes().filter(|it| is_array(classes, it.0));
        let bytes = arrays.map(|it| elements_bytes(it.1.volume_bytes, it.1.objects));
        all.array_bytes = bytes.fold(0, u64::saturating_add);
        for at in 0..all.arrays.len() {
            let slot = elements_of(ids, all.arrays[at]);
            all.leads[slot.0 as usize] = all.elements_lead(summary, slot);
        }
        let looked = all.list.iter().filter(|it| all.looks_at(it.class));
        all.beside = looked
            .flat_map(|own| all.beside_now(own, classes, ids))
            .collect();
        all
    }

    /// Adds those that a later summary shows, so that degrees that are counted with these
    /// backbones agree with more and more summaries. Those that disappear stay.
    pub fn learn(&mut self, now: &Self, summary: &Summary, classes: &[ClassInfo], ids: &SlotIds) {
        let mut list = now.list.clone();
        let gone = self.list.iter();
        let gone = gone.filter(|it| now.place(it.class).is_none() && !lives(summary, it));
        let raises = |it: &Backbone| it.through.map(|through| (through, it.family));
        list.extend(gone.filter(|it| raises(it).is_none_or(|it| now.may_raise(it, summary))));
        list.sort_unstable();
        let before = std::mem::replace(self, Self::new(list, summary, classes, ids));
        for it in &self.list {
            let known = before.place(it.class).map(|place| before.list[place]);
            if known != Some(*it) {
                continue;
            }
            for slot in ids.of(it.class) {
                let lead = &mut self.leads[slot.0 as usize];
                *lead = both(before.leads(slot), *lead, summary.edges_of(slot).is_empty());
                let arrays = &mut self.to_arrays[slot.0 as usize];
                if !arrays.0 {
                    *arrays = before.to_arrays[slot.0 as usize];
                }
            }
        }
        for &array in &self.arrays {
            let slot = elements_of(ids, array);
            let lead = &mut self.leads[slot.0 as usize];
            *lead = both(before.leads(slot), *lead, summary.edges_of(slot).is_empty());
        }
        let beside = before.beside.into_iter();
        let list = &self.list;
        let stays = |it: &(ClassId, SlotId, SlotId)| list.iter().any(|own| own.class == it.0);
        self.beside.extend(beside.filter(stays));
        self.beside.sort_unstable();
        self.beside.dedup();
    }

    /// Returns whether what was counted with these is exact for a summary whose backbones are
    /// `now`: all that lives is in both, and slots lead where they did.
    pub fn cover(&self, now: &Self, summary: &Summary, ids: &SlotIds) -> bool {
        let known = |it: &Backbone| self.list.binary_search(it).is_ok();
        let stays = |it: &Backbone| now.list.binary_search(it).is_ok() || !lives(summary, it);
        let is_looked_at = |it| self.beside.binary_search(it).is_ok();
        now.list.iter().all(known)
            && now.beside.iter().all(is_looked_at)
            && self.list.iter().all(stays)
            && self.raising.iter().all(|&it| now.may_raise(it, summary))
            && now
                .list
                .iter()
                .all(|it| self.agrees(it.class, now, summary, ids))
            && now
                .arrays
                .iter()
                .all(|&it| self.agrees(it, now, summary, ids))
    }

    /// Returns all of them, in the order of their classes.
    pub fn list(&self) -> &[Backbone] {
        &self.list
    }

    /// Returns the place in the list of a class.
    #[inline]
    pub fn place(&self, class: ClassId) -> Option<usize> {
        let row = self.rows.get(class.0 as usize).copied().flatten();
        row.map(|place| place as usize)
    }

    /// Returns the place in the list of a class, if it is of that family.
    #[inline]
    pub fn place_in(&self, family: ClassId, class: ClassId) -> Option<usize> {
        let place = self.place(class)?;
        (self.list[place].family == family).then_some(place)
    }

    /// Returns the place in the list of a class that is not an array, if it is of that family.
    #[inline]
    pub fn relative(&self, family: ClassId, class: ClassId) -> Option<usize> {
        let place = self.place_in(family, class)?;
        (self.list[place].role != Role::Array).then_some(place)
    }

    /// Returns the place of the backbone whose degree an edge from a slot to an object of that
    /// class raises, if it does.
    #[inline]
    pub fn raises(&self, slot: SlotId, to: ClassId) -> Option<usize> {
        let source = self.sources.get(slot.0 as usize).copied().flatten()?;
        let place = self.place(to)?;
        let raises = (source, self.list[place].family);
        self.raising.binary_search(&raises).is_ok().then_some(place)
    }

    /// Returns whether a reference from an object of a family to an object of a class counts
    /// among its outgoing ones.
    #[inline]
    pub fn is_outgoing(&self, from: &Backbone, to: ClassId) -> bool {
        let inside = self.place_in(from.family, to);
        let inside = inside.is_some_and(|place| self.list[place].role == Role::Backbone);
        inside || from.through == Some(to)
    }

    /// Returns whether the slots of a class are looked at for its own sake.
    pub fn looks_at(&self, class: ClassId) -> bool {
        let place = self.place(class);
        place.is_some_and(|place| self.list[place].role != Role::Array)
    }

    /// Returns where a slot of a class of the list has led so far. Those that lead inside are
    /// counted when they are read, before their targets are known. A collector that did so checks
    /// [`Backbones::cover`] at the end.
    #[inline]
    pub fn leads(&self, slot: SlotId) -> Leads {
        let found = self.leads.get(slot.0 as usize);
        found.copied().unwrap_or_default()
    }

    /// Returns whether the elements of arrays that a slot of a class of the list refers to are read as
    /// its own.
    #[inline]
    pub fn reads_arrays(&self, slot: SlotId) -> bool {
        self.to_arrays.get(slot.0 as usize).is_some_and(|it| it.1)
    }

    /// Returns whether a slot of a class of the list leads to arrays that so many refer to that they are
    /// not read.
    pub fn leaves_arrays(&self, slot: SlotId) -> bool {
        let arrays = self.to_arrays.get(slot.0 as usize);
        arrays.is_some_and(|&(leads, reads)| leads && !reads)
    }

    /// Returns the pairs of slots of a class of the list that are looked at together, each with the class.
    #[inline]
    pub fn beside(&self, class: ClassId) -> &[(ClassId, SlotId, SlotId)] {
        let start = self.beside.partition_point(|it| it.0 < class);
        let count = self.beside[start..].partition_point(|it| it.0 == class);
        &self.beside[start..start + count]
    }

    /// Returns how many elements of arrays may be read before it is clear that the heap is no longer
    /// what these backbones say.
    pub fn most_elements(&self) -> u64 {
        const LEAST: u64 = 1 << 20;
        let slots = self.to_arrays.iter().filter(|it| it.1).count() as u64;
        LEAST + slots.saturating_mul(self.array_bytes)
    }

    /// Returns whether it changes nothing that a class raises the degrees of a family: it does so anyhow, or has
    /// no objects. What once lay between objects that are gone may live on, as the part of another class.
    fn may_raise(&self, raising: (ClassId, ClassId), summary: &Summary) -> bool {
        self.raising.binary_search(&raising).is_ok() || summary.class(raising.0).objects == 0
    }

    fn agrees(&self, class: ClassId, now: &Self, summary: &Summary, ids: &SlotIds) -> bool {
        ids.of(class).all(|slot| {
            let arrays = now.to_arrays[slot.0 as usize];
            let known = self.to_arrays.get(slot.0 as usize).copied();
            let arrays = !arrays.0 || Some(arrays) == known;
            let before = self.leads(slot);
            let empty = summary.edges_of(slot).is_empty();
            arrays && (empty || before == Leads::Mixed || before == now.leads(slot))
        })
    }

    fn leads_now(&self, summary: &Summary, slot: SlotId, own: &Backbone) -> Leads {
        let inside = |class: ClassId| self.relative(own.family, class).is_some();
        let edges = summary.edges_of(slot);
        if edges.iter().any(|edge| Some(edge.to) == own.through) {
            return Leads::Mixed;
        }
        match edges {
            edges if !edges.iter().any(|edge| inside(edge.to)) => Leads::Outside,
            [edge] => Leads::Inside(edge.to),
            _ => Leads::Mixed,
        }
    }

    /// Returns the pairs of slots of a class that are looked at together: those that lead inside. Two that lead to
    /// the class itself say nothing without a third, in lists and binary trees, and of many there are too many
    /// pairs.
    fn beside_now(
        &self,
        own: &Backbone,
        classes: &[ClassInfo],
        ids: &SlotIds,
    ) -> Vec<(ClassId, SlotId, SlotId)> {
        const MOST_SLOTS: usize = 5;
        let fields = &classes[own.class.0 as usize - 1].fields;
        let slots = (0..).zip(fields);
        let slots =
            slots.filter(|(_, field)| matches!(field.kind, FieldKind::Ref | FieldKind::Opt));
        let slots = slots.map(|(at, _)| ids.at(own.class, Place::Field(at)));
        let inside: Vec<SlotId> = slots
            .filter(|&slot| self.leads(slot) != Leads::Outside)
            .collect();
        let is_own = |slot: &SlotId| self.leads(*slot) == Leads::Inside(own.class);
        if inside.len() > MOST_SLOTS || inside.len() == 2 && inside.iter().all(is_own) {
            return Vec::new();
        }
        let mut pairs = Vec::new();
        for (at, &a) in inside.iter().enumerate() {
            pairs.extend(inside[at + 1..].iter().map(|&b| (own.class, a, b)));
        }
        pairs
    }

    /// Returns where the elements of an array lead, whosever it is.
    fn elements_lead(&self, summary: &Summary, slot: SlotId) -> Leads {
        match summary.edges_of(slot) {
            edges if !edges.iter().any(|edge| self.looks_at(edge.to)) => Leads::Outside,
            [edge] => Leads::Inside(edge.to),
            _ => Leads::Mixed,
        }
    }
}

/// Returns where a slot leads that led somewhere before and leads somewhere now.
fn both(before: Leads, now: Leads, is_empty: bool) -> Leads {
    match (before, now) {
        (before, _) if is_empty => before,
        (Leads::Inside(a), Leads::Inside(b)) if a == b => Leads::Inside(a),
        (Leads::Outside, now) => now,
        _ => Leads::Mixed,
    }
}

fn elements_of(ids: &SlotIds, class: ClassId) -> SlotId {
    ids.at(class, Place::Element(0))
}

fn lives(summary: &Summary, it: &Backbone) -> bool {
    summary.class(it.class).objects > 0
}

fn is_array(classes: &[ClassInfo], class: ClassId) -> bool {
    classes[class.0 as usize - 1].elements == Some(Elements::Refs)
}

/// Returns whether a slot leads to arrays of references, and whether these are read for it: not if so many
/// refer to the same ones that reading them again for each would take long.
pub(super) fn reads_arrays(summary: &Summary, classes: &[ClassInfo], slot: SlotId) -> (bool, bool) {
    let edges = summary.edges_of(slot).iter();
    let mut arrays = edges.filter(|edge| is_array(classes, edge.to)).peekable();
    let leads = arrays.peek().is_some();
    let reads = arrays.all(|edge| {
        let all = summary.class(edge.to);
        let to_read = elements_bytes(edge.volume_bytes, edge.references);
        to_read <= MOST_READ * elements_bytes(all.volume_bytes, all.objects)
    });
    (leads, leads && reads)
}

/// Arrays are read so often on average, at most.
const MOST_READ: u64 = 2;

/// Returns the bytes of the elements of so many arrays. Who shares empty ones reads nothing.
fn elements_bytes(volume_bytes: u64, arrays: u64) -> u64 {
    const HEADER_BYTES: u64 = 16;
    volume_bytes.saturating_sub(HEADER_BYTES.saturating_mul(arrays))
}

/// The classes of a heap and the edges between them.
struct Graph<'s> {
    summary: &'s Summary,
    classes: &'s [ClassInfo],
    ids: &'s SlotIds,
    /// By the class that is referred to, then by the other: how many references.
    points_from: Vec<(ClassId, ClassId, u64)>,
}

/// Families as they are found.
#[derive(Default)]
struct Families {
    /// The backbones, with the class that each goes through.
    backbones: Vec<(ClassId, Option<ClassId>)>,
    /// All classes, with the backbone whose family they are of.
    members: BTreeMap<ClassId, ClassId>,
    /// Arrays of arrays.
    tables: Vec<ClassId>,
}

impl Families {
    /// Makes a class a member of a family, and its own family a part of it.
    fn join(&mut self, class: ClassId, family: ClassId) {
        let old = *self.members.entry(class).or_insert(family);
        if old != family {
            let both = old.min(family);
            let own = self.members.values_mut();
            own.filter(|it| **it == old || **it == family)
                .for_each(|it| *it = both);
        }
    }
}

impl<'s> Graph<'s> {
    fn new(summary: &'s Summary, classes: &'s [ClassInfo], ids: &'s SlotIds) -> Self {
        let edges = summary.points_from(ids).into_iter();
        Self {
            summary,
            classes,
            ids,
            points_from: edges.map(|it| (it.class, it.from, it.references)).collect(),
        }
    }

    fn info(&self, class: ClassId) -> &ClassInfo {
        &self.classes[class.0 as usize - 1]
    }

    fn is_array(&self, class: ClassId) -> bool {
        is_array(self.classes, class)
    }

    /// Returns how many references to a class another class has.
    fn edge(&self, class: ClassId, from: ClassId) -> Option<u64> {
        let key = (class, from);
        let found = self
            .points_from
            .binary_search_by_key(&key, |it| (it.0, it.1));
        found.ok().map(|at| self.points_from[at].2)
    }

    /// Returns the classes that refer to a class, and how often.
    fn holders(&self, class: ClassId) -> impl Iterator<Item = (ClassId, u64)> + '_ {
        let start = self.points_from.partition_point(|it| it.0 < class);
        let edges = self.points_from[start..].iter();
        let edges = edges.take_while(move |it| it.0 == class);
        edges.map(|it| (it.1, it.2))
    }

    /// Returns the classes that a class refers to.
    fn targets(&self, class: ClassId) -> BTreeSet<ClassId> {
        let slots = self.ids.of(class);
        let edges = slots.flat_map(|slot| self.summary.edges_of(slot));
        edges.map(|edge| edge.to).collect()
    }

    /// Returns the classes that a class refers to, directly or through an array.
    fn refers(&self, class: ClassId) -> BTreeSet<ClassId> {
        let direct = self.targets(class);
        let arrays = direct.iter().filter(|&&it| self.is_array(it));
        let further: BTreeSet<ClassId> = arrays.flat_map(|&it| self.targets(it)).collect();
        direct.into_iter().chain(further).collect()
    }

    /// Returns whether each object of `part` belongs to one object of `whole`, and to no other.
    fn belongs(&self, part: ClassId, whole: ClassId) -> bool {
        let objects = self.summary.class(part).objects;
        let all: u64 = self.holders(part).map(|it| it.1).sum();
        self.edge(part, whole) == Some(objects) && all == objects
    }

    /// Returns the class that a class goes through to objects of its own.
    fn goes_through(&self, class: ClassId) -> Option<ClassId> {
        let mut between = self.holders(class).map(|it| it.0).filter(|&part| {
            let back = part != class && self.edge(part, class).is_some();
            let array = self.info(part).elements.is_some();
            // Of two that belong to each other, the one whose name comes first.
            let part_of = self.edge(class, class).is_none()
                && self.belongs(part, class)
                && (!self.belongs(class, part) || self.info(class).name < self.info(part).name);
            back && self.edge(part, part).is_none() && (array || part_of)
        });
        between.next().or_else(|| self.goes_around(class))
    }

    /// Returns the arrays that a class goes through to objects of another class that refer to objects of this one, if
    /// they also do so through arrays: students know their courses, and courses their students.
    fn goes_around(&self, class: ClassId) -> Option<ClassId> {
        let arrays = |class| {
            let targets = self.targets(class).into_iter();
            targets.filter(|&it| self.is_array(it))
        };
        let leads_back = |&array: &ClassId| {
            let others = self.targets(array).into_iter();
            let mut others = others.filter(|&it| it != class && self.info(it).elements.is_none());
            others.any(|other| arrays(other).any(|it| self.targets(it).contains(&class)))
        };
        arrays(class).find(leads_back)
    }

    fn list(&self) -> Vec<Backbone> {
        let mut families = Families::default();
        for (class, _) in self.summary.classes() {
            let through = match self.info(class).elements {
                None => self.goes_through(class),
                Some(_) => None,
            };
            // Rows of a table.
            let row = self.is_array(class) && self.holders(class).any(|it| self.is_array(it.0));
            if through.is_some() || row || self.edge(class, class).is_some() {
                families.backbones.push((class, through));
                families.members.insert(class, class);
            }
        }
        self.add_tables(&mut families);
        self.add_relatives(&mut families);
        self.add_contents(&mut families);
        let backbone = |(&class, &family): (&ClassId, &ClassId)| {
            let own = families.backbones.binary_search_by_key(&class, |it| it.0);
            let own = own.ok().map(|at| families.backbones[at]);
            Backbone {
                class,
                through: own.and_then(|it| it.1),
                role: match own {
                    Some(_) => Role::Backbone,
                    None if self.is_array(class) && !families.tables.contains(&class) => {
                        Role::Array
                    }
                    None => Role::Part,
                },
                family,
            }
        };
        families.members.iter().map(backbone).collect()
    }

    /// Adds arrays that have arrays for elements.
    fn add_tables(&self, families: &mut Families) {
        for (class, _) in families.backbones.clone() {
            let tables = self.holders(class).map(|it| it.0);
            let tables = tables.filter(|&it| self.is_array(it) && self.is_array(class));
            for table in tables.collect::<Vec<_>>() {
                families.join(table, families.members[&class]);
                families.tables.push(table);
            }
        }
    }

    /// Adds what a slot refers to as well as to a backbone, and what refers back.
    fn add_relatives(&self, families: &mut Families) {
        for (class, through) in families.backbones.clone() {
            for source in [Some(class), through].into_iter().flatten() {
                for slot in self.ids.of(source) {
                    let edges = self.summary.edges_of(slot);
                    let found = edges.iter().map(|edge| edge.to);
                    let found = found.filter(|&it| self.info(it).elements.is_none());
                    let found: Vec<ClassId> = found.collect();
                    if found.contains(&class) {
                        let family = families.members[&class];
                        found.iter().for_each(|&it| families.join(it, family));
                    }
                }
            }
            for other in self.refers(class) {
                let ordinary = self.info(other).elements.is_none() && other != class;
                // What it goes through belongs to it, and is counted as such.
                if ordinary && through != Some(other) && self.refers(other).contains(&class) {
                    families.join(other, families.members[&class]);
                }
            }
        }
    }

    /// Adds what only a family refers to, directly or through arrays that only it refers to.
    fn add_contents(&self, families: &mut Families) {
        let members = families.members.clone();
        let of = |class: ClassId| members.get(&class).copied();
        let owner = |class: ClassId, of: &dyn Fn(ClassId) -> Option<ClassId>| {
            let mut owners = self.holders(class).map(|it| of(it.0));
            let first = owners.next().flatten()?;
            owners.all(|it| it == Some(first)).then_some(first)
        };
        let array_owner = |class: ClassId| {
            of(class).or_else(|| {
                let array = self.is_array(class);
                array.then(|| owner(class, &of)).flatten()
            })
        };
        let between: BTreeSet<ClassId> = families.backbones.iter().filter_map(|it| it.1).collect();
        for (class, _) in self.summary.classes() {
            if of(class).is_some() {
                continue;
            }
            if self.is_array(class) {
                let family = owner(class, &of);
                families
                    .members
                    .extend(family.map(|family| (class, family)));
                continue;
            }
            let times: u64 = self.holders(class).map(|it| it.1).sum();
            // What all have in common belongs to none of them.
            let is_own = times <= 2 * self.summary.class(class).objects;
            let is_plain = self.info(class).elements.is_some();
            if is_own
                && !is_plain
                && !between.contains(&class)
                && let Some(family) = owner(class, &array_owner)
            {
                families.members.insert(class, family);
            }
        }
    }
}
