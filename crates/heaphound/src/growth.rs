//! What grows on the live heap: Cork, told of the summary of each full collection.
//!
//! How classes are ranked, and what a slice is, is said at [`heaphound_analysis::cork`]; what is
//! kept between collections is the accumulated graph: a rank for each class and for each
//! edge of the points-from graph. Which container has grown is found by counting what containers hold, at
//! the collection that reports a class, at the two before it, and if it is not clear then at a few more.
//!
//! A finding stands while one of its classes is reported and its container grows, which is looked at after 4, 8, 16, …
//! collections. When that is over it is withdrawn
//! ([`Known::withdrawn`](heaphound_gc::Known::withdrawn)).
//!
//! A finding says where in the program its class is allocated, as far as the heap has seen it
//! ([`Heap::allocation_sites`]): exactly where there is one site, else those that were sampled most.
//! That is a note: as more is sampled it changes, and the finding stays the same.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use heaphound_analysis::cork::{self, Candidate, Cause, Causes, Cork, Options};
use heaphound_gc::{
    AllocationSite, Check, Counted, Every, Found, Heap, MarkedHeap, Needs, Reaction, Registration,
};
use heaphound_heap::view::HeapView;

/// A detector of growth, to be registered with a heap.
///
/// ```
/// use heaphound::{Growth, Header, Heap, Managed, Slot};
///
/// #[derive(Managed)]
/// #[repr(C)]
/// struct Order { header: Header, number: u64, next: Slot<Order> }
///
/// #[derive(Managed)]
/// #[repr(C)]
/// struct Shop { header: Header, orders: Slot<Order> }
///
/// let heap = Heap::builder().build()?;
/// let growth = Growth::new().register(&heap, None);
/// let mut m = heap.attach("main")?;
/// let shop = m.alloc(ShopInit { orders: None })?;
/// for day in 0..12 {
///     for number in 0..100 {
///         let mut m = m.scope();
///         let next = m[shop].orders.get().map(|it| m.local(it));
///         let order = m.alloc(OrderInit { number: day * 100 + number, next })?;
///         // Nobody ever takes it out again.
///         m[shop].orders.set(Some(&m[order]));
///     }
///     m.collect();
/// }
/// let found = heap.findings();
/// assert!(found[0].finding.message.starts_with("Order grows: "));
/// let slice = &growth.candidates()[0].slice;
/// assert_eq!(slice.chain.len(), 1, "it hangs on the shop");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "it does nothing until it is registered"]
pub struct Growth {
    options: Options,
    every: NonZeroU32,
}

impl Default for Growth {
    fn default() -> Self {
        Self::new()
    }
}

impl Growth {
    /// Ratio ranking, at every full collection.
    pub fn new() -> Self {
        Self {
            options: Options::default(),
            every: NonZeroU32::MIN,
        }
    }

    /// With other options: see [`Options::slope`], [`Options::published`].
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// At every n-th full collection only; 0 is as 1. All that is said of collections is said of
    /// these.
    pub fn every(mut self, collections: u32) -> Self {
        self.every = NonZeroU32::new(collections).unwrap_or(NonZeroU32::MIN);
        self
    }

    /// Watches a heap until what this returns is dropped. A class that is found to grow is
    /// logged, unless there is another reaction, and counted ([`Heap::findings`]).
    pub fn register(self, heap: &Heap, reaction: Option<Reaction>) -> GrowthWatch {
        let state = Arc::new(Mutex::new(State {
            cork: Cork::new(self.options),
            causes: Causes::default(),
            candidates: Vec::new(),
        }));
        let check = Every::nth(self.every, Watcher(state.clone()));
        GrowthWatch {
            state,
            registration: heap.watch(Box::new(check), reaction),
        }
    }
}

/// A heap that is watched for growth.
#[must_use = "dropped, the heap is no longer watched"]
pub struct GrowthWatch {
    state: Arc<Mutex<State>>,
    registration: Registration,
}

struct State {
    cork: Cork,
    causes: Causes,
    candidates: Vec<Candidate>,
}

impl GrowthWatch {
    /// The classes that grow, whatever their cause, as of the last full collection that was looked at, highest rank
    /// first.
    pub fn candidates(&self) -> Vec<Candidate> {
        lock(&self.state).candidates.clone()
    }

