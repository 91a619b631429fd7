//! The operations of `mutation`.
//!
//! A hash map (an array of buckets, chained entries, each with a value object)
//! and a singly linked list are filled first, so that they are old, and then
//! changed for a long time. Every operation writes references into old objects:
//! a new entry goes to the front of its bucket's chain, a new value into its
//! entry, a removed entry out of its predecessor.
//!
//! The list has a cursor that moves one node with each list operation and
//! returns to the head, a node that always stays, when it reaches the end.

use super::{Prng, Scale};

/// The seeded sequence of operations.
pub struct Script {
    prng: Prng,
    keys: u32,
    left: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Give the key a new value object; digest the old one's payload.
    Put { key: u32, value: u64 },
    /// Remove the key; digest its value's payload.
    Remove { key: u32 },
    /// If both keys are there, exchange their value objects.
    Swap { a: u32, b: u32 },
    /// Insert a new node after the cursor.
    ListInsert { value: u64 },
    /// Remove the node after the cursor, if any; digest its payload.
    ListRemove,
    /// Give the cursor's node a new value object; digest the old one's payload.
    ListReplace { value: u64 },
}

/// Slots under which payloads enter the digest.
pub mod digest {
    pub const REPLACED: u64 = 1;
    pub const REMOVED: u64 = 2;
    pub const LIST_REMOVED: u64 = 3;
    pub const LIST_REPLACED: u64 = 4;
    /// At the end: values in the map, by key, and in the list.
    pub const LEFT_IN_MAP: u64 = 5;
    pub const LEFT_IN_LIST: u64 = 6;
}

#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub keys: u32,
    /// A power of two.
    pub buckets: u32,
    pub list_nodes: u32,
    pub operations: u64,
}

impl Size {
    pub fn new(scale: Scale) -> Self {
        match scale {
            Scale::Full => Size {
                keys: 1 << 20,
                buckets: 1 << 19,
                list_nodes: 100_000,
                operations: 8_000_000,
            },
            Scale::Quick => Size {
                keys: 1 << 17,
                buckets: 1 << 16,
                list_nodes: 10_000,
                operations: 1_000_000,
            },
        }
    }

    /// The bucket of a key: the top bits of a multiplicative hash.
    #[inline]
    pub fn bucket(&self, key: u32) -> usize {
        let hash = key.wrapping_mul(0x9e37_79b1);
        (hash >> (32 - self.buckets.trailing_zeros())) as usize
    }

    /// The keys that are in the map at the start, in order of insertion.
    pub fn first_keys(&self) -> impl Iterator<Item = u32> {
        // An odd factor visits every key once in a scattered order.
        let keys = self.keys;
        (0..keys)
            .map(move |i| i.wrapping_mul(0x2545_f491) & (keys - 1))
            .filter(|key| key % 8 < 5)
    }
}

/// The payload of the value that a key or a list node has at the start.
pub fn first_value(key: u32) -> u64 {
    super::mix(u64::from(key))
}

impl Script {
    pub fn new(size: Size) -> Self {
        Script {
            prng: Prng::new(0x6d75_7461),
            keys: size.keys,
            left: size.operations,
        }
    }
}

impl Iterator for Script {
    type Item = Operation;

    #[inline]
    fn next(&mut self) -> Option<Operation> {
        self.left = self.left.checked_sub(1)?;
        let value = self.prng.next();
        let key = self.prng.below(self.keys);
        Some(match value % 20 {
            0..8 => Operation::Put { key, value },
            8..13 => Operation::Remove { key },
            13..16 => Operation::Swap {
                a: key,
                b: self.prng.below(self.keys),
            },
            16 => Operation::ListInsert { value },
            17 => Operation::ListRemove,
            _ => Operation::ListReplace { value },
        })
    }
}
