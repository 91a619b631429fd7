//! Classes of the synthetic program, and where each layout puts their fields.
//!
//! A class lists how many references and how much plain data its instances
//! have. A [`Layout`] turns that into offsets and a trace descriptor, once per
//! reference width and field order.

use crate::rng::Rng;

pub const CLASS_COUNT: usize = 200;

/// Bytes of the header word that starts every object.
pub const HEADER_BYTES: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Slots: left, right, item, and in some classes parent.
    TreeNode,
    /// Slots: next, item, and in some classes previous.
    ListNode,
    /// Slot: table.
    Map,
    /// Slots: key, value, next.
    Entry,
    /// Slots: anything.
    Record,
    /// No slots.
    Leaf,
    /// A length word, then that many slots.
    RefArray,
}

pub struct Class {
    pub role: Role,
    pub refs: usize,
    data_words4: usize,
    data_words8: usize,
    /// Decides the interleaving of references and data in `FieldOrder::Mixed`.
    seed: u64,
}

/// All classes, grouped by role.
pub struct Classes {
    all: Vec<Class>,
}

impl Classes {
    pub fn generate() -> Self {
        let mut rng = Rng::new(11);
        let mut all = Vec::new();
        let groups = [
            (Role::TreeNode, 30),
            (Role::ListNode, 30),
            (Role::Map, 10),
            (Role::Entry, 30),
            (Role::Record, 60),
            (Role::Leaf, 30),
            (Role::RefArray, 10),
        ];
        for (role, count) in groups {
            for _ in 0..count {
                let (refs, data_words4, data_words8) = match role {
                    Role::TreeNode => (3 + rng.below(2), rng.below(3), rng.below(2)),
                    Role::ListNode => (2 + rng.below(2), rng.below(2), rng.below(2)),
                    Role::Map => (1, 3, 1),
                    Role::Entry => (3, 1, 0),
                    Role::Record => (2 + rng.below(6), rng.below(4), rng.below(4)),
                    Role::Leaf => (0, rng.below(3), 1 + rng.below(5)),
                    Role::RefArray => (0, 0, 0),
                };
                all.push(Class {
                    role,
                    refs,
                    data_words4,
                    data_words8,
                    seed: rng.next(),
                });
            }
        }
        assert_eq!(all.len(), CLASS_COUNT);
        Classes { all }
    }

    pub fn get(&self, class: u16) -> &Class {
        &self.all[class as usize]
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// A class of this role; a few classes of each role are much more common.
    pub fn pick(&self, role: Role, rng: &mut Rng) -> u16 {
        let first = self
            .all
            .iter()
            .position(|class| class.role == role)
            .unwrap_or(0);
        let count = self.all[first..]
            .iter()
            .take_while(|class| class.role == role)
            .count();
        let skewed = rng.below(count) * (1 + rng.below(count)) / count;
        (first + skewed) as u16
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldOrder {
    /// References among the data, as declared by a program.
    Mixed,
    /// References directly after the header, so that their count describes them.
    RefsFirst,
}

/// How a trace reads an object, in one word.
///
/// Bits 0..48: which reference-sized words after the header are references.
/// Bits 48..60: size in granules. Bit 63: a reference array, described by the
/// length word after the header instead.
#[derive(Clone, Copy)]
pub struct Descriptor(pub u64);

impl Descriptor {
    const BITMAP: u64 = (1 << 48) - 1;
    pub const MAX_REFS: usize = 48;
    pub const REF_ARRAY: Descriptor = Descriptor(1 << 63);

    #[inline(always)]
    pub fn is_ref_array(self) -> bool {
        (self.0 as i64) < 0
    }

    #[inline(always)]
    pub fn bitmap(self) -> u64 {
        self.0 & Self::BITMAP
    }

    #[inline(always)]
    pub fn bytes(self) -> usize {
        ((self.0 >> 48) as usize & 0xFFF) * 8
    }
}

/// A class as one combination of reference width and field order lays it out.
pub struct Layout {
    pub descriptor: Descriptor,
    /// Slot number to offset from the start of the object.
    pub slot_offsets: Vec<usize>,
    pub bytes: usize,
}

impl Layout {
    pub fn new(class: &Class, ref_bytes: usize, order: FieldOrder) -> Self {
        if class.role == Role::RefArray {
            return Layout {
                descriptor: Descriptor::REF_ARRAY,
                slot_offsets: Vec::new(),
                bytes: 0,
            };
        }
        // Fields as (bytes, slot), wide ones before narrow ones so that no
        // padding falls between them. Slots keep their order.
        let slots = (0..class.refs).map(|slot| (ref_bytes, Some(slot)));
        let mut fields: Vec<(usize, Option<usize>)> = Vec::new();
        match order {
            FieldOrder::RefsFirst => {
                fields.extend(slots);
                if (class.refs * ref_bytes).is_multiple_of(8) {
                    fields.extend((0..class.data_words8).map(|_| (8, None)));
                    fields.extend((0..class.data_words4).map(|_| (4, None)));
                } else {
                    fields.extend((0..class.data_words4).map(|_| (4, None)));
                    fields.extend((0..class.data_words8).map(|_| (8, None)));
                }
            }
            FieldOrder::Mixed => {
                fields.extend(slots);
                fields.extend((0..class.data_words4).map(|_| (4, None)));
                fields.extend((0..class.data_words8).map(|_| (8, None)));
                Rng::new(class.seed).shuffle(&mut fields);
                fields.sort_by_key(|&(bytes, _)| std::cmp::Reverse(bytes));
            }
        }
        let mut slot_offsets = vec![0; class.refs];
        let mut bitmap = 0;
        let mut offset = HEADER_BYTES;
        for (bytes, slot) in fields {
            offset = offset.next_multiple_of(bytes);
            if let Some(slot) = slot {
                slot_offsets[slot] = offset;
                bitmap |= 1 << ((offset - HEADER_BYTES) / ref_bytes);
            }
            offset += bytes;
        }
        assert!(bitmap <= Descriptor::BITMAP);
        let bytes = offset.next_multiple_of(8).max(16);
        let descriptor = Descriptor(bitmap | (bytes as u64 / 8) << 48);
        Layout {
            descriptor,
            slot_offsets,
            bytes,
        }
    }
}

/// Bytes of a reference array: header, a length word as wide as a reference,
/// then the references.
pub fn ref_array_bytes(length: usize, ref_bytes: usize) -> usize {
    (HEADER_BYTES + ref_bytes * (1 + length)).next_multiple_of(8)
}
