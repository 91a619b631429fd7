//! GC assertions: what a program expects of its heap, checked by the next full collection.
//!
//! Each assertion remembers its *site*: kind, place in the program, message, reaction. A
//! violation becomes a finding with the path that proves it, once: what stands from
//! collection to collection is counted. What counts as a violation is in `raw/marking/check.rs`, what
//! is said about it in [`heaphound_heap::assertion`]; here is who asserted what, what is known, and what is done.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use heaphound_heap::ClassId;
pub use heaphound_heap::assertion::AssertionKind;
use heaphound_heap::assertion::{
    self, Breach, Described, Description, Excess, Limit, Stated, describe_class, not_checked,
};
use heaphound_heap::finding::{Finding, Fingerprint};

use crate::inquiry::Found;
use crate::raw::marking::check::{Entry, Follows, Pair, SiteId, Table};
use crate::raw::{ObjectId, Raw, StoppedHeap};

/// What happens when an assertion fails.
#[derive(Clone, Default)]
pub enum Reaction {
    /// A line in the log, a `tracing` event; the program goes on.
    #[default]
    Log,
    /// Logged; and the program ends: at their next safepoints mutators panic or, in a heap
    /// built with [`halt_with_errors`](crate::HeapBuilder::halt_with_errors), get no
    /// memory.
    Halt,
    /// Logged; and, if it is about a lifetime, made true: every reference to the object is
    /// cleared where it is optional and invalidated where it is not, if the heap was built
    /// for that. Other assertions are only logged.
    ForceTrue,
    /// The program is called with the finding, when the world runs again.
    Call(Arc<dyn Fn(&Finding) + Send + Sync>),
}

impl Reaction {
    /// What tells it from others: callbacks differ though they may do the same.
    fn key(&self) -> ReactionKey {
        match self {
            Self::Log => (0, 0),
            Self::Halt => (1, 0),
            Self::ForceTrue => (2, 0),
            Self::Call(call) => (3, Arc::as_ptr(call).addr()),
        }
    }
}

type ReactionKey = (u8, usize);

impl fmt::Debug for Reaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Log => "Log",
            Self::Halt => "Halt",
            Self::ForceTrue => "ForceTrue",
            Self::Call(_) => "Call",
        })
    }
}

/// Where and how an assertion was made.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) kind: AssertionKind,
    pub(crate) place: &'static Location<'static>,
    pub(crate) message: Option<String>,
    pub(crate) reaction: Option<Reaction>,
}

/// What tells a site from others.
type SiteKey = (
    AssertionKind,
    &'static Location<'static>,
    Option<String>,
    Option<ReactionKey>,
);

/// An assertion about all instances of a class.
#[derive(Clone, Debug)]
pub(crate) struct ClassAssertion {
    pub(crate) class: ClassId,
    pub(crate) subclasses: bool,
    pub(crate) limit: usize,
    pub(crate) site: SiteId,
}

/// A finding that was made, and how often since.
#[derive(Clone, Debug)]
pub struct Known {
    /// The finding, as it was when it was first made.
    pub finding: Finding,
    /// How many full collections have found it, the first included.
    pub collections: u64,
    /// How many objects the last one found it for.
    pub objects: usize,
    /// Why it is not reported, if it is suppressed.
    pub suppressed: Option<String>,
}

/// A violation that was reported and still stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Standing {
    pub(crate) kind: AssertionKind,
    pub(crate) raw: Raw,
    pub(crate) fingerprint: Fingerprint,
}

impl Follows for Standing {
    fn is_young(&self) -> bool {
        self.raw.is_young()
    }

    fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) -> bool {
        self.raw.follow(now)
    }
}

