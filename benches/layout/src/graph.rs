//! The logical graph: objects in allocation order, their classes and slots.
//!
//! It imitates a program that grows a few dozen trees, lists and hash maps at a
//! time, keeps the finished ones in a directory, and drops temporaries in some
//! of its phases. Every layout is built from the same graph.

use crate::class::{Classes, Role};
use crate::rng::Rng;

pub const NULL: u32 = u32::MAX;

const STRUCTURES_AT_A_TIME: usize = 48;
const LARGEST_TABLE: usize = 1024;
const POPULAR_OBJECTS: usize = 5000;

pub struct Graph {
    pub classes: Vec<u16>,
    /// `slots[first_slot[o]..first_slot[o + 1]]` are the slots of object `o`.
    first_slot: Vec<u32>,
    slots: Vec<u32>,
    pub roots: Vec<u32>,
    live: Vec<bool>,
    pub live_objects: usize,
    pub live_edges: usize,
}

impl Graph {
    pub fn generate(classes: &Classes, live_objects: usize) -> Self {
        let mut program = Program {
            classes,
            rng: Rng::new(7),
            graph: Graph {
                classes: Vec::new(),
                first_slot: vec![0],
                slots: Vec::new(),
                roots: Vec::new(),
                live: Vec::new(),
                live_objects: 0,
                live_edges: 0,
            },
            kept: Vec::new(),
            garbage_percent: 0,
        };
        program.run(live_objects);
        let mut graph = program.graph;
        graph.find_live();
        graph
    }

    pub fn objects(&self) -> usize {
        self.classes.len()
    }

    pub fn is_live(&self, object: u32) -> bool {
        self.live[object as usize]
    }

    pub fn slots_of(&self, object: u32) -> &[u32] {
        let object = object as usize;
        &self.slots[self.first_slot[object] as usize..self.first_slot[object + 1] as usize]
    }

    /// The order in which objects receive cells: allocation order, except that
    /// a fifth of them land in holes that earlier collections left elsewhere.
    pub fn placement(&self) -> Vec<u32> {
        let mut rng = Rng::new(3);
        let mut order: Vec<u32> = (0..self.objects() as u32).collect();
        for i in 0..order.len() {
            if rng.percent(10) {
                let other = (i + rng.below(20_000)).min(order.len() - 1);
                order.swap(i, other);
            }
        }
        order
    }

    fn slot_mut(&mut self, object: u32, slot: usize) -> &mut u32 {
        &mut self.slots[self.first_slot[object as usize] as usize + slot]
    }

    /// The slow twin of marking: what the fast loops must agree with.
    fn find_live(&mut self) {
        let mut seen = vec![false; self.objects()];
        let mut gray = self.roots.clone();
        while let Some(object) = gray.pop() {
            if std::mem::replace(&mut seen[object as usize], true) {
                continue;
            }
            self.live_objects += 1;
            let before = gray.len();
            gray.extend(
                self.slots_of(object)
                    .iter()
                    .filter(|&&target| target != NULL),
            );
            self.live_edges += gray.len() - before;
        }
        self.live = seen;
    }
}

/// The imitated program while it runs.
struct Program<'a> {
    classes: &'a Classes,
    rng: Rng,
    graph: Graph,
    /// Objects that stay, in allocation order: targets for cross edges.
    kept: Vec<u32>,
    garbage_percent: usize,
}

enum Structure {
    Tree {
        node: u16,
        nodes: Vec<u32>,
        room: usize,
    },
    List {
        node: u16,
        last: u32,
        room: usize,
    },
    Map {
        map: u32,
        table: u32,
        entry: u16,
        entries: Vec<u32>,
        room: usize,
    },
}

