//! Checking GC assertions at a full collection.
//!
//! What needs it is counted while the heap is marked; when that is done, and what has died is
//! forgotten, every assertion is looked at:
//!
//! - **dead**: an entry that is still there is a violation; and one whose object hangs on references that leak pruning cuts
//!   in this collection: as long as they were there, it was reachable;
//! - **unshared**: edges that led again to a marked object whose header has the unshared bit were listed
//!   while marking; what was started from, stacks and handles, is taken off;
//! - **instances, volume**: counted while marking, where the trace word of the class says so;
//! - **owned by**: `raw/marking/ownership.rs`.
//!
//! After Aftandilian and Guyer, *GC Assertions: Using the Garbage Collector to Check Heap
//! Properties* (PLDI 2009).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;

use heaphound_heap::ClassId;
use heaphound_heap::assertion::{
    self, AssertionKind, Breach, Described, Description, Excess, Limit, NotChecked, Slots, Stated,
    Violation, describe_class, not_checked,
};
use heaphound_heap::finding::{Finding, Fingerprint};
use heaphound_heap::view::HeapView;

use super::tables::{SiteId, Table};
use super::{Assertions, ClassAssertion, Forced, Standing};
use crate::check::{Check, Counted, Instances, Needs};
use crate::findings::{Entry, Found, Listener, Reaction, ReactionKey};
use crate::heap::HeapInner;
use crate::raw::{MarkedHeap, ObjectId, Raw, StoppedHeap};

/// Objects that owners may enter all together, at least.
const OWNER_BUDGET: usize = 1 << 20;
/// Instances of a class whose paths are looked for when there are too many.
const MOST_INSTANCES: usize = 1000;

/// The GC assertions of a heap.
pub(crate) struct AssertionCheck<'h>(pub(crate) &'h HeapInner);

impl Check for AssertionCheck<'_> {
    fn needs(&mut self) -> Needs {
        if !cfg!(feature = "assertions") {
            return Needs::nothing();
        }
        let assertions = self.0.assertions.lock().unwrap();
        let mut needs = Needs::instances(self.limited_classes(&assertions));
        if assertions.counts_many() {
            // Where many objects are to be counted, it is quicker to count all.
            needs.instances = Instances::OfAll;
        }
        needs.sharing = assertions.watches();
        needs
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, counted: &Counted<'_>, found: &mut Found<'_>) {
        if !cfg!(feature = "assertions") {
            return;
        }
        let assertions = &mut *self.0.assertions.lock().unwrap();
        let limited = self.limited_classes(assertions).into_iter();
        let instances = limited.map(|class| counted.instances(class).0).sum();
        assertions.note_counted(instances, counted.objects);
        if !assertions.is_idle() {
            let mut broken = self.dead_and_shared(assertions, heap, counted);
            let unchecked = self.not_owned(assertions, heap, counted, &mut broken);
            let excesses = self.excesses(assertions, heap, counted);
            let forced = broken.iter().filter(|it| assertions.is_forced(it));
            let forced: Vec<_> = forced.copied().collect();
            assertions.judge(heap, broken, excesses, &unchecked, found);
            found.forced = assertions.forced(&forced);
        }
        found.gone = assertions.checked();
    }
}

