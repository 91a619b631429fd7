//! How the collector finds an object's size and slots from its class: one word.

use std::sync::atomic::AtomicU32;

use heaphound_heap::{ClassId, FieldKind, PlainKind};

use crate::classes::Classes;
use crate::raw::memory::address::GRANULE;
use crate::raw::objects::object::Shape;

/// Bytes from an array's start to its length, and to what follows it.
pub(crate) const LENGTH_OFFSET: usize = 8;
pub(crate) const ELEMENTS_OFFSET: usize = 12;

/// What the mark loop needs of a class, packed into a word, so that the table of all
/// classes stays in the first-level cache.
///
/// | bits | meaning |
/// |---|---|
/// | 0–1 | how to find slots: by bitmap, as an array, none (plain array), by list |
/// | 2–14 | fixed part of the size, in granules |
/// | 15 | watched: see [`Trace::watched`] and [`Trace::shown`] |
/// | 16–63 | bitmap of the four-byte words behind the header; shift and offset of an array |
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Trace(u64);

/// How the slots of an object are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slots {
    /// A set bit for each slot among the first 48 words behind the header.
    Bitmap(u64),
    /// As many slots as the length says.
    Array,
    /// No slots.
    None,
    /// Some are weak or dependent, or lie too far behind: see the class.
    Listed,
}

/// The largest struct, and the largest plain part of an instance: the fixed size must fit its bits.
pub(crate) const MAX_FIXED_BYTES: usize = ((1 << 13) - 1) * GRANULE;

const WATCHED: u64 = 1 << 15;

impl Trace {
    /// A trace word for something that has no slots and no size.
    pub(crate) const NOTHING: Trace = Trace(0);

    pub(crate) fn new(
        shape: Shape,
        slots: impl Iterator<Item = (usize, FieldKind)> + Clone,
        tail: usize,
    ) -> Self {
        match shape {
            Shape::Fixed(bytes) => {
                assert!(
                    bytes <= MAX_FIXED_BYTES,
                    "a managed struct of {bytes} bytes"
                );
                let granules = (bytes.div_ceil(GRANULE) as u64) << 2;
                let simple = slots.clone().all(|(offset, kind)| {
                    matches!(kind, FieldKind::Ref | FieldKind::Opt) && offset < 8 + 48 * 4
                });
                if simple {
                    let bitmap =
                        slots.fold(0u64, |bits, (offset, _)| bits | 1 << ((offset - 8) / 4));
                    Self(bitmap << 16 | granules)
                } else {
                    Self(granules | 3)
                }
            }
            Shape::Refs if tail > MAX_FIXED_BYTES => {
                panic!("an instance with {tail} bytes of plain data")
            }
            Shape::Refs => Self::array(2, ELEMENTS_OFFSET, tail.div_ceil(GRANULE), 1),
            Shape::Plain(kind) => {
                let (shift, offset) = plain_array(kind);
                Self::array(shift, offset, 0, 2)
            }
            Shape::Text => Self::array(0, ELEMENTS_OFFSET, 0, 2),
        }
    }

    /// Of an array whose elements have `1 << shift` bytes and start at `offset`.
    fn array(shift: u32, offset: usize, tail_granules: usize, slots: u64) -> Self {
        let (shift, offset) = ((shift as u64) << 16, (offset as u64) << 24);
        Self(shift | offset | (tail_granules as u64) << 2 | slots)
    }

    #[inline]
    pub(crate) fn slots(self) -> Slots {
        match self.0 & 3 {
            0 => Slots::Bitmap(self.0 >> 16),
            1 => Slots::Array,
            2 => Slots::None,
            _ => Slots::Listed,
        }
    }

    /// What the mark loop gets to see instead when somebody wants to know of instances: it then
    /// takes the way of listed slots, on which those are told from others, and those
    /// others pay nothing. The size is right but for the elements of arrays.
    pub(crate) fn watched(self) -> Self {
        Self(self.0 & 0x7fff | WATCHED | 3)
    }

    /// The same, and that somebody wants to know of instances.
    pub(crate) fn shown(self) -> Self {
        Self(self.0 | WATCHED)
    }

    pub(crate) fn is_watched(self) -> bool {
        self.0 & WATCHED != 0
    }