/// A heap's assertions.
#[derive(Default)]
pub(crate) struct Assertions {
    pub(crate) sites: Vec<Site>,
    /// The site of the last assertion, most often.
    last_site: SiteId,
    pub(crate) dead: Table<Entry>,
    pub(crate) unshared: Table<Entry>,
    pub(crate) pairs: Table<Pair>,
    pub(crate) classes: Vec<ClassAssertion>,
    pub(crate) standing: Table<Standing>,
    /// Class assertions that were reported, by site and class.
    standing_classes: HashMap<(SiteId, ClassId), Fingerprint>,
    known: BTreeMap<Fingerprint, Known>,
    suppressions: HashMap<Fingerprint, String>,
    reactions: [Reaction; AssertionKind::COUNT],
    /// Nursery collections since something was asserted that no full one has checked.
    waited: u32,
    unchecked: bool,
    counts_many: bool,
    /// Where the owners begin that the last collection had no time for.
    pub(crate) next_owner: Raw,
    /// The number of sites at which those that are not used any more are forgotten.
    prune_at: usize,
    /// To find the sites again.
    by_key: HashMap<SiteKey, SiteId>,
}

/// What a full collection has found, to be reported when the world runs again.
#[derive(Default)]
pub(crate) struct Verdict {
    pub(crate) reports: Vec<(Finding, Reaction)>,
    /// Objects that are to die.
    pub(crate) forced: Vec<Forced>,
    /// Findings that still stand, and how often they have been found.
    pub(crate) repeats: Vec<(Fingerprint, String, u64)>,
    /// Sites that are to be dropped.
    pub(crate) gone: Vec<Site>,
}

/// An object that is to die.
pub(crate) struct Forced {
    pub(crate) raw: Raw,
    /// Where that was asserted.
    pub(crate) place: &'static Location<'static>,
    /// The finding that says so.
    pub(crate) fingerprint: Fingerprint,
}

impl Verdict {
    /// Adds to what is said about assertions that were to be made true whether they are.
    pub(crate) fn note_forced(&mut self, forced: &[Forced], kept: &HashSet<Raw>) {
        let mut made_true: HashMap<Fingerprint, bool> = HashMap::new();
        for it in forced {
            *made_true.entry(it.fingerprint).or_insert(true) &= !kept.contains(&it.raw);
        }
        for (finding, reaction) in &mut self.reports {
            let note = match made_true.get(&finding.fingerprint()) {
                Some(made_true) if matches!(reaction, Reaction::ForceTrue) => match made_true {
                    true => "all references to it were cleared or invalidated",
                    false => {
                        "some references could not be cleared, and the heap was not built to \
                         invalidate them"
                    }
                },
                _ => continue,
            };
            finding.notes.push(note.into());
        }
    }
}

/// Objects that one assertion site is wrong about.
pub(crate) struct Violation {
    pub(crate) kind: AssertionKind,
    pub(crate) site: SiteId,
    pub(crate) raw: Raw,
    /// How many references there are, for unshared objects.
    pub(crate) references: usize,
    /// Whether an owner of it is still alive.
    pub(crate) owner_lives: bool,
}

impl Violation {
    /// As it is described.
    fn on<'v>(&self, view: &StoppedHeap<'v>) -> assertion::Violation<ObjectId<'v>> {
        assertion::Violation {
            breach: match self.kind {
                AssertionKind::Dead => Breach::Dead,
                AssertionKind::Region => Breach::Region,
                AssertionKind::Unshared => Breach::Shared {
                    references: self.references,
                },
                AssertionKind::OwnedBy => Breach::NotOwned {
                    owner_lives: self.owner_lives,
                },
                AssertionKind::Instances | AssertionKind::Volume => {
                    unreachable!("about classes")
                }
            },
            assertion: self.site,
            object: view.object(self.raw),
        }
    }
}

/// One in so many objects is many.
const MANY: usize = 8;

impl Assertions {
    /// The number of a site; the same one for the same place, words and reaction.
    pub(crate) fn site(&mut self, site: Site) -> SiteId {
        self.unchecked = true;
        let number = self.sites.len() as SiteId;
        // Most often the same as the last time, in a loop.
        if let Some(last) = self.sites.get(self.last_site as usize)
            && std::ptr::eq(last.place, site.place)
            && last.kind == site.kind
            && (&last.message, &site.message) == (&None, &None)
            && last.reaction.is_none()
            && site.reaction.is_none()
        {
            return self.last_site;
        }
        let reaction = site.reaction.as_ref().map(Reaction::key);
        let key = (site.kind, site.place, site.message.clone(), reaction);
        let known = *self.by_key.entry(key).or_insert(number);
        self.last_site = known;
        if known != number {
            return known;
        }
        self.sites.push(site);
        number
    }

