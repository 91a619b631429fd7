//! Programs, as series of snapshots.
//!
//! All of them have something else to do, too: a configuration that stays, and requests that come and go
//! in numbers that differ from snapshot to snapshot. They use the same maps and lists as the part that leaks.

mod healthy;
mod leaks;

use heaphound_testkit::dice::Dice;

use super::sketch::{Id, NULL, Sketch};

#[derive(Clone, Copy)]
pub enum Kind {
    Leak {
        /// The classes that the leak is made of: one of them is to be named.
        classes: &'static [&'static str],
        /// The root's name and slots that are to be named, in this order, with others between them.
        slots: &'static [&'static str],
    },
    Healthy,
}

pub struct Program {
    pub name: &'static str,
    pub kind: Kind,
    run: fn(&mut Run),
}

pub fn all() -> impl Iterator<Item = &'static Program> {
    let (leaks, healthy) = const { (&leaks::ALL, &healthy::ALL) };
    leaks.iter().chain(healthy)
}

pub struct Series {
    /// Heap text, oldest first.
    pub heaps: Vec<String>,
    /// The objects that an example of what leaks has to pass, at least one of them.
    pub containers: Vec<String>,
}

pub fn run(program: &Program, mut dice: Dice) -> Series {
    let steps = 5 + dice.below(4);
    let mut run = Run {
        h: Sketch::new(),
        dice,
        steps,
        heaps: Vec::new(),
        containers: Vec::new(),
    };
    let config = run.map();
    for key in 0..150 {
        let setting = run.data("Setting", 32);
        run.map_put(config, key, setting);
    }
    run.hold("config", config);
    (program.run)(&mut run);
    let containers = run.containers.iter().map(|it| run.h.name(*it)).collect();
    Series {
        heaps: run.heaps,
        containers,
    }
}

/// A program that runs, with the collections that it uses.
pub struct Run {
    pub h: Sketch,
    pub dice: Dice,
    /// How many snapshots there are to be: 5 to 8, unless the program knows better.
    pub steps: usize,
    heaps: Vec<String>,
    pub containers: Vec<Id>,
}

impl Run {
    /// A number around this one, up to a fifth more or less.
    pub fn about(&mut self, number: usize) -> usize {
        number - number / 5 + self.dice.below(2 * (number / 5) + 1)
    }

    pub fn data(&mut self, class: &'static str, bytes: usize) -> Id {
        self.h.data(class, bytes)
    }

    pub fn text(&mut self) -> Id {
        let bytes = 16 + 8 * self.dice.below(6);
        self.h.data("Str", bytes)
    }

    /// Lets a static refer to an object.
    pub fn hold(&mut self, name: &str, id: Id) {
        self.h.root(&format!("static:{name}"), id);
    }

    /// Writes a snapshot, while some requests are being served.
    pub fn snapshot(&mut self) {
        let count = self.about(100);
        self.snapshot_with_requests(count);
    }

    pub fn snapshot_with_requests(&mut self, count: usize) {
        let requests = self.list();
        for _ in 0..count {
            let bytes = 100 + 8 * self.dice.below(50);
            let (user, body) = (self.data("User", 40), self.data("Bytes", bytes));
            let request = self
                .h
                .add("Request", &[("user", user), ("body", body)], &[]);
            self.list_push(requests, request);
        }
        self.hold("requests", requests);
        self.heaps.push(self.h.text());
    }

    // A list in an array that doubles

    pub fn list(&mut self) -> Id {
        let items = self.h.array("Object[]", 8);
        self.h.add("ArrayList", &[("items", items)], &[("len", 0)])
    }

    pub fn list_len(&self, list: Id) -> usize {
        self.h.value(list, "len") as usize
    }

    pub fn list_push(&mut self, list: Id, it: Id) {
        let (len, items) = (self.list_len(list), self.h.at(list, "items"));
        let old = self.h.elements(items).to_vec();
        if len == old.len() {
            let new = self.h.array("Object[]", len * 2);
            self.h.elements_mut(new)[..len].copy_from_slice(&old);
            self.h.set(list, "items", new);
        }
        self.h.set_element(self.h.at(list, "items"), len, it);
        self.h.put(list, "len", len as i64 + 1);
    }

    pub fn list_remove(&mut self, list: Id, index: usize) {
        let items = self.h.at(list, "items");
        self.h.elements_mut(items).remove(index);
        self.h.elements_mut(items).push(NULL);
        let len = self.h.value(list, "len");
        self.h.put(list, "len", len - 1);
    }

    // A hash map with chains

    pub fn map(&mut self) -> Id {
        let table = self.h.array("MapEntry[]", 16);
        self.h.add("HashMap", &[("table", table)], &[("len", 0)])
    }

    pub fn map_len(&self, map: Id) -> usize {
        self.h.value(map, "len") as usize
    }

    fn map_index(&self, table: Id, key: i64) -> usize {
        let hash = (key as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        hash as usize % self.h.elements(table).len()
    }

    fn map_link(&mut self, table: Id, entry: Id) {
        let index = self.map_index(table, self.h.value(entry, "hash"));
        let first = self.h.element(table, index);
        self.h.set(entry, "next", first);
        self.h.set_element(table, index, entry);
    }

    /// Puts a value under a key that the map does not have.
    pub fn map_put(&mut self, map: Id, key: i64, value: Id) {
        let name = self.text();
        let slots = [("key", name), ("value", value), ("next", NULL)];
        let entry = self.h.add("MapEntry", &slots, &[("hash", key)]);
        self.map_link(self.h.at(map, "table"), entry);
        let len = self.h.value(map, "len") + 1;
        self.h.put(map, "len", len);
        let old = self.h.at(map, "table");
        let capacity = self.h.elements(old).len();
        if len as usize * 4 > capacity * 3 {
            let new = self.h.array("MapEntry[]", capacity * 2);
            for index in 0..capacity {
                let mut entry = self.h.element(old, index);
                while entry != NULL {
                    let next = self.h.at(entry, "next");
                    self.map_link(new, entry);
                    entry = next;
                }
            }
            self.h.set(map, "table", new);
        }
    }

    pub fn map_remove(&mut self, map: Id, key: i64) {
        let table = self.h.at(map, "table");
        let index = self.map_index(table, key);
        let (mut before, mut at) = (NULL, self.h.element(table, index));
        while self.h.value(at, "hash") != key {
            (before, at) = (at, self.h.at(at, "next"));
        }
        let next = self.h.at(at, "next");
        match before {
            NULL => self.h.set_element(table, index, next),
            before => self.h.set(before, "next", next),
        }
        let len = self.h.value(map, "len");
        self.h.put(map, "len", len - 1);
    }

    // A queue of linked tasks

    pub fn queue(&mut self) -> Id {
        self.h
            .add("TaskQueue", &[("head", NULL), ("tail", NULL)], &[])
    }

    pub fn queue_push(&mut self, queue: Id) {
        let bytes = 64 + 8 * self.dice.below(20);
        let payload = self.data("Bytes", bytes);
        let task = self
            .h
            .add("Task", &[("next", NULL), ("payload", payload)], &[]);
        match self.h.at(queue, "tail") {
            NULL => self.h.set(queue, "head", task),
            tail => self.h.set(tail, "next", task),
        }
        self.h.set(queue, "tail", task);
    }

    pub fn queue_clear(&mut self, queue: Id) {
        self.h.set(queue, "head", NULL);
        self.h.set(queue, "tail", NULL);
    }
}
