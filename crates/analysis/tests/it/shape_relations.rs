//! Relations that need more than one reference to be seen: owners along chains, arrays that are not empty, objects
//! that know each other through arrays.

use heaphound_analysis::shape::{Backbones, Profile, measure_view, offenders};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::summarize;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{Root, RootKind};

use crate::structures::Dice;

/// A heap in the making: classes with their slots, or none for arrays, and objects with what they refer to.
pub struct Plan {
    pub classes: &'static [(&'static str, &'static [&'static str])],
    pub objects: Vec<(usize, Vec<Option<usize>>)>,
}

impl Plan {
    pub fn add(&mut self, class: usize, slots: Vec<Option<usize>>) -> usize {
        self.objects.push((class, slots));
        self.objects.len() - 1
    }

    /// Returns the heap, with the last object as its root.
    pub fn build(&self) -> Snapshot {
        let mut builder = SnapshotBuilder::default();
        let classes: Vec<_> = self
            .classes
            .iter()
            .map(|&(name, slots)| match slots {
                [] => builder.add_array_class(name),
                slots => builder.add_class(name, None, slots),
            })
            .collect();
        for (class, slots) in &self.objects {
            builder.add_object(classes[*class], 16 + 8 * slots.len());
            let is_array = self.classes[*class].1.is_empty();
            if is_array {
                builder.set_length(slots.len() as u32);
            }
            for (at, to) in (0..).zip(slots) {
                let place = match is_array {
                    true => Place::Element(at),
                    false => Place::Field(at),
                };
                if let Some(to) = to {
                    builder.add_edge(place, ObjectId(*to as u32));
                }
            }
        }
        let last = ObjectId(self.objects.len() as u32 - 1);
        builder.add_root(Root::new(RootKind::Static, "all"), last);
        builder.finish().unwrap()
    }
}

pub fn learn(make: fn(usize) -> Plan) -> Profile {
    let mut profile = Profile::default();
    for n in [20, 33, 8, 51, 27, 64, 5, 40, 18, 71, 90, 36] {
        profile.learn(&measure_view(&make(n).build()));
    }
    profile
}

/// Tests a heap. Returns what is broken, and who is shown.
pub fn test(profile: &Profile, heap: &Snapshot) -> (usize, Vec<ObjectId>) {
    let violations = profile.test(&measure_view(heap));
    let ids = SlotIds::new(heap.classes());
    let backbones = Backbones::find(&summarize(heap), heap.classes(), &ids);
    let shown = violations.iter();
    let shown = shown.flat_map(|it| offenders(heap, &backbones, it, 3));
    (violations.len(), shown.collect())
}

/// `n` nodes, each with a chain of edges that are from it.
fn edges(n: usize) -> Plan {
    let mut plan = Plan {
        classes: &[
            ("Node", &["out"]),
            ("Edge", &["from", "to", "next"]),
            ("Node[]", &[]),
        ],
        objects: Vec::new(),
    };
    let dice = &mut Dice(n as u64);
    let nodes: Vec<usize> = (0..n).map(|_| plan.add(0, vec![None])).collect();
    for _ in 0..2 * n {
        let [from, to] = [(); 2].map(|_| nodes[dice.below(n)]);
        let first = plan.objects[from].1[0];
        let edge = plan.add(1, vec![Some(from), Some(to), first]);
        plan.objects[from].1[0] = Some(edge);
    }
    plan.add(2, nodes.into_iter().map(Some).collect());
    plan
}

#[test]
fn an_edge_that_is_from_another_node_than_its_chain_is_found_and_shown() {
    let profile = learn(edges);
    for n in 10..40 {
        let mut plan = edges(n);
        assert_eq!(test(&profile, &plan.build()).0, 0, "{n} nodes");
        let edge = n + 7;
        let own = plan.objects[edge].1[0].unwrap();
        plan.objects[edge].1[0] = Some((own + 1) % n);
        let (broken, shown) = test(&profile, &plan.build());
        assert!(broken > 0, "{n} nodes");
        let guilty = [edge, own, (own + 1) % n].map(|it| ObjectId(it as u32));
        assert!(shown.contains(&guilty[0]), "{n} nodes: {shown:?}");
        assert!(shown.iter().all(|it| guilty.contains(it)), "{shown:?}");
    }
}

