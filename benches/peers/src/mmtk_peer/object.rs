//! Objects: a header word, slots, payload words.
//!
//! ```text
//! header   63 … 32   31 … 16   15 … 8   7 … 2   1 0
//!          length    unused    class    unused  MMTk's forwarding bits
//! ```
//!
//! Invariants, on which the notes below rely:
//!
//! 1. A non-null [`Object`] that a program holds is live and unmoved: the
//!    program puts it on its root stack before anything that may collect, and
//!    reads it back afterwards.
//! 2. An object has the size that [`Object::bytes`] computes from its header,
//!    written right after allocation, before the next chance to collect.
//! 3. Slots hold null or a live object; MMTk returns zeroed memory.

use mmtk::util::{Address, ObjectReference};
use mmtk::vm::slot::SimpleSlot;

use crate::workload::graph;

/// A reference, or null.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Object(usize);

/// What MMTk needs to know about the objects of a class.
pub struct Class {
    shape: Shape,
    bytes: u32,
    offsets: [u8; 5],
    slots: u8,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Fixed,
    /// As many slots as the header's length says.
    References,
    /// As many payload words as the header's length says.
    Words,
}

/// A class by its index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ClassId(pub u8);

impl ClassId {
    // The graph's own classes come first.
    pub const UNIT: ClassId = ClassId(200);
    pub const REFERENCES: ClassId = ClassId(201);
    pub const NODE: ClassId = ClassId(202);
    pub const VALUE: ClassId = ClassId(203);
    pub const MAP_ENTRY: ClassId = ClassId(204);
    pub const LIST_NODE: ClassId = ClassId(205);
    pub const WORDS: ClassId = ClassId(206);

    pub fn bytes(self) -> usize {
        CLASSES[self.0 as usize].bytes as usize
    }
}

static CLASSES: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut classes = [const { fixed(0, 0) }; 256];
    // In the order of `graph::Kind`: slots and payload words.
    let kinds = [
        (3, 1),
        (2, 1),
        (3, 1),
        (5, graph::RECORD_WORDS),
        (0, graph::LEAF_WORDS),
    ];
    let mut class = 0;
    while class < graph::CLASSES as usize {
        let (slots, words) = kinds[class / graph::CLASSES_PER_KIND as usize];
        classes[class] = fixed(slots, words);
        class += 1;
    }
    classes[ClassId::UNIT.0 as usize] = fixed(3, 0);
    classes[ClassId::REFERENCES.0 as usize].shape = Shape::References;
    classes[ClassId::NODE.0 as usize] = fixed(2, 1);
    classes[ClassId::VALUE.0 as usize] = fixed(0, 3);
    classes[ClassId::MAP_ENTRY.0 as usize] = fixed(2, 1);
    classes[ClassId::LIST_NODE.0 as usize] = fixed(2, 0);
    classes[ClassId::WORDS.0 as usize].shape = Shape::Words;
    classes
}

/// Slots first, payload after them.
const fn fixed(slots: usize, words: usize) -> Class {
    let mut offsets = [0; 5];
    let mut slot = 0;
    while slot < slots {
        offsets[slot] = 8 + 8 * slot as u8;
        slot += 1;
    }
    Class {
        shape: Shape::Fixed,
        bytes: 8 * (1 + slots + words) as u32,
        offsets,
        slots: slots as u8,
    }
}

const CLASS_SHIFT: u32 = 8;
const LENGTH_SHIFT: u32 = 32;
const FORWARDING_MASK: u64 = 0b11;

/// A header for an object of the class; `length` is zero but for arrays.
#[inline]
pub fn header(class: ClassId, length: usize) -> u64 {
    (u64::from(class.0) << CLASS_SHIFT) | ((length as u64) << LENGTH_SHIFT)
}

/// An array of references or words: its size in bytes.
pub fn array_bytes(length: usize) -> usize {
    8 + 8 * length
}

impl Object {
    pub const NULL: Object = Object(0);

