//! The ledger of findings: what is known, what stands, what is suppressed, what was withdrawn, and to
//! whom it is announced.
//!
//! Each check of a full collection adds what it has found ([`Found`]). A finding is known by its
//! fingerprint. The first time, it is announced to whoever listens; after that it is
//! counted, for as long as it stands. A finding that its check no longer makes is withdrawn, and stands
//! again if it comes back. Announcing happens when the world runs again and nothing is locked.
//!
//! Nobody else keeps a record of what was announced.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use heaphound_heap::finding::{Finding, Fingerprint};
use heaphound_heap::sync::Mutex;

use crate::assertions::{Forced, Site};
use crate::heap::{Heap, HeapInner};
use crate::log::log_line;
use crate::panics::{FirstPanic, panics};
use crate::raw::{Mutator, Raw};

/// What happens when something is found.
#[derive(Clone, Default)]
#[non_exhaustive]
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
    /// for that. Other findings are only logged.
    ForceTrue,
    /// The program is called with the finding, when the world runs again.
    Call(Arc<dyn Fn(&Finding) + Send + Sync>),
}

impl Reaction {
    /// What tells it from others: callbacks differ though they may do the same.
    pub(crate) fn key(&self) -> ReactionKey {
        match self {
            Self::Log => (0, 0),
            Self::Halt => (1, 0),
            Self::ForceTrue => (2, 0),
            Self::Call(call) => (3, Arc::as_ptr(call).addr()),
        }
    }
}

pub(crate) type ReactionKey = (u8, usize);

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

/// Somebody who wants to know of findings. What is new to one may be known to another: two that
/// look for the same thing are both told.
#[derive(Clone, Debug)]
pub struct Listener {
    id: u64,
    reaction: Reaction,
}

impl Listener {
    /// A new listener, who has heard of nothing.
    pub fn new(reaction: Reaction) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            id: NEXT.fetch_add(1, Relaxed),
            reaction,
        }
    }

    /// The GC assertions of a heap, whose reactions differ from one to the other.
    pub(crate) fn assertions(reaction: Reaction) -> Self {
        Self { id: 0, reaction }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The same listener without its reaction: enough to [forget](Found::forget) it.
    pub fn silenced(&self) -> Self {
        Self {
            id: self.id,
            reaction: Reaction::Log,
        }
    }
}

/// A finding that was made, and how often since.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Known {
    /// The finding, as it was when it was first made.
    pub finding: Finding,
    /// How many full collections have found it, the first included.
    pub collections: u64,
    /// How many objects the last one found it for.
    pub objects: usize,
    /// Why it is not reported, if it is suppressed.
    pub suppressed: Option<String>,
    /// The full collection that no longer found it, if it does not stand any more.
    pub withdrawn: Option<u64>,
}

/// Collects what checks find at one full collection.
pub struct Found<'f> {
    ledger: &'f Mutex<Ledger>,
    listener: Listener,
    pub(crate) entries: Vec<Entry>,
    /// Objects that are to die.
    pub(crate) forced: Vec<Forced>,
    /// Assertion sites that nobody uses any more.
    pub(crate) gone: Vec<Site>,
    /// Listeners about whose findings nothing is known this time.
    silent: HashSet<u64>,
    listeners: HashSet<u64>,
}

/// What a check has found.
pub(crate) enum Entry {
    /// A finding, about that number of objects.
    Finding {
        finding: Box<Finding>,
        objects: usize,
        to: Listener,
    },
    /// One that was made before stands for that number of objects.
    Standing {
        fingerprint: Fingerprint,
        objects: usize,
        to: Listener,
    },
    /// One that is known is announced to somebody else as well.
    Also {
        fingerprint: Fingerprint,
        reaction: Reaction,
    },
}

impl<'f> Found<'f> {
    pub(crate) fn new(ledger: &'f Mutex<Ledger>, listener: Listener) -> Self {
        Self {
            ledger,
            listeners: HashSet::from([listener.id]),
            listener,
            entries: Vec::new(),
            forced: Vec::new(),
            gone: Vec::new(),
            silent: HashSet::new(),
        }
    }

    /// Adds a finding.
    pub fn add(&mut self, finding: Finding) {
        let listener = self.listener.clone();
        self.add_for(&listener, finding);
    }

    /// Adds a finding for one of several listeners that a check serves.
    pub fn add_for(&mut self, listener: &Listener, finding: Finding) {
        self.listeners.insert(listener.id);
        self.entries.push(Entry::Finding {
            objects: finding.objects.len(),
            finding: Box::new(finding),
            to: listener.clone(),
        });
    }

    /// Says that a listener's check has looked, whether or not it has found anything: findings that
    /// it made before and did not add this time are withdrawn.
    pub fn looked_for(&mut self, listener: &Listener) {
        self.listeners.insert(listener.id);
    }

    /// Says that the check has not looked this time: what it found before is not withdrawn.
    pub fn skip(&mut self) {
        self.silent.insert(self.listener.id);
    }

    /// Says that nobody has looked whom the check serves, whatever was said before.
    pub(crate) fn skip_all(&mut self) {
        self.silent.clone_from(&self.listeners);
    }

