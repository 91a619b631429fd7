//! GC assertions: what a program expects of its heap, checked by the next full collection.
//!
//! Each assertion remembers its *site*: kind, place in the program, message, reaction. A
//! violation becomes a finding with the path that proves it, once: what stands from
//! collection to collection is counted. What counts as a violation is in `raw/check.rs`;
//! here is who asserted what, what is said about it, and what is done.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use heaphound_heap::finding::{Evidence, Finding, Fingerprint, Severity, group};
use heaphound_heap::path::{Search, Trail, named, shortest_to_each};
use heaphound_heap::trace::Traceable;
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, RootKind};

use crate::raw::check::{Entry, Follows, Pair, SiteId, Table};
use crate::raw::{ObjectId, Raw, StoppedHeap};

/// What is asserted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AssertionKind {
    /// The object is unreachable.
    Dead,
    /// What the thread allocated in a region is unreachable.
    Region,
    /// A class has at most so many instances.
    Instances,
    /// The instances of a class take at most so many bytes.
    Volume,
    /// At most one slot or static refers to the object.
    Unshared,
    /// If the object is reachable, then also through its owner.
    OwnedBy,
}

impl AssertionKind {
    const COUNT: usize = 6;

    /// The kind of the findings that say it failed.
    fn name(self) -> &'static str {
        match self {
            Self::Dead => "asserted-dead",
            Self::Region => "region-not-dead",
            Self::Instances => "too-many-instances",
            Self::Volume => "too-much-volume",
            Self::Unshared => "asserted-unshared",
            Self::OwnedBy => "not-owned",
        }
    }
}

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
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Standing {
    pub(crate) kind: AssertionKind,
    pub(crate) raw: Raw,
    pub(crate) fingerprint: Fingerprint,
}

impl Follows for Standing {
    fn is_young(&self) -> bool {
        self.raw.is_young()
    }

    fn follow(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>) -> bool {
        self.raw.follow(now)
    }
}

/// A heap's assertions.
#[derive(Default)]
pub(crate) struct Assertions {
    pub(crate) sites: Vec<Site>,
    pub(crate) dead: Table<Entry>,
    pub(crate) unshared: Table<Entry>,
    pub(crate) pairs: Table<Pair>,
    pub(crate) classes: Vec<ClassAssertion>,
    pub(crate) standing: Table<Standing>,
    /// Class assertions that were reported, by site.
    standing_classes: HashMap<SiteId, Fingerprint>,
    known: BTreeMap<Fingerprint, Known>,
    suppressions: HashMap<Fingerprint, String>,
    reactions: [Reaction; AssertionKind::COUNT],
    /// Nursery collections since something was asserted that no full one has checked.
    waited: u32,
    unchecked: bool,
}

/// What a full collection has found, to be reported when the world runs again.
#[derive(Default)]
pub(crate) struct Verdict {
    pub(crate) reports: Vec<(Finding, Reaction)>,
    /// Objects that are to die, and where that was asserted.
    pub(crate) forced: Vec<(Raw, &'static Location<'static>)>,
    /// Findings that still stand, and how often they have been found.
    pub(crate) repeats: Vec<(Fingerprint, String, u64)>,
}

