//! Where in the program objects are allocated, as far as that can be known for nothing.
//!
//! The fast path of allocation does not know its site. The slow paths do, and two of them take
//! note: where a mutator meets a class, for the first time or again after a full collection that
//! made a summary; and where a run of free memory has been used up to a place that was chosen at random
//! when the run was entered (`raw/alloc.rs`), which makes what is allocated there a fair
//! sample of bytes. The first site of a class is thereby exact; others are seen sooner or later,
//! the busiest ones first.
//!
//! A class remembers a handful of sites, counted as in the *space-saving* algorithm of Metwally,
//! Agrawal and El Abbadi (2005): a newcomer takes the place of the site that was counted least
//! and ranks as if it had been counted as often, so that a busy one stays, whenever it comes.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use heaphound_heap::ClassId;
use heaphound_heap::sync::Mutex;

use crate::heap::{Heap, HeapInner};
use crate::raw::StoppedHeap;

/// A place in the program that allocates.
pub(crate) type Site = &'static Location<'static>;

/// A place in the program where objects of a class are allocated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct AllocationSite {
    /// The file, as the compiler was told it.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// Samples that it was found in: one for some ten kilobytes that are allocated.
    pub samples: u32,
    /// Whether the first object of the class was allocated there.
    pub first: bool,
    /// Whether no other site of the class has been seen. Sites that allocate little may have
    /// been missed.
    pub only: bool,
}

impl fmt::Display for AllocationSite {
    /// `src/shop.rs:12:9`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl Heap {
    /// Where objects of a class are allocated, the site of most samples first: at most eight
    /// places, none before the first object. What the program calls is its site; a function that is
    /// `#[track_caller]` passes on its own caller's.
    ///
    /// ```
    /// # use heaphound_gc::{Bytes, Heap};
    /// let heap = Heap::builder().build()?;
    /// let mut m = heap.attach("main")?;
    /// let bytes = m.alloc_bytes(b"read me")?;
    /// let sites = heap.allocation_sites_of("u8[]");
    /// assert!(sites[0].file == file!() && sites[0].only);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allocation_sites(&self, class: ClassId) -> Vec<AllocationSite> {
        self.inner().allocation_sites(class)
    }

    /// As [`Heap::allocation_sites`], of the class of that name that was made first.
    pub fn allocation_sites_of(&self, class: &str) -> Vec<AllocationSite> {
        let mut classes = self.inner().classes.iter();
        match classes.find(|it| it.info.name == class) {
            Some(class) => class.sites.list(),
            None => Vec::new(),
        }
    }
}

impl<S> StoppedHeap<'_, S> {
    /// As [`Heap::allocation_sites`].
    pub fn allocation_sites(&self, class: ClassId) -> Vec<AllocationSite> {
        self.heap().allocation_sites(class)
    }
}

impl HeapInner {
    fn allocation_sites(&self, class: ClassId) -> Vec<AllocationSite> {
        match (1..=self.classes.count()).contains(&(class.0 as usize)) {
            true => self.classes.get(class).sites.list(),
            false => Vec::new(),
        }
    }
}

/// The sites of one class. Takes no memory beyond itself before the first is seen.
#[derive(Default)]
pub(crate) struct Sites {
    met: AtomicBool,
    /// The first site comes first and is never replaced.
    seen: Mutex<Vec<Seen>>,
}

struct Seen {
    site: Site,
    samples: u32,
    /// How often those were counted whose place it took.
    inherited: u32,
}

/// Sites that a class remembers.
const MOST: usize = 8;

impl Seen {
    fn rank(&self) -> u32 {
        self.samples.saturating_add(self.inherited)
    }
}

impl Sites {
    /// Whether the first site is known.
    #[inline]
    pub(crate) fn is_met(&self) -> bool {
        self.met.load(Relaxed)
    }

    /// An object is allocated there, which is no sample: what comes first after a collection
    /// need not be what comes often.
    #[cold]
    pub(crate) fn meet(&self, site: Site) {
        self.count(site, 0);
    }

    /// A sample was taken there.
    #[cold]
    pub(crate) fn sample(&self, site: Site) {
        self.count(site, 1);
    }

