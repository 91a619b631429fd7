//! Data structures of textbooks: how operations build them, and what their own rules are.
//!
//! A structure that lost a part and is otherwise in order is valid: whether something is missing
//! that was there is nothing that a heap can tell.

mod graphs;
mod lists;
mod search_trees;
mod trees;

use heaphound_testkit::dice::Dice;

use super::sketch::{Id, NULL, Place, Sketch};

pub struct Structure {
    pub name: &'static str,
    /// The slots that belong to the structure, by class: those where bugs are made.
    pub links: &'static [(&'static str, &'static str)],
    /// Builds one of about that size, and returns its owner.
    pub build: fn(&mut Sketch, &mut Dice, usize) -> Id,
    /// The structure's own rules.
    pub valid: fn(&Sketch, Id) -> bool,
}

pub fn all() -> Vec<&'static Structure> {
    let parts: [&[Structure]; 4] = [
        const { &search_trees::ALL },
        const { &trees::ALL },
        const { &lists::ALL },
        const { &graphs::ALL },
    ];
    parts.into_iter().flatten().collect()
}

fn key(dice: &mut Dice, size: usize) -> i64 {
    1 + dice.below(size * 10) as i64
}

/// A heap with one to three of a structure, and their owners.
pub fn heap(structure: &Structure, dice: &mut Dice) -> (Sketch, Vec<Id>) {
    let mut h = Sketch::new();
    let count = 1 + dice.below(3);
    let all = h.array("Object[]", count);
    let app = h.add("App", &[("structures", all)], &[]);
    h.root("static:app", app);
    let mut owners = Vec::new();
    for index in 0..count {
        // 8 to 256 elements; each power of two is as likely as the others.
        let power = 3 + dice.below(5);
        let size = (1 << power) + dice.below(1 << power);
        let owner = (structure.build)(&mut h, dice, size);
        h.set_element(all, index, owner);
        owners.push(owner);
    }
    (h, owners)
}

/// What a reference was set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    Null,
    /// Another node of the same structure.
    Other,
    /// The object whose slot it is.
    Itself,
    /// A node that is met earlier on the way from the owner.
    Earlier,
}

pub const WRONGS: [Wrong; 4] = [Wrong::Null, Wrong::Other, Wrong::Itself, Wrong::Earlier];

/// A heap in which one reference is wrong.
pub struct Bug {
    pub heap: Sketch,
    pub wrong: Wrong,
    pub place: Place,
    pub slot: (&'static str, &'static str),
    pub before: Id,
    pub after: Id,
    /// The objects that may be shown for it.
    pub offenders: Vec<Id>,
}

/// Makes a bug that the structure's rules do not allow. None if there is none of the kind that was picked.
pub fn bug(structure: &Structure, dice: &mut Dice) -> Option<Bug> {
    let (mut heap, owners) = heap(structure, dice);
    let wrong = dice.pick(&WRONGS);
    for _ in 0..100 {
        let owner = dice.pick(&owners);
        let nodes = heap.reachable(&[owner]);
        let id = dice.pick(&nodes);
        let places: Vec<Place> = heap.places(id);
        if places.is_empty() {
            continue;
        }
        let place = dice.pick(&places);
        let name = slot_name(place);
        let Some(&slot) = structure
            .links
            .iter()
            .find(|it| **it == (heap.class(id), name))
        else {
            continue;
        };
        let before = heap.read(place);
        // What else this slot refers to, in other objects, tells its type.
        let typical = nodes.iter().flat_map(|it| heap.places(*it)).find(|it| {
            let (Place::Slot(of, _) | Place::Element(of, _)) = *it;
            heap.class(of) == slot.0 && slot_name(*it) == slot.1 && heap.read(*it) != NULL
        });
        let Some(typical) = typical else { continue };
        let class = heap.class(heap.read(typical));
        let at = nodes.iter().position(|it| *it == id).unwrap();
        let of_class = |nodes: &[Id]| -> Vec<Id> {
            let fits = |it: &&Id| heap.class(**it) == class && **it != id && **it != before;
            nodes.iter().filter(fits).copied().collect()
        };
        let candidates = match wrong {
            Wrong::Null => vec![NULL],
            Wrong::Other => of_class(&nodes),
            Wrong::Itself if heap.class(id) == class => vec![id],
            Wrong::Itself => continue,
            Wrong::Earlier => of_class(&nodes[..at]),
        };
        if candidates.is_empty() {
            continue;
        }
        let after = dice.pick(&candidates);
        if after == before {
            continue;
        }
        let mut offenders = vec![id, before, after];
        // An array is a part of the object that holds it.
        let arrays: Vec<Id> = offenders
            .iter()
            .copied()
            .filter(|it| heap.class(*it).ends_with("[]"))
            .collect();
        let holds = |node: &&Id| {
            let mut places = heap.places(**node).into_iter();
            places.any(|place| arrays.contains(&heap.read(place)))
        };
        let holders: Vec<Id> = nodes.iter().filter(holds).copied().collect();
        offenders.extend(holders);
        offenders.retain(|it| *it != NULL);
        heap.write(place, after);
        if (structure.valid)(&heap, owner) {
            heap.write(place, before);
            continue;
        }
        return Some(Bug {
            heap,
            wrong,
            place,
            slot,
            before,
            after,
            offenders,
        });
    }
    None
}

fn slot_name(place: Place) -> &'static str {
    match place {
        Place::Slot(_, slot) => slot,
        Place::Element(..) => "[*]",
    }
}
