//! Measures: what is counted of a recursive data structure at one collection. Slots have
//! names, not numbers, so that runs can be compared.

use std::collections::{BTreeMap, BTreeSet};

use heaphound_heap::trace::Traceable;
use heaphound_heap::{ClassId, ClassInfo};

use super::facts::Facts;
use super::{Backbone, Backbones, Degrees, HashSum, Role, Sums};
use super::{Tally, degrees, degrees_on, slots, sums, sums_on, walk, walks};
use crate::slot::{SlotIds, SlotName};
use crate::summary::{Summary, live, summarize, summarize_on};

/// The recursive data structures of one backbone, all together, at one time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measure {
    /// The backbone's class.
    pub class: String,
    /// The class between two objects of the backbone, if there is one.
    pub through: Option<String>,
    /// Whether the structure is recursive through the class, or it is a part.
    pub role: Role,
    /// The classes of the structure.
    pub members: BTreeSet<String>,
    /// Slots of these classes, with the class, whose arrays were not read, because too many refer to the
    /// same ones.
    pub unread: BTreeSet<String>,
    /// How many slots the class has, if they are too many to be told from each other.
    pub dictionary: Option<usize>,
    /// Whether the objects are arrays, which refer to as much as they are long.
    pub is_array: bool,
    /// Live objects of the backbone.
    pub instances: u64,
    /// Their volume, and that of what is between them.
    pub volume_bytes: u64,
    /// The volume of the whole heap.
    pub heap_bytes: u64,
    /// How many references the objects have and get.
    pub degrees: Degrees,
    /// How many references each slot of the backbone holds: `next`.
    pub slots: BTreeMap<SlotName, u64>,
    /// How many of them lead to objects of the backbone itself.
    pub recursive: BTreeMap<SlotName, u64>,
    /// How many references to the backbone each slot of another class holds: `List.head`.
    pub holders: BTreeMap<SlotName, u64>,
    /// Sums that show whether references match. Empty if they were not added up.
    pub matches: BTreeMap<HashSum, u64>,
    /// What was seen of each fact. Empty if nobody looked.
    pub facts: BTreeMap<String, Tally>,
}

impl Measure {
    /// Returns the part of the heap that the structures hold.
    pub fn share(&self) -> f64 {
        self.volume_bytes as f64 / self.heap_bytes.max(1) as f64
    }
}

/// Returns the measures of all backbones. `degrees` are in the order of the backbones;
/// `sums` are given if they were added up.
pub fn measure(
    summary: &Summary,
    classes: &[ClassInfo],
    ids: &SlotIds,
    backbones: &Backbones,
    degrees: &[Degrees],
    sums: Option<&Sums>,
) -> Vec<Measure> {
    let name = |class: ClassId| classes[class.0 as usize - 1].name.clone();
    let heap_bytes = summary.volume_bytes();
    let points_from = summary.points_from(ids);
    let one = |(place, (own, &degrees)): (usize, (&Backbone, &Degrees))| {
        let &Backbone {
            class,
            through,
            role,
            family,
        } = own;
        let members = || backbones.list().iter().filter(|it| it.family == family);
        let unread = members().flat_map(|it| ids.of(it.class));
        let unread = unread.filter(|&slot| backbones.leaves_arrays(slot));
        let total = summary.class(class);
        let info = &classes[class.0 as usize - 1];
        let (mut own_slots, mut recursive, mut holders) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for edge in summary.edges() {
            let inside = edge.to == class;
            if ids.class_of(edge.slot) == Some(class) {
                let slot = slots::own_name(ids, classes, edge.slot);
                if inside {
                    *recursive.entry(slot.clone()).or_insert(0) += edge.references;
                }
                *own_slots.entry(slot).or_insert(0) += edge.references;
            } else if inside {
                let holder = slots::name_with_class(ids, classes, edge.slot);
                *holders.entry(holder).or_insert(0) += edge.references;
            }
        }
        // An array class may serve others too; what the backbone refers to is its own.
        let between = points_from.iter().filter(|edge| edge.from == class);
        let between = between.filter(|edge| Some(edge.class) == through);
        let between = between.fold(0u64, |all, edge| all.saturating_add(edge.volume_bytes));
        let most = through.map_or(0, |through| summary.class(through).volume_bytes);
        Measure {
            class: name(class),
            through: through.map(name),
            role,
            members: members().map(|it| name(it.class)).collect(),
            unread: unread
                .map(|slot| slots::name_with_class(ids, classes, slot).to_string())
                .collect(),
            dictionary: Some(info.fields.len()).filter(|_| slots::is_dictionary(info)),
            is_array: info.elements.is_some(),
            instances: total.objects,
            volume_bytes: total.volume_bytes.saturating_add(between.min(most)),
            heap_bytes,
            degrees,
            slots: own_slots,
            recursive,
            holders,
            matches: sums.map_or_else(BTreeMap::new, |sums| {
                sums.of_backbone(place, backbones, classes, ids)
            }),
            facts: BTreeMap::new(),
        }
    };
    let all = backbones.list().iter().zip(degrees);
    all.enumerate().map(one).collect()
}

/// Returns the measures of all backbones of a view, counted on this thread. As those of a collector, they
/// say nothing of facts.
pub fn measure_view<T: Traceable>(view: &T) -> Vec<Measure> {
    let count = |backbones: &Backbones| (degrees(view, backbones), sums(view, backbones));
    measure_with(view, &summarize(view), count).0
}

/// Returns the measures of all backbones of a view that can be shared, counted on several
/// threads.
pub fn measure_view_on<T: Traceable + Sync>(view: &T, threads: usize) -> Vec<Measure> {
    counted_on(view, &summarize_on(view, threads), threads).0
}

/// Returns the same with what was seen of each fact: numbers are compared, too.
pub fn measure_facts<T: Traceable>(view: &T) -> Vec<Measure> {
    let summary = summarize(view);
    let count = |backbones: &Backbones| (degrees(view, backbones), sums(view, backbones));
    let (mut measures, backbones) = measure_with(view, &summary, count);
    let ids = SlotIds::new(view.classes());
    Facts::new(view, &summary, &ids, &backbones, &live(view, 1)).add_to(&mut measures);
    measures
}

/// Returns the same on several threads.
pub fn measure_facts_on<T: Traceable + Sync>(view: &T, threads: usize) -> Vec<Measure> {
    let summary = summarize_on(view, threads);
    let (mut measures, backbones) = counted_on(view, &summary, threads);
    let ids = SlotIds::new(view.classes());
    let objects = live(view, threads);
    let facts = Facts::new(view, &summary, &ids, &backbones, &objects);
    facts.add_to_on(&mut measures, threads);
    measures
}

fn counted_on<T: Traceable + Sync>(
    view: &T,
    summary: &Summary,
    threads: usize,
) -> (Vec<Measure>, Backbones) {
    let count = |backbones: &Backbones| {
        let degrees = degrees_on(view, backbones, threads);
        (degrees, sums_on(view, backbones, threads))
    };
    measure_with(view, summary, count)
}

fn measure_with<T: Traceable>(
    view: &T,
    summary: &Summary,
    count: impl Fn(&Backbones) -> (Vec<Degrees>, Sums),
) -> (Vec<Measure>, Backbones) {
    let classes = view.classes();
    let ids = SlotIds::new(classes);
    let backbones = Backbones::find(summary, classes, &ids);
    let (degrees, sums) = count(&backbones);
    let mut measures = measure(summary, classes, &ids, &backbones, &degrees, Some(&sums));
    walk(view, &backbones, &ids, &mut measures, |class| {
        walks::instances(view, class)
    });
    (measures, backbones)
}
