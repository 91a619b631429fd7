//! The first pass over a heap: where its objects are, and all that is not an object.
//!
//! Segments are walked by several threads. What a segment gives is kept in their order, so that the result
//! does not depend on the number of threads. A segment is divided into parts of about a megabyte, which the second pass shares
//! out: a dump that is one large segment is read by all threads then.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::share::share;
use super::walker::{ClassRecord, Inside, Record, RootRecord, Stop, Walker};
use crate::Progress;
use crate::input::Input;

/// A part of the heap, which holds whole records.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub start: u64,
    pub end: u64,
    /// How many instances and arrays it has.
    pub objects: u32,
}

/// What the first pass found, or what it found in one segment.
#[derive(Debug, Default)]
pub struct Survey {
    pub parts: Vec<Part>,
    /// The ids of instances and arrays, by segment.
    pub ids: Vec<Vec<u64>>,
    pub classes: Vec<ClassRecord>,
    pub roots: Vec<RootRecord>,
    pub stops: Vec<Stop>,
    pub spacing: Spacing,
}

/// What the distances between arrays and what follows them tell of the size of a reference.
#[derive(Clone, Copy, Default, Debug)]
pub struct Spacing {
    /// Arrays too close to what follows them for references of eight bytes.
    pub narrow: u64,
    /// Those that fit eight bytes exactly.
    pub wide: u64,
}

/// A part is closed when it is that long.
const PART: u64 = 1 << 20;

impl Survey {
    /// Walks over all segments. `progress` is told of bytes.
    pub fn take(
        input: &Input,
        id_bytes: usize,
        segments: &[(u64, u64)],
        threads: usize,
        progress: Progress<'_>,
    ) -> Self {
        let done = AtomicU64::new(0);
        let found = share(
            threads,
            segments.len(),
            || Walker::new(input, id_bytes),
            |walker, nth| {
                let (start, end) = segments[nth];
                let mut survey = Self::default();
                walker.go_to(start, end);
                survey.walk(walker, start, end);
                done.fetch_add(end - start, Relaxed);
                survey
            },
            || progress(done.load(Relaxed), 2 * input.len()),
        );
        let mut all = Self::default();
        for survey in found {
            all.parts.extend(survey.parts);
            all.ids.extend(survey.ids);
            all.classes.extend(survey.classes);
            all.roots.extend(survey.roots);
            all.stops.extend(survey.stops);
            all.spacing.narrow += survey.spacing.narrow;
            all.spacing.wide += survey.spacing.wide;
        }
        all
    }

    /// Walks over a segment.
    fn walk(&mut self, walker: &mut Walker<'_>, start: u64, end: u64) {
        let mut ids: Vec<u64> = Vec::with_capacity(((end - start) / 40) as usize);
        let mut part = Part {
            start,
            end: start,
            objects: 0,
        };
        // The array that came last, and its length.
        let mut array = (0u64, 0u32);
        loop {
            let record = match walker.next() {
                Ok(Some(record)) => record,
                Ok(None) if walker.position() < end => {
                    let (at, inside) = (walker.position(), Inside::Record);
                    self.stops.push(Stop::Ends { at, inside });
                    break;
                }
                Ok(None) => break,
                Err(stop) => {
                    self.stops.push(stop);
                    break;
                }
            };
            let id = match record {
                Record::Instance { id, .. }
                | Record::Objects { id, .. }
                | Record::Primitives { id, .. }
                | Record::Hollow { id, .. } => id,
                Record::Class(class) => {
                    self.classes.push(*class);
                    part.end = walker.position();
                    continue;
                }
                Record::Root(root) => {
                    self.roots.push(root);
                    part.end = walker.position();
                    continue;
                }
                Record::Other => {
                    part.end = walker.position();
                    continue;
                }
            };
            self.spacing.see(array, id);
            array = match record {
                Record::Objects { id, length, .. } => (id, length),
                _ => (0, 0),
            };
            ids.push(id);
            part.objects += 1;
            part.end = walker.position();
            if part.end - part.start >= PART {
                self.parts.push(part);
                part = Part {
                    start: part.end,
                    end: part.end,
                    objects: 0,
                };
            }
        }
        if part.objects > 0 {
            self.parts.push(part);
        }
        ids.shrink_to_fit();
        self.ids.push(ids);
    }
}

impl Spacing {
    /// Looks at an array of references, and at the id of what follows.
    #[inline]
    fn see(&mut self, (array, length): (u64, u32), next: u64) {
        // Shorter ones are rounded to the same size either way.
        if length < 4 {
            return;
        }
        let distance = next.wrapping_sub(array);
        let wide = 16 + 8 * length as u64;
        if distance < wide {
            self.narrow += 1;
        } else if distance <= wide + 8 {
            self.wide += 1;
        }
    }
}
