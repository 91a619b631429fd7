//! How a program asserts: methods of the mutator and of the heap.

use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::thread;

use heaphound_heap::ClassId;
use heaphound_heap::assertion::{Slots, paths_to};
use heaphound_heap::finding::{Evidence, Finding, Fingerprint, Severity, group};
use heaphound_heap::path::named;
use heaphound_heap::probe::Probes;
use heaphound_heap::set::ObjectSet;
use heaphound_heap::sync::MutexGuard;

use crate::assertions::tables::{Pair, SiteId, TAKEN_BACK};
use crate::assertions::{AssertionKind, Assertions, ClassAssertion, Site, Standing};
use crate::findings::Reaction;
use crate::heap::{Heap, HeapInner};
use crate::interface::ClassHandle;
use crate::raw::mutators::mutator::MutatorShared;
use crate::raw::objects::header::Word;
use crate::raw::{Managed, Mutator, Object, ObjectId, Raw, Subject, Weak};

/// An assertion that is being made: with a message, with a reaction of its own.
#[must_use]
pub struct Expect<'m, 'a> {
    mutator: &'m Mutator<'a>,
    message: Option<String>,
    reaction: Option<Reaction>,
    subclasses: bool,
}

impl Expect<'_, '_> {
    /// What the finding is to say besides.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// What is to happen, instead of what the heap does with assertions of the kind.
    pub fn reaction(mut self, reaction: Reaction) -> Self {
        self.reaction = Some(reaction);
        self
    }

    /// Whether instances of subclasses count; they do not unless said so. Those of the classes
    /// that implement an interface always count for it.
    pub fn subclasses(mut self, count: bool) -> Self {
        self.subclasses = count;
        self
    }

    /// The object is unreachable at the next full collection. Holds of null.
    ///
    /// # Panics
    /// If it belongs to another heap or mutator.
    #[track_caller]
    pub fn dead(self, object: impl Subject) {
        let Some(raw) = self.raw(&object) else {
            return;
        };
        let (mut assertions, site) = self.record(AssertionKind::Dead, Location::caller());
        assertions.add(AssertionKind::Dead, site, raw);
    }

    /// At every full collection at most one slot or static refers to the object, for as
    /// long as it lives. Locals and handles do not count.
    ///
    /// # Panics
    /// If it belongs to another heap or mutator.
    #[track_caller]
    pub fn unshared(self, object: impl Subject) {
        self.unshared_at(&object, Slots::default(), Location::caller());
    }

    /// At every full collection at most one slot of these names refers to the object, for as long as it
    /// lives, whatever objects have them: `m.expect().unshared_by(node, &["left", "right"])` lets
    /// children of a tree point back to their parents. The name of an inline array stands for all its
    /// elements, `[]` for the elements of arrays. Nothing else counts, statics neither. The same as
    /// `unshared(Tree by left, right)` in rules.
    ///
    /// # Panics
    /// If it belongs to another heap or mutator, or no slot is named.
    #[track_caller]
    pub fn unshared_by(self, object: impl Subject, slots: &[&str]) {
        assert!(!slots.is_empty(), "an object is unshared by some slots");
        let slots = Slots::of(slots.iter().map(|it| it.to_string()));
        self.unshared_at(&object, slots, Location::caller());
    }

    #[track_caller]
    fn unshared_at(&self, object: &impl Subject, slots: Slots, place: &'static Location<'static>) {
        let Some(raw) = self.raw(object) else {
            return;
        };
        self.mutator.heap.flag(raw, Word::with_unshared);
        let (mut assertions, site) = self.record_by(AssertionKind::Unshared, slots, place);
        assertions.add(AssertionKind::Unshared, site, raw);
    }

    /// At every full collection that finds the ownee alive, the owner is alive too and
    /// reaches it, or another one of its owners does.
    ///
    /// # Panics
    /// If an object belongs to another heap or mutator, or is null.
    #[track_caller]
    pub fn owned_by(self, owner: impl Subject, ownee: impl Subject) {
        let owner = self.raw(&owner).expect("an owner is not null");
        let ownee = self.raw(&ownee).expect("an ownee is not null");
        self.mutator.heap.flag(ownee, Word::with_ownee);
        let (mut assertions, site) = self.record(AssertionKind::OwnedBy, Location::caller());
        assertions.pairs.add(Pair { owner, ownee, site });
    }