    pub(crate) fn is_idle(&self) -> bool {
        let asserted =
            self.dead.len() + self.unshared.len() + self.pairs.len() + self.classes.len();
        // What stood before and was taken back no longer stands.
        asserted + self.standing.len() + self.standing_classes.len() == 0
    }

    /// Whether instances must be counted while marking.
    pub(crate) fn counts(&self) -> bool {
        !self.classes.is_empty()
    }

    /// Whether a large part of the last collection's objects was to be counted.
    pub(crate) fn counts_many(&self) -> bool {
        self.counts_many && self.counts()
    }

    /// Remembers how many of the live objects were to be counted.
    pub(crate) fn note_counted(&mut self, wanted: usize, live: usize) {
        self.counts_many = wanted > live / MANY;
    }

    /// Whether arrivals at objects must be watched while marking.
    pub(crate) fn watches(&self) -> bool {
        self.unshared.len() > 0
    }

    /// Whether a class assertion was reported and has not held since.
    pub(crate) fn is_standing(&self, assertion: &ClassAssertion) -> bool {
        let key = (assertion.site, assertion.class);
        self.standing_classes.contains_key(&key)
    }

    /// Answers what it was before.
    pub(crate) fn set_reaction(&mut self, kind: AssertionKind, reaction: Reaction) -> Reaction {
        std::mem::replace(&mut self.reactions[kind as usize], reaction)
    }

    pub(crate) fn suppress(&mut self, fingerprint: Fingerprint, reason: String) {
        if let Some(known) = self.known.get_mut(&fingerprint) {
            known.suppressed = Some(reason.clone());
        }
        self.suppressions.insert(fingerprint, reason);
    }

    pub(crate) fn known(&self) -> Vec<Known> {
        self.known.values().cloned().collect()
    }

    /// A nursery collection has taken place.
    pub(crate) fn settle(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        self.dead.settle(now);
        self.unshared.settle(now);
        self.pairs.settle_pairs(now);
        self.standing.settle(now);
        self.waited += self.unchecked as u32;
    }