impl AssertionCheck<'_> {
    /// The classes whose instances some assertion limits, in order.
    fn limited_classes(&self, assertions: &Assertions) -> Vec<ClassId> {
        let known = self.0.classes.count() as u32;
        let mut limited = Vec::new();
        for assertion in &assertions.classes {
            match assertion.subclasses {
                false => limited.push(assertion.class),
                true => {
                    let ids = (1..=known).map(ClassId);
                    limited.extend(ids.filter(|&id| self.0.classes.extends(id, assertion.class)));
                }
            }
        }
        limited.sort_unstable();
        limited.dedup();
        limited
    }

    fn dead_and_shared<'v>(
        &self,
        assertions: &Assertions,
        heap: &MarkedHeap<'v>,
        counted: &Counted<'_>,
    ) -> Vec<Violation<ObjectId<'v>>> {
        let reachable = assertions.dead_or_region().into_iter();
        let mut broken: Vec<_> = reachable
            .map(|(breach, entry)| Violation {
                breach,
                assertion: entry.site,
                object: heap.object(entry.raw),
            })
            .collect();
        let sharing = self.count_sharing(counted);
        // Those of which some slots count, and others do not.
        let mut by_slots: HashMap<(Raw, SiteId), usize> = HashMap::new();
        for entry in assertions.asserted(AssertionKind::Unshared) {
            let references = sharing.get(&entry.raw).copied().unwrap_or(0);
            if references <= 1 {
                continue;
            }
            match assertions.sites[entry.site as usize].slots.are_all() {
                false => {
                    by_slots.insert((entry.raw, entry.site), 0);
                }
                true => broken.push(Violation {
                    breach: Breach::Shared { references },
                    assertion: entry.site,
                    object: heap.object(entry.raw),
                }),
            }
        }
        count_by_slots(assertions, heap, &mut by_slots);
        let shared = by_slots.into_iter().filter(|(_, count)| *count > 1);
        broken.extend(shared.map(|((raw, site), references)| Violation {
            breach: Breach::Shared { references },
            assertion: site,
            object: heap.object(raw),
        }));
        broken
    }

    /// How many references count against those objects asserted unshared that were met more
    /// than once: slots and statics.
    fn count_sharing(&self, counted: &Counted<'_>) -> HashMap<Raw, usize> {
        let mut counts: HashMap<Raw, usize> = HashMap::new();
        if counted.again.is_empty() {
            return counts;
        }
        for &raw in counted.again {
            *counts.entry(raw).or_insert(1) += 1;
        }
        // What marking starts from arrives like edges. Only statics among it count.
        for raw in counted.started {
            if let Some(count) = counts.get_mut(raw) {
                *count -= 1;
            }
        }
        for (_, cell) in self.0.handles.statics.lock().unwrap().values() {
            if let Some(count) = counts.get_mut(&Raw(cell.raw.load(Relaxed))) {
                *count += 1;
            }
        }
        counts
    }

    /// Adds ownees that are not owned. Returns those that could not be checked.
    fn not_owned<'v>(
        &self,
        assertions: &mut Assertions,
        heap: &MarkedHeap<'v>,
        counted: &Counted<'_>,
        broken: &mut Vec<Violation<ObjectId<'v>>>,
    ) -> HashSet<Raw> {
        assertions.pairs.prepare(|raw| heap.lives(raw));
        let pairs = &assertions.pairs.old;
        if pairs.is_empty() {
            return HashSet::new();
        }
        let budget = OWNER_BUDGET.max(counted.objects * 4);
        let mut ownership = heap.check_owners(pairs, assertions.next_owner, budget);
        if heap.was_pruned() {
            // It may be owned through a reference that was cut, or by an object that was pruned.
            let open = ownership.unowned.drain(..);
            ownership.unchecked.extend(open.map(|entry| entry.raw));
        }
        let mut owned: Vec<Raw> = Vec::new();
        if !ownership.unowned.is_empty() {
            let with_owner = pairs.iter().filter(|pair| !pair.owner.is_null());
            owned.extend(with_owner.map(|pair| pair.ownee));
            owned.sort_unstable();
        }
        broken.extend(ownership.unowned.iter().map(|entry| Violation {
            breach: Breach::NotOwned {
                owner_lives: owned.binary_search(&entry.raw).is_ok(),
            },
            assertion: entry.site,
            object: heap.object(entry.raw),
        }));
        assertions.next_owner = ownership.next;
        ownership.unchecked
    }

    /// The classes whose limits are exceeded. Those that are known to be have no sample.
    fn excesses<'v>(
        &self,
        assertions: &Assertions,
        heap: &MarkedHeap<'v>,
        counted: &Counted<'_>,
    ) -> Vec<(ClassAssertion, Excess<ObjectId<'v>>)> {
        let mut excesses = Vec::new();
        for assertion in &assertions.classes {
            let is_one = |class: ClassId| match assertion.subclasses {
                true => self.0.classes.extends(class, assertion.class),
                false => class == assertion.class,
            };
            let ids = (1..=self.0.classes.count() as u32).map(ClassId);
            let counts = ids.filter(|&id| is_one(id)).map(|id| counted.instances(id));
            let (instances, bytes) = counts.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
            let limit = assertion.limit as u64;
            let (limit, amount) = match assertions.sites[assertion.site as usize].kind {
                AssertionKind::Instances => (Limit::Instances(limit), instances),
                _ => (Limit::Volume(limit), bytes),
            };
            if amount > assertion.limit {
                let most = match assertions.is_standing(assertion) {
                    true => 0,
                    false => MOST_INSTANCES,
                };
                let mut ids = (1..=self.0.classes.count() as u32).map(ClassId);
                let excess = Excess {
                    limit,
                    class: assertion.class,
                    subclasses: ids.any(|id| id != assertion.class && is_one(id)),
                    amount: amount as u64,
                    instances,
                    sample: heap.instances(&is_one, most),
                };
                excesses.push((assertion.clone(), excess));
            }
        }
        excesses
    }
}

