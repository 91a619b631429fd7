//! Graphs whose objects know each other both ways.

use std::collections::BTreeSet;

use super::super::model::{Class, Model, Slots};
use super::Kind;
use crate::programs::Random;

const HOLDER: usize = 0;

const FACES: usize = 1;
const FACE: usize = 2;
const SIDE: usize = 3;

const NEXT: usize = 0;
const TWIN: usize = 1;
const OF: usize = 2;

/// Each edge is two sides, which are twins; the sides around a face are a ring.
pub(super) const MESH: Kind = Kind {
    name: "mesh of half-edges",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "Mesh",
            slots: Slots::Fields(&[("faces", &[FACES])]),
        },
        Class {
            name: "Face[]",
            slots: Slots::Elements(&[FACE]),
        },
        Class {
            name: "Face",
            slots: Slots::Fields(&[("side", &[SIDE])]),
        },
        Class {
            name: "HalfEdge",
            slots: Slots::Fields(&[("next", &[SIDE]), ("twin", &[SIDE]), ("face", &[FACE])]),
        },
    ],
    make: |model, size, random| {
        let mut sides = Vec::new();
        let mut faces = Vec::new();
        if size > 0 {
            // A triangle, and what is around it.
            let [inner, outer] = [(); 2].map(|_| model.add(FACE));
            let ring: Vec<[u32; 2]> = (0..3).map(|_| [(); 2].map(|_| model.add(SIDE))).collect();
            for (at, &[a, b]) in ring.iter().enumerate() {
                model.set(a, NEXT, Some(ring[(at + 1) % 3][0]));
                model.set(b, NEXT, Some(ring[(at + 2) % 3][1]));
                pair(model, a, b);
                model.set(a, OF, Some(inner));
                model.set(b, OF, Some(outer));
                sides.extend([a, b]);
            }
            model.set(inner, 0, Some(ring[0][0]));
            model.set(outer, 0, Some(ring[0][1]));
            faces.extend([inner, outer]);
        }
        for _ in 3..size {
            let side = sides[random.index(sides.len())];
            let ring = around(model, side);
            match ring.len() > 3 && random.index(2) == 0 {
                true => faces.push(split_face(model, &ring, random, &mut sides)),
                false => split_edge(model, side, &mut sides),
            }
        }
        let mesh = model.add(HOLDER);
        let all = model.add_array(FACES, faces.len());
        for (at, &face) in faces.iter().enumerate() {
            model.set(all, at, Some(face));
        }
        model.set(mesh, 0, Some(all));
        mesh
    },
    judge: |model, mesh, verdict| {
        let Some(faces) = model.get(mesh, 0).filter(|&it| verdict.meet(it)) else {
            return verdict.check(mesh, false);
        };
        for &face in model.slots(faces) {
            let Some(face) = face.filter(|&it| verdict.meet(it)) else {
                verdict.check(faces, false);
                continue;
            };
            let first = model.get(face, 0);
            verdict.check(face, first.is_some());
            let mut at = first;
            while let Some(side) = at {
                let twin = model.get(side, TWIN);
                let is_twin =
                    twin.is_some_and(|it| it != side && model.get(it, TWIN) == Some(side));
                verdict.check(side, is_twin && model.get(side, OF) == Some(face));
                if !verdict.meet(side) {
                    break;
                }
                verdict.content.extend([side, twin.unwrap_or(side)]);
                at = model.get(side, NEXT);
                verdict.check(side, at.is_some());
                if at == first {
                    break;
                }
            }
        }
    },
};

fn pair(model: &mut Model, a: u32, b: u32) {
    model.set(a, TWIN, Some(b));
    model.set(b, TWIN, Some(a));
}

/// Returns the sides around a face, from one of them.
fn around(model: &Model, side: u32) -> Vec<u32> {
    let mut ring = vec![side];
    while let Some(next) = model
        .get(ring[ring.len() - 1], NEXT)
        .filter(|&it| it != side)
    {
        ring.push(next);
    }
    ring
}

/// Puts a corner into an edge.
fn split_edge(model: &mut Model, side: u32, sides: &mut Vec<u32>) {
    let twin = model.get(side, TWIN).expect("each has one");
    let halves = [side, twin].map(|before| {
        let half = model.add(SIDE);
        let (next, face) = (model.get(before, NEXT), model.get(before, OF));
        model.set(half, NEXT, next);
        model.set(half, OF, face);
        model.set(before, NEXT, Some(half));
        half
    });
    pair(model, side, halves[1]);
    pair(model, twin, halves[0]);
    sides.extend(halves);
}

