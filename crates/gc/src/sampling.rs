//! How samples are taken of what a program allocates.

use crate::raw::mutators::sampler::Interval;

/// How samples are taken of what a program allocates where, and for how long it lives: dynamic object sampling.
/// [`HeapBuilder::sampling`](crate::HeapBuilder::sampling) switches it on, and
/// [`Heap::sites`](crate::Heap::sites) returns what it has shown.
///
/// ```
/// # use heaphound_gc::{Heap, Sampling};
/// let heap = Heap::builder().sampling(Sampling::every(512)).build()?;
/// let mut m = heap.attach("main")?;
/// for _ in 0..10_000 {
///     m.scope().alloc_bytes(b"short-lived")?;
/// }
/// let site = &heap.sites()[0];
/// assert!(site.file == file!() && site.samples > 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// 0: every object.
    every: usize,
    contexts: usize,
}

impl Sampling {
    /// A sample for every so many bytes on average: from 32 to 16,384. The fewer, the more exact and the slower.
    pub fn every(bytes: usize) -> Self {
        Self {
            // 0 is not what `exact` means by it.
            every: bytes.max(1),
            contexts: 0,
        }
    }

    /// Every object is a sample: exact, and slow. To measure how exact the others are.
    pub fn exact() -> Self {
        Self {
            every: 0,
            contexts: 0,
        }
    }

    /// Sites are told apart by who called them, too: that many calls, 16 at most
    /// ([`AllocationSite::context`](crate::AllocationSite::context)). A sample takes some microseconds then, so that
    /// few should be taken. Needs the cargo feature `contexts`, which is off by default.
    #[cfg(feature = "contexts")]
    pub fn contexts(self, calls: usize) -> Self {
        Self {
            contexts: calls.min(16),
            ..self
        }
    }

    /// How many calls a site is told apart by.
    pub(crate) fn calls(self) -> usize {
        self.contexts
    }

    pub(crate) fn interval(self) -> Interval {
        match self.every {
            0 => Interval::EXACT,
            bytes => Interval::new(bytes as u32),
        }
    }

    /// What is wrong with it, if anything is.
    pub(crate) fn fault(&self) -> Option<String> {
        let fits = self.every == 0 || (32..=16 << 10).contains(&self.every);
        (!fits).then(|| {
            let bytes = self.every;
            format!("a sample is taken for every {bytes} bytes, but must be for 32 to 16384")
        })
    }
}

impl Default for Sampling {
    fn default() -> Self {
        Self::every(4096)
    }
}
