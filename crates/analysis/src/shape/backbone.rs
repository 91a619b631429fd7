//! Backbones: the classes that recursive data structures are made of.
//!
//! A class is a backbone if its objects refer to objects of the same class: directly
//! (`Node.next`), or through one other class, an array or a part that belongs to them alone
//! (a B-tree's `Node.children`, which is a `Node[]`). All that is read off a summary.
//!
//! The degree of an object counts references inside its structure only: from and to the
//! backbone, and the class that it goes through.

use heaphound_heap::{ClassId, ClassInfo};

use crate::slot::{SlotId, SlotIds};
use crate::summary::Summary;

/// The class that a recursive data structure is made of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Backbone {
    /// The class.
    pub class: ClassId,
    /// The class between one object of the backbone and the next, if they do not refer to
    /// each other directly.
    pub through: Option<ClassId>,
}

/// Where a slot leads, as far as a summary has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Leads {
    /// Never to its own structure.
    #[default]
    Outside,
    /// Always to its own structure, unless it is null.
    Inside,
    /// Sometimes to its own structure and sometimes not.
    Mixed,
}

/// All backbones of a heap, and what a collector needs to know to count their degrees.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Backbones {
    /// Ordered by class.
    list: Vec<Backbone>,
    /// By class id: the place in `list`, and the class that it goes through or its own.
    rows: Vec<Option<(u32, ClassId)>>,
    /// By slot: its class, if it may lead to a backbone from inside.
    sources: Vec<Option<ClassId>>,
    /// By slot of a backbone.
    leads: Vec<Leads>,
}

impl Backbones {
    /// Returns the backbones that a summary shows.
    pub fn find(summary: &Summary, classes: &[ClassInfo], ids: &SlotIds) -> Self {
        let points_from = summary.points_from(ids);
        let edge = |class: ClassId, from: ClassId| {
            let found = points_from.binary_search_by_key(&(class, from), |e| (e.class, e.from));
            found.ok().map(|at| points_from[at].references)
        };
        let incoming = |class: ClassId| {
            let start = points_from.partition_point(|edge| edge.class < class);
            let edges = points_from[start..].iter();
            let edges = edges.take_while(move |edge| edge.class == class);
            edges.map(|edge| edge.references).sum::<u64>()
        };
        let info = |class: ClassId| &classes[class.0 as usize - 1];
        // Whether each object of `part` belongs to one object of `whole`, and to no other.
        let belongs = |part: ClassId, whole: ClassId| {
            let objects = summary.class(part).objects;
            edge(part, whole) == Some(objects) && incoming(part) == objects
        };
        let goes_through = |class: ClassId| {
            let start = points_from.partition_point(|edge| edge.class < class);
            let edges = points_from[start..].iter();
            let holders = edges.take_while(|edge| edge.class == class);
            let mut between = holders.map(|edge| edge.from).filter(|&part| {
                let back = part != class && edge(part, class).is_some();
                let array = info(part).elements.is_some() && info(class).elements.is_none();
                // Of two that belong to each other, the one whose name comes first.
                let part_of = belongs(part, class)
                    && (!belongs(class, part) || info(class).name < info(part).name);
                back && edge(part, part).is_none() && (array || part_of)
            });
            between.next()
        };
        let mut list = Vec::new();
        for (class, _) in summary.classes() {
            if edge(class, class).is_some() {
                list.push(Backbone {
                    class,
                    through: None,
                });
            } else if info(class).elements.is_none()
                && let Some(through) = goes_through(class)
            {
                list.push(Backbone {
                    class,
                    through: Some(through),
                });
            }
        }
        Self::new(list, summary, ids)
    }

    fn new(list: Vec<Backbone>, summary: &Summary, ids: &SlotIds) -> Self {
        let mut all = Self {
            rows: vec![None; ids.classes() + 1],
            sources: vec![None; ids.end() as usize],
            leads: vec![Leads::Outside; ids.end() as usize],
            list,
        };
        for (place, &Backbone { class, through }) in all.list.iter().enumerate() {
            let other = through.unwrap_or(class);
            all.rows[class.0 as usize] = Some((place as u32, other));
            for source in [class, other] {
                for slot in ids.of(source) {
                    all.sources[slot.0 as usize] = Some(source);
                }
            }
            for slot in ids.of(class) {
                all.leads[slot.0 as usize] = leads(summary, slot, class, other);
            }
        }
        all
    }

