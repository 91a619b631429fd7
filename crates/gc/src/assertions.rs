//! GC assertions: what a program expects of its heap, checked by the next full collection.
//!
//! Each assertion remembers its *site*: kind, place in the program, message, reaction. Here is who
//! asserted what. How it is checked is in `assertions/check.rs`, what is said of violations in
//! [`heaphound_heap::assertion`], and what is known of them in `findings.rs`.

mod check;
pub(crate) mod tables;

use std::collections::{HashMap, HashSet};
use std::panic::Location;

use heaphound_heap::ClassId;
pub use heaphound_heap::assertion::AssertionKind;
use heaphound_heap::assertion::{Described, Slots, never_checked};
use heaphound_heap::finding::{Finding, Fingerprint};

pub(crate) use self::check::AssertionCheck;
use self::tables::{Entry, Follows, Pair, SiteId, Table};
use crate::findings::{Reaction, ReactionKey};
use crate::raw::Raw;

/// Where and how an assertion was made.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) kind: AssertionKind,
    pub(crate) place: &'static Location<'static>,
    /// The slots whose references count, where references do.
    pub(crate) slots: Slots,
    pub(crate) message: Option<String>,
    pub(crate) reaction: Option<Reaction>,
    /// How often it was used since the last full collection.
    pub(crate) times: u64,
}

/// What tells a site from others.
type SiteKey = (
    AssertionKind,
    &'static Location<'static>,
    Slots,
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
    /// Asserted objects, by kind.
    objects: [Table<Entry>; AssertionKind::COUNT],
    pub(crate) pairs: Table<Pair>,
    pub(crate) classes: Vec<ClassAssertion>,
    pub(crate) standing: Table<Standing>,
    /// Class assertions that were reported, by site and class.
    standing_classes: HashMap<(SiteId, ClassId), Fingerprint>,
    /// What leak pruning is cutting off in this collection, and was to be dead already.
    on_cuts: Vec<(SiteId, Described)>,
    reactions: [Reaction; AssertionKind::COUNT],
    /// Nursery collections since something was asserted that no full one has checked.
    waited: u32,
    unchecked: bool,
    counts_many: bool,
    /// Where the owners begin that the last collection had no time for.
    next_owner: Raw,
    /// The number of sites at which those that are not used any more are forgotten.
    prune_at: usize,
    /// To find the sites again.
    by_key: HashMap<SiteKey, SiteId>,
}

/// An object that is to die.
pub(crate) struct Forced {
    pub(crate) raw: Raw,
    /// Where that was asserted.
    pub(crate) place: &'static Location<'static>,
    /// The finding that says so.
    pub(crate) fingerprint: Fingerprint,
}

