//! Lists and what is made of them: deques, queues, rings, skip lists, hash maps, caches.

use std::collections::HashSet;

use heaphound_testkit::dice::Dice;

use super::{Structure, key};
use crate::held_out::sketch::{Id, NULL, Sketch};

pub const ALL: [Structure; 7] = [
    Structure {
        name: "doubly linked list",
        links: &[
            ("LinkedList", "head"),
            ("LinkedList", "tail"),
            ("ListNode", "next"),
            ("ListNode", "prev"),
        ],
        build: list,
        valid: list_is_valid,
    },
    Structure {
        name: "queue (singly linked, with tail)",
        links: &[("Queue", "head"), ("Queue", "tail"), ("QueueNode", "next")],
        build: queue,
        valid: queue_is_valid,
    },
    Structure {
        name: "ring with a sentinel",
        links: &[
            ("Ring", "sentinel"),
            ("RingNode", "next"),
            ("RingNode", "prev"),
        ],
        build: ring,
        valid: ring_is_valid,
    },
    Structure {
        name: "deque of chunks",
        links: &[
            ("Deque", "first"),
            ("Deque", "last"),
            ("Chunk", "next"),
            ("Chunk", "prev"),
            ("Chunk", "items"),
            ("Item[]", "[*]"),
        ],
        build: deque,
        valid: deque_is_valid,
    },
    Structure {
        name: "skip list",
        links: &[
            ("SkipList", "head"),
            ("SkipNode", "next"),
            ("SkipNode[]", "[*]"),
        ],
        build: skip_list,
        valid: skip_list_is_valid,
    },
    Structure {
        name: "chained hash map",
        links: &[
            ("HashMap", "table"),
            ("MapEntry[]", "[*]"),
            ("MapEntry", "next"),
        ],
        build: hash_map,
        valid: hash_map_is_valid,
    },
    Structure {
        name: "LRU cache (map and list)",
        links: &[
            ("LruCache", "table"),
            ("LruCache", "newest"),
            ("LruCache", "oldest"),
            ("LruEntry[]", "[*]"),
            ("LruEntry", "chain"),
            ("LruEntry", "newer"),
            ("LruEntry", "older"),
        ],
        build: lru,
        valid: lru_is_valid,
    },
];

/// Walks along a slot; none if it does not end.
fn walk(h: &Sketch, first: Id, slot: &str) -> Option<Vec<Id>> {
    let (mut at, mut seen, mut order) = (first, HashSet::new(), Vec::new());
    while at != NULL {
        if !seen.insert(at) {
            return None;
        }
        order.push(at);
        at = h.at(at, slot);
    }
    Some(order)
}

/// Says whether two slots are each other's reverse, from end to end.
fn is_chain(h: &Sketch, first: Id, last: Id, next: &str, prev: &str) -> bool {
    let Some(forth) = walk(h, first, next) else {
        return false;
    };
    let Some(mut back) = walk(h, last, prev) else {
        return false;
    };
    back.reverse();
    forth == back
}

// Doubly linked list

fn list(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let list = h.add("LinkedList", &[("head", NULL), ("tail", NULL)], &[]);
    let mut nodes: Vec<Id> = Vec::new();
    while nodes.len() < size {
        if dice.below(4) > 0 || nodes.is_empty() {
            // At the front, at the end, or somewhere.
            let index = match dice.below(3) {
                0 => 0,
                1 => nodes.len(),
                _ => dice.below(nodes.len() + 1),
            };
            let prev = if index == 0 { NULL } else { nodes[index - 1] };
            let next = nodes.get(index).copied().unwrap_or(NULL);
            let item = h.data("Item", 16);
            let node = h.add(
                "ListNode",
                &[("next", next), ("prev", prev), ("item", item)],
                &[],
            );
            list_join(h, list, prev, node);
            list_join(h, list, node, next);
            nodes.insert(index, node);
        } else {
            let node = nodes.remove(dice.below(nodes.len()));
            let (prev, next) = (h.at(node, "prev"), h.at(node, "next"));
            list_join(h, list, prev, next);
        }
    }
    list
}