    /// # Safety
    ///
    /// The address is null or that of an object.
    #[inline]
    pub unsafe fn from_address(address: Address) -> Object {
        Object(address.as_usize())
    }

    #[inline]
    pub fn from_reference(reference: ObjectReference) -> Object {
        Object(reference.to_raw_address().as_usize())
    }

    #[inline]
    pub fn is_null(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub fn non_null(self) -> Option<Object> {
        (!self.is_null()).then_some(self)
    }

    #[inline]
    pub fn address(self) -> usize {
        self.0
    }

    /// The reference in MMTk's type. Not for null.
    #[inline]
    pub fn reference(self) -> ObjectReference {
        debug_assert!(!self.is_null());
        // SAFETY: not null, and aligned to a word as all objects are.
        unsafe { ObjectReference::from_raw_address_unchecked(Address::from_usize(self.0)) }
    }

    #[inline]
    pub fn slot_address(self, slot: usize) -> Address {
        // SAFETY: making an address is safe; those who use it say why.
        unsafe { Address::from_usize(self.0 + 8 + 8 * slot) }
    }

    #[inline]
    pub fn slot(self, slot: usize) -> Object {
        // SAFETY: by invariants 1 to 3, a slot of a live object.
        unsafe { self.slot_address(slot).load() }
    }

    /// Fills a slot of an object that was just allocated: no barrier is needed,
    /// because no collection can have made it old.
    #[inline]
    pub fn initialize_slot(self, slot: usize, value: Object) {
        // SAFETY: by invariants 1 and 2, a slot of a live object.
        unsafe { self.slot_address(slot).store(value) }
    }

    /// A word after the header, counted like slots.
    #[inline]
    pub fn word(self, index: usize) -> u64 {
        // SAFETY: by invariants 1 and 2, a word of a live object.
        unsafe { self.slot_address(index).load() }
    }

    #[inline]
    pub fn set_word(self, index: usize, word: u64) {
        // SAFETY: by invariants 1 and 2, a word of a live object.
        unsafe { self.slot_address(index).store(word) }
    }

    #[inline]
    pub fn header(self) -> u64 {
        // SAFETY: by invariants 1 and 2, a live object begins with its header.
        unsafe { Address::from_usize(self.0).load() }
    }

    #[inline]
    pub fn set_header(self, header: u64) {
        // SAFETY: by invariant 1, an object begins here, and every object has
        // room for a header.
        unsafe { Address::from_usize(self.0).store(header) }
    }

    /// A copy's header must not say that the copy is being forwarded.
    #[inline]
    pub fn clear_forwarding(self) {
        self.set_header(self.header() & !FORWARDING_MASK);
    }

    #[inline]
    fn class(self) -> &'static Class {
        &CLASSES[(self.header() >> CLASS_SHIFT) as u8 as usize]
    }

    #[inline]
    pub fn length(self) -> usize {
        (self.header() >> LENGTH_SHIFT) as usize
    }

    #[inline]
    pub fn bytes(self) -> usize {
        let class = self.class();
        match class.shape {
            Shape::Fixed => class.bytes as usize,
            Shape::References | Shape::Words => array_bytes(self.length()),
        }
    }

    /// Calls `f` for every slot that is not null. The object is in cache, so
    /// testing here is cheaper than queueing a slot for nothing.
    #[inline]
    pub fn for_each_slot(self, mut f: impl FnMut(SimpleSlot)) {
        let mut visit = |slot: Address| {
            // SAFETY: by invariant 2, the class and length describe the object.
            if unsafe { slot.load::<usize>() } != 0 {
                f(SimpleSlot::from_address(slot));
            }
        };
        let class = self.class();
        match class.shape {
            Shape::Fixed => {
                for offset in &class.offsets[..class.slots as usize] {
                    // SAFETY: making an address is safe.
                    visit(unsafe { Address::from_usize(self.0 + *offset as usize) });
                }
            }
            Shape::References => {
                for slot in 0..self.length() {
                    visit(self.slot_address(slot));
                }
            }
            Shape::Words => {}
        }
    }
}