impl Verdict {
    /// Adds to what is said about assertions that were to be made true.
    pub(crate) fn note_forced(&mut self, note: &str) {
        for (finding, reaction) in &mut self.reports {
            if matches!(reaction, Reaction::ForceTrue) {
                finding.notes.push(note.into());
            }
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

/// The most objects whose paths are looked for in one collection.
const MOST_PATHS: usize = 1000;
/// The most paths that one finding shows.
const MOST_SHOWN: usize = 5;

impl Assertions {
    /// The number of a site; the same one for the same place and words.
    pub(crate) fn site(&mut self, site: Site) -> SiteId {
        self.unchecked = true;
        let same = |other: &Site| {
            other.kind == site.kind
                && other.place == site.place
                && other.message == site.message
                && other.reaction.is_none()
                && site.reaction.is_none()
        };
        // The latest are the likeliest.
        let known = self.sites.iter().rposition(same);
        known.unwrap_or_else(|| {
            self.sites.push(site);
            self.sites.len() - 1
        }) as SiteId
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.dead.len() + self.unshared.len() + self.pairs.len() + self.classes.len() == 0
    }

    /// Whether objects must be counted by class while marking.
    pub(crate) fn counts(&self) -> bool {
        !self.classes.is_empty()
    }

    /// Whether arrivals at objects must be watched while marking.
    pub(crate) fn arrives(&self) -> bool {
        self.unshared.len() > 0
    }

    /// Whether a class assertion was reported and has not held since.
    pub(crate) fn is_standing(&self, site: SiteId) -> bool {
        self.standing_classes.contains_key(&site)
    }

    pub(crate) fn set_reaction(&mut self, kind: AssertionKind, reaction: Reaction) {
        self.reactions[kind as usize] = reaction;
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

    /// Calls `f` with each table of objects.
    fn each_table(&mut self, mut f: impl FnMut(&mut dyn Moves)) {
        f(&mut self.dead);
        f(&mut self.unshared);
        f(&mut self.pairs);
        f(&mut self.standing);
    }

    /// A nursery collection has taken place.
    pub(crate) fn settle(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>) {
        self.each_table(|table| table.settle(now));
        self.waited += self.unchecked as u32;
    }

    /// Objects have moved, or all that are dead are known.
    pub(crate) fn follow(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>) {
        self.each_table(|table| table.follow(now));
    }

    /// How many nursery collections an assertion has waited for a full one.
    pub(crate) fn waited(&self) -> u32 {
        self.waited
    }

    /// Everything has been checked.
    pub(crate) fn checked(&mut self) {
        self.waited = 0;
        self.unchecked = false;
    }

    /// Turns violations into findings, new ones with paths; those that stand are counted.
    pub(crate) fn judge<'v>(
        &mut self,
        view: &StoppedHeap<'v>,
        collection: u64,
        mut violations: Vec<Violation>,
        classes: Vec<(ClassAssertion, usize, Vec<ObjectId<'v>>)>,
        notes: Vec<String>,
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
        let mut found: BTreeMap<Fingerprint, (Finding, SiteId)> = BTreeMap::new();
        let left_out = fresh.len().saturating_sub(MOST_PATHS);
        fresh.truncate(MOST_PATHS);
        for (violation, finding) in self.describe(view, collection, fresh) {
            let fingerprint = finding.fingerprint();
            stand(
                &mut self.standing,
                violation.kind,
                violation.raw,
                fingerprint,
            );
            found
                .entry(fingerprint)
                .and_modify(|(all, _)| join(all, &finding))
                .or_insert((finding, violation.site));
        }
        let failed = |site: &SiteId| classes.iter().any(|(it, ..)| it.site == *site);
        self.standing_classes.retain(|site, _| failed(site));
        for (assertion, amount, instances) in classes {
            if let Some(&known) = self.standing_classes.get(&assertion.site) {
                *counts.entry(known).or_default() += 1;
                continue;
            }
            let finding = self.describe_class(view, collection, &assertion, amount, &instances);
            let fingerprint = finding.fingerprint();
            *counts.entry(fingerprint).or_default() += 1;
            self.standing_classes.insert(assertion.site, fingerprint);
            found.insert(fingerprint, (finding, assertion.site));
        }
        let mut verdict = Verdict::default();
        for (&fingerprint, &objects) in &counts {
            let new = found.remove(&fingerprint);
            if let Some(known) = self.known.get_mut(&fingerprint) {
                known.collections += 1;
                known.objects = objects;
                if known.suppressed.is_none() {
                    let message = known.finding.message.clone();
                    verdict
                        .repeats
                        .push((fingerprint, message, known.collections));
                }
                continue;
            }
            let Some((mut finding, site)) = new else {
                continue;
            };
            finding.notes.extend(notes.iter().cloned());
            if left_out > 0 {
                finding.notes.push(format!(
                    "{left_out} more violations were found; their paths come with the next collections"
                ));
            }
            let suppressed = self.suppressions.get(&fingerprint).cloned();
            let reaction = self.reaction(site);
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
        verdict
    }

    /// Whether an assertion is to be made true.
    pub(crate) fn is_forced(&self, violation: &Violation) -> bool {
        let about_lifetime = matches!(violation.kind, AssertionKind::Dead | AssertionKind::Region);
        about_lifetime && matches!(self.reaction(violation.site), Reaction::ForceTrue)
    }

    fn reaction(&self, site: SiteId) -> Reaction {
        let site = &self.sites[site as usize];
        let usual = &self.reactions[site.kind as usize];
        site.reaction.as_ref().unwrap_or(usual).clone()
    }

    /// A finding for each violation, by one search from the roots.
    fn describe<'v>(
        &self,
        view: &StoppedHeap<'v>,
        collection: u64,
        violations: Vec<Violation>,
    ) -> Vec<(Violation, Finding)> {
        if violations.is_empty() {
            return Vec::new();
        }
        let objects: Vec<ObjectId<'v>> = violations.iter().map(|it| view.object(it.raw)).collect();
        let mut visits = view.visits();
        let trails = shortest_to_each(view, &mut visits, &Search::everywhere(), &objects);
        let asked = violations.iter().zip(&objects).zip(&trails);
        let asked = asked.filter(|((violation, _), trail)| {
            violation.kind == AssertionKind::Unshared || trail.as_ref().is_some_and(is_drag)
        });
        let asked: Vec<ObjectId<'v>> = asked.map(|((_, &object), _)| object).collect();
        let referrers = view.referrers(&asked);
        let mut described: Vec<_> = violations
            .into_iter()
            .zip(objects)
            .zip(trails)
            .map(|((violation, object), trail)| {
                let evidence = trail.iter().map(|trail| Evidence {
                    label: String::new(),
                    path: trail.describe(view),
                });
                let mut evidence: Vec<Evidence> = evidence.collect();
                if violation.kind == AssertionKind::Unshared {
                    evidence = both_ways(view, object, &referrers[&object]);
                }
                let drag = trail.as_ref().is_some_and(is_drag)
                    && referrers[&object].is_empty()
                    && is_held_by_stacks_only(view, object);
                let finding = self.finding(view, collection, &violation, object, evidence, drag);
                (
                    trail.map_or(usize::MAX, |it| it.objects.len()),
                    violation,
                    finding,
                )
            })
            .collect();
        // The nearest first, so that a group is known by it.
        described.sort_by_key(|(length, violation, _)| (violation.kind, violation.site, *length));
        described
            .into_iter()
            .map(|(_, violation, finding)| (violation, finding))
            .collect()
    }

    fn finding<'v>(
        &self,
        view: &StoppedHeap<'v>,
        collection: u64,
        violation: &Violation,
        object: ObjectId<'v>,
        evidence: Vec<Evidence>,
        drag: bool,
    ) -> Finding {
        let site = &self.sites[violation.site as usize];
        let it = named(view, object);
        let what = match violation.kind {
            AssertionKind::Dead => format!("{} was asserted dead and is reachable", it.name),
            AssertionKind::Region => format!(
                "{} was allocated in a region that was asserted dead, and is reachable",
                it.name
            ),
            AssertionKind::Unshared => format!(
                "{} was asserted unshared, and {} references lead to it",
                it.name, violation.references
            ),
            AssertionKind::OwnedBy if violation.owner_lives => format!(
                "{} is reachable, but not through the object that was asserted to own it",
                it.name
            ),
            AssertionKind::OwnedBy => {
                format!(
                    "{} has outlived the object that was asserted to own it",
                    it.name
                )
            }
            AssertionKind::Instances | AssertionKind::Volume => unreachable!("about classes"),
        };
        let drag = match drag {
            true => ": only a stack slot holds it (drag)",
            false => "",
        };
        Finding {
            kind: violation.kind.name().into(),
            severity: Severity::Error,
            message: with_message(format!("{what}{drag}"), site),
            objects: vec![it],
            evidence,
            place: Some(site.place.to_string()),
            collection: Some(collection),
            notes: Vec::new(),
        }
    }

    fn describe_class<'v>(
        &self,
        view: &StoppedHeap<'v>,
        collection: u64,
        assertion: &ClassAssertion,
        amount: usize,
        instances: &[ObjectId<'v>],
    ) -> Finding {
        let site = &self.sites[assertion.site as usize];
        let class = &view.class(assertion.class).name;
        let limit = assertion.limit;
        let what = match site.kind {
            AssertionKind::Instances => {
                format!("{amount} instances of {class} live; {limit} were asserted at most")
            }
            _ => format!("instances of {class} take {amount} bytes; {limit} were asserted at most"),
        };
        let mut visits = view.visits();
        let trails = shortest_to_each(view, &mut visits, &Search::everywhere(), instances);
        // Those that are held in the same way are one group.
        let trails = trails.into_iter().flatten();
        let groups = group(trails.map(|trail| trail.describe(view)).collect());
        let mut notes = Vec::new();
        if groups.len() > MOST_SHOWN {
            notes.push(format!(
                "{} more ways lead to instances",
                groups.len() - MOST_SHOWN
            ));
        }
        let count = match site.kind {
            AssertionKind::Instances => amount,
            _ => instances.len(),
        };
        if instances.len() < count {
            notes.push(format!(
                "paths were looked for to {} of them",
                instances.len()
            ));
        }
        let evidence = groups.into_iter().take(MOST_SHOWN);
        Finding {
            kind: site.kind.name().into(),
            severity: Severity::Error,
            message: with_message(what, site),
            objects: instances
                .iter()
                .take(MOST_SHOWN)
                .map(|&it| named(view, it))
                .collect(),
            evidence: evidence
                .map(|(count, path)| Evidence {
                    label: format!("{count} held like this"),
                    path,
                })
                .collect(),
            place: Some(site.place.to_string()),
            collection: Some(collection),
            notes,
        }
    }
}

/// What of a table does not depend on its entries.
trait Moves {
    fn settle(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>);
    fn follow(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>);
}

impl<E: Follows + PartialEq> Moves for Table<E> {
    fn settle(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>) {
        Table::settle(self, now);
    }

    fn follow(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>) {
        Table::follow(self, now);
    }
}

fn with_message(what: String, site: &Site) -> String {
    match &site.message {
        Some(message) => format!("{what}: {message}"),
        None => what,
    }
}

/// Adds an object that is held in the same way to a finding.
fn join(finding: &mut Finding, other: &Finding) {
    finding.objects.extend(other.objects.iter().cloned());
}

/// Whether a path is a stack slot and nothing else.
fn is_drag<O>(trail: &Trail<O>) -> bool {
    let on_stack = |root: &heaphound_heap::Root| root.kind == RootKind::ThreadStack;
    trail.objects.len() == 1 && trail.root.as_ref().is_some_and(on_stack)
}

/// Whether all roots that refer to an object are stack slots.
fn is_held_by_stacks_only<'v>(view: &StoppedHeap<'v>, object: ObjectId<'v>) -> bool {
    let mut only = true;
    view.for_each_root(|root, to| {
        only &= to != object || root.kind == RootKind::ThreadStack;
    });
    only
}

/// Up to two paths that end in different references to an object: the shortest, and the
/// shortest that ends otherwise.
fn both_ways<'v>(
    view: &StoppedHeap<'v>,
    object: ObjectId<'v>,
    referrers: &[(ObjectId<'v>, Place)],
) -> Vec<Evidence> {
    let mut visits = view.visits();
    let sources: Vec<ObjectId<'v>> = referrers.iter().map(|it| it.0).collect();
    let trails = shortest_to_each(view, &mut visits, &Search::everywhere(), &sources);
    let mut ways: Vec<(usize, Trail<ObjectId<'v>>)> = Vec::new();
    for ((_, place), trail) in referrers.iter().zip(trails) {
        if let Some(mut trail) = trail {
            trail.places.push(*place);
            trail.objects.push(object);
            ways.push((trail.objects.len(), trail));
        }
    }
    view.for_each_root(|root, to| {
        if to == object && root.kind == RootKind::Static {
            let trail = Trail {
                root: Some(root.clone()),
                objects: vec![object],
                places: Vec::new(),
            };
            ways.push((1, trail));
        }
    });
    ways.sort_by_key(|(length, _)| *length);
    ways.truncate(2);
    let evidence = ways.into_iter().map(|(_, trail)| Evidence {
        label: String::new(),
        path: trail.describe(view),
    });
    evidence.collect()
}
