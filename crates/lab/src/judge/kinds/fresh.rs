//! Structures that were written after the detectors, and not looked at while they were changed: what ordinary programs
//! have beside the textbook's lists and trees.

use std::collections::BTreeSet;

use super::super::model::{Class, Model, Slots};
use super::{Kind, Verdict};

const HOLDER: usize = 0;
const NODE: usize = 1;

/// Follows a slot from an object to the end, or until something is met twice.
fn chain(model: &Model, first: Option<u32>, next: usize, verdict: &mut Verdict) -> Vec<u32> {
    let mut all = Vec::new();
    let mut at = first;
    while let Some(node) = at {
        if !verdict.meet(node) {
            break;
        }
        all.push(node);
        at = model.get(node, next);
    }
    all
}

/// A heap in which the left side is never the shallower one. Nodes are only ever melded.
pub(super) const LEFTIST: Kind = Kind {
    name: "leftist heap",
    visible_pct: 65.0,
    classes: &[
        Class {
            name: "Leftist",
            slots: Slots::Fields(&[("top", &[NODE])]),
        },
        Class {
            name: "LeftistNode",
            slots: Slots::Fields(&[("left", &[NODE]), ("right", &[NODE])]),
        },
    ],
    make: |model, size, random| {
        let heap = model.add(HOLDER);
        let mut top = None;
        for _ in 0..size + size / 2 {
            let node = model.add(NODE);
            model.set_key(node, random.below(1 << 30));
            top = meld(model, top, Some(node));
        }
        for _ in 0..size / 2 {
            let node = top.expect("there is one");
            top = meld(model, model.get(node, 0), model.get(node, 1));
        }
        model.set(heap, 0, top);
        heap
    },
    judge: |model, heap, verdict| {
        let mut open: Vec<u32> = model.get(heap, 0).into_iter().collect();
        while let Some(node) = open.pop() {
            if verdict.meet(node) {
                verdict.content.push(node);
                let [left, right] = [0, 1].map(|side| model.get(node, side));
                // What is to the right alone is not leftist.
                verdict.check(node, left.is_some() || right.is_none());
                open.extend([left, right].into_iter().flatten());
            }
        }
    },
};

fn depth(model: &Model, node: Option<u32>) -> usize {
    node.map_or(0, |node| 1 + depth(model, model.get(node, 1)))
}

fn meld(model: &mut Model, a: Option<u32>, b: Option<u32>) -> Option<u32> {
    let (Some(a), Some(b)) = (a, b) else {
        return a.or(b);
    };
    let (top, other) = match model.key(a) <= model.key(b) {
        true => (a, b),
        false => (b, a),
    };
    let right = meld(model, model.get(top, 1), Some(other));
    let left = model.get(top, 0);
    let is_right = depth(model, left) >= depth(model, right);
    let sides = if is_right {
        [left, right]
    } else {
        [right, left]
    };
    (0..2).for_each(|side| model.set(top, side, sides[side]));
    Some(top)
}

const CHILD: usize = 0;
const SIBLING: usize = 1;
const PARENT: usize = 2;

/// Trees of one, two, four, … nodes, from the smallest to the largest.
pub(super) const BINOMIAL: Kind = Kind {
    name: "binomial heap",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "Binomial",
            slots: Slots::Fields(&[("trees", &[NODE])]),
        },
        Class {
            name: "BinomialNode",
            slots: Slots::Fields(&[
                ("child", &[NODE]),
                ("sibling", &[NODE]),
                ("parent", &[NODE]),
            ]),
        },
    ],
    make: |model, size, random| {
        let heap = model.add(HOLDER);
        let mut trees: Vec<Option<u32>> = Vec::new();
        for _ in 0..size {
            let mut tree = model.add(NODE);
            model.set_key(tree, random.below(1 << 30));
            for rank in 0.. {
                if rank == trees.len() {
                    trees.push(None);
                }
                let Some(other) = trees[rank].take() else {
                    trees[rank] = Some(tree);
                    break;
                };
                let (top, below) = match model.key(tree) <= model.key(other) {
                    true => (tree, other),
                    false => (other, tree),
                };
                let first = model.get(top, CHILD);
                model.set(below, SIBLING, first);
                model.set(below, PARENT, Some(top));
                model.set(top, CHILD, Some(below));
                tree = top;
            }
        }
        let trees: Vec<u32> = trees.into_iter().flatten().collect();
        model.set(heap, 0, trees.first().copied());
        for pair in trees.windows(2) {
            model.set(pair[0], SIBLING, Some(pair[1]));
        }
        heap
    },
    judge: |model, heap, verdict| {
        // Children of a node, first the largest: the ranks fall by one each time.
        fn ranks(model: &Model, node: u32, verdict: &mut Verdict) -> usize {
            let children = chain(model, model.get(node, CHILD), SIBLING, verdict);
            let count = children.len();
            for (nth, &child) in children.iter().enumerate() {
                verdict.content.push(child);
                verdict.check(child, model.get(child, PARENT) == Some(node));
                let rank = ranks(model, child, verdict);
                verdict.check(child, rank + nth + 1 == count);
                verdict.check(node, rank + nth + 1 == count);
            }
            count
        }
        let mut largest = None;
        for tree in chain(model, model.get(heap, 0), SIBLING, verdict) {
            verdict.content.push(tree);
            verdict.check(tree, model.get(tree, PARENT).is_none());
            let rank = ranks(model, tree, verdict);
            verdict.check(tree, largest.is_none_or(|it| it < rank));
            largest = Some(rank);
        }
    },
};