fn list_join(h: &mut Sketch, list: Id, left: Id, right: Id) {
    match left {
        NULL => h.set(list, "head", right),
        left => h.set(left, "next", right),
    }
    match right {
        NULL => h.set(list, "tail", left),
        right => h.set(right, "prev", left),
    }
}

fn list_is_valid(h: &Sketch, list: Id) -> bool {
    is_chain(h, h.at(list, "head"), h.at(list, "tail"), "next", "prev")
}

// Queue

fn queue(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let queue = h.add("Queue", &[("head", NULL), ("tail", NULL)], &[]);
    let mut len = 0;
    while len < size {
        if dice.below(3) > 0 || len == 0 {
            let item = h.data("Item", 16);
            let node = h.add("QueueNode", &[("next", NULL), ("item", item)], &[]);
            match h.at(queue, "tail") {
                NULL => h.set(queue, "head", node),
                tail => h.set(tail, "next", node),
            }
            h.set(queue, "tail", node);
            len += 1;
        } else {
            let head = h.at(queue, "head");
            let next = h.at(head, "next");
            h.set(queue, "head", next);
            if next == NULL {
                h.set(queue, "tail", NULL);
            }
            len -= 1;
        }
    }
    queue
}

fn queue_is_valid(h: &Sketch, queue: Id) -> bool {
    let walked = walk(h, h.at(queue, "head"), "next");
    walked.is_some_and(|it| it.last().copied().unwrap_or(NULL) == h.at(queue, "tail"))
}

// Ring

fn ring(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let sentinel = h.add("RingNode", &[("next", NULL), ("prev", NULL)], &[("key", 0)]);
    h.set(sentinel, "next", sentinel);
    h.set(sentinel, "prev", sentinel);
    let ring = h.add("Ring", &[("sentinel", sentinel)], &[]);
    let mut nodes = Vec::new();
    while nodes.len() < size {
        if dice.below(4) > 0 || nodes.is_empty() {
            let prev = if nodes.is_empty() {
                sentinel
            } else {
                dice.pick(&nodes)
            };
            let next = h.at(prev, "next");
            let values = [("key", key(dice, size))];
            let node = h.add("RingNode", &[("next", next), ("prev", prev)], &values);
            h.set(prev, "next", node);
            h.set(next, "prev", node);
            nodes.push(node);
        } else {
            let node = nodes.swap_remove(dice.below(nodes.len()));
            let (prev, next) = (h.at(node, "prev"), h.at(node, "next"));
            h.set(prev, "next", next);
            h.set(next, "prev", prev);
        }
    }
    ring
}

fn ring_is_valid(h: &Sketch, ring: Id) -> bool {
    let sentinel = h.at(ring, "sentinel");
    // The sentinel alone has the key 0.
    if sentinel == NULL || h.value(sentinel, "key") != 0 {
        return false;
    }
    let (mut at, mut seen) = (sentinel, HashSet::new());
    loop {
        let next = h.at(at, "next");
        if next == NULL || h.at(next, "prev") != at || !seen.insert(at) {
            return false;
        }
        at = next;
        if at == sentinel {
            return true;
        }
    }
}

// Deque of chunks

const CHUNK: i64 = 8;