    /// The containers that grow, each with the classes that grow in it: a finding for each.
    pub fn causes(&self) -> Vec<Cause> {
        lock(&self.state).causes.standing().to_vec()
    }

    /// For how many full collections the containers of the heap were counted.
    pub fn censuses(&self) -> u64 {
        lock(&self.state).causes.walks()
    }

    /// The accumulated graph as it is now: ranks of classes and edges.
    pub fn cork(&self) -> Cork {
        lock(&self.state).cork.clone()
    }

    /// Heap occupancy over allocation: bytes allocated since the heap was built, and bytes live
    /// then, at one full collection after another, oldest first.
    pub fn occupancy(&self) -> Vec<(u64, u64)> {
        lock(&self.state).cork.occupancy().to_vec()
    }

    /// Bytes by which the whole heap has grown, from the first full collection that was looked
    /// at to the last, while the program allocated a million bytes. None before the second.
    pub fn bytes_per_mb(&self) -> Option<f64> {
        let state = lock(&self.state);
        let &[first, .., last] = state.cork.occupancy() else {
            return None;
        };
        let allocated = last.0.checked_sub(first.0).filter(|&it| it > 0)?;
        Some((last.1 as f64 - first.1 as f64) * 1e6 / allocated as f64)
    }

    /// Bytes of memory that the accumulated graph takes.
    pub fn memory_bytes(&self) -> usize {
        lock(&self.state).cork.memory_bytes()
    }

    /// Watches for as long as the heap exists.
    pub fn keep(self) {
        self.registration.keep();
    }
}

/// What one collection leaves is whole, whoever panicked while it was read.
fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches a heap.
struct Watcher(Arc<Mutex<State>>);

impl Check for Watcher {
    fn needs(&mut self) -> Needs {
        Needs::summary()
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, counted: &Counted<'_>, found: &mut Found<'_>) {
        let Some(summary) = counted.summary else {
            return;
        };
        let mut state = lock(&self.0);
        let slots = counted.slots;
        let looked = state.cork.observe(summary, slots, counted.allocated_bytes);
        if !looked {
            found.skip();
            return;
        }
        let candidates = state.cork.candidates(summary, slots);
        state.candidates.clone_from(&candidates);
        let wanted = state.cork.wanted();
        // Nobody else changes them meanwhile, and whoever asks need not wait for the censuses.
        let mut causes = std::mem::take(&mut state.causes);
        drop(state);
        let classes = heap.classes();
        for cause in causes.look(heap, &candidates, &wanted, classes) {
            let collection = Some(counted.collection);
            let mut finding = cork::finding(cause, &candidates, classes, collection);
            let sites = heap.allocation_sites(cause.classes[0].0);
            if let Some(note) = allocated(&sites) {
                finding.notes.insert(0, note);
            }
            found.add(finding);
        }
        lock(&self.0).causes = causes;
    }
}

/// Where a class is allocated, in words; sites come with that of most samples first.
fn allocated(sites: &[AllocationSite]) -> Option<String> {
    /// Sites that are named besides the first.
    const NAMED: usize = 3;
    let (most, others) = sites.split_first()?;
    if most.only {
        return Some(format!("allocated at {most} (the only site seen)"));
    }
    // What grows is what lives.
    let lives = most.live_samples > 0;
    let samples = |site: &AllocationSite| {
        if lives {
            site.live_samples
        } else {
            site.samples
        }
    };
    let mut text = match samples(most) {
        // Too little of the class has been allocated to tell which of them matters.
        0 => format!("allocated at {most}"),
        samples if lives => format!("what lives was allocated at {most} ({})", counted(samples)),
        samples => format!("allocated most often at {most} (in {})", counted(samples)),
    };
    for site in others.iter().take(NAMED) {
        text += &match samples(site) {
            0 => format!(", also at {site}"),
            samples => format!(", also at {site} ({samples})"),
        };
    }
    match others.len().saturating_sub(NAMED) {
        0 => {}
        1 => text += " and at one more site",
        more => text += &format!(" and at {more} more sites"),
    }
    Some(text)
}

/// `1 sample`, `2 samples`
fn counted(samples: u64) -> String {
    match samples {
        1 => "1 sample".into(),
        samples => format!("{samples} samples"),
    }
}