const SPAN: usize = 2;
const ITEM: usize = 3;

/// A search tree over points, each of which has a list of the spans that begin there.
pub(super) const INTERVALS: Kind = Kind {
    name: "interval tree",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "Intervals",
            slots: Slots::Fields(&[("root", &[NODE])]),
        },
        Class {
            name: "Point",
            slots: Slots::Fields(&[("less", &[NODE]), ("more", &[NODE]), ("spans", &[SPAN])]),
        },
        Class {
            name: "Span",
            slots: Slots::Fields(&[("next", &[SPAN]), ("at", &[NODE])]),
        },
    ],
    make: |model, size, random| {
        let tree = model.add(HOLDER);
        for _ in 0..size {
            let key = random.below(1 + size as u64 / 2);
            let (mut from, mut slot) = (tree, 0);
            let point = loop {
                match model.get(from, slot) {
                    None => {
                        let point = model.add(NODE);
                        model.set_key(point, key);
                        model.set(from, slot, Some(point));
                        break point;
                    }
                    Some(point) if model.key(point) == key => break point,
                    Some(point) => (from, slot) = (point, (key > model.key(point)) as usize),
                }
            };
            let span = model.add(SPAN);
            let first = model.get(point, 2);
            model.set(span, 0, first);
            model.set(span, 1, Some(point));
            model.set(point, 2, Some(span));
        }
        tree
    },
    judge: |model, tree, verdict| {
        let mut open: Vec<u32> = model.get(tree, 0).into_iter().collect();
        while let Some(point) = open.pop() {
            if !verdict.meet(point) {
                continue;
            }
            verdict.content.push(point);
            let spans = chain(model, model.get(point, 2), 0, verdict);
            verdict.check(point, !spans.is_empty());
            for span in spans {
                verdict.content.push(span);
                verdict.check(span, model.get(span, 1) == Some(point));
            }
            open.extend([0, 1].iter().filter_map(|&side| model.get(point, side)));
        }
    },
};

/// Buffers are in use or free, in one of two lists.
pub(super) const POOL: Kind = Kind {
    name: "pool of buffers",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "BufferPool",
            slots: Slots::Fields(&[("free", &[NODE]), ("used", &[NODE])]),
        },
        Class {
            name: "Buffer",
            slots: Slots::Fields(&[("next", &[NODE]), ("pool", &[HOLDER]), ("user", &[SPAN])]),
        },
        Class {
            name: "User",
            slots: Slots::Fields(&[("buffer", &[NODE])]),
        },
    ],
    make: |model, size, random| {
        let pool = model.add(HOLDER);
        let share = random.below(8);
        for _ in 0..size {
            let buffer = model.add(NODE);
            let is_used = random.below(8) < share;
            if is_used {
                let user = model.add(SPAN);
                model.set(user, 0, Some(buffer));
                model.set(buffer, 2, Some(user));
            }
            let first = model.get(pool, is_used as usize);
            model.set(buffer, 0, first);
            model.set(buffer, 1, Some(pool));
            model.set(pool, is_used as usize, Some(buffer));
        }
        pool
    },
    judge: |model, pool, verdict| {
        for is_used in [false, true] {
            for buffer in chain(model, model.get(pool, is_used as usize), 0, verdict) {
                verdict.content.push(buffer);
                verdict.check(buffer, model.get(buffer, 1) == Some(pool));
                let user = model.get(buffer, 2);
                verdict.check(buffer, user.is_some() == is_used);
                if let Some(user) = user {
                    verdict.meet(user);
                    verdict.check(user, model.get(user, 0) == Some(buffer));
                }
            }
        }
    },
};

const DEPENDENCY: usize = 2;

