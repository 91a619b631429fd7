//! ShapeUp on the live heap: learns or tests the shapes of data structures at full collections.
//!
//! [`heaphound_analysis::shape`] says what a recursive data structure is, and what is learnt of it.
//! Objects that break a profile, and their paths, are searched for only when a finding is new.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use heaphound_analysis::shape::{self, Measure, Profile, Violation};
use heaphound_gc::{
    self as gc, Check, Counted, Every, Found, Heap, MarkedHeap, Needs, Reaction, Registration,
};
use heaphound_heap::finding::{Finding, Named, Severity};

/// A detector of shapes, to be registered with a heap: it learns, or it tests.
///
/// ```
/// use heaphound::analysis::shape::Profile;
/// use heaphound::{Header, Heap, Managed, Shapes, Slot};
///
/// #[derive(Managed)]
/// #[repr(C)]
/// struct Node { header: Header, next: Slot<Node> }
///
/// let heap = Heap::builder().build()?;
/// let mut m = heap.attach("main")?;
/// let last = m.alloc(NodeInit { next: None })?;
/// let first = m.local(&m[last]);
///
/// // A correct run: a list that grows.
/// let learning = Shapes::learning(Profile::default()).register(&heap, None);
/// for _ in 0..5 {
///     for _ in 0..20 {
///         let mut m = m.scope();
///         let node = m.alloc(NodeInit { next: Some(first) })?;
///         m.set_local(first, &m[node]);
///     }
///     m.collect();
/// }
/// let profile = learning.profile().to_json();
/// drop(learning);
///
/// // Another one, in which a node is lost in a cycle.
/// let profile = Profile::from_json(&profile)?;
/// let testing = Shapes::testing(profile).register(&heap, None);
/// m.collect();
/// assert!(testing.violations().is_empty());
/// m[last].next.set(Some(&m[first]));
/// m.collect();
/// assert_eq!(testing.violations()[0].class, "Node");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "it does nothing until it is registered"]
pub struct Shapes {
    profile: Profile,
    learns: bool,
    every: NonZeroU32,
}

impl Shapes {
    /// Learns what is true of the recursive data structures of a correct run, and adds it to the
    /// profile.
    pub fn learning(profile: Profile) -> Self {
        Self {
            profile,
            learns: true,
            every: NonZeroU32::MIN,
        }
    }

    /// Tests whether what the profile says is true.
    pub fn testing(profile: Profile) -> Self {
        Self {
            learns: false,
            ..Self::learning(profile)
        }
    }

    /// Looks at every n-th full collection only; 0 means 1.
    pub fn every(mut self, collections: u32) -> Self {
        self.every = NonZeroU32::new(collections).unwrap_or(NonZeroU32::MIN);
        self
    }

    /// Watches a heap until the returned value is dropped, or until leak pruning has cut references of it. What differs from the profile is
    /// logged, unless there is another reaction, and counted ([`Heap::findings`]).
    pub fn register(self, heap: &Heap, reaction: Option<Reaction>) -> ShapeWatch {
        let state = Arc::new(Mutex::new(State {
            profile: self.profile,
            measures: Vec::new(),
            violations: Vec::new(),
        }));
        let watcher = Watcher {
            state: state.clone(),
            learns: self.learns,
            told: BTreeMap::new(),
        };
        let check = Every::nth(self.every, watcher);
        ShapeWatch {
            state,
            registration: heap.watch(Box::new(check), reaction),
        }
    }
}

/// A heap whose shapes are watched.
#[must_use = "dropped, the heap is no longer watched"]
pub struct ShapeWatch {
    state: Arc<Mutex<State>>,
    registration: Registration,
}

struct State {
    profile: Profile,
    measures: Vec<Measure>,
    violations: Vec<Violation>,
}

impl ShapeWatch {
    /// Returns what has been learnt so far, or what is tested.
    pub fn profile(&self) -> Profile {
        lock(&self.state).profile.clone()
    }

    /// Returns the recursive data structures of the last full collection that was looked at.
    pub fn measures(&self) -> Vec<Measure> {
        lock(&self.state).measures.clone()
    }

    /// Returns how they differ from the profile; nothing while it learns.
    pub fn violations(&self) -> Vec<Violation> {
        lock(&self.state).violations.clone()
    }

    /// Watches for as long as the heap exists.
    pub fn keep(self) {
        self.registration.keep();
    }
}

/// Locks the state. It is complete after each collection, even if a reader panicked.
fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches a heap.
struct Watcher {
    state: Arc<Mutex<State>>,
    learns: bool,
    /// By class: what was told.
    told: BTreeMap<String, Told>,
}

/// What was told of a class.
#[derive(Default)]
struct Told {
    /// How much each invariant was broken. It changes if other objects break it, and if they have moved.
    excesses: Vec<(String, i128)>,
    /// How many objects differed, at most.
    extent: usize,
    /// How many did the first time.
    first: usize,
}

impl Told {
    /// Updates what is told of a class. Returns how many objects differ, if they have become more since
    /// it was told first: then it is told again. Many are told by powers of two.
    fn update(
        &mut self,
        heap: &MarkedHeap<'_>,
        shapes: &gc::Shapes<'_>,
        broken: &[Violation],
    ) -> Option<usize> {
        let is_first = self.excesses.is_empty();
        let excesses = broken
            .iter()
            .map(|it| (it.broken.to_string(), it.broken.extent()));
        let excesses: Vec<(String, i128)> = excesses.collect();
        if excesses != self.excesses {
            self.excesses = excesses;
            let extent = shape::extent(heap, shapes.backbones, broken);
            let extent = match extent > FEW {
                true => extent.next_power_of_two(),
                false => extent,
            };
            self.extent = self.extent.max(extent);
            if is_first {
                self.first = self.extent;
            }
        }
        Some(self.extent).filter(|&it| it > self.first)
    }
}

/// So many objects that differ are told one by one.
const FEW: usize = 8;

impl Check for Watcher {
    fn needs(&mut self) -> Needs {
        Needs::shapes()
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, counted: &Counted<'_>, found: &mut Found<'_>) {
        if heap.was_pruned() {
            // Objects that lack references only because these were cut would be learnt or told. What was
            // told before stays.
            found.skip();
            let why = match self.learns {
                true => "no longer learnt",
                false => "no longer tested",
            };
            return found.add(Finding::new(
                "shapes-not-checked",
                Severity::Note,
                format!("shapes are {why}: leak pruning has cut references"),
            ));
        }
        let Some(shapes) = counted.shapes else {
            return;
        };
        let mut state = lock(&self.state);
        state.measures = shapes.measures.to_vec();
        if self.learns {
            return state.profile.learn(shapes.measures);
        }
        let violations = state.profile.test(shapes.measures);
        state.violations.clone_from(&violations);
        drop(state);
        self.told
            .retain(|class, _| violations.iter().any(|it| it.class == *class));
        for mut finding in shape::findings(&violations, Some(counted.collection)) {
            let class = finding.objects[0].class.clone();
            let broken = violations.iter().filter(|it| it.class == class);
            let broken: Vec<Violation> = broken.cloned().collect();
            let told = self.told.entry(class.clone()).or_default();
            // More objects are another finding, which has the place of the first.
            if let Some(more) = told.update(heap, &shapes, &broken) {
                let name = format!("{more} of {class}");
                finding.objects.push(Named::new(name.clone(), name));
            }
            if found.is_new(finding.fingerprint()) {
                shape::show_offenders(heap, shapes.backbones, &violations, &mut finding);
            }
            found.add(finding);
        }
    }
}