fn deque(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let items = h.array("Item[]", CHUNK as usize);
    let chunk = h.add(
        "Chunk",
        &[("next", NULL), ("prev", NULL), ("items", items)],
        &[],
    );
    let middle = CHUNK / 2;
    // Items stand at start.. of the first chunk and at ..end of the last.
    let deque = h.add(
        "Deque",
        &[("first", chunk), ("last", chunk)],
        &[("start", middle), ("end", middle), ("len", 0)],
    );
    let moved = |h: &mut Sketch, field: &'static str, by: i64| {
        let value = h.value(deque, field) + by;
        h.put(deque, field, value);
        value
    };
    while (h.value(deque, "len") as usize) < size {
        let (front, push) = (dice.below(2) == 0, dice.below(3) > 0);
        if push {
            let item = h.data("Item", 16);
            let (field, full) = if front { ("start", 0) } else { ("end", CHUNK) };
            if h.value(deque, field) == full {
                deque_extend(h, deque, front);
            }
            let index = if front {
                moved(h, "start", -1)
            } else {
                moved(h, "end", 1) - 1
            };
            let chunk = h.at(deque, if front { "first" } else { "last" });
            h.set_element(h.at(chunk, "items"), index as usize, item);
            moved(h, "len", 1);
        } else if h.value(deque, "len") > 0 {
            let index = if front {
                moved(h, "start", 1) - 1
            } else {
                moved(h, "end", -1)
            };
            let end = if front { "first" } else { "last" };
            let chunk = h.at(deque, end);
            h.set_element(h.at(chunk, "items"), index as usize, NULL);
            let emptied = if front {
                index == CHUNK - 1
            } else {
                index == 0
            };
            let (inward, outward) = if front {
                ("next", "prev")
            } else {
                ("prev", "next")
            };
            let inner = h.at(chunk, inward);
            if emptied && inner != NULL {
                h.set(deque, end, inner);
                h.set(inner, outward, NULL);
                h.put(
                    deque,
                    if front { "start" } else { "end" },
                    if front { 0 } else { CHUNK },
                );
            }
            if moved(h, "len", -1) == 0 {
                h.put(deque, "start", middle);
                h.put(deque, "end", middle);
            }
        }
    }
    deque
}

fn deque_extend(h: &mut Sketch, deque: Id, front: bool) {
    let items = h.array("Item[]", CHUNK as usize);
    let (end, inward, outward) = if front {
        ("first", "next", "prev")
    } else {
        ("last", "prev", "next")
    };
    let old = h.at(deque, end);
    let new = h.add(
        "Chunk",
        &[("next", NULL), ("prev", NULL), ("items", items)],
        &[],
    );
    h.set(new, inward, old);
    h.set(old, outward, new);
    h.set(deque, end, new);
    if front {
        h.put(deque, "start", CHUNK);
    } else {
        h.put(deque, "end", 0);
    }
}

fn deque_is_valid(h: &Sketch, deque: Id) -> bool {
    let (first, last) = (h.at(deque, "first"), h.at(deque, "last"));
    if first == NULL || !is_chain(h, first, last, "next", "prev") {
        return false;
    }
    let mut arrays = HashSet::new();
    let mut at = first;
    while at != NULL {
        let items = h.at(at, "items");
        if items == NULL || !arrays.insert(items) {
            return false;
        }
        let from = if at == first {
            h.value(deque, "start")
        } else {
            0
        };
        let to = if at == last {
            h.value(deque, "end")
        } else {
            CHUNK
        };
        for (index, &item) in h.elements(items).iter().enumerate() {
            if (item != NULL) != (from..to).contains(&(index as i64)) {
                return false;
            }
        }
        at = h.at(at, "next");
    }
    true
}

// Skip list

const LEVELS: usize = 8;