/// Tasks in a list; each has a list of those that must be done before it, all of which come earlier.
pub(super) const TASKS: Kind = Kind {
    name: "tasks that depend",
    visible_pct: 65.0,
    classes: &[
        Class {
            name: "Project",
            slots: Slots::Fields(&[("last", &[NODE])]),
        },
        Class {
            name: "Task",
            slots: Slots::Fields(&[("before", &[NODE]), ("needs", &[DEPENDENCY])]),
        },
        Class {
            name: "Dependency",
            slots: Slots::Fields(&[("on", &[NODE]), ("next", &[DEPENDENCY])]),
        },
    ],
    make: |model, size, random| {
        let project = model.add(HOLDER);
        let mut tasks = Vec::new();
        for _ in 0..size {
            let task = model.add(NODE);
            let before = model.get(project, 0);
            model.set(task, 0, before);
            model.set(project, 0, Some(task));
            let mut needed = BTreeSet::new();
            for _ in 0..random.index(4).min(tasks.len()) {
                needed.insert(tasks[random.skewed(tasks.len() as u64) as usize]);
            }
            for on in needed {
                let dependency = model.add(DEPENDENCY);
                model.set(dependency, 0, Some(on));
                let first = model.get(task, 1);
                model.set(dependency, 1, first);
                model.set(task, 1, Some(dependency));
            }
            tasks.push(task);
        }
        project
    },
    judge: |model, project, verdict| {
        let tasks = chain(model, model.get(project, 0), 0, verdict);
        for (nth, &task) in tasks.iter().enumerate() {
            verdict.content.push(task);
            let mut known = BTreeSet::new();
            for dependency in chain(model, model.get(task, 1), 1, verdict) {
                let on = model.get(dependency, 0);
                let is_right = on.is_some_and(|on| tasks[nth + 1..].contains(&on));
                verdict.check(dependency, is_right && known.insert(on));
                verdict.content.extend(on);
            }
        }
    },
};

const FIRST: usize = 0;
const LAST: usize = 1;
const NEXT: usize = 2;
const PREVIOUS: usize = 3;
const UP: usize = 4;

/// Folders and files; entries are removed with all that is below them.
pub(super) const FOLDERS: Kind = Kind {
    name: "folders",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "Disk",
            slots: Slots::Fields(&[("top", &[NODE])]),
        },
        Class {
            name: "Entry",
            slots: Slots::Fields(&[
                ("first", &[NODE]),
                ("last", &[NODE]),
                ("next", &[NODE]),
                ("previous", &[NODE]),
                ("folder", &[NODE]),
            ]),
        },
    ],
    make: |model, size, random| {
        let disk = model.add(HOLDER);
        let top = model.add(NODE);
        model.set(disk, 0, Some(top));
        let mut all = vec![top];
        for _ in 0..size {
            let entry = model.add(NODE);
            let folder = all[random.skewed(all.len() as u64) as usize];
            let last = model.get(folder, LAST);
            match last {
                Some(last) => model.set(last, NEXT, Some(entry)),
                None => model.set(folder, FIRST, Some(entry)),
            }
            model.set(entry, PREVIOUS, last);
            model.set(entry, UP, Some(folder));
            model.set(folder, LAST, Some(entry));
            all.push(entry);
        }
        for _ in 0..size / 6 {
            let entry = all[random.index(all.len())];
            // It may be gone already, below another: then this changes nothing that anybody sees.
            let Some(folder) = model.get(entry, UP) else {
                continue;
            };
            let [next, previous] = [NEXT, PREVIOUS].map(|slot| model.get(entry, slot));
            match next {
                Some(next) => model.set(next, PREVIOUS, previous),
                None => model.set(folder, LAST, previous),
            }
            match previous {
                Some(previous) => model.set(previous, NEXT, next),
                None => model.set(folder, FIRST, next),
            }
            for slot in [NEXT, PREVIOUS, UP] {
                model.set(entry, slot, None);
            }
        }
        disk
    },
    judge: |model, disk, verdict| {
        let Some(top) = model.get(disk, 0) else {
            return verdict.check(disk, false);
        };
        verdict.meet(top);
        let alone = [NEXT, PREVIOUS, UP].map(|slot| model.get(top, slot).is_none());
        verdict.check(top, alone == [true; 3]);
        let mut open = vec![top];
        while let Some(folder) = open.pop() {
            verdict.content.push(folder);
            let mut previous = None;
            for entry in chain(model, model.get(folder, FIRST), NEXT, verdict) {
                verdict.check(entry, model.get(entry, PREVIOUS) == previous);
                verdict.check(entry, model.get(entry, UP) == Some(folder));
                previous = Some(entry);
                open.push(entry);
            }
            verdict.check(folder, model.get(folder, LAST) == previous);
        }
    },
};

const LINES: usize = 2;
const CELL: usize = 3;