/// One in this number of objects is many.
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
            && last.slots == site.slots
            && (&last.message, &site.message) == (&None, &None)
            && last.reaction.is_none()
            && site.reaction.is_none()
        {
            self.sites[self.last_site as usize].times += 1;
            return self.last_site;
        }
        let reaction = site.reaction.as_ref().map(Reaction::key);
        let (slots, message) = (site.slots.clone(), site.message.clone());
        let key = (site.kind, site.place, slots, message, reaction);
        let known = *self.by_key.entry(key).or_insert(number);
        self.last_site = known;
        if known == number {
            self.sites.push(site);
        }
        self.sites[known as usize].times += 1;
        known
    }

    pub(crate) fn is_idle(&self) -> bool {
        let objects: usize = self.objects.iter().map(Table::len).sum();
        let asserted = objects + self.pairs.len() + self.classes.len();
        // What stood before and was taken back no longer stands.
        asserted + self.standing.len() + self.standing_classes.len() + self.on_cuts.len() == 0
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

    /// Asserts something of an object. It is checked as long as the object lives.
    pub(crate) fn add(&mut self, kind: AssertionKind, site: SiteId, raw: Raw) {
        self.objects[kind as usize].add(Entry { site, raw });
    }

    /// The objects of which something of that kind is asserted. After marking, all of them live.
    pub(crate) fn asserted(&self, kind: AssertionKind) -> &[Entry] {
        &self.objects[kind as usize].old
    }

    /// Whether arrivals at objects must be watched while marking.
    pub(crate) fn watches(&self) -> bool {
        self.objects[AssertionKind::Unshared as usize].len() > 0
    }

    /// Whether a class assertion was reported and has not held since.
    pub(crate) fn is_standing(&self, assertion: &ClassAssertion) -> bool {
        let key = (assertion.site, assertion.class);
        self.standing_classes.contains_key(&key)
    }

    /// Sets what happens when assertions of a kind fail. Returns what it was before.
    pub(crate) fn set_reaction(&mut self, kind: AssertionKind, reaction: Reaction) -> Reaction {
        std::mem::replace(&mut self.reactions[kind as usize], reaction)
    }

    /// A nursery collection has taken place.
    pub(crate) fn settle(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        self.objects.iter_mut().for_each(|it| it.settle(now));
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
        self.objects.iter_mut().for_each(|it| it.follow(now));
        self.standing.follow(now);
        if also_pairs {
            self.pairs.follow(now);
        }
    }

    /// How many nursery collections an assertion has waited for a full one.
    pub(crate) fn waited(&self) -> u32 {
        self.waited
    }

    /// Everything has been checked, and what has died is forgotten. Returns the sites that are
    /// not used any more: to drop their callbacks may run anything.
    pub(crate) fn checked(&mut self) -> Vec<Site> {
        self.waited = 0;
        self.unchecked = false;
        self.sites.iter_mut().for_each(|site| site.times = 0);
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
        let entries = self.objects.iter_mut().flat_map(|it| &mut it.old);
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

    /// What was asserted since the last full collection and is not known to hold, so that nobody has
    /// checked it: a finding for each place, with the first of its messages, and what is to happen with it.
    pub(crate) fn unchecked(&self) -> Vec<(Finding, Reaction)> {
        let mut left: HashSet<SiteId> = HashSet::new();
        let objects = self.objects.iter().flat_map(Table::iter);
        left.extend(objects.map(|entry| entry.site));
        left.extend(self.pairs.in_force().iter().map(|pair| pair.site));
        left.extend(self.classes.iter().map(|it| it.site));
        let sites = self.sites.iter().zip(0..);
        let sites = sites.filter(|(site, number)| site.times > 0 && left.contains(number));
        // A loop may say something else of each object: that is one place all the same.
        let mut places: Vec<(&Site, SiteId, u64)> = Vec::new();
        let mut by_place = HashMap::new();
        for (site, number) in sites {
            let reaction = site.reaction.as_ref().map(Reaction::key);
            let place = by_place.entry((site.kind, site.place, reaction));
            let nth = *place.or_insert(places.len());
            match places.get_mut(nth) {
                Some((_, _, times)) => *times += site.times,
                None => places.push((site, number, site.times)),
            }
        }
        let finding = |(site, number, times): (&Site, SiteId, u64)| {
            let times = Some(times).filter(|&times| times > 1);
            let description = never_checked(site.kind, times);
            (self.finding(description, number), self.reaction(number))
        };
        places.into_iter().map(finding).collect()
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
    use std::sync::Arc;

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
                m.expect().reaction(Reaction::Log).unshared(item);
                if round % 1000 == 0 {
                    m.collect();
                }
                let assertions = heap.inner().assertions.lock().unwrap();
                let tables = assertions.objects.iter().map(Table::len);
                let pairs = assertions.pairs.len();
                assert!(tables.chain([pairs]).all(|len| len <= 100));
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
            m.expect().message("before").dead(item);
            for round in 0..10 {
                for number in 0..1000 {
                    let mut m = m.scope();
                    let order = m.alloc_str("order").unwrap();
                    let message = format!("{place} {number} of round {round}");
                    m.expect().message(message).dead(order);
                    let call = Reaction::Call(Arc::new(|_| {}));
                    m.expect().reaction(call).unshared(order);
                }
                if round == 7 {
                    m.expect().message("after").unshared(item);
                    m.expect().message("after").volume::<crate::Str>(0);
                }
                m.collect();
            }
            let assertions = heap.inner().assertions.lock().unwrap();
            assert!(assertions.sites.len() < 4000);
            assert_eq!(assertions.sites.len(), assertions.by_key.len());
            let words = |site: SiteId| assertions.sites[site as usize].message.as_deref();
            assert_eq!(
                words(assertions.asserted(AssertionKind::Dead)[0].site),
                Some("before")
            );
            assert_eq!(
                words(assertions.asserted(AssertionKind::Unshared)[0].site),
                Some("after")
            );
            assert!(assertions.is_standing(&assertions.classes[0]));
        }
    }
}
