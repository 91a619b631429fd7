//! The step of a full collection that checks assertions.
//!
//! What needs it is counted while the roots are marked; when that is done, everything that lives
//! is known, and every assertion is looked at. What was found is told when the world runs
//! again.
//!
//! Elsewhere: what each assertion means (`raw/check.rs`), what is said about it
//! (`assertions.rs`).

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use heaphound_heap::ClassId;

use crate::assertions::{AssertionKind, Assertions, Reaction, Verdict, Violation};
use crate::collect::{Phase, log_line};
use crate::heap::HeapInner;
use crate::raw::Raw;
use crate::raw::marking::check::{Checker, Counted};
use crate::raw::marking::mark::{Ground, Marked};
use crate::raw::marking::shape_counter::Shaping;
use crate::raw::marking::summary_counter::{Places, Summed, Summing};
use crate::raw::marking::weak::{Waiting, is_marked};
use crate::summaries::Plan;

/// Objects that owners may enter all together, at least.
const OWNER_BUDGET: usize = 1 << 20;
/// Instances of a class whose paths are looked for when there are too many.
const MOST_INSTANCES: usize = 1000;

impl HeapInner {
    /// The classes whose instances some assertion limits, among the first so many.
    pub(crate) fn counted_classes(&self, assertions: &Assertions, traces: usize) -> Vec<ClassId> {
        let mut wanted = Vec::new();
        for assertion in &assertions.classes {
            match assertion.subclasses {
                false => wanted.push(assertion.class),
                true => {
                    let ids = (1..traces as u32).map(ClassId);
                    wanted.extend(ids.filter(|&id| self.classes.extends(id, assertion.class)));
                }
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    /// Runs a phase while instances of classes are counted, and arrivals at objects that were
    /// asserted unshared listed.
    pub(crate) fn count<const ALL: bool, const AGAIN: bool>(
        &self,
        (ground, phase): (Ground<'_>, Phase),
        total: &mut Marked,
        waiting: &mut Waiting,
    ) -> Counted {
        let classes = self.classes.count();
        let fresh = || Checker::<ALL, AGAIN>::new(classes);
        let mut counted = Counted::default();
        for one in self.close(ground, phase, total, waiting, fresh) {
            counted.add(one);
        }
        counted
    }

    /// Runs a phase while the summary of the heap is counted; answers what [`Self::count`] does,
    /// of all classes, too.
    pub(crate) fn sum<'s>(
        &self,
        (ground, phase): (Ground<'_>, Phase),
        plan: &'s Plan,
        watches: bool,
        total: &mut Marked,
        waiting: &mut Waiting,
    ) -> Summed<'s> {
        let job = (ground, phase);
        match (watches, plan.assumed.is_some()) {
            (true, true) => self.sum_with::<true, true>(job, plan, total, waiting),
            (true, false) => self.sum_with::<true, false>(job, plan, total, waiting),
            (false, true) => self.sum_with::<false, true>(job, plan, total, waiting),
            (false, false) => self.sum_with::<false, false>(job, plan, total, waiting),
        }
    }

    fn sum_with<'s, const AGAIN: bool, const SHAPES: bool>(
        &self,
        (ground, phase): (Ground<'_>, Phase),
        plan: &'s Plan,
        total: &mut Marked,
        waiting: &mut Waiting,
    ) -> Summed<'s> {
        let places = Places::new(ground, &plan.slots);
        let assumed = plan.assumed.as_ref();
        let fresh = || Summing::<AGAIN, SHAPES>::new(ground, &places, Shaping::new(assumed));
        Summing::merge(self.close(ground, phase, total, waiting, fresh))
    }

    /// Checks all assertions, once everything that lives is marked.
    pub(crate) fn check_assertions(
        &self,
        assertions: &mut Assertions,
        ground: Ground<'_>,
        counted: &Counted,
        live: usize,
    ) -> Verdict {
        let mut violations = Vec::new();
        let violation = |kind, site, raw| Violation {
            kind,
            site,
            raw,
            references: 0,
            owner_lives: false,
        };
        for entry in &assertions.dead.old {
            if is_marked(ground, entry.raw) {
                let kind = assertions.sites[entry.site as usize].kind;
                violations.push(violation(kind, entry.site, entry.raw));
            }
        }
        let sharing = self.count_sharing(counted);
        for entry in &assertions.unshared.old {
            let references = sharing.get(&entry.raw).copied().unwrap_or(0);
            if references > 1 {
                violations.push(Violation {
                    references,
                    ..violation(AssertionKind::Unshared, entry.site, entry.raw)
                });
            }
        }
        assertions.pairs.prepare(|raw| is_marked(ground, raw));
        let pairs = &assertions.pairs.old;
        let mut unchecked = HashSet::new();
        if !pairs.is_empty() {
            let from = assertions.next_owner;
            let budget = OWNER_BUDGET.max(live * 4);
            let ownership = self.check_owners(ground, pairs, from, budget);
            unchecked = ownership.unchecked;
            let mut owned: Vec<Raw> = Vec::new();
            if !ownership.unowned.is_empty() {
                let with_owner = pairs.iter().filter(|pair| !pair.owner.is_null());
                owned.extend(with_owner.map(|pair| pair.ownee));
                owned.sort_unstable();
            }
            violations.extend(ownership.unowned.iter().map(|entry| Violation {
                owner_lives: owned.binary_search(&entry.raw).is_ok(),
                ..violation(AssertionKind::OwnedBy, entry.site, entry.raw)
            }));
            assertions.next_owner = ownership.next;
        }
        self.inspect_marked(|view| {
            let mut classes = Vec::new();
            for assertion in assertions.classes.clone() {
                let is_one = |class: ClassId| match assertion.subclasses {
                    true => self.classes.extends(class, assertion.class),
                    false => class == assertion.class,
                };
                let sum = |which: fn(&(usize, usize)) -> usize| {
                    let all = counted.classes.iter().enumerate().skip(1);
                    all.filter(|(id, _)| is_one(ClassId(*id as u32)))
                        .map(|(_, count)| which(count))
                        .sum::<usize>()
                };
                let amount = match assertions.sites[assertion.site as usize].kind {
                    AssertionKind::Instances => sum(|count| count.0),
                    _ => sum(|count| count.1),
                };
                if amount > assertion.limit {
                    let known = assertions.is_standing(&assertion);
                    let most = if known { 0 } else { MOST_INSTANCES };
                    let instances = self.live_instances(ground, &is_one, most);
                    let instances = instances.into_iter().map(|raw| view.object(raw)).collect();
                    classes.push((assertion, amount, instances));
                }
            }
            let forced = violations.iter().filter(|it| assertions.is_forced(it));
            let forced = forced.map(|it| (it.kind, it.raw, it.site)).collect();
            let number = self.collections();
            let mut verdict = assertions.judge(view, number, violations, classes, &unchecked);
            verdict.forced = assertions.forced(forced);
            verdict
        })
    }

    /// Tells what assertions have found, and does what is to be done: all of it, though a
    /// callback panics.
    pub(crate) fn announce(&self, verdict: Verdict) {
        let mut panicked = None;
        for (finding, reaction) in verdict.reports {
            let fingerprint = finding.fingerprint();
            tracing::error!(heap = self.id, kind = %finding.kind, %fingerprint, "{finding}");
            match reaction {
                Reaction::Log | Reaction::ForceTrue => log_line(format_args!("{finding}")),
                Reaction::Call(call) => {
                    let called = catch_unwind(AssertUnwindSafe(|| call(&finding)));
                    panicked = panicked.or(called.err());
                }
                Reaction::Halt => {
                    log_line(format_args!("{finding}"));
                    let _ = self.halted.set(finding.to_string());
                    self.safepoints.halt();
                }
            }
        }
        for (fingerprint, message, times) in verdict.repeats {
            tracing::warn!(heap = self.id, %fingerprint, times, "still: {message}");
            if self.config.log {
                log_line(format_args!(
                    "still, for the {times}. time: {message} [{fingerprint}]"
                ));
            }
        }
        if let Some(payload) = panicked {
            resume_unwind(payload);
        }
    }
}
