//! References as slots hold them, and entries as mark stacks hold them.

/// A reference of one width. Zero is null in all of them.
pub trait Reference: Copy + Send + Sync + 'static {
    const BYTES: usize;
    /// Bits that a reference leaves to a stack entry start here.
    const WIDTH_BITS: u32;
    const NULL: Self;

    fn encode(offset: usize, base: *mut u8) -> Self;
    fn decode(self, base: *mut u8) -> *mut u8;
    fn is_null(self) -> bool;
    fn bits(self) -> u64;
    fn from_bits(bits: u64) -> Self;
}

/// Four bytes: the index of an 8-byte granule. Reaches 32 GiB.
#[derive(Clone, Copy)]
pub struct Ref4(u32);

impl Reference for Ref4 {
    const BYTES: usize = 4;
    const WIDTH_BITS: u32 = 32;
    const NULL: Self = Ref4(0);

    fn encode(offset: usize, _base: *mut u8) -> Self {
        Ref4((offset / 8) as u32)
    }
    #[inline(always)]
    fn decode(self, base: *mut u8) -> *mut u8 {
        base.wrapping_add(self.0 as usize * 8)
    }
    #[inline(always)]
    fn is_null(self) -> bool {
        self.0 == 0
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        self.0.into()
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Ref4(bits as u32)
    }
}

/// Four bytes of which the low two are tags to be masked. Reaches 8 GiB.
#[derive(Clone, Copy)]
pub struct Ref4Tagged(u32);

impl Reference for Ref4Tagged {
    const BYTES: usize = 4;
    const WIDTH_BITS: u32 = 32;
    const NULL: Self = Ref4Tagged(0);

    fn encode(offset: usize, _base: *mut u8) -> Self {
        Ref4Tagged((offset / 2) as u32)
    }
    #[inline(always)]
    fn decode(self, base: *mut u8) -> *mut u8 {
        base.wrapping_add((self.0 & !3) as usize * 2)
    }
    #[inline(always)]
    fn is_null(self) -> bool {
        self.0 < 4
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        self.0.into()
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Ref4Tagged(bits as u32)
    }
}

/// Eight bytes: the address itself, of which 48 bits are used.
#[derive(Clone, Copy)]
pub struct Ref8(u64);

impl Reference for Ref8 {
    const BYTES: usize = 8;
    const WIDTH_BITS: u32 = 48;
    const NULL: Self = Ref8(0);

    fn encode(offset: usize, base: *mut u8) -> Self {
        Ref8(base as u64 + offset as u64)
    }
    #[inline(always)]
    fn decode(self, base: *mut u8) -> *mut u8 {
        base.with_addr(self.0 as usize)
    }
    #[inline(always)]
    fn is_null(self) -> bool {
        self.0 == 0
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        self.0
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Ref8(bits)
    }
}

/// What a mark stack holds for an object to be visited.
pub trait Entry<R: Reference>: Copy + Send + Sync + 'static {
    const NULL: Self;
    fn new(reference: R, source_class: u32) -> Self;
    fn reference(self) -> R;
    fn source_class(self) -> u32;
}

/// The reference alone, as wide as in a slot.
#[derive(Clone, Copy)]
pub struct Bare<R>(R);

impl<R: Reference> Entry<R> for Bare<R> {
    const NULL: Self = Bare(R::NULL);
    #[inline(always)]
    fn new(reference: R, _source_class: u32) -> Self {
        Bare(reference)
    }
    #[inline(always)]
    fn reference(self) -> R {
        self.0
    }
    #[inline(always)]
    fn source_class(self) -> u32 {
        0
    }
}

/// The reference, and above it the class of the object it was read from.
#[derive(Clone, Copy)]
pub struct Sourced(u64);

impl<R: Reference> Entry<R> for Sourced {
    const NULL: Self = Sourced(0);
    #[inline(always)]
    fn new(reference: R, source_class: u32) -> Self {
        Sourced(reference.bits() | u64::from(source_class) << R::WIDTH_BITS)
    }
    #[inline(always)]
    fn reference(self) -> R {
        R::from_bits(self.0 & ((1 << R::WIDTH_BITS) - 1))
    }
    #[inline(always)]
    fn source_class(self) -> u32 {
        (self.0 >> R::WIDTH_BITS) as u32
    }
}

/// The reference alone in eight bytes, to tell the cost of a wider entry from
/// that of what it carries.
#[derive(Clone, Copy)]
pub struct Padded(u64);

impl<R: Reference> Entry<R> for Padded {
    const NULL: Self = Padded(0);
    #[inline(always)]
    fn new(reference: R, _source_class: u32) -> Self {
        Padded(reference.bits())
    }
    #[inline(always)]
    fn reference(self) -> R {
        R::from_bits(self.0)
    }
    #[inline(always)]
    fn source_class(self) -> u32 {
        0
    }
}
