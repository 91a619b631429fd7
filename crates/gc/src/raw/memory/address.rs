//! Where things lie in a heap's region, and references as offsets into it.
//!
//! A heap is one region of address space, aligned to [`REGION`]. Two things follow.
//! A reference is four bytes: the number of an 8-byte granule, 0 for null. And
//! the address of any slot tells its heap, so that reading and writing a slot needs
//! no other argument, and a reference that would leave its heap is seen by
//! comparing the upper bits of two addresses.
//!
//! ```text
//! 0        64K            256M           512M                              32G
//! | heap * | nursery …    | page records | pages: blocks, large objects … | cards | marked pages
//! ```
//!
//! Cards are bytes of the mature space's lines, in a heap with a nursery. They lie behind what references reach.

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::raw::objects::header::Header;

/// Bytes that a reference counts in; every object starts at a multiple.
pub(crate) const GRANULE: usize = 8;
/// Alignment of a region, and the most that a 32-bit granule number can reach.
pub(crate) const REGION: usize = 1 << 35;
/// The unit in which the mature space is handed out.
pub(crate) const PAGE: usize = 4096;
/// Objects below this offset are young.
pub(crate) const NURSERY_END: usize = 256 << 20;
pub(crate) const NURSERY_START: usize = 64 << 10;
/// Each card is a byte that stands for this many bytes of the region: a line of the cache, so that a nursery collection
/// reads no more of an object that was written to than it has to.
pub(crate) const CARD: usize = 64;
pub(crate) const CARDS_START: usize = REGION;
/// A byte for each page, of which some card is marked.
pub(crate) const MARKED_PAGES_START: usize = CARDS_START + REGION / CARD;
/// Where the tables of a heap with a nursery end.
pub(crate) const TABLES_END: usize = MARKED_PAGES_START + REGION / PAGE;
pub(crate) const RECORDS_START: usize = NURSERY_END;
pub(crate) const MATURE_START: usize = 512 << 20;

const _: () = assert!(RECORDS_START + REGION / PAGE * 16 <= MATURE_START);

/// Where a heap that tags references ends: its granule numbers leave the two top bits
/// of a reference free.
pub(crate) const TAGGED_REGION: usize = GRANULE << 30;

/// A reference as it is stored: the number of the granule where the object
/// starts, or 0.
///
/// The two top bits are tags, in heaps that are built for them: bit 31 for an
/// invalidated reference (the others then number the record that says why, see
/// [`crate::raw::objects::invalid`]), bit 30 for one that nobody has read since the collector
/// set it (leak pruning, see [`crate::raw::objects::barrier`]). At the top they cost a
/// plain read no mask: an untagged reference is used as it is. Only slots of objects have
/// untouched references, and what is taken out of them is clean: [`Reach::read`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub(crate) struct Raw(pub(crate) u32);

const INVALID: u32 = 1 << 31;
const UNTOUCHED: u32 = 1 << 30;

impl Raw {
    pub(crate) const NULL: Raw = Raw(0);

    #[inline]
    pub(crate) fn from_offset(offset: usize) -> Self {
        debug_assert!(offset.is_multiple_of(GRANULE) && offset < REGION);
        Self((offset / GRANULE) as u32)
    }

    #[inline]
    pub(crate) fn of(object: *const u8) -> Self {
        Self::from_offset(object.addr() & (REGION - 1))
    }

    #[inline]
    pub(crate) fn is_null(self) -> bool {
        self.0 == 0
    }

    /// A reference that was invalidated, as that record says.
    #[inline]
    pub(crate) fn invalid(record: u32) -> Self {
        debug_assert!(record < 1 << 30);
        Self(INVALID | record)
    }

    /// Whether a tag bit is set, if this is the reference of a heap that tags them. In
    /// others it may as well be an address.
    #[inline]
    pub(crate) fn is_tagged(self) -> bool {
        cfg!(feature = "barrier") && self.0 >= (TAGGED_REGION / GRANULE) as u32
    }

    /// The same reference, tagged as untouched if it leads to an object, and else as it is. No branch: whether
    /// slots are null cannot be predicted.
    #[inline]
    pub(crate) fn untouched_if(self, refers: bool) -> Self {
        Self(self.0 | (refers as u32) << UNTOUCHED.trailing_zeros())
    }

    /// Whether the word of a slot leads to an object, be it untouched or not, in a heap that tags references: it is
    /// neither null nor invalid. One comparison with 0.
    #[inline]
    pub(crate) fn refers_tagged(self) -> bool {
        const { assert!(INVALID == 1 << 31) };
        debug_assert!(self.0 != UNTOUCHED, "null is never untouched");
        self.0 as i32 > 0
    }