/// Puts an edge through a face. Returns the new face.
fn split_face(model: &mut Model, ring: &[u32], random: &mut Random, sides: &mut Vec<u32>) -> u32 {
    let (a, b) = (ring[0], ring[2 + random.index(ring.len() - 3)]);
    let old = model.get(a, OF).expect("each has one");
    let [there, back] = [(); 2].map(|_| model.add(SIDE));
    let (after_a, after_b) = (model.get(a, NEXT), model.get(b, NEXT));
    model.set(there, NEXT, after_b);
    model.set(a, NEXT, Some(there));
    model.set(back, NEXT, after_a);
    model.set(b, NEXT, Some(back));
    pair(model, there, back);
    let new = model.add(FACE);
    for (face, first) in [(old, there), (new, back)] {
        model.set(face, 0, Some(first));
        for side in around(model, first) {
            model.set(side, OF, Some(face));
        }
    }
    sides.extend([there, back]);
    new
}

const STUDENT: usize = 1;
const COURSE: usize = 2;
const STUDENTS: usize = 3;
const COURSES: usize = 4;

/// Students know their courses, and courses their students.
pub(super) const ENROLMENT: Kind = Kind {
    name: "enrolment",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "School",
            slots: Slots::Fields(&[("students", &[STUDENTS]), ("courses", &[COURSES])]),
        },
        Class {
            name: "Student",
            slots: Slots::Fields(&[("courses", &[COURSES])]),
        },
        Class {
            name: "Course",
            slots: Slots::Fields(&[("students", &[STUDENTS])]),
        },
        Class {
            name: "Student[]",
            slots: Slots::Elements(&[STUDENT]),
        },
        Class {
            name: "Course[]",
            slots: Slots::Elements(&[COURSE]),
        },
    ],
    make: |model, size, random| {
        let school = model.add(HOLDER);
        let counts = [size, size / 3];
        let all: Vec<Vec<u32>> = [STUDENT, COURSE]
            .iter()
            .zip(counts)
            .map(|(&class, count)| (0..count).map(|_| model.add(class)).collect())
            .collect();
        let mut pairs = BTreeSet::new();
        for &student in &all[0] {
            for _ in 0..random.index(5).min(counts[1]) {
                pairs.insert((student, all[1][random.index(counts[1])]));
            }
        }
        let fill = |model: &mut Model, from: u32, slot: usize, class: usize, to: &[u32]| {
            let array = model.add_array(class, to.len());
            for (at, &to) in to.iter().enumerate() {
                model.set(array, at, Some(to));
            }
            model.set(from, slot, Some(array));
        };
        for &student in &all[0] {
            let own = pairs.iter().filter(|it| it.0 == student).map(|it| it.1);
            fill(model, student, 0, COURSES, &own.collect::<Vec<_>>());
        }
        for &course in &all[1] {
            let own = pairs.iter().filter(|it| it.1 == course).map(|it| it.0);
            fill(model, course, 0, STUDENTS, &own.collect::<Vec<_>>());
        }
        fill(model, school, 0, STUDENTS, &all[0]);
        fill(model, school, 1, COURSES, &all[1]);
        school
    },
    judge: |model, school, verdict| {
        let mut known = [BTreeSet::new(), BTreeSet::new()];
        let mut pairs = [BTreeSet::new(), BTreeSet::new()];
        for side in [0, 1] {
            let Some(all) = model.get(school, side).filter(|&it| verdict.meet(it)) else {
                verdict.check(school, false);
                continue;
            };
            for &slot in model.slots(all) {
                match slot.filter(|&it| verdict.meet(it)) {
                    Some(it) => drop(known[side].insert(it)),
                    None => verdict.check(all, false),
                }
            }
        }
        for side in [0, 1] {
            for &from in &known[side] {
                let Some(array) = model.get(from, 0).filter(|&it| verdict.meet(it)) else {
                    verdict.check(from, false);
                    continue;
                };
                for &to in model.slots(array) {
                    let to = to.filter(|to| known[1 - side].contains(to));
                    let is_new = to.is_some_and(|to| {
                        pairs[side].insert(if side == 0 { (from, to) } else { (to, from) })
                    });
                    verdict.check(from, is_new);
                    verdict.check(array, is_new);
                }
            }
        }
        for &(student, course) in pairs[0].symmetric_difference(&pairs[1]) {
            verdict.check(student, false);
            verdict.check(course, false);
        }
        let all = pairs[0].iter().flat_map(|&(a, b)| [a, b]);
        verdict.content.extend(all);
    },
};
