//! Programs: what they can do, and how to make up random ones that shrink well.
//!
//! An operand is a [`Pick`]: a number that is taken modulo what there is to choose
//! from when the operation runs. So every list of operations is a program, any
//! part of one too, and smaller numbers are simpler.

use proptest::collection::vec;
use proptest::prelude::*;

/// Chooses among what there is.
pub type Pick = u8;

/// A list of things to do.
pub type Program = Vec<Op>;

/// What to allocate. Of the medium ones a few fill a block, so that few operations
/// are enough to leave blocks with holes, for compaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "named like the classes")]
pub enum New {
    Leaf,
    Pair,
    Special,
    Wide,
    Owner,
    Anchor,
    SmallRefs,
    MediumRefs,
    LargeRefs,
    SmallBytes,
    MediumBytes,
    LargeBytes,
    Text,
    Instance,
    SubInstance,
    Map,
}

/// Where a reference to an object is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// Nowhere.
    Nowhere,
    /// In a local of the innermost scope.
    Local,
    /// In a root handle.
    Handle,
    /// In a named static.
    Static(Pick),
    /// As the thread's object.
    ThreadObject,
    /// In a slot of an object that is reachable.
    Slot(Pick, Pick),
}

/// One thing to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Allocate, with up to two references to begin with.
    Alloc(New, Option<Pick>, Option<Pick>, Keep),
    /// Fill a few blocks and let most of it go again, so that there is something to
    /// compact; some of what stays is pinned or has been asked for its hash.
    Litter,
    /// Keep a reachable object somewhere else too.
    Root(Pick, Keep),
    /// Write a slot of an object.
    Link(Pick, Pick, Option<Pick>),
    /// Write a weak slot.
    SetWeak(Pick, Option<Pick>),
    /// Write plain data.
    SetValue(Pick, u64),
    /// Write into an array of bytes.
    WriteBytes(Pick, Pick, Vec<u8>),
    /// Copy part of an array of references: to, at, from, start, length.
    Copy(Pick, Pick, Pick, Pick, Pick),
    /// Make a local refer to something else.
    Assign(Pick, Pick),
    /// Drop a root handle.
    DropHandle(Pick),
    /// Set a static to null.
    ClearStatic(Pick),
    /// Forget the thread's object.
    ClearThreadObject,
    /// Open a scope.
    OpenScope,
    /// End the innermost scope, unless it is the outermost.
    CloseScope,
    /// Ask for an identity hash.
    Hash(Pick),
    /// Pin an object.
    Pin(Pick),
    /// Drop a pin.
    Unpin(Pick),
    /// Register a finalizer, which may put the object into a static.
    OnDeath(Pick, Option<Pick>),
    /// Make a weak handle.
    WeakHandle(Pick),
    /// Drop a weak handle.
    DropWeak(Pick),
    /// Make a local of what a weak handle still refers to.
    Upgrade(Pick),
    /// Insert into a weak map: map, key, value.
    MapInsert(Pick, Pick, Pick),
    /// Remove from a weak map: map, which entry.
    MapRemove(Pick, Pick),
    /// Account external memory to an object.
    External(Pick, u16),
    /// Let others collect.
    Safepoint,
    /// Collect everything, then compare.
    Collect,
    /// Collect the nursery, then compare.
    CollectNursery,
    /// Compare, also by looking at the stopped heap.
    Inspect,
}

fn new() -> impl Strategy<Value = New> {
    prop_oneof![
        3 => Just(New::Leaf),
        6 => Just(New::Pair),
        2 => Just(New::Special),
        1 => Just(New::Wide),
        4 => Just(New::Owner),
        2 => Just(New::Anchor),
        3 => Just(New::SmallRefs),
        4 => Just(New::MediumRefs),
        1 => Just(New::LargeRefs),
        1 => Just(New::SmallBytes),
        4 => Just(New::MediumBytes),
        1 => Just(New::LargeBytes),
        1 => Just(New::Text),
        2 => Just(New::Instance),
        2 => Just(New::SubInstance),
        2 => Just(New::Map),
    ]
}

fn pick() -> impl Strategy<Value = Pick> {
    any::<u8>()
}

fn keep() -> impl Strategy<Value = Keep> {
    prop_oneof![
        2 => Just(Keep::Nowhere),
        4 => Just(Keep::Local),
        1 => Just(Keep::Handle),
        2 => pick().prop_map(Keep::Static),
        1 => Just(Keep::ThreadObject),
        6 => (pick(), pick()).prop_map(|(object, slot)| Keep::Slot(object, slot)),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let maybe = || proptest::option::of(pick());
    prop_oneof![
        24 => (new(), maybe(), maybe(), keep()).prop_map(|(new, a, b, keep)| Op::Alloc(new, a, b, keep)),
        1 => Just(Op::Litter),
        4 => (pick(), keep()).prop_map(|(object, keep)| Op::Root(object, keep)),
        10 => (pick(), pick(), maybe()).prop_map(|(from, slot, to)| Op::Link(from, slot, to)),
        4 => (pick(), maybe()).prop_map(|(from, to)| Op::SetWeak(from, to)),
        2 => (pick(), any::<u64>()).prop_map(|(object, value)| Op::SetValue(object, value)),
        1 => (pick(), pick(), vec(any::<u8>(), 0..6)).prop_map(|(to, at, bytes)| Op::WriteBytes(to, at, bytes)),
        2 => (pick(), pick(), pick(), pick(), pick())
            .prop_map(|(to, at, from, start, len)| Op::Copy(to, at, from, start, len)),
        3 => (pick(), pick()).prop_map(|(local, to)| Op::Assign(local, to)),
        2 => pick().prop_map(Op::DropHandle),
        2 => pick().prop_map(Op::ClearStatic),
        1 => Just(Op::ClearThreadObject),
        3 => Just(Op::OpenScope),
        4 => Just(Op::CloseScope),
        3 => pick().prop_map(Op::Hash),
        2 => pick().prop_map(Op::Pin),
        2 => pick().prop_map(Op::Unpin),
        3 => (pick(), maybe()).prop_map(|(object, saved)| Op::OnDeath(object, saved)),
        3 => pick().prop_map(Op::WeakHandle),
        1 => pick().prop_map(Op::DropWeak),
        1 => pick().prop_map(Op::Upgrade),
        5 => (pick(), pick(), pick()).prop_map(|(map, key, value)| Op::MapInsert(map, key, value)),
        1 => (pick(), pick()).prop_map(|(map, entry)| Op::MapRemove(map, entry)),
        1 => (pick(), any::<u16>()).prop_map(|(object, bytes)| Op::External(object, bytes)),
        1 => Just(Op::Safepoint),
        3 => Just(Op::Collect),
        3 => Just(Op::CollectNursery),
        1 => Just(Op::Inspect),
    ]
}

/// Programs of at most that many operations.
pub fn programs(longest: usize) -> impl Strategy<Value = Program> {
    vec(op(), 1..=longest)
}