fn skip_list(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let next = h.array("SkipNode[]", LEVELS);
    let head = h.add("SkipNode", &[("next", next)], &[("key", -1)]);
    let list = h.add("SkipList", &[("head", head)], &[]);
    let mut keys = Vec::new();
    while keys.len() < size {
        let remove = dice.below(4) == 0 && !keys.is_empty();
        let key = if remove {
            keys.swap_remove(dice.below(keys.len()))
        } else {
            key(dice, size)
        };
        let mut before = [head; LEVELS];
        let mut at = head;
        for level in (0..LEVELS).rev() {
            loop {
                let next = h.element(h.at(at, "next"), level);
                if next == NULL || h.value(next, "key") >= key {
                    break;
                }
                at = next;
            }
            before[level] = at;
        }
        if remove {
            let node = h.element(h.at(before[0], "next"), 0);
            let own = h.at(node, "next");
            let levels = h.elements(own).len();
            for (level, before) in before.iter().enumerate().take(levels) {
                let next = h.element(own, level);
                h.set_element(h.at(*before, "next"), level, next);
            }
        } else if !keys.contains(&key) {
            keys.push(key);
            let mut levels = 1;
            while levels < LEVELS && dice.below(2) == 0 {
                levels += 1;
            }
            let own = h.array("SkipNode[]", levels);
            let node = h.add("SkipNode", &[("next", own)], &[("key", key)]);
            for (level, before) in before.iter().enumerate().take(levels) {
                let array = h.at(*before, "next");
                let next = h.element(array, level);
                h.set_element(own, level, next);
                h.set_element(array, level, node);
            }
        }
    }
    list
}

fn skip_list_is_valid(h: &Sketch, list: Id) -> bool {
    let head = h.at(list, "head");
    if head == NULL || h.value(head, "key") != -1 {
        return false;
    }
    let tower = |node: Id| match h.at(node, "next") {
        NULL => None,
        array => Some(h.elements(array)),
    };
    let (mut arrays, mut nodes, mut at) = (HashSet::new(), Vec::new(), head);
    while at != NULL {
        let Some(own) = tower(at) else { return false };
        if !arrays.insert(h.at(at, "next")) {
            return false;
        }
        let next = own[0];
        if next != NULL && h.value(next, "key") <= h.value(at, "key") {
            return false;
        }
        nodes.push(at);
        at = next;
    }
    // A level leads through all nodes that are high enough.
    (1..LEVELS).all(|level| {
        let high = nodes.iter().filter(|it| tower(**it).unwrap().len() > level);
        let high: Vec<Id> = high.copied().collect();
        let next = high.iter().skip(1).copied().chain([NULL]);
        high.iter()
            .zip(next)
            .all(|(node, next)| tower(*node).unwrap()[level] == next)
    })
}

// Hash map