    /// Bytes of an object that is no array and has that many slots.
    pub(crate) fn fixed_bytes(self, slots: usize) -> usize {
        let fixed = (self.0 >> 2 & 0x1fff) as usize * GRANULE;
        match self.0 & 3 {
            1 => refs_bytes(slots) + fixed,
            _ => fixed,
        }
    }

    /// Whether objects differ in size.
    #[inline]
    pub(crate) fn varies(self) -> bool {
        matches!(self.0 & 3, 1 | 2)
    }

    /// Bytes of an object, a multiple of the granule, without a stored hash.
    ///
    /// # Safety
    /// `object` is a live object (or one whose memory is still as it was) of
    /// the class that this describes.
    #[inline]
    pub(crate) unsafe fn bytes(self, object: *const u8) -> usize {
        match self.varies() {
            // SAFETY: the caller's promise.
            true => unsafe { self.array_bytes(object) },
            false => (self.0 >> 2 & 0x1fff) as usize * GRANULE,
        }
    }

    /// The same, of an array: of a class whose objects differ in size.
    ///
    /// # Safety
    /// As for [`Trace::bytes`], and [`Trace::varies`] says so.
    #[inline]
    pub(crate) unsafe fn array_bytes(self, object: *const u8) -> usize {
        // SAFETY: arrays have their length behind the header.
        let len = unsafe { array_len(object) };
        let (shift, offset) = (self.0 >> 16 & 0xff, self.0 >> 24 & 0xff);
        let elements = offset as usize + (len << shift);
        let tail = (self.0 >> 2 & 0x1fff) as usize * GRANULE;
        // `next_multiple_of` would branch.
        ((elements + (GRANULE - 1)) & !(GRANULE - 1)) + tail
    }
}

/// Bytes of an array of that many slots, without a plain tail.
#[inline]
pub(crate) fn refs_bytes(len: usize) -> usize {
    (ELEMENTS_OFFSET + len * 4).next_multiple_of(GRANULE)
}

/// The shift that turns a count of elements into bytes, and where they start.
pub(crate) const fn plain_array(kind: PlainKind) -> (u32, usize) {
    let bytes = kind.bytes();
    let offset = if bytes == 8 { 16 } else { ELEMENTS_OFFSET };
    (bytes.trailing_zeros(), offset)
}

/// The length of an array.
///
/// # Safety
/// `object` is a live object of an array class.
#[inline]
pub(crate) unsafe fn array_len(object: *const u8) -> usize {
    // SAFETY: the length lies behind the header and never changes once the
    // object exists.
    unsafe { object.add(LENGTH_OFFSET).cast::<u32>().read() as usize }
}

/// The slot at an offset of an object.
///
/// # Safety
/// There is a slot there, and the object stays in place during `'a`.
#[inline]
pub(crate) unsafe fn slot_at<'a>(object: *mut u8, offset: usize) -> &'a AtomicU32 {
    // SAFETY: slots are aligned four-byte words, accessed only as atomics.
    unsafe { AtomicU32::from_ptr(object.add(offset).cast()) }
}

/// Calls `f` with the offset, kind and place of every slot of an object.
///
/// # Safety
/// `object` is an object of `class`, whose memory nobody else changes
/// meanwhile.
#[inline]
pub(crate) unsafe fn for_each_slot(
    classes: &Classes,
    trace: Trace,
    class: u32,
    object: *mut u8,
    mut f: impl FnMut(usize, FieldKind, &AtomicU32),
) {
    match trace.slots() {
        Slots::None => {}
        Slots::Bitmap(mut bits) => {
            while bits != 0 {
                let offset = 8 + 4 * bits.trailing_zeros() as usize;
                bits &= bits - 1;
                // SAFETY: the bitmap says that a slot is there.
                f(offset, FieldKind::Opt, unsafe { slot_at(object, offset) });
            }
        }
        Slots::Array => {
            // SAFETY: an array has a length and that many slots.
            for i in 0..unsafe { array_len(object) } {
                let offset = ELEMENTS_OFFSET + 4 * i;
                // SAFETY: as above.
                f(offset, FieldKind::Opt, unsafe { slot_at(object, offset) });
            }
        }
        Slots::Listed => {
            for &(offset, kind) in &classes.get(ClassId(class)).slots {
                // SAFETY: the class says that a slot is there.
                f(offset as usize, kind, unsafe {
                    slot_at(object, offset as usize)
                });
            }
        }
    }
}