    /// The same reference, no longer untouched.
    #[inline]
    pub(crate) fn touched(self) -> Self {
        Self(self.0 & !UNTOUCHED)
    }

    /// The record of an invalidated reference, in a heap that tags references.
    #[inline]
    pub(crate) fn record(self) -> Option<u32> {
        (self.0 & INVALID != 0).then_some(self.0 & !(INVALID | UNTOUCHED))
    }

    /// Whether the object is in the nursery. An invalidated reference is not. Null counts
    /// as young; callers that care test for it first.
    #[inline]
    pub(crate) fn is_young(self) -> bool {
        self.0 < (NURSERY_END / GRANULE) as u32
    }

    #[inline]
    pub(crate) fn offset(self) -> usize {
        self.0 as usize * GRANULE
    }

    #[inline]
    pub(crate) fn page(self) -> u32 {
        ((self.offset() - MATURE_START) / PAGE) as u32
    }
}

/// Which references of a heap lead to objects, and what is a tag in the others.
#[derive(Clone, Copy)]
pub(crate) struct Reach {
    /// The most that a reference to an object can be.
    most: u32,
    /// All bits but the tag of untouched references.
    clean: u32,
}

impl Reach {
    /// Of a heap that tags references.
    pub(crate) const TAGGED: Self = Self {
        most: (TAGGED_REGION / GRANULE) as u32 - 1,
        clean: !UNTOUCHED,
    };

    /// Of a heap that tags references, or of one that does not.
    pub(crate) fn new(tags: bool) -> Self {
        match tags {
            true => Self::TAGGED,
            false => Self {
                most: u32::MAX,
                clean: u32::MAX,
            },
        }
    }

    /// Whether the heap tags references.
    #[inline]
    pub(crate) fn tags(self) -> bool {
        self.most != u32::MAX
    }

    /// Whether a reference leads to an object: it is neither null nor invalid, and no longer tagged
    /// as untouched. One comparison, whatever the heap.
    #[inline]
    pub(crate) fn covers(self, raw: Raw) -> bool {
        raw.0.wrapping_sub(1) < self.most
    }

    /// Whether a reference was pruned or invalidated: it is not null, and leads to no object.
    #[inline]
    pub(crate) fn is_cut(self, raw: Raw) -> bool {
        self.tags() && raw.0 & INVALID != 0
    }

    /// What was read in a slot, without the tag of what is untouched.
    #[inline]
    pub(crate) fn clean(self, found: Raw) -> Raw {
        Raw(found.0 & self.clean)
    }

    /// What a slot holds, be it untouched or not. For the collector and for questions: they do not
    /// count as uses.
    #[inline]
    pub(crate) fn read(self, slot: &AtomicU32) -> Raw {
        Raw(slot.load(Relaxed) & self.clean)
    }

    /// Makes a slot refer to where its target is now. It stays as untouched as it was.
    #[inline]
    pub(crate) fn redirect(self, slot: &AtomicU32, to: Raw) {
        let tag = slot.load(Relaxed) & !self.clean;
        slot.store(to.0 | tag, Relaxed);
    }
}

/// The first address of a heap's region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Base(usize);

impl Base {
    /// The region that starts at this address, whose provenance is exposed so that
    /// pointers into it can be made from numbers.
    pub(crate) fn expose(start: *mut u8) -> Self {
        let address = start.expose_provenance();
        assert_eq!(address % REGION, 0);
        Self(address)
    }

    /// The region that an address lies in, if it lies in one.
    #[inline]
    pub(crate) fn of<T: ?Sized>(address: *const T) -> Self {
        Self(address.cast::<u8>().addr() & !(REGION - 1))
    }

    /// The address of an offset. Making it is safe; using it needs invariant H1.
    #[inline]
    pub(crate) fn at(self, offset: usize) -> *mut u8 {
        ptr::with_exposed_provenance_mut(self.0 + offset)
    }

    #[inline]
    pub(crate) fn object(self, raw: Raw) -> *mut u8 {
        self.at(raw.offset())
    }

    /// The header of an object, or of a free run.
    ///
    /// # Safety
    /// `raw` names the start of a cell, a large object or a nursery object in
    /// committed memory of this region (H1), and the heap outlives `'a`.
    #[inline]
    pub(crate) unsafe fn header<'a>(self, raw: Raw) -> &'a Header {
        // SAFETY: the caller's promise.
        unsafe { Header::at(self.object(raw)) }
    }
}