    /// Adds those that a later summary shows, so that degrees that are counted with these
    /// backbones agree with more and more summaries. Those that disappear stay.
    pub fn learn(&mut self, now: &Self, summary: &Summary, ids: &SlotIds) {
        let mut list = now.list.clone();
        let gone = self.list.iter().filter(|it| now.place(it.class).is_none());
        list.extend(gone);
        list.sort_unstable();
        let before = std::mem::replace(self, Self::new(list, summary, ids));
        for &Backbone { class, through } in &self.list {
            let known = before.place(class).map(|place| before.list[place].through);
            if known != Some(through) {
                continue;
            }
            for slot in ids.of(class) {
                let lead = &mut self.leads[slot.0 as usize];
                *lead = match (before.leads(slot), *lead) {
                    (old, _) if summary.edges_of(slot).is_empty() => old,
                    (Leads::Inside, Leads::Outside) | (Leads::Mixed, _) => Leads::Mixed,
                    (_, new) => new,
                };
            }
        }
    }

    /// Returns whether these include all that a summary shows, with the same leads of slots.
    pub fn cover(&self, now: &Self, summary: &Summary, ids: &SlotIds) -> bool {
        let known = |it: &Backbone| self.list.binary_search(it).is_ok();
        now.list.iter().all(known) && now.list.iter().all(|it| self.agrees(it, summary, ids))
    }

    /// Returns all of them, in the order of their classes.
    pub fn list(&self) -> &[Backbone] {
        &self.list
    }

    /// Returns the place in the list of a class that is a backbone.
    #[inline]
    pub fn place(&self, class: ClassId) -> Option<usize> {
        let row = self.rows.get(class.0 as usize).copied().flatten();
        row.map(|(place, _)| place as usize)
    }

    /// Returns the place of the backbone whose degree an edge from a slot to an object of that
    /// class raises, if it does.
    #[inline]
    pub fn raises(&self, slot: SlotId, to: ClassId) -> Option<usize> {
        let source = self.sources.get(slot.0 as usize).copied().flatten()?;
        let (place, other) = self.rows.get(to.0 as usize).copied().flatten()?;
        (source == to || source == other).then_some(place as usize)
    }

    /// Returns where a slot of a backbone has led so far. Those that lead inside are counted
    /// when they are read, before their targets are known. A collector that did so checks
    /// [`Backbones::agree`] at the end.
    #[inline]
    pub fn leads(&self, slot: SlotId) -> Leads {
        let found = self.leads.get(slot.0 as usize);
        found.copied().unwrap_or_default()
    }

    /// Returns whether the slots of backbones lead where they did before, so that degrees that
    /// were counted on that assumption are exact.
    pub fn agree(&self, summary: &Summary, ids: &SlotIds) -> bool {
        self.list.iter().all(|it| self.agrees(it, summary, ids))
    }

    fn agrees(&self, backbone: &Backbone, summary: &Summary, ids: &SlotIds) -> bool {
        let &Backbone { class, through } = backbone;
        ids.of(class).all(|slot| {
            let now = leads(summary, slot, class, through.unwrap_or(class));
            let empty = summary.edges_of(slot).is_empty();
            let before = self.leads(slot);
            now == before || empty || before == Leads::Mixed
        })
    }
}

fn leads(summary: &Summary, slot: SlotId, class: ClassId, other: ClassId) -> Leads {
    let edges = summary.edges_of(slot);
    let mut inside = edges
        .iter()
        .map(|edge| edge.to == class || edge.to == other);
    match inside.next() {
        None => Leads::Outside,
        Some(first) => match (inside.all(|it| it == first), first) {
            (true, true) => Leads::Inside,
            (true, false) => Leads::Outside,
            (false, _) => Leads::Mixed,
        },
    }
}