    /// Objects have moved.
    pub(crate) fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        self.forget_dead(now, true);
    }

    /// All that are dead are known. Checking pairs has found the dead among them; unless more
    /// have died since, they need not be looked at again.
    pub(crate) fn forget_dead(
        &mut self,
        now: &mut impl FnMut(Raw) -> Option<Raw>,
        also_pairs: bool,
    ) {
        self.dead.follow(now);
        self.unshared.follow(now);
        self.standing.follow(now);
        if also_pairs {
            self.pairs.follow(now);
        }
    }

    /// How many nursery collections an assertion has waited for a full one.
    pub(crate) fn waited(&self) -> u32 {
        self.waited
    }

    /// Everything has been checked, and what has died is forgotten. Answers the sites that are
    /// not used any more: to drop their callbacks may run anything.
    pub(crate) fn checked(&mut self) -> Vec<Site> {
        self.waited = 0;
        self.unchecked = false;
        if self.sites.len() < self.prune_at.max(1024) {
            return Vec::new();
        }
        let gone = self.prune_sites();
        self.prune_at = self.sites.len() * 2;
        gone
    }

    /// Takes out the sites that no assertion is left of. The others keep their order. Nothing
    /// is young, and no pair is there that takes another one back: they have been checked.
    fn prune_sites(&mut self) -> Vec<Site> {
        let entries = self.dead.old.iter_mut().chain(&mut self.unshared.old);
        let entries = entries.map(|it| &mut it.site);
        let pairs = self.pairs.old.iter_mut().map(|it| &mut it.site);
        let classes = self.classes.iter_mut().map(|it| &mut it.site);
        let mut users: Vec<&mut SiteId> = entries.chain(pairs).chain(classes).collect();
        let mut used = vec![false; self.sites.len()];
        users.iter().for_each(|site| used[**site as usize] = true);
        let mut count = 0;
        let numbers: Vec<Option<SiteId>> = used
            .into_iter()
            .map(|used| {
                count += used as SiteId;
                used.then(|| count - 1)
            })
            .collect();
        let number = |site: SiteId| numbers[site as usize];
        for site in &mut users {
            **site = number(**site).expect("a site that is used is kept");
        }
        let (mut kept, mut gone) = (Vec::new(), Vec::new());
        for (site, number) in std::mem::take(&mut self.sites).into_iter().zip(&numbers) {
            match number {
                Some(_) => kept.push(site),
                None => gone.push(site),
            }
        }
        self.sites = kept;
        self.last_site = 0;
        let known = self.by_key.drain();
        self.by_key = known
            .filter_map(|(key, site)| Some((key, number(site)?)))
            .collect();
        let standing = self.standing_classes.drain();
        self.standing_classes = standing
            .filter_map(|((site, class), it)| Some(((number(site)?, class), it)))
            .collect();
        gone
    }

    /// Takes note of what others than assertions have found.
    pub(crate) fn note(&mut self, collection: u64, found: Vec<Found>, verdict: &mut Verdict) {
        // Several questions may find the same, and a collection counts once.
        let mut seen: HashSet<Fingerprint> = HashSet::new();
        for Found {
            mut finding,
            reaction,
            is_new,
        } in found
        {
            let fingerprint = finding.fingerprint();
            finding.collection = Some(collection);
            let objects = finding.objects.len();
            let is_first = seen.insert(fingerprint);
            if let Some(known) = self.known.get_mut(&fingerprint) {
                known.objects = match is_first {
                    true => objects,
                    false => known.objects + objects,
                };
                known.collections += is_first as u64;
                match (&known.suppressed, is_new) {
                    (Some(_), _) => {}
                    (None, true) => verdict.reports.push((finding, reaction)),
                    (None, false) if is_first => {
                        let message = known.finding.message.clone();
                        let repeat = (fingerprint, message, known.collections);
                        verdict.repeats.push(repeat);
                    }
                    (None, false) => {}
                }
                continue;
            }
            let suppressed = self.suppressions.get(&fingerprint).cloned();
            if suppressed.is_none() {
                verdict.reports.push((finding.clone(), reaction));
            }
            let known = Known {
                finding,
                collections: 1,
                objects,
                suppressed,
            };
            self.known.insert(fingerprint, known);
        }
    }

    /// Turns violations into findings, new ones with paths; those that stand are counted.
    /// About the ownees that are `unchecked` nothing new is known.
    pub(crate) fn judge<'v>(
        &mut self,
        view: &StoppedHeap<'v>,
        collection: u64,
        mut violations: Vec<Violation>,
        classes: Vec<(ClassAssertion, usize, Vec<ObjectId<'v>>)>,
        unchecked: &HashSet<Raw>,
    ) -> Verdict {
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
        violations.sort_by_key(|it| (it.kind, it.raw, it.site));
        violations.dedup_by_key(|it| (it.kind, it.raw));
        let mut fresh = Vec::new();
        for violation in violations {
            let Violation { kind, raw, .. } = violation;
            match before.get(&(kind, raw)) {
                Some(&known) => stand(&mut self.standing, kind, raw, known),
                None => fresh.push(violation),
            }
        }
        let mut found: BTreeMap<Fingerprint, (Description, SiteId)> = BTreeMap::new();
        let mut sites: Vec<(Fingerprint, SiteId)> = Vec::new();
        let fresh = fresh.iter().map(|it| it.on(view)).collect();
        for (violation, described) in assertion::describe(view, fresh) {
            let site = violation.assertion;
            let fingerprint = match described {
                Described::As(fingerprint) => fingerprint,
                Described::In(one) => {
                    let fingerprint = one.fingerprint();
                    found
                        .entry(fingerprint)
                        .and_modify(|(all, _)| all.join(&one))
                        .or_insert((*one, site));
                    fingerprint
                }
            };
            sites.push((fingerprint, site));
            let (kind, raw) = (violation.breach.kind(), view.raw(violation.object));
            stand(&mut self.standing, kind, raw, fingerprint);
        }
        let key = |it: &ClassAssertion| (it.site, it.class);
        let failed = |known: &_| classes.iter().any(|(it, ..)| key(it) == *known);
        self.standing_classes.retain(|known, _| failed(known));
        // Limits that are broken alike are about the same instances.
        let mut count = |fingerprint, amount: usize| {
            let known: &mut usize = counts.entry(fingerprint).or_default();
            *known = amount.max(*known);
        };
        for (assertion, amount, instances) in classes {
            if let Some(&known) = self.standing_classes.get(&key(&assertion)) {
                count(known, amount);
                continue;
            }
            let excess = self.excess(view, &assertion, amount, instances);
            let description = describe_class(view, &excess);
            let fingerprint = description.fingerprint();
            count(fingerprint, amount);
            self.standing_classes.insert(key(&assertion), fingerprint);
            sites.push((fingerprint, assertion.site));
            found.insert(fingerprint, (description, assertion.site));
        }
        let mut verdict = Verdict::default();
        if !unchecked.is_empty() {
            let description = not_checked(unchecked.len());
            let fingerprint = description.fingerprint();
            counts.insert(fingerprint, unchecked.len());
            found.insert(fingerprint, (description, SiteId::MAX));
        }
        let mut told: HashSet<(Fingerprint, ReactionKey)> = HashSet::new();
        for (&fingerprint, &objects) in &counts {
            let new = found.remove(&fingerprint);
            if let Some(known) = self.known.get_mut(&fingerprint) {
                known.collections += 1;
                known.objects = objects;
                if known.suppressed.is_none() {
                    let message = known.finding.message.clone();
                    told.insert((fingerprint, Reaction::Log.key()));
                    verdict
                        .repeats
                        .push((fingerprint, message, known.collections));
                }
                continue;
            }
            let Some((description, site)) = new else {
                continue;
            };
            let finding = self.finding(description, site, collection);
            let suppressed = self.suppressions.get(&fingerprint).cloned();
            if suppressed.is_none() {
                let reaction = self.reaction(site);
                told.insert((fingerprint, reaction.key()));
                verdict.reports.push((finding.clone(), reaction));
            }
            let known = Known {
                finding,
                collections: 1,
                objects,
                suppressed,
            };
            self.known.insert(fingerprint, known);
        }
        // A reaction that an assertion has of its own is not lost to one that looks alike.
        for (fingerprint, site) in sites {
            let Some(own) = &self.sites[site as usize].reaction else {
                continue;
            };
            let known = &self.known[&fingerprint];
            if known.suppressed.is_none() && told.insert((fingerprint, own.key())) {
                verdict.reports.push((known.finding.clone(), own.clone()));
            }
        }
        verdict
    }

    /// The finding that a description is, where it was stated.
    fn finding(&self, description: Description, site: SiteId, collection: u64) -> Finding {
        let site = self.sites.get(site as usize);
        let place = site.map(|site| site.place.to_string());
        description.finding(&Stated {
            place: place.as_deref(),
            message: site.and_then(|site| site.message.as_deref()),
            collection: Some(collection),
        })
    }

    fn excess<'v>(
        &self,
        view: &StoppedHeap<'v>,
        assertion: &ClassAssertion,
        amount: usize,
        sample: Vec<ObjectId<'v>>,
    ) -> Excess<ObjectId<'v>> {
        let limit = assertion.limit as u64;
        let (limit, instances) = match self.sites[assertion.site as usize].kind {
            AssertionKind::Instances => (Limit::Instances(limit), amount),
            _ => (Limit::Volume(limit), sample.len()),
        };
        let classes = &view.heap().classes;
        let mut others = classes.iter().map(|it| it.info.id);
        let extends = |it: ClassId| it != assertion.class && classes.extends(it, assertion.class);
        Excess {
            limit,
            class: assertion.class,
            subclasses: assertion.subclasses && others.any(extends),
            amount: amount as u64,
            instances,
            sample,
        }
    }

    /// Whether an assertion is to be made true.
    pub(crate) fn is_forced(&self, violation: &Violation) -> bool {
        let about_lifetime = matches!(violation.kind, AssertionKind::Dead | AssertionKind::Region);
        about_lifetime && matches!(self.reaction(violation.site), Reaction::ForceTrue)
    }

    /// The findings that violations are part of which are to be made true, once they were judged.
    pub(crate) fn forced(&self, violations: Vec<(AssertionKind, Raw, SiteId)>) -> Vec<Forced> {
        if violations.is_empty() {
            return Vec::new();
        }
        let standing = self.standing.old.iter();
        let standing: HashMap<_, _> = standing
            .map(|it| ((it.kind, it.raw), it.fingerprint))
            .collect();
        let forced = violations.into_iter().map(|(kind, raw, site)| Forced {
            raw,
            place: self.sites[site as usize].place,
            fingerprint: standing[&(kind, raw)],
        });
        forced.collect()
    }

    fn reaction(&self, site: SiteId) -> Reaction {
        let Some(site) = self.sites.get(site as usize) else {
            return Reaction::Log;
        };
        let usual = &self.reactions[site.kind as usize];
        site.reaction.as_ref().unwrap_or(usual).clone()
    }
}