impl Program<'_> {
    fn run(&mut self, live_objects: usize) {
        let mut directory = self.new_directory(NULL);
        let mut used = 1;
        let mut active: Vec<Structure> = Vec::new();
        let mut phase_end = 0;
        while self.kept.len() < live_objects {
            if self.graph.objects() >= phase_end {
                phase_end = self.graph.objects() + 100_000 + self.rng.below(200_000);
                self.garbage_percent = [0, 0, 10, 30, 50][self.rng.below(5)];
            }
            if active.len() < STRUCTURES_AT_A_TIME {
                if used == 256 {
                    directory = self.new_directory(directory);
                    used = 1;
                }
                let (object, structure) = self.new_structure();
                *self.graph.slot_mut(directory, used) = object;
                used += 1;
                active.push(structure);
            }
            let chosen = self.rng.below(active.len());
            for _ in 0..1 + self.rng.below(16) {
                if !self.grow(&mut active[chosen]) {
                    active.swap_remove(chosen);
                    break;
                }
            }
        }
        self.graph.roots.push(directory);
        for _ in 0..20 {
            let object = self.cross_target();
            self.graph.roots.push(object);
        }
    }

    /// Slot 0 of a directory holds the directory before it.
    fn new_directory(&mut self, before: u32) -> u32 {
        let class = self.classes.pick(Role::RefArray, &mut self.rng);
        let directory = self.keep(class, 256);
        *self.graph.slot_mut(directory, 0) = before;
        directory
    }

    fn new_structure(&mut self) -> (u32, Structure) {
        // Sizes from about 100 to about 30,000 operations, small ones common.
        let room = 100 << self.rng.below(9);
        match self.rng.below(3) {
            0 => {
                let node = self.classes.pick(Role::TreeNode, &mut self.rng);
                let root = self.keep_plain(node);
                (
                    root,
                    Structure::Tree {
                        node,
                        nodes: vec![root],
                        room,
                    },
                )
            }
            1 => {
                let node = self.classes.pick(Role::ListNode, &mut self.rng);
                let first = self.keep_plain(node);
                (
                    first,
                    Structure::List {
                        node,
                        last: first,
                        room,
                    },
                )
            }
            _ => {
                let class = self.classes.pick(Role::Map, &mut self.rng);
                let map = self.keep_plain(class);
                let array = self.classes.pick(Role::RefArray, &mut self.rng);
                let table = self.keep(array, 16);
                *self.graph.slot_mut(map, 0) = table;
                let entry = self.classes.pick(Role::Entry, &mut self.rng);
                let room = room.min(2 * LARGEST_TABLE);
                (
                    map,
                    Structure::Map {
                        map,
                        table,
                        entry,
                        entries: Vec::new(),
                        room,
                    },
                )
            }
        }
    }

    /// One operation of the program. False when the structure is complete.
    fn grow(&mut self, structure: &mut Structure) -> bool {
        while self.rng.percent(self.garbage_percent) {
            self.drop_temporary();
        }
        match structure {
            Structure::Tree { node, nodes, room } => {
                let item = self.item();
                let child = self.keep_plain(*node);
                let mut parent = nodes[self.rng.below(nodes.len())];
                let side = loop {
                    let side = self.rng.below(2);
                    match self.graph.slots_of(parent)[side] {
                        NULL => break side,
                        below => parent = below,
                    }
                };
                *self.graph.slot_mut(parent, side) = child;
                *self.graph.slot_mut(child, 2) = item;
                if self.classes.get(*node).refs > 3 {
                    *self.graph.slot_mut(child, 3) = parent;
                }
                nodes.push(child);
                *room -= 1;
                *room > 0
            }
            Structure::List { node, last, room } => {
                let item = self.item();
                let next = self.keep_plain(*node);
                *self.graph.slot_mut(*last, 0) = next;
                *self.graph.slot_mut(next, 1) = item;
                if self.classes.get(*node).refs > 2 {
                    *self.graph.slot_mut(next, 2) = *last;
                }
                *last = next;
                *room -= 1;
                *room > 0
            }
            Structure::Map {
                map,
                table,
                entry,
                entries,
                room,
            } => {
                let class = self.classes.pick(Role::Leaf, &mut self.rng);
                let key = self.keep_plain(class);
                let value = self.item();
                let added = self.keep_plain(*entry);
                *self.graph.slot_mut(added, 0) = key;
                *self.graph.slot_mut(added, 1) = value;
                entries.push(added);
                let length = self.graph.slots_of(*table).len();
                if entries.len() > length && length < LARGEST_TABLE {
                    // The old table becomes garbage.
                    let class = self.graph.classes[*table as usize];
                    *table = self.allocate(class, length * 2);
                    *self.graph.slot_mut(*map, 0) = *table;
                    for &entry in entries.iter() {
                        self.put(*table, entry);
                    }
                } else {
                    self.put(*table, added);
                }
                *room -= 1;
                *room > 0
            }
        }
    }

    fn put(&mut self, table: u32, entry: u32) {
        let bucket = self.rng.below(self.graph.slots_of(table).len());
        let chain = std::mem::replace(self.graph.slot_mut(table, bucket), entry);
        *self.graph.slot_mut(entry, 2) = chain;
    }

    /// What a container holds: mostly a new record or leaf, else a shared one.
    fn item(&mut self) -> u32 {
        match self.rng.below(10) {
            0 => self.cross_target(),
            1..=2 => {
                let class = self.classes.pick(Role::Leaf, &mut self.rng);
                self.keep_plain(class)
            }
            _ => {
                let class = self.classes.pick(Role::Record, &mut self.rng);
                let targets: Vec<u32> = (0..self.classes.get(class).refs)
                    .map(|_| {
                        if self.rng.percent(92) {
                            self.cross_target()
                        } else {
                            NULL
                        }
                    })
                    .collect();
                let record = self.keep_plain(class);
                for (slot, target) in targets.into_iter().enumerate() {
                    *self.graph.slot_mut(record, slot) = target;
                }
                record
            }
        }
    }

    /// Half the cross edges lead to recent objects, a tenth to popular ones.
    fn cross_target(&mut self) -> u32 {
        let kept = self.kept.len();
        let index = match self.rng.below(20) {
            0..=10 => kept - 1 - self.rng.below(kept.min(2000)),
            11..=12 => self.rng.below(kept.min(POPULAR_OBJECTS)),
            _ => self.rng.below(kept),
        };
        self.kept[index]
    }

    fn drop_temporary(&mut self) {
        let role = if self.rng.percent(50) {
            Role::Leaf
        } else {
            Role::Record
        };
        let class = self.classes.pick(role, &mut self.rng);
        self.allocate(class, self.classes.get(class).refs);
    }

    fn keep_plain(&mut self, class: u16) -> u32 {
        self.keep(class, self.classes.get(class).refs)
    }

    fn keep(&mut self, class: u16, slots: usize) -> u32 {
        let object = self.allocate(class, slots);
        // Tables are replaced when they grow, so nothing else may point to one.
        if self.classes.get(class).role != Role::RefArray {
            self.kept.push(object);
        }
        object
    }

    fn allocate(&mut self, class: u16, slots: usize) -> u32 {
        let object = self.graph.classes.len() as u32;
        self.graph.classes.push(class);
        self.graph
            .slots
            .resize(self.graph.slots.len() + slots, NULL);
        self.graph.first_slot.push(self.graph.slots.len() as u32);
        object
    }
}
