//! Where wasted objects are: the slots that refer to them, counted.

use std::collections::HashMap;

use heaphound_heap::snapshot::Snapshot;
use heaphound_heap::view::{HeapView, Place};

use super::{Draft, MOST_PLACES};
use crate::dominator::Dominators;

/// How many references a slot holds to the objects of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlaceCount {
    /// `Customer.country`, `Object[][*]`, `static:names`
    pub slot: String,
    /// How many references.
    pub references: u64,
}

/// No row.
const NONE: u32 = u32::MAX;

/// Adds to each row from where its objects are referred to, by one look at all edges.
pub fn add(heap: &Snapshot, dominators: &Dominators, drafts: &mut [Draft]) {
    // An object may be of two sections, as an empty collection in a thread local. The first counts.
    let mut row_of = vec![NONE; heap.len()];
    let mut rows = 0;
    for row in drafts.iter().flat_map(|it| &it.rows) {
        for object in &row.members {
            let known = &mut row_of[object.0 as usize];
            if *known == NONE {
                *known = rows;
            }
        }
        rows += 1;
    }
    // By row, class and place; elements of an array are one place.
    let mut counts: HashMap<(u32, u32, u32), u64> = HashMap::new();
    const ELEMENT: u32 = u32::MAX;
    for object in dominators.objects() {
        let mut leads = false;
        heap.for_each_target(object, |to| leads |= row_of[to.0 as usize] != NONE);
        if !leads {
            continue;
        }
        let class = heap.class_of(object).0;
        heap.for_each_strong_edge(object, |place, to| {
            let row = row_of[to.0 as usize];
            if row != NONE {
                let place = match place {
                    Place::Field(at) => at,
                    Place::Element(_) => ELEMENT,
                };
                *counts.entry((row, class, place)).or_default() += 1;
            }
        });
    }
    let mut places: Vec<Vec<PlaceCount>> = vec![Vec::new(); rows as usize];
    for ((row, class, place), references) in counts {
        let class = &heap.classes()[class as usize - 1];
        let slot = match class.fields.get(place as usize) {
            Some(field) => format!("{}.{}", class.name, field.name),
            None => format!("{}[*]", class.name),
        };
        places[row as usize].push(PlaceCount { slot, references });
    }
    for (root, object) in heap.roots() {
        if let Some(places) = places.get_mut(row_of[object.0 as usize] as usize) {
            places.push(PlaceCount {
                slot: root.short(),
                references: 1,
            });
        }
    }
    let rows = drafts.iter_mut().flat_map(|it| &mut it.rows);
    for (row, mut places) in rows.zip(places) {
        places.sort_by(|a, b| (b.references, &a.slot).cmp(&(a.references, &b.slot)));
        places.truncate(MOST_PLACES);
        row.places = places;
    }
}
