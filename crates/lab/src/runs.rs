//! Runs of the programs of [`lives`](crate::programs::lives) on generational heaps, compared with each other.

use std::time::Duration;

use heaphound::report::{occupancy, survival};
use heaphound::{Collector, Heap, HeapBuilder, HeapStats, stats::Kind};
use heaphound_report::document::Section;

use crate::Failed;
use crate::lifetimes::Site;
use crate::measure::{Rounds, thread_time};
use crate::programs::lives::Program;

/// How a program is run.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    /// Of the program; 100 is full size.
    pub(crate) scale: usize,
    pub(crate) nursery_bytes: usize,
    /// All that there is, nursery included. A full collection comes when it is used up.
    pub(crate) heap_bytes: usize,
}

impl Setting {
    /// With more memory than any program uses, as good as infinite.
    pub(crate) fn roomy(scale: usize, nursery_bytes: usize) -> Self {
        Self {
            scale,
            nursery_bytes,
            heap_bytes: 1 << 30,
        }
    }

    /// The same with a heap that is a multiple of what lives, or a little larger, if the nursery, its
    /// survivors and blocks that are in use in part would not fit.
    pub(crate) fn times(self, factor: f64, live_bytes: usize) -> Self {
        let heap_bytes = (live_bytes as f64 * factor) as usize;
        let least = live_bytes + self.nursery_bytes * 3 / 2 + (1 << 20);
        Self {
            heap_bytes: heap_bytes.max(least),
            ..self
        }
    }
}

/// What differs between runs.
pub(crate) type Variant<'v> = &'v dyn Fn(HeapBuilder) -> HeapBuilder;

/// What a run did.
pub(crate) struct Run {
    pub(crate) checksum: u64,
    /// The time of the thread that runs the program and, there being one, collects.
    pub(crate) total: Duration,
    /// All pauses.
    pub(crate) gc: Duration,
    pub(crate) stats: HeapStats,
    pub(crate) sites: Vec<Site>,
    /// What it takes to know of samples and sites, at the end.
    pub(crate) sampling_bytes: usize,
}

/// Returns a heap for a run.
fn heap(setting: Setting, variant: Variant<'_>) -> Result<Heap, Failed> {
    let builder = Heap::builder()
        .collector(Collector::Generational)
        .collector_threads(1)
        .nursery_bytes(setting.nursery_bytes)
        .max_bytes(setting.heap_bytes)
        .initial_bytes(setting.heap_bytes);
    Ok(variant(builder).build()?)
}

/// Runs a program some times, without a look at the clock. Returns whether it could be run.
pub(crate) fn repeat(
    program: &Program,
    setting: Setting,
    variant: Variant<'_>,
    times: usize,
) -> bool {
    (0..times).all(|_| {
        let heap = heap(setting, variant).expect("a heap");
        let mut m = heap.attach("main").expect("attached once");
        program.run(&mut m, setting.scale).is_ok()
    })
}

/// Runs a program.
pub(crate) fn run(
    program: &Program,
    setting: Setting,
    variant: Variant<'_>,
) -> Result<Run, Failed> {
    let heap = heap(setting, variant)?;
    let mut m = heap.attach("main")?;
    let begin = thread_time();
    let checksum = program.run(&mut m, setting.scale);
    let total = thread_time() - begin;
    let checksum = checksum.map_err(|error| {
        let bytes = setting.heap_bytes;
        format!("{} in a heap of {bytes} bytes: {error}", program.name)
    })?;
    let sites = heap.sites().into_iter().map(|it| Site {
        survival: it.survival(),
        key: (it.file.into_owned(), it.line, it.column, it.class),
        objects: it.samples,
        bytes: it.allocated_bytes,
        pretenured_bytes: it.pretenured_bytes,
    });
    let stats = heap.stats();
    Ok(Run {
        checksum,
        total,
        gc: stats.total_pause,
        sites: sites.collect(),
        sampling_bytes: heap.sampling_bytes(),
        stats,
    })
}

/// Runs a program and returns, for a page, how full its heap was and what survived of what its sites allocated.
pub(crate) fn pictures(
    program: &Program,
    setting: Setting,
    variant: Variant<'_>,
) -> Result<[Section; 2], Failed> {
    let heap = heap(setting, variant)?;
    let mut m = heap.attach("main")?;
    program.run(&mut m, setting.scale)?;
    let mut sections = [occupancy(&heap.stats()), survival(&heap.sites())];
    for it in &mut sections {
        it.title = format!("{}: {}", program.name, it.title);
    }
    Ok(sections)
}

/// Returns the most that lives at any time, as full collections see it that come when it has grown by a tenth.
pub(crate) fn live_bytes(program: &Program, scale: usize) -> Result<usize, Failed> {
    let heap = Heap::builder()
        .collector_threads(1)
        .initial_bytes((scale << 20) / 40)
        .growth(1.1);
    let heap = heap.build()?;
    let mut m = heap.attach("main")?;
    program.run(&mut m, scale)?;
    m.collect();
    let stats = heap.stats();
    let full = stats.history.iter().filter(|it| it.kind == Kind::Full);
    Ok(full.map(|it| it.marked_bytes).max().unwrap_or(0))
}

/// Times of variants, which were run in turn.
pub(crate) struct Compared {
    pub(crate) total: Rounds,
    pub(crate) gc: Rounds,
    /// The last run of each variant.
    pub(crate) last: Vec<Run>,
}

/// Runs a program in several variants in turn, `rounds` times and once before to warm up; every other
/// round in reverse, so that none is always behind the same one.
pub(crate) fn compare(
    program: &Program,
    setting: Setting,
    rounds: usize,
    variants: &[Variant<'_>],
) -> Result<Compared, Failed> {
    let mut total = vec![Vec::new(); variants.len()];
    let mut gc = total.clone();
    let mut last: Vec<Option<Run>> = variants.iter().map(|_| None).collect();
    let mut order: Vec<usize> = (0..variants.len()).collect();
    for round in 0..=rounds {
        for &at in &order {
            let run = run(program, setting, variants[at])?;
            let same = last.iter().flatten().all(|it| it.checksum == run.checksum);
            assert!(same, "{} computes the same in every heap", program.name);
            if round > 0 {
                total[at].push(run.total.as_secs_f64());
                gc[at].push(run.gc.as_secs_f64());
            }
            last[at] = Some(run);
        }
        order.reverse();
    }
    Ok(Compared {
        total: Rounds::new(total),
        gc: Rounds::new(gc),
        last: last.into_iter().flatten().collect(),
    })
}