fn hash(key: i64, capacity: usize) -> usize {
    ((key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % capacity
}

/// Puts all entries of a table into one of that capacity.
fn rehash(h: &mut Sketch, map: Id, class: &'static str, chain: &str, capacity: usize) {
    let old = h.at(map, "table");
    let new = h.array(class, capacity);
    for index in 0..h.elements(old).len() {
        let mut entry = h.element(old, index);
        while entry != NULL {
            let next = h.at(entry, chain);
            let index = hash(h.value(entry, "key"), capacity);
            h.set(entry, chain, h.element(new, index));
            h.set_element(new, index, entry);
            entry = next;
        }
    }
    h.set(map, "table", new);
}

/// Takes an entry out of its chain.
fn unchain(h: &mut Sketch, map: Id, chain: &str, entry: Id) {
    let table = h.at(map, "table");
    let index = hash(h.value(entry, "key"), h.elements(table).len());
    let next = h.at(entry, chain);
    let mut at = h.element(table, index);
    if at == entry {
        h.set_element(table, index, next);
        return;
    }
    while h.at(at, chain) != entry {
        at = h.at(at, chain);
    }
    h.set(at, chain, next);
}

/// Puts an entry into its chain.
fn enchain(h: &mut Sketch, map: Id, chain: &str, entry: Id) {
    let table = h.at(map, "table");
    let index = hash(h.value(entry, "key"), h.elements(table).len());
    h.set(entry, chain, h.element(table, index));
    h.set_element(table, index, entry);
}

/// Returns the entries of a table, if each is once where it belongs.
fn chained(h: &Sketch, map: Id, chain: &str) -> Option<HashSet<Id>> {
    let table = h.at(map, "table");
    let (mut entries, mut keys) = (HashSet::new(), HashSet::new());
    if table == NULL {
        return None;
    }
    for (index, &first) in h.elements(table).iter().enumerate() {
        for entry in walk(h, first, chain)? {
            let key = h.value(entry, "key");
            if hash(key, h.elements(table).len()) != index || !keys.insert(key) {
                return None;
            }
            entries.insert(entry);
        }
    }
    Some(entries)
}

fn hash_map(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let table = h.array("MapEntry[]", 16);
    let map = h.add("HashMap", &[("table", table)], &[]);
    let (mut keys, mut entries) = (HashSet::new(), Vec::new());
    while entries.len() < size {
        if dice.below(4) > 0 || entries.is_empty() {
            let key = key(dice, size);
            if !keys.insert(key) {
                continue;
            }
            let (name, value) = (h.data("Str", 24), h.data("Item", 32));
            let slots = [("name", name), ("value", value), ("next", NULL)];
            let entry = h.add("MapEntry", &slots, &[("key", key)]);
            entries.push(entry);
            enchain(h, map, "next", entry);
            let capacity = h.elements(h.at(map, "table")).len();
            if entries.len() * 4 > capacity * 3 {
                rehash(h, map, "MapEntry[]", "next", capacity * 2);
            }
        } else {
            let entry = entries.swap_remove(dice.below(entries.len()));
            keys.remove(&h.value(entry, "key"));
            unchain(h, map, "next", entry);
        }
    }
    map
}

fn hash_map_is_valid(h: &Sketch, map: Id) -> bool {
    chained(h, map, "next").is_some()
}

// LRU cache

fn lru(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let table = h.array("LruEntry[]", size.next_power_of_two().max(8));
    let slots = [("table", table), ("newest", NULL), ("oldest", NULL)];
    let cache = h.add("LruCache", &slots, &[("capacity", size as i64)]);
    let mut order: Vec<Id> = Vec::new();
    // Some caches are not full yet.
    for _ in 0..size / 2 + dice.below(size * 4) {
        let key = 1 + dice.below(size * 2) as i64;
        let found = order.iter().position(|it| h.value(*it, "key") == key);
        let entry = match found {
            Some(index) => {
                let entry = order.remove(index);
                lru_unlink(h, cache, entry);
                entry
            }
            None => {
                if order.len() == size {
                    let oldest = order.remove(0);
                    lru_unlink(h, cache, oldest);
                    unchain(h, cache, "chain", oldest);
                }
                let value = h.data("Item", 64);
                let slots = [
                    ("chain", NULL),
                    ("newer", NULL),
                    ("older", NULL),
                    ("value", value),
                ];
                let entry = h.add("LruEntry", &slots, &[("key", key)]);
                enchain(h, cache, "chain", entry);
                entry
            }
        };
        let newest = h.at(cache, "newest");
        h.set(entry, "older", newest);
        h.set(entry, "newer", NULL);
        match newest {
            NULL => h.set(cache, "oldest", entry),
            newest => h.set(newest, "newer", entry),
        }
        h.set(cache, "newest", entry);
        order.push(entry);
    }
    cache
}

fn lru_unlink(h: &mut Sketch, cache: Id, entry: Id) {
    let (newer, older) = (h.at(entry, "newer"), h.at(entry, "older"));
    match newer {
        NULL => h.set(cache, "newest", older),
        newer => h.set(newer, "older", older),
    }
    match older {
        NULL => h.set(cache, "oldest", newer),
        older => h.set(older, "newer", newer),
    }
}

fn lru_is_valid(h: &Sketch, cache: Id) -> bool {
    let (newest, oldest) = (h.at(cache, "newest"), h.at(cache, "oldest"));
    let Some(entries) = chained(h, cache, "chain") else {
        return false;
    };
    is_chain(h, newest, oldest, "older", "newer")
        && walk(h, newest, "older")
            .is_some_and(|it| it.into_iter().collect::<HashSet<_>>() == entries)
}