    fn count(&self, site: Site, samples: u32) {
        let mut seen = self.seen.lock().unwrap();
        self.met.store(true, Relaxed);
        // The same place may have several addresses, one for each unit of compilation.
        let known = seen.iter_mut();
        if let Some(known) = known.into_iter().find(|it| it.site == site) {
            known.samples = known.samples.saturating_add(samples);
            return;
        }
        let new = |inherited| Seen {
            site,
            samples,
            inherited,
        };
        if seen.len() < MOST {
            // Most classes have one site.
            seen.reserve_exact(1);
            seen.push(new(0));
            return;
        }
        let others = seen[1..].iter_mut();
        let least = others.min_by_key(|it| it.rank()).expect("more than one");
        if samples > 0 || least.rank() == 0 {
            *least = new(least.rank());
        }
    }

    /// What is known, the site of most samples first.
    fn list(&self) -> Vec<AllocationSite> {
        let seen = self.seen.lock().unwrap();
        let only = seen.len() == 1;
        let listed = seen.iter().enumerate().map(|(place, it)| AllocationSite {
            file: it.site.file(),
            line: it.site.line(),
            column: it.site.column(),
            samples: it.samples,
            first: place == 0,
            only,
        });
        let mut listed: Vec<_> = listed.collect();
        drop(seen);
        listed.sort_by_key(|it| std::cmp::Reverse(it.samples));
        listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distinct places, as many as wanted up to 16.
    fn places() -> [Site; 16] {
        #[track_caller]
        fn here() -> Site {
            Location::caller()
        }
        #[rustfmt::skip]
        let places = [
            here(), here(), here(), here(), here(), here(), here(), here(),
            here(), here(), here(), here(), here(), here(), here(), here(),
        ];
        places
    }

    fn samples_of(sites: &Sites, site: Site) -> Option<u32> {
        let mut listed = sites.list().into_iter();
        let found = listed.find(|it| (it.line, it.column) == (site.line(), site.column()));
        found.map(|it| it.samples)
    }

    #[test]
    fn a_class_without_objects_has_no_site_and_takes_no_memory() {
        let sites = Sites::default();
        assert!(!sites.is_met());
        assert!(sites.list().is_empty());
        assert_eq!(sites.seen.lock().unwrap().capacity(), 0);
        sites.meet(places()[0]);
        assert!(sites.is_met());
        assert_eq!(sites.seen.lock().unwrap().capacity(), 1);
    }

    #[test]
    fn up_to_eight_sites_are_counted_exactly() {
        let sites = Sites::default();
        let mut twin = std::collections::HashMap::new();
        let mut random = 12345u32;
        for _ in 0..1000 {
            random = random.wrapping_mul(1664525).wrapping_add(1013904223);
            let site = places()[(random >> 16) as usize % MOST];
            sites.sample(site);
            *twin.entry(site).or_insert(0) += 1;
        }
        for (site, samples) in twin {
            assert_eq!(samples_of(&sites, site), Some(samples));
        }
        let listed = sites.list();
        assert!(listed.is_sorted_by(|a, b| a.samples >= b.samples));
        assert!(listed.iter().all(|it| !it.only));
        assert_eq!(listed.iter().filter(|it| it.first).count(), 1);
    }

    #[test]
    fn a_busy_site_stays_whenever_it_comes() {
        let sites = Sites::default();
        let places = places();
        // Fifteen that are counted equally often, in turn; the last comes late and
        // is counted every second time.
        for round in 0..1500 {
            sites.sample(places[round % 15]);
            if round > 700 {
                sites.sample(places[15]);
            }
        }
        let listed = sites.list();
        assert_eq!(listed.len(), MOST);
        assert_eq!(listed[0].column, places[15].column());
        let truth = 1500 - 701;
        assert!(listed[0].samples <= truth && listed[0].samples > truth - 10);
        let first = listed.iter().find(|it| it.first).unwrap();
        assert_eq!(first.column, places[0].column());
        assert_eq!(first.samples, 100, "never replaced");
    }

    #[test]
    fn a_mere_meeting_replaces_no_sampled_site() {
        let sites = Sites::default();
        let places = places();
        sites.meet(places[0]);
        places[1..MOST].iter().for_each(|site| sites.sample(site));
        sites.meet(places[9]);
        assert_eq!(samples_of(&sites, places[9]), None);
        assert_eq!(samples_of(&sites, places[0]), Some(0));
        assert_eq!(samples_of(&sites, places[7]), Some(1));
    }
}