    /// As [`Expect::owned_by`], for many objects with one owner.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn all_owned_by(self, owner: impl Subject, ownees: &[impl Subject]) {
        let owner = self.raw(&owner).expect("an owner is not null");
        let ownees: Vec<Raw> = ownees
            .iter()
            .map(|ownee| self.raw(ownee).expect("an ownee is not null"))
            .collect();
        let heap = self.mutator.heap;
        for &ownee in &ownees {
            heap.flag(ownee, Word::with_ownee);
        }
        let (mut assertions, site) = self.record(AssertionKind::OwnedBy, Location::caller());
        for ownee in ownees {
            assertions.pairs.add(Pair { owner, ownee, site });
        }
    }

    /// Ends the innermost region, as [`Mutator::assert_all_dead`] does.
    ///
    /// # Panics
    /// If no region is open.
    #[track_caller]
    pub fn all_dead(self) {
        let objects = self.mutator.shared.close_region();
        let objects = objects.expect("a region was started");
        let (mut assertions, site) = self.record(AssertionKind::Region, Location::caller());
        for raw in objects {
            assertions.add(AssertionKind::Region, site, raw);
        }
    }

    /// At every full collection at most `limit` instances of a class live.
    #[track_caller]
    pub fn instances<T: Managed + ?Sized>(self, limit: usize) {
        self.class::<T>(AssertionKind::Instances, limit, Location::caller());
    }

    /// At every full collection the instances of a class take at most that many bytes.
    #[track_caller]
    pub fn volume<T: Managed + ?Sized>(self, bytes: usize) {
        self.class::<T>(AssertionKind::Volume, bytes, Location::caller());
    }

    /// As [`Expect::instances`], for a class that was defined at run time, or an interface.
    ///
    /// # Panics
    /// If the class is of another heap.
    #[track_caller]
    pub fn instances_of(self, class: &impl ClassHandle, limit: usize) {
        self.handle(class, AssertionKind::Instances, limit, Location::caller());
    }

    /// As [`Expect::volume`], for a class that was defined at run time, or an interface.
    ///
    /// # Panics
    /// If the class is of another heap.
    #[track_caller]
    pub fn volume_of(self, class: &impl ClassHandle, bytes: usize) {
        self.handle(class, AssertionKind::Volume, bytes, Location::caller());
    }

    #[track_caller]
    fn handle(
        &self,
        class: &impl ClassHandle,
        kind: AssertionKind,
        limit: usize,
        place: &'static Location<'static>,
    ) {
        let (heap, class, name, is_interface) = class.class();
        assert!(
            heap == self.mutator.heap.id,
            "class `{name}` is of another heap"
        );
        let subclasses = self.subclasses || is_interface;
        self.class_limit(class, subclasses, kind, limit, place);
    }

    fn class<T: Managed + ?Sized>(
        &self,
        kind: AssertionKind,
        limit: usize,
        place: &'static Location<'static>,
    ) {
        let class = ClassId(self.mutator.known_class(T::DESCRIPTOR));
        self.class_limit(class, self.subclasses, kind, limit, place);
    }

    fn class_limit(
        &self,
        class: ClassId,
        subclasses: bool,
        kind: AssertionKind,
        limit: usize,
        place: &'static Location<'static>,
    ) {
        let (mut assertions, site) = self.record(kind, place);
        // Said again of the same class at the same place, it replaces what was said.
        let same = |it: &ClassAssertion| it.site == site && it.class == class;
        assertions.classes.retain(|it| !same(it));
        assertions.classes.push(ClassAssertion {
            class,
            subclasses,
            limit,
            site,
        });
    }

    #[track_caller]
    fn raw(&self, subject: &impl Subject) -> Option<Raw> {
        self.mutator.subject_raw(subject)
    }

    /// Takes note of where and how an assertion is made.
    #[track_caller]
    fn record(
        &self,
        kind: AssertionKind,
        place: &'static Location<'static>,
    ) -> (MutexGuard<'_, Assertions>, SiteId) {
        self.record_by(kind, Slots::default(), place)
    }

    /// The same, of an assertion for which only some slots count.
    #[track_caller]
    fn record_by(
        &self,
        kind: AssertionKind,
        slots: Slots,
        place: &'static Location<'static>,
    ) -> (MutexGuard<'_, Assertions>, SiteId) {
        check_feature();
        let mut assertions = self.mutator.heap.assertions.lock().unwrap();
        let site = assertions.site(Site {
            kind,
            place,
            slots,
            message: self.message.clone(),
            reaction: self.reaction.clone(),
            times: 0,
        });
        (assertions, site)
    }
}