/// Counts the references to objects that are in slots which count for their assertions. Marking does not
/// know slots, so it takes another look at the heap, where there is something to count.
fn count_by_slots(
    assertions: &Assertions,
    heap: &MarkedHeap<'_>,
    counts: &mut HashMap<(Raw, SiteId), usize>,
) {
    if counts.is_empty() {
        return;
    }
    let mut sites: HashMap<Raw, Vec<SiteId>> = HashMap::new();
    for &(raw, site) in counts.keys() {
        sites.entry(raw).or_default().push(site);
    }
    heap.for_each_live(|from| {
        heap.for_each_strong_edge(from, |place, to| {
            for &site in sites.get(&to.raw()).into_iter().flatten() {
                let slots = &assertions.sites[site as usize].slots;
                if slots.counts(heap, from, place) {
                    *counts.entry((to.raw(), site)).or_default() += 1;
                }
            }
        });
    });
}

impl HeapInner {
    /// Leak pruning is about to cut references, and has found what hangs on them. What was asserted to be dead among
    /// that is reachable until then: it is described while there is a path to it, and told when the check
    /// concludes.
    pub(crate) fn note_asserted_on_cuts(&self, is_doomed: impl Fn(Raw) -> bool) {
        if !cfg!(feature = "assertions") {
            return;
        }
        let assertions = &mut *self.assertions.lock().unwrap();
        let mut doomed = assertions.dead_or_region();
        doomed.retain(|(_, entry)| is_doomed(entry.raw));
        if doomed.is_empty() {
            return;
        }
        let standing = assertions.standing.iter();
        let known: HashSet<_> = standing.map(|it| (it.kind, it.raw)).collect();
        self.with_uncut(|heap| {
            let mut broken: Vec<_> = doomed
                .into_iter()
                .map(|(breach, entry)| Violation {
                    breach,
                    assertion: entry.site,
                    object: heap.object(entry.raw),
                })
                .filter(|it| !known.contains(&(it.breach.kind(), it.object.raw())))
                .collect();
            broken.sort_by_key(|it| (it.breach.kind(), it.object, it.assertion));
            broken.dedup_by_key(|it| (it.breach.kind(), it.object));
            let described = assertions.describe(heap, broken).into_iter();
            assertions.on_cuts = described
                .map(|(violation, mut described)| {
                    if let Described::In(description) = &mut described {
                        description.note(ON_CUT);
                    }
                    (violation.assertion, described)
                })
                .collect();
        });
    }
}

const ON_CUT: &str = "leak pruning cut it off in this collection, so that it is gone now";

impl Assertions {
    /// What was asserted to be dead, one by one or as a region.
    fn dead_or_region(&self) -> Vec<(Breach, super::tables::Entry)> {
        let kinds = [
            (AssertionKind::Dead, Breach::Dead),
            (AssertionKind::Region, Breach::Region),
        ];
        let all = kinds.into_iter().flat_map(|(kind, breach)| {
            let entries = self.asserted(kind).iter();
            entries.map(move |entry| (breach, *entry))
        });
        all.collect()
    }