/// A matrix that is mostly zero: the cells of a row are a list, and those of a column.
pub(super) const MATRIX: Kind = Kind {
    name: "sparse matrix",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "Matrix",
            slots: Slots::Fields(&[("rows", &[LINES]), ("columns", &[LINES])]),
        },
        Class {
            name: "Line",
            slots: Slots::Fields(&[("first", &[CELL])]),
        },
        Class {
            name: "Line[]",
            slots: Slots::Elements(&[NODE]),
        },
        Class {
            name: "Cell",
            slots: Slots::Fields(&[
                ("right", &[CELL]),
                ("down", &[CELL]),
                ("row", &[NODE]),
                ("column", &[NODE]),
            ]),
        },
    ],
    make: |model, size, random| {
        let matrix = model.add(HOLDER);
        let side = 1 + random.index(1 + size / 2);
        let lines = [0, 1].map(|slot| {
            let array = model.add_array(LINES, side);
            model.set(matrix, slot, Some(array));
            let line = |at: usize| {
                let line = model.add(NODE);
                model.set(array, at, Some(line));
                line
            };
            (0..side).map(line).collect::<Vec<u32>>()
        });
        let mut taken = BTreeSet::new();
        for _ in 0..size {
            taken.insert((random.index(side), random.index(side)));
        }
        // From the last to the first, so that each comes before those that are there.
        for &(row, column) in taken.iter().rev() {
            let cell = model.add(CELL);
            for (slot, line) in [(0, lines[0][row]), (1, lines[1][column])] {
                let first = model.get(line, 0);
                model.set(cell, slot, first);
                model.set(cell, slot + 2, Some(line));
                model.set(line, 0, Some(cell));
            }
        }
        matrix
    },
    judge: |model, matrix, verdict| {
        let mut cells = [BTreeSet::new(), BTreeSet::new()];
        for slot in [0, 1] {
            let Some(array) = model.get(matrix, slot).filter(|&it| verdict.meet(it)) else {
                verdict.check(matrix, false);
                continue;
            };
            for &line in model.slots(array) {
                let Some(line) = line.filter(|&it| verdict.meet(it)) else {
                    verdict.check(array, false);
                    continue;
                };
                let mut at = model.get(line, 0);
                while let Some(cell) = at {
                    verdict.seen.insert(cell);
                    verdict.check(cell, model.get(cell, slot + 2) == Some(line));
                    if !cells[slot].insert(cell) {
                        verdict.check(cell, false);
                        break;
                    }
                    if slot == 0 {
                        verdict.content.push(cell);
                    }
                    at = model.get(cell, slot);
                }
            }
        }
        for &cell in cells[0].symmetric_difference(&cells[1]) {
            verdict.check(cell, false);
        }
    },
};

/// Versions of a list that share what they have in common: nothing is ever changed.
pub(super) const VERSIONS: Kind = Kind {
    name: "versions of a list",
    visible_pct: 70.0,
    classes: &[
        Class {
            name: "History",
            slots: Slots::Fields(&[("newest", &[NODE])]),
        },
        Class {
            name: "Version",
            slots: Slots::Fields(&[("older", &[NODE]), ("list", &[SPAN])]),
        },
        Class {
            name: "Cons",
            slots: Slots::Fields(&[("rest", &[SPAN]), ("item", &[ITEM])]),
        },
        Class {
            name: "Item",
            slots: Slots::Fields(&[]),
        },
    ],
    make: |model, size, random| {
        let history = model.add(HOLDER);
        let mut list: Option<u32> = None;
        for _ in 0..size {
            list = match random.below(3) {
                // Something is taken off.
                0 => list.and_then(|it| model.get(it, 0)),
                _ => {
                    let (cons, item) = (model.add(SPAN), model.add(ITEM));
                    model.set(cons, 0, list);
                    model.set(cons, 1, Some(item));
                    Some(cons)
                }
            };
            let version = model.add(NODE);
            let older = model.get(history, 0);
            model.set(version, 0, older);
            model.set(version, 1, list);
            model.set(history, 0, Some(version));
        }
        history
    },
    judge: |model, history, verdict| {
        let mut owners = BTreeSet::new();
        for version in chain(model, model.get(history, 0), 0, verdict) {
            verdict.content.push(version);
            let mut at = model.get(version, 1);
            let mut own = BTreeSet::new();
            while let Some(cons) = at {
                if !own.insert(cons) {
                    verdict.check(cons, false);
                    break;
                }
                verdict.content.push(cons);
                if verdict.seen.insert(cons) {
                    let item = model.get(cons, 1);
                    verdict.check(cons, item.is_some_and(|it| owners.insert(it)));
                    verdict.seen.extend(item);
                }
                at = model.get(cons, 0);
            }
        }
    },
};