impl<'a> Mutator<'a> {
    /// Makes an assertion with a message or a reaction of its own:
    /// `m.expect().message("after logout").dead(session)`.
    pub fn expect(&self) -> Expect<'_, 'a> {
        Expect {
            mutator: self,
            message: None,
            reaction: None,
            subclasses: false,
        }
    }

    /// Asserts that an object is unreachable at the next full collection.
    ///
    /// # Panics
    /// If it belongs to another heap or mutator.
    #[track_caller]
    pub fn assert_dead(&self, object: impl Subject) {
        self.expect().dead(object);
    }

    /// Asserts that at most one slot or static refers to an object.
    ///
    /// # Panics
    /// If it belongs to another heap or mutator.
    #[track_caller]
    pub fn assert_unshared(&self, object: impl Subject) {
        self.expect().unshared(object);
    }

    /// Asserts that at most one slot of these names refers to an object, as
    /// [`Expect::unshared_by`] does: `m.assert_unshared_by(node, &["left", "right"])`.
    ///
    /// # Panics
    /// If it belongs to another heap or mutator, or no slot is named.
    #[track_caller]
    pub fn assert_unshared_by(&self, object: impl Subject, slots: &[&str]) {
        self.expect().unshared_by(object, slots);
    }

    /// Asserts that an object does not outlive its owner, nor leave it.
    ///
    /// # Panics
    /// If an object belongs to another heap or mutator, or is null.
    #[track_caller]
    pub fn assert_owned_by(&self, owner: impl Subject, ownee: impl Subject) {
        self.expect().owned_by(owner, ownee);
    }

    /// Takes back that one object owns another.
    ///
    /// # Panics
    /// If an object belongs to another heap or mutator.
    #[track_caller]
    pub fn retract_owned_by(&self, owner: impl Subject, ownee: impl Subject) {
        let (owner, ownee) = (self.subject_raw(&owner), self.subject_raw(&ownee));
        if let (Some(owner), Some(ownee)) = (owner, ownee) {
            let site = TAKEN_BACK;
            let mut assertions = self.heap.assertions.lock().unwrap();
            assertions.pairs.add(Pair { owner, ownee, site });
        }
    }

    /// Asserts that at most `limit` instances of a class live.
    #[track_caller]
    pub fn assert_instances<T: Managed + ?Sized>(&self, limit: usize) {
        self.expect().instances::<T>(limit);
    }

    /// Asserts that the instances of a class take at most that many bytes.
    #[track_caller]
    pub fn assert_volume<T: Managed + ?Sized>(&self, bytes: usize) {
        self.expect().volume::<T>(bytes);
    }

    /// Asserts that at most `limit` instances of a class that was defined at run time live, or
    /// of the classes that implement an interface.
    ///
    /// # Panics
    /// If the class is of another heap.
    #[track_caller]
    pub fn assert_instances_of(&self, class: &impl ClassHandle, limit: usize) {
        self.expect().instances_of(class, limit);
    }

    /// Asserts that the instances of a class that was defined at run time, or of the classes
    /// that implement an interface, take at most that many bytes.
    ///
    /// # Panics
    /// If the class is of another heap.
    #[track_caller]
    pub fn assert_volume_of(&self, class: &impl ClassHandle, bytes: usize) {
        self.expect().volume_of(class, bytes);
    }

    /// The objects that the last full collection found assertions wrong about, each with the
    /// finding that it is part of. For tests.
    #[doc(hidden)]
    pub fn violations(&self) -> Vec<(AssertionKind, Weak<Object>, Fingerprint)> {
        let assertions = self.heap.assertions.lock().unwrap();
        let standing = assertions.standing.old.iter();
        let violation = |it: &Standing| (it.kind, self.weak_to(it.raw), it.fingerprint);
        standing.map(violation).collect()
    }