    /// What is said of each violation, those together of which the same slots count.
    fn describe<'v, S>(
        &self,
        heap: &StoppedHeap<'v, S>,
        violations: Vec<Violation<ObjectId<'v>>>,
    ) -> Vec<(Violation<ObjectId<'v>>, Described)> {
        let mut groups: Vec<(&Slots, Vec<Violation<ObjectId<'v>>>)> = Vec::new();
        for violation in violations {
            let slots = &self.sites[violation.assertion as usize].slots;
            match groups.iter_mut().find(|(it, _)| *it == slots) {
                Some((_, group)) => group.push(violation),
                None => groups.push((slots, vec![violation])),
            }
        }
        let described = groups.into_iter();
        described
            .flat_map(|(slots, group)| assertion::describe_by(heap, group, slots))
            .collect()
    }

    /// Turns violations into findings, new ones with paths; those that stand are counted.
    /// About the ownees that are `unchecked` nothing new is known.
    fn judge<'v>(
        &mut self,
        heap: &MarkedHeap<'v>,
        mut broken: Vec<Violation<ObjectId<'v>>>,
        excesses: Vec<(ClassAssertion, Excess<ObjectId<'v>>)>,
        unchecked: &HashSet<Raw>,
        found: &mut Found<'_>,
    ) {
        let before: HashMap<(AssertionKind, Raw), Fingerprint> = std::mem::take(&mut self.standing)
            .old
            .into_iter()
            .map(|it| ((it.kind, it.raw), it.fingerprint))
            .collect();
        let mut counts: BTreeMap<Fingerprint, usize> = BTreeMap::new();
        let mut stand = |table: &mut Table<Standing>, kind, raw, fingerprint| {
            table.push(Standing {
                kind,
                raw,
                fingerprint,
            });
            *counts.entry(fingerprint).or_default() += 1;
        };
        for (&(kind, raw), &fingerprint) in &before {
            if kind == AssertionKind::OwnedBy && unchecked.contains(&raw) {
                stand(&mut self.standing, kind, raw, fingerprint);
            }
        }
        // Two sites may say the same of one object: the first one counts.
        broken.sort_by_key(|it| (it.breach.kind(), it.object, it.assertion));
        broken.dedup_by_key(|it| (it.breach.kind(), it.object));
        let mut fresh = Vec::new();
        for violation in broken {
            let (kind, raw) = (violation.breach.kind(), violation.object.raw());
            match before.get(&(kind, raw)) {
                Some(&known) => stand(&mut self.standing, kind, raw, known),
                None => fresh.push(violation),
            }
        }
        let mut new: BTreeMap<Fingerprint, (Description, SiteId)> = BTreeMap::new();
        let mut sites: Vec<(Fingerprint, SiteId)> = Vec::new();
        let mut tell = |described, site| {
            let fingerprint = match described {
                Described::As(fingerprint) => fingerprint,
                Described::In(one) => {
                    let fingerprint = one.fingerprint();
                    new.entry(fingerprint)
                        .and_modify(|(all, _)| all.join(&one))
                        .or_insert((*one, site));
                    fingerprint
                }
            };
            sites.push((fingerprint, site));
            fingerprint
        };
        for (violation, described) in self.describe(heap, fresh) {
            let fingerprint = tell(described, violation.assertion);
            let (kind, raw) = (violation.breach.kind(), violation.object.raw());
            stand(&mut self.standing, kind, raw, fingerprint);
        }
        for (site, described) in std::mem::take(&mut self.on_cuts) {
            *counts.entry(tell(described, site)).or_default() += 1;
        }
        let key = |it: &ClassAssertion| (it.site, it.class);
        let failed = |known: &_| excesses.iter().any(|(it, _)| key(it) == *known);
        self.standing_classes.retain(|known, _| failed(known));
        // Limits that are broken alike are about the same instances.
        let mut count = |fingerprint, amount: u64| {
            let known: &mut usize = counts.entry(fingerprint).or_default();
            *known = (amount as usize).max(*known);
        };
        for (assertion, excess) in excesses {
            if let Some(&known) = self.standing_classes.get(&key(&assertion)) {
                count(known, excess.amount);
                continue;
            }
            let description = describe_class(heap, &excess);
            let fingerprint = description.fingerprint();
            count(fingerprint, excess.amount);
            self.standing_classes.insert(key(&assertion), fingerprint);
            sites.push((fingerprint, assertion.site));
            new.insert(fingerprint, (description, assertion.site));
        }
        if !unchecked.is_empty() {
            let why = match heap.was_pruned() {
                true => NotChecked::Pruned,
                false => NotChecked::TooMuch,
            };
            let description = not_checked(unchecked.len(), why);
            let fingerprint = description.fingerprint();
            counts.insert(fingerprint, unchecked.len());
            new.insert(fingerprint, (description, SiteId::MAX));
        }
        self.report(counts, new, sites, found);
    }

    /// Adds what was found to the ledger: how many objects each finding is about, the new ones as they
    /// are described, and the sites of those that are new.
    fn report(
        &self,
        counts: BTreeMap<Fingerprint, usize>,
        mut new: BTreeMap<Fingerprint, (Description, SiteId)>,
        sites: Vec<(Fingerprint, SiteId)>,
        found: &mut Found<'_>,
    ) {
        let mut announced: HashSet<(Fingerprint, ReactionKey)> = HashSet::new();
        // As they are described, so that what is nearest to a root is told first.
        let mut places: HashMap<Fingerprint, usize> = HashMap::new();
        for (place, (fingerprint, _)) in sites.iter().enumerate() {
            places.entry(*fingerprint).or_insert(place);
        }
        let mut counts: Vec<(Fingerprint, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(it, _)| places.get(it).copied().unwrap_or(usize::MAX));
        for (fingerprint, objects) in counts {
            let new = new.remove(&fingerprint);
            let new = new.filter(|_| found.is_new(fingerprint));
            let reaction = match &new {
                Some((_, site)) => self.reaction(*site),
                None => Reaction::Log,
            };
            announced.insert((fingerprint, reaction.key()));
            let to = Listener::assertions(reaction);
            found.entries.push(match new {
                Some((description, site)) => Entry::Finding {
                    finding: Box::new(self.finding(description, site)),
                    objects,
                    to,
                },
                None => Entry::Standing {
                    fingerprint,
                    objects,
                    to,
                },
            });
        }
        // A reaction that an assertion has of its own is not lost to one that looks alike.
        for (fingerprint, site) in sites {
            if let Some(own) = &self.sites[site as usize].reaction
                && announced.insert((fingerprint, own.key()))
            {
                found.entries.push(Entry::Also {
                    fingerprint,
                    reaction: own.clone(),
                });
            }
        }
    }

    /// The finding that a description is, where it was stated.
    pub(super) fn finding(&self, description: Description, site: SiteId) -> Finding {
        let site = self.sites.get(site as usize);
        let place = site.map(|site| site.place.to_string());
        description.finding(&Stated {
            place: place.as_deref(),
            message: site.and_then(|site| site.message.as_deref()),
            collection: None,
        })
    }

    /// Whether an assertion is to be made true.
    fn is_forced(&self, violation: &Violation<ObjectId<'_>>) -> bool {
        let about_lifetime = matches!(violation.breach, Breach::Dead | Breach::Region);
        about_lifetime && matches!(self.reaction(violation.assertion), Reaction::ForceTrue)
    }

    /// Objects that are to die, with the findings that they are part of, once they were judged.
    fn forced(&self, violations: &[Violation<ObjectId<'_>>]) -> Vec<Forced> {
        if violations.is_empty() {
            return Vec::new();
        }
        let standing = self.standing.old.iter();
        let standing: HashMap<_, _> = standing
            .map(|it| ((it.kind, it.raw), it.fingerprint))
            .collect();
        let forced = violations.iter().map(|it| Forced {
            raw: it.object.raw(),
            place: self.sites[it.assertion as usize].place,
            fingerprint: standing[&(it.breach.kind(), it.object.raw())],
        });
        forced.collect()
    }
}