    /// Forgets one of several listeners that a check serves, who does not listen any more.
    pub fn forget(&mut self, listener: &Listener) {
        self.ledger.lock().unwrap().forget(listener.id);
    }

    /// Whether a finding with that fingerprint has not been announced to the check's listener yet.
    pub fn is_new(&self, fingerprint: Fingerprint) -> bool {
        let ledger = self.ledger.lock().unwrap();
        !ledger.heard.contains(&(self.listener.id, fingerprint))
    }
}

/// All findings of a heap.
#[derive(Default)]
pub(crate) struct Ledger {
    known: BTreeMap<Fingerprint, Known>,
    suppressions: HashMap<Fingerprint, String>,
    /// What was announced to which listener.
    heard: HashSet<(u64, Fingerprint)>,
    /// What stands for each listener.
    standing: HashMap<u64, HashSet<Fingerprint>>,
}

/// What is to be announced after a collection.
#[derive(Default)]
pub(crate) struct Announcements {
    reports: Vec<(Finding, Reaction)>,
    /// Findings that still stand, and how often they have been made.
    repeats: Vec<(Fingerprint, String, u64)>,
    withdrawn: Vec<(Fingerprint, String)>,
    /// Findings that this collection has counted: it counts each once, whoever makes it.
    counted: HashSet<Fingerprint>,
    /// Objects that were to die.
    forced: Vec<Forced>,
    /// References to them that could not be cleared.
    left: Vec<(Raw, Raw)>,
    /// Assertion sites to be dropped: that may run anything.
    gone: Vec<Site>,
}

impl Ledger {
    /// Takes note of what a check has found at a full collection.
    pub(crate) fn note(
        &mut self,
        collection: u64,
        found: Found<'_>,
        announcements: &mut Announcements,
    ) {
        announcements.gone.extend(found.gone);
        let mut now: HashMap<u64, HashSet<Fingerprint>> = HashMap::new();
        for entry in found.entries {
            match entry {
                Entry::Finding {
                    mut finding,
                    objects,
                    to,
                } => {
                    let fingerprint = finding.fingerprint();
                    finding.collection = Some(collection);
                    now.entry(to.id).or_default().insert(fingerprint);
                    let is_new = self.heard.insert((to.id, fingerprint));
                    if self.known.contains_key(&fingerprint) {
                        let is_first = announcements.counted.insert(fingerprint);
                        let again = is_new.then_some((*finding, to.reaction));
                        self.count(fingerprint, objects, is_first, again, announcements);
                        continue;
                    }
                    announcements.counted.insert(fingerprint);
                    let suppressed = self.suppressions.get(&fingerprint).cloned();
                    if suppressed.is_none() {
                        let report = ((*finding).clone(), to.reaction);
                        announcements.reports.push(report);
                    }
                    let known = Known {
                        finding: *finding,
                        collections: 1,
                        objects,
                        suppressed,
                        withdrawn: None,
                    };
                    self.known.insert(fingerprint, known);
                }
                Entry::Standing {
                    fingerprint,
                    objects,
                    to,
                } => {
                    now.entry(to.id).or_default().insert(fingerprint);
                    let is_first = announcements.counted.insert(fingerprint);
                    self.count(fingerprint, objects, is_first, None, announcements);
                }
                Entry::Also {
                    fingerprint,
                    reaction,
                } => {
                    let known = self.known.get(&fingerprint);
                    if let Some(known) = known.filter(|it| it.suppressed.is_none()) {
                        let report = (known.finding.clone(), reaction);
                        announcements.reports.push(report);
                    }
                }
            }
        }
        let mut before = HashSet::new();
        for &listener in found.listeners.difference(&found.silent) {
            let now = now.remove(&listener).unwrap_or_default();
            let stood = match now.is_empty() {
                true => self.standing.remove(&listener),
                false => self.standing.insert(listener, now),
            };
            before.extend(stood.into_iter().flatten());
        }
        self.withdraw(collection, before, announcements);
    }

    /// Counts a finding that is known, once a collection; `again` announces it to somebody who has
    /// not heard of it.
    fn count(
        &mut self,
        fingerprint: Fingerprint,
        objects: usize,
        is_first: bool,
        again: Option<(Finding, Reaction)>,
        announcements: &mut Announcements,
    ) {
        let Some(known) = self.known.get_mut(&fingerprint) else {
            return;
        };
        known.withdrawn = None;
        known.objects = match is_first {
            true => objects,
            false => known.objects + objects,
        };
        known.collections += is_first as u64;
        match (&known.suppressed, again) {
            (Some(_), _) => {}
            (None, Some(report)) => announcements.reports.push(report),
            (None, None) if is_first => {
                let message = known.finding.message.clone();
                let repeat = (fingerprint, message, known.collections);
                announcements.repeats.push(repeat);
            }
            (None, None) => {}
        }
    }