    /// The assertions about classes that the last full collection found wrong: of which kind,
    /// about which class, whether subclasses count, and the limit. For tests.
    #[doc(hidden)]
    pub fn class_violations(&self) -> Vec<(AssertionKind, String, bool, usize)> {
        let assertions = self.heap.assertions.lock().unwrap();
        let wrong = assertions.classes.iter();
        let wrong = wrong.filter(|it| assertions.is_standing(it));
        let violation = |it: &ClassAssertion| {
            let kind = assertions.sites[it.site as usize].kind;
            let class = &self.heap.classes.get(it.class).info.name;
            (kind, class.clone(), it.subclasses, it.limit)
        };
        wrong.map(violation).collect()
    }

    /// Begins a region: what this thread allocates until [`Mutator::assert_all_dead`]
    /// is remembered. Regions nest; an object belongs to all that are open.
    #[track_caller]
    pub fn start_region(&mut self) {
        check_feature();
        self.shared.open_region();
    }

    /// Ends the innermost region and asserts that what was allocated in it is unreachable at
    /// the next full collection.
    ///
    /// # Panics
    /// If no region is open.
    #[track_caller]
    pub fn assert_all_dead(&mut self) {
        self.expect().all_dead();
    }

    /// Opens a scope that is a region: when it ends, so does the region, and what was allocated
    /// in it is asserted to be unreachable at the next full collection. If there is a panic,
    /// nothing is asserted. Regions that were left open in it end with it.
    ///
    /// ```
    /// # let heap = heaphound_gc::Heap::builder().build().unwrap();
    /// # let mut m = heap.attach("main").unwrap();
    /// # #[cfg(feature = "assertions")]
    /// {
    ///     let mut m = m.region();
    ///     let request = m.alloc_str("GET /").unwrap();
    ///     assert_eq!(&*m[request], "GET /");
    /// }
    /// m.collect();
    /// assert!(heap.findings().is_empty());
    /// ```
    #[track_caller]
    pub fn region(&mut self) -> Region<'_> {
        let (heap, shared) = (self.heap, self.shared);
        let outside = shared.regions();
        self.start_region();
        Region {
            scope: self.scope(),
            heap,
            shared,
            outside,
            place: Location::caller(),
            was_panicking: thread::panicking(),
        }
    }

    /// Runs `f` in a region and asserts that what it allocates is unreachable at the next full
    /// collection. If it panics, nothing is asserted. Regions that `f` leaves open end with
    /// it.
    #[track_caller]
    pub fn in_region<R>(&mut self, f: impl FnOnce(&mut Mutator<'_>) -> R) -> R {
        f(&mut self.region())
    }
}

/// A scope that is a region; see [`Mutator::region`].
#[must_use = "a region ends when it is dropped"]
pub struct Region<'m> {
    scope: Mutator<'m>,
    // Not those of `scope`, in whose place the program may have put another one.
    heap: &'m HeapInner,
    shared: &'m MutatorShared,
    /// How many regions are around it.
    outside: usize,
    place: &'static Location<'static>,
    was_panicking: bool,
}

impl<'m> Deref for Region<'m> {
    type Target = Mutator<'m>;

    #[inline]
    fn deref(&self) -> &Mutator<'m> {
        &self.scope
    }
}

impl<'m> DerefMut for Region<'m> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Mutator<'m> {
        &mut self.scope
    }
}

impl Drop for Region<'_> {
    fn drop(&mut self) {
        let _close = Close(self.shared, self.outside);
        // Those that were started in it and not ended.
        self.shared.close_regions(self.outside + 1);
        // It may have been ended by hand.
        let is_open = self.shared.regions() > self.outside;
        if is_open && thread::panicking() == self.was_panicking {
            let objects = self.shared.close_region().unwrap_or_default();
            let mut assertions = self.heap.assertions.lock().unwrap();
            let site = assertions.site(Site {
                kind: AssertionKind::Region,
                place: self.place,
                slots: Slots::default(),
                message: None,
                reaction: None,
                times: 0,
            });
            for raw in objects {
                assertions.add(AssertionKind::Region, site, raw);
            }
        }
    }
}