#[cfg(all(test, feature = "assertions"))]
mod tests {
    use super::*;
    use crate::config::Collector;
    use crate::heap::Heap;

    #[test]
    fn what_is_asserted_again_and_again_is_kept_a_few_times() {
        for collector in [Collector::MarkSweep, Collector::Generational] {
            let heap = Heap::builder().collector(collector).build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let [owner, item] = ["owner", "item"].map(|text| m.alloc_str(text).unwrap());
            for round in 0..5000 {
                m.assert_unshared(item);
                m.assert_owned_by(owner, item);
                m.assert_dead(item);
                m.expecting().reaction(Reaction::Log).unshared(item);
                if round % 1000 == 0 {
                    m.collect();
                }
                let assertions = heap.inner().assertions.lock().unwrap();
                let tables = [&assertions.dead, &assertions.unshared].map(Table::len);
                let pairs = assertions.pairs.len();
                assert!(tables.iter().chain([&pairs]).all(|&len| len <= 100));
                assert!(assertions.sites.len() <= 4);
            }
        }
    }

    #[test]
    fn words_about_the_dead_are_forgotten() {
        for collector in [Collector::MarkSweep, Collector::Generational] {
            let heap = Heap::builder().collector(collector).build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let item = m.alloc_str("item").unwrap();
            let place = "item".to_string();
            m.expecting().message("before").dead(item);
            for round in 0..10 {
                for number in 0..1000 {
                    let mut m = m.scope();
                    let order = m.alloc_str("order").unwrap();
                    let message = format!("{place} {number} of round {round}");
                    m.expecting().message(message).dead(order);
                    let call = Reaction::Call(Arc::new(|_| {}));
                    m.expecting().reaction(call).unshared(order);
                }
                if round == 7 {
                    m.expecting().message("after").unshared(item);
                    m.expecting().message("after").volume::<crate::Str>(0);
                }
                m.collect();
            }
            let assertions = heap.inner().assertions.lock().unwrap();
            assert!(assertions.sites.len() < 4000);
            assert_eq!(assertions.sites.len(), assertions.by_key.len());
            let words = |site: SiteId| assertions.sites[site as usize].message.as_deref();
            assert_eq!(words(assertions.dead.old[0].site), Some("before"));
            assert_eq!(words(assertions.unshared.old[0].site), Some("after"));
            assert!(assertions.is_standing(&assertions.classes[0]));
        }
    }
}