/// `n` students and half as many courses, which know each other.
fn enrolment(n: usize) -> Plan {
    let mut plan = Plan {
        classes: &[
            ("Student", &["courses"]),
            ("Course", &["students"]),
            ("Student[]", &[]),
            ("Course[]", &[]),
        ],
        objects: Vec::new(),
    };
    let dice = &mut Dice(n as u64);
    let students: Vec<usize> = (0..n).map(|_| plan.add(0, vec![None])).collect();
    let courses: Vec<usize> = (0..n / 2).map(|_| plan.add(1, vec![None])).collect();
    let takes: Vec<Vec<bool>> = students
        .iter()
        .map(|_| courses.iter().map(|_| dice.below(4) == 0).collect())
        .collect();
    for (s, &student) in students.iter().enumerate() {
        let own = (0..courses.len()).filter(|&c| takes[s][c]);
        let own = own.map(|c| Some(courses[c])).collect();
        let array = plan.add(3, own);
        plan.objects[student].1[0] = Some(array);
    }
    for (c, &course) in courses.iter().enumerate() {
        let own = (0..students.len()).filter(|&s| takes[s][c]);
        let own = own.map(|s| Some(students[s])).collect();
        let array = plan.add(2, own);
        plan.objects[course].1[0] = Some(array);
    }
    plan.add(2, students.into_iter().map(Some).collect());
    plan
}

#[test]
fn a_course_that_does_not_know_its_student_is_found() {
    let profile = learn(enrolment);
    for n in 10..30 {
        let mut plan = enrolment(n);
        assert_eq!(test(&profile, &plan.build()).0, 0, "{n} students");
        let is_list = |it: &(usize, Vec<_>)| it.0 == 2 && it.1.len() > 1;
        let list = plan.objects.iter().position(is_list).unwrap();
        let other = plan.objects[list].1[0].unwrap() + 1;
        let other = Some(other % n).filter(|&it| !plan.objects[list].1.contains(&Some(it)));
        plan.objects[list].1[0] = other;
        assert!(test(&profile, &plan.build()).0 > 0, "{n} students");
    }
}

/// A table of `n` rows, and perhaps another of so many.
fn tables(n: usize, other: usize) -> Plan {
    let mut plan = Plan {
        classes: &[("Object[]", &[]), ("Tables", &["first", "second"])],
        objects: Vec::new(),
    };
    let mut table = |rows: usize| {
        let rows = (0..rows).map(|_| Some(plan.add(0, Vec::new()))).collect();
        plan.add(0, rows)
    };
    let first = table(n);
    let second = (other > 0).then(|| table(other));
    plan.add(1, vec![Some(first), second]);
    plan
}

#[test]
fn no_length_of_an_array_raises_an_alarm() {
    let profile = learn(|n| tables(n + 16, n % 2 * n));
    for small in 1..9 {
        let (broken, _) = test(&profile, &tables(40, small).build());
        assert_eq!(broken, 0, "{small} rows");
    }
}

/// Three nodes in a list, all in an array, and perhaps somebody who goes through the array to itself.
fn outlived(has_through: bool) -> Snapshot {
    let mut plan = Plan {
        classes: &[
            ("Node", &["next"]),
            ("Through", &["all"]),
            ("Object[]", &[]),
        ],
        objects: Vec::new(),
    };
    for before in [None, Some(0), Some(1)] {
        plan.add(0, vec![before]);
    }
    let mut all = vec![Some(0), Some(1), Some(2)];
    if has_through {
        all.push(Some(plan.add(1, vec![Some(4)])));
    }
    plan.add(2, all);
    plan.build()
}

#[test]
fn a_class_that_outlives_those_who_went_through_it_raises_no_degree() {
    let heaps = [outlived(true), outlived(false)];
    let ids = SlotIds::new(heaps[0].classes());
    let [before, now] = heaps.each_ref().map(summarize);
    let classes = heaps[0].classes();
    let mut learnt = Backbones::find(&before, classes, &ids);
    let found = Backbones::find(&now, classes, &ids);
    let [node, array] = ["Node", "Object[]"].map(|name| {
        let class = classes.iter().find(|it| it.name == name);
        class.unwrap().id
    });
    let elements = ids.at(array, Place::Element(0));
    assert!(learnt.raises(elements, node).is_some());
    assert!(found.raises(elements, node).is_none());
    assert!(!learnt.cover(&found, &now, &ids));
    learnt.learn(&found, &now, classes, &ids);
    assert!(learnt.cover(&found, &now, &ids));
    assert!(learnt.raises(elements, node).is_none());
}