    /// Withdraws what stood before and stands for nobody any more.
    fn withdraw(
        &mut self,
        collection: u64,
        before: HashSet<Fingerprint>,
        announcements: &mut Announcements,
    ) {
        let mut gone: Vec<Fingerprint> = before.into_iter().collect();
        gone.retain(|it| !self.standing.values().any(|standing| standing.contains(it)));
        gone.sort_unstable();
        for fingerprint in gone {
            if let Some(known) = self.known.get_mut(&fingerprint) {
                known.withdrawn = Some(collection);
                if known.suppressed.is_none() {
                    let message = known.finding.message.clone();
                    announcements.withdrawn.push((fingerprint, message));
                }
            }
        }
    }

    /// Forgets a listener. What was found for it stays known.
    pub(crate) fn forget(&mut self, listener: u64) {
        self.heard.retain(|(id, _)| *id != listener);
        self.standing.remove(&listener);
    }
}

impl Announcements {
    /// Remembers objects that were to die, and references to them that could not be cleared: from
    /// which object, or null for a root, to which.
    pub(crate) fn add_forced(&mut self, forced: Vec<Forced>, left: Vec<(Raw, Raw)>) {
        self.forced.extend(forced);
        self.left.extend(left);
    }

    /// Adds to what is said about assertions that were to be made true whether they are. Now it is
    /// known what lives.
    pub(crate) fn note_forced(&mut self, lives: impl Fn(Raw) -> bool) {
        // References from what has died do not matter.
        let left = self.left.iter();
        let left = left.filter(|&&(from, _)| from.is_null() || lives(from));
        let kept: HashSet<Raw> = left.map(|&(_, to)| to).collect();
        let mut made_true: HashMap<Fingerprint, bool> = HashMap::new();
        for it in &self.forced {
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

impl HeapInner {
    /// Announces what a collection has found, and does what is to be done: all of it, though a
    /// callback panics.
    pub(crate) fn announce(&self, announcements: Announcements) {
        let mut panicked = FirstPanic::default();
        let (mut findings, mut bytes) = (0, 0);
        for (finding, reaction) in announcements.reports {
            let fingerprint = finding.fingerprint();
            let text = finding.to_string();
            findings += 1;
            bytes += text.len() as u64;
            // Whoever listens to the log may panic, as a callback may.
            panicked.catch(|| {
                tracing::error!(heap = self.id, kind = %finding.kind, %fingerprint, "{text}");
            });
            match reaction {
                Reaction::Log | Reaction::ForceTrue => log_line(format_args!("{text}")),
                Reaction::Call(call) => panicked.catch(|| call(&finding)),
                Reaction::Halt => {
                    log_line(format_args!("{text}"));
                    let _ = self.halted.set(text);
                    self.safepoints.halt();
                }
            }
        }
        for (fingerprint, message, times) in announcements.repeats {
            panicked.catch(|| {
                tracing::warn!(heap = self.id, %fingerprint, times, "still: {message}");
            });
            if self.config.log {
                log_line(format_args!(
                    "still, for the {times}. time: {message} [{fingerprint}]"
                ));
            }
        }
        for (fingerprint, message) in announcements.withdrawn {
            panicked.catch(|| {
                tracing::info!(heap = self.id, %fingerprint, "no longer: {message}");
            });
            if self.config.log {
                log_line(format_args!("no longer: {message} [{fingerprint}]"));
            }
        }
        if findings > 0 {
            let mut stats = self.stats.lock().unwrap();
            stats.announced_findings += findings;
            stats.announced_bytes += bytes;
        }
        panicked.catch(|| drop(announcements.gone));
        panicked.resume();
    }
}

impl HeapInner {
    /// Says what no collection has checked, as the heap ends: silence would look like success.
    pub(crate) fn announce_unchecked(&self) {
        // Then the program has other worries, and did not come to its end.
        if std::thread::panicking() {
            return;
        }
        let unchecked = self.assertions.lock().unwrap().unchecked();
        for (finding, reaction) in unchecked {
            let text = finding.to_string();
            // A heap that is being dropped has nobody to hand a panic to.
            panics(|| tracing::warn!(heap = self.id, kind = %finding.kind, "{text}"));
            match reaction {
                Reaction::Call(call) => drop(panics(|| call(&finding))),
                _ => log_line(format_args!("{text}")),
            }
        }
    }
}

impl Mutator<'_> {
    /// All that was found so far: [`Heap::findings`].
    pub fn findings(&self) -> Vec<Known> {
        let ledger = self.heap.ledger.lock().unwrap();
        ledger.known.values().cloned().collect()
    }
}

impl Heap {
    /// All that was found so far, whether it stands, was withdrawn, or is suppressed.
    pub fn findings(&self) -> Vec<Known> {
        let ledger = self.inner().ledger.lock().unwrap();
        ledger.known.values().cloned().collect()
    }

    /// Keeps a finding from being announced: it is only counted.
    pub fn suppress(&self, fingerprint: Fingerprint, reason: impl Into<String>) {
        let reason = reason.into();
        let mut ledger = self.inner().ledger.lock().unwrap();
        if let Some(known) = ledger.known.get_mut(&fingerprint) {
            known.suppressed = Some(reason.clone());
        }
        ledger.suppressions.insert(fingerprint, reason);
    }
}