/// Ends regions down to this number, also if there is a panic.
struct Close<'m>(&'m MutatorShared, usize);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.close_regions(self.1);
    }
}

/// What nobody checks is not asserted without a word.
#[track_caller]
fn check_feature() {
    if !cfg!(feature = "assertions") {
        panic!("heaphound was built without the feature `assertions`");
    }
}

/// The most objects whose paths are looked for.
const MOST_PATHS: usize = 1000;
/// The most paths that are shown.
const MOST_SHOWN: usize = 10;

impl Mutator<'_> {
    /// Runs `f` in a scope of its own and tells what it allocated that is still reachable
    /// when the scope has ended: a finding, with each way that leads to such objects.
    /// For tests; it makes the collections that it needs, and finalizers run.
    ///
    /// # Panics
    /// If `f` ends a region that it has not started.
    #[track_caller]
    pub fn leaks_of<R>(&mut self, f: impl FnOnce(&mut Mutator<'_>) -> R) -> (R, Option<Finding>) {
        check_feature();
        let place = Location::caller();
        let outside = self.shared.regions();
        let close = Close(self.shared, outside);
        self.shared.open_region();
        let result = f(&mut self.scope());
        self.shared.close_regions(outside + 1);
        assert!(
            self.shared.regions() > outside,
            "a region was ended in a scope that it was not started in"
        );
        // What finalizers allocate is not of the scope: it goes into another region.
        self.shared.open_region();
        // What a finalizer has brought back once is dead the second time.
        for _ in 0..2 {
            self.collect();
        }
        let finding = self.describe_survivors(outside, place);
        drop(close);
        (result, finding)
    }

    /// A finding about what lives of one of the open regions, by its number.
    fn describe_survivors(
        &mut self,
        region: usize,
        place: &'static Location<'static>,
    ) -> Option<Finding> {
        let shared = self.shared;
        self.inspect(|view| {
            let live: ObjectSet<ObjectId<'_>> = {
                let probes = Probes::of(view);
                let live = probes.reach_all();
                let region = shared.region(region);
                let objects = region.into_iter().map(|raw| view.object(raw));
                objects.filter(|&object| live.contains(object)).collect()
            };
            let count = live.len();
            if count == 0 {
                return None;
            }
            let some = &live.as_slice()[..count.min(MOST_PATHS)];
            let (paths, told) = paths_to(view, some);
            let mut groups = group(paths);
            let mut notes = Vec::new();
            if count > told {
                notes.push(format!("paths were looked for to {told} of them"));
            }
            if groups.len() > MOST_SHOWN {
                let more = groups.len() - MOST_SHOWN;
                notes.push(format!("{more} more ways lead to such objects"));
                groups.truncate(MOST_SHOWN);
            }
            let evidence = groups
                .into_iter()
                .map(|(count, path)| Evidence::group(count, path));
            Some(Finding {
                objects: some
                    .iter()
                    .take(MOST_SHOWN)
                    .map(|&it| named(view, it))
                    .collect(),
                evidence: evidence.collect(),
                place: Some(place.to_string()),
                notes,
                ..Finding::new(
                    "leak",
                    Severity::Error,
                    format!("{count} objects allocated in the scope are still reachable"),
                )
            })
        })
    }
}

impl Heap {
    /// What happens when assertions of a kind fail, unless they say otherwise themselves.
    pub fn set_reaction(&self, kind: AssertionKind, reaction: Reaction) {
        let mut assertions = self.inner().assertions.lock().unwrap();
        let before = assertions.set_reaction(kind, reaction);
        drop(assertions);
        // Now that nothing is locked: to drop a callback may run anything.
        drop(before);
    }

    /// What was asserted since the last full collection, so that nobody has checked it yet: a finding
    /// for each place. When the heap ends they are announced, as findings are.
    pub fn unchecked_assertions(&self) -> Vec<Finding> {
        let unchecked = self.inner().assertions.lock().unwrap().unchecked();
        unchecked.into_iter().map(|(finding, _)| finding).collect()
    }
}
