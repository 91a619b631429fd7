//! *Leak Pruning*, sections 5 and 6: how much longer programs that leak live, and what it costs those that do
//! not.

mod costs;
mod figure;

use std::sync::Arc;
use std::time::Duration;

use heaphound::{Heap, Pruned, Pruning, PruningPolicy, Reaction, stats::Kind};
use heaphound_report::html;

use crate::measure::thread_time;
use crate::programs::Size;
use crate::programs::leaking::{Death, Effect, LEAKING, Leaking, Work};
use crate::report::Report;
use crate::{Failed, Options, Progress};

pub(crate) fn run(options: &Options, progress: Progress<'_>) -> Result<Report, Failed> {
    let mut report = Report::new("prune");
    let (size, times) = match options.quick {
        true => (Size::Small, 20),
        false => (Size::Large, INDEFINITE),
    };
    if !options.costs {
        lives(&mut report, size, times, progress);
    }
    if options.svg.is_some() || options.pictures {
        progress("the plot of figure 1");
        let figure = figure::draw(size);
        if let Some(path) = &options.svg {
            std::fs::write(path, html::chart_svg(&figure.chart))?;
            report.note(format!("figure 1 is in {}", path.display()));
        }
        report.sections.extend(figure.sections());
    }
    costs::measure(&mut report, options.quick, progress);
    Ok(report)
}

/// How many times as long a program must live before we say that it lives for ever.
const INDEFINITE: u64 = 200;

/// How a run is to be.
#[derive(Clone, Copy)]
struct Plan {
    size: Size,
    leak: bool,
    pruning: Option<PruningPolicy>,
    /// Iterations after which it may end.
    cap: u64,
    collector_threads: usize,
}

impl Plan {
    fn new(size: Size, pruning: Option<PruningPolicy>, cap: u64) -> Self {
        Self {
            size,
            leak: true,
            pruning,
            cap,
            collector_threads: 1,
        }
    }
}

/// What became of a program.
struct Run {
    /// Iterations that it has completed.
    iterations: u64,
    end: End,
    /// Types of references that were used when their targets were stale.
    edge_types: usize,
    pruned: Vec<Pruned>,
    samples: Vec<Sample>,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Died(Death),
    /// It had done all that it has to do.
    Finished,
    /// It had done enough.
    Capped,
    /// It took too long.
    Stopped,
}

impl End {
    fn mark(self) -> &'static str {
        match self {
            Self::Died(Death::OutOfMemory) => "",
            Self::Died(Death::PrunedThenUsed) => "†",
            Self::Finished => "·",
            Self::Capped => "+",
            Self::Stopped => "…",
        }
    }
}

/// What was seen after an iteration.
#[derive(Clone, Copy, Debug)]
struct Sample {
    iteration: u64,
    /// Bytes that the last full collection found to be reachable.
    reachable_bytes: usize,
    seconds: f64,
}

/// The longest that a run may take, of processor time.
const PATIENCE: Duration = Duration::from_secs(60);
/// About how often a run is looked at.
const SAMPLES: u64 = 500;

fn live(program: &Leaking, plan: Plan) -> Run {
    let heap_bytes = program.heap_bytes(plan.size);
    let builder = Heap::builder()
        .max_bytes(heap_bytes)
        .initial_bytes(heap_bytes / 16)
        .collector_threads(plan.collector_threads);
    let builder = match plan.pruning {
        // The report says what was pruned.
        Some(policy) => builder
            .pruning(Pruning::new().policy(policy))
            .pruning_reaction(Reaction::Call(Arc::new(|_| {}))),
        None => builder,
    };
    let heap = builder.build().expect("a heap");
    let work = Work {
        heap: &heap,
        heap_bytes,
        leak: plan.leak,
        seed: 1,
    };
    // What others do on the machine is no matter: the program, and its collector, are this one thread.
    let begin = thread_time();
    let elapsed = || thread_time() - begin;
    let (mut iterations, mut is_late, mut samples) = (0, false, Vec::new());
    let mut each = || {
        iterations += 1;
        if iterations <= SAMPLES || iterations.is_multiple_of(plan.cap.div_ceil(SAMPLES)) {
            samples.push(Sample {
                iteration: iterations,
                reachable_bytes: reachable_bytes(&heap),
                seconds: elapsed().as_secs_f64(),
            });
            is_late = elapsed() > PATIENCE;
        }
        iterations < plan.cap && !is_late
    };
    let result = {
        let mut m = heap.attach("main").expect("attached once");
        program.run(&mut m, &work, &mut each)
    };
    let end = match result {
        Err(death) => End::Died(death),
        Ok(()) if is_late => End::Stopped,
        Ok(()) if iterations >= plan.cap => End::Capped,
        Ok(()) => End::Finished,
    };
    Run {
        iterations,
        end,
        edge_types: heap.stale_uses(),
        pruned: heap.pruned(),
        samples,
    }
}

fn reachable_bytes(heap: &Heap) -> usize {
    let stats = heap.stats();
    let mut history = stats.history.iter().rev();
    let last = history.find(|it| it.kind == Kind::Full);
    last.map_or(0, |it| it.marked_bytes)
}

impl Run {
    /// Returns by how many bytes an iteration reachable memory grows, in the second half.
    fn slope(&self) -> f64 {
        let half = self.samples.iter();
        let half = half.filter(|it| it.iteration > self.iterations / 2);
        let points: Vec<(f64, f64)> = half
            .map(|it| (it.iteration as f64, it.reachable_bytes as f64))
            .collect();
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|it| it.0), mean(|it| it.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|it| of(it.0 - x, it.1 - y)).sum()
        };
        sum(&|x, y| x * y) / sum(&|x, _| x * x)
    }

    /// Returns how much longer an iteration takes in the last quarter than in the second, as a ratio.
    fn slowdown(&self) -> f64 {
        let at = |quarter: u64| {
            let mut samples = self.samples.iter();
            samples.find(|it| it.iteration * 4 >= self.iterations * quarter)
        };
        let pace = |from: Option<&Sample>, to: Option<&Sample>| {
            let (from, to) = (from?, to?);
            let iterations = to.iteration - from.iteration;
            Some((to.seconds - from.seconds) / iterations as f64)
        };
        let (second, last) = (pace(at(1), at(2)), pace(at(3), self.samples.last()));
        second.zip(last).map_or(f64::NAN, |it| it.1 / it.0)
    }

    fn is_false(&self) -> bool {
        self.end == End::Died(Death::PrunedThenUsed)
    }

    fn show(&self) -> String {
        format!("{}{}", self.iterations, self.end.mark())
    }
}

/// A program with each policy.
struct Life {
    program: &'static Leaking,
    base: Run,
    most_stale: Run,
    individual: Run,
    papers: Run,
    ours: Run,
}

impl Life {
    fn of(program: &'static Leaking, size: Size, times: u64, progress: Progress<'_>) -> Self {
        let name = program.name;
        progress(&format!("{name}: without pruning"));
        let base = live(program, Plan::new(size, None, u64::MAX));
        let mut with = |policy| {
            progress(&format!("{name}: {policy:?}"));
            let cap = base.iterations.saturating_mul(times);
            live(program, Plan::new(size, Some(policy), cap))
        };
        Self {
            program,
            most_stale: with(PruningPolicy::MostStale),
            individual: with(PruningPolicy::IndividualReferences),
            papers: with(PruningPolicy::DataStructures),
            ours: with(PruningPolicy::Patient),
            base,
        }
    }

    fn factor(&self) -> f64 {
        self.ours.iterations as f64 / self.base.iterations as f64
    }

    fn effect(&self) -> Effect {
        match self.ours.end {
            End::Capped => Effect::Indefinite,
            _ if self.factor() > 1.2 => Effect::Longer,
            _ => Effect::NoHelp,
        }
    }
}

/// Tables 1 and 2.
fn lives(report: &mut Report, size: Size, times: u64, progress: Progress<'_>) {
    let mut table = format!(
        "{:12} {:>6} {:>12} {:>12} {:>12} {:>12} {:>6} {:>6}  {:10}  paper\n",
        "iterations",
        "base",
        "most stale",
        "individual",
        "paper's",
        "ours",
        "types",
        "pruned",
        "effect"
    );
    let mut falses = Falses::default();
    for program in LEAKING {
        let life = Life::of(program, size, times, progress);
        let id = format!("prune.{}.factor", program.id);
        // A run that is stopped cannot show more.
        let papers = program.paper.factor.min(times as f64);
        let papers = (papers * 10.0).round() / 10.0;
        report.higher(&id, Some(papers), life.factor(), "×");
        falses.add(&life);
        table += &line(&life);
        describe(report, &life, size);
    }
    falses.tell(report);
    report.note(format!(
        "{table}† died because it read what was pruned, all others because memory was refused; + went on; · finished; \
         … was stopped. types: of references that were used when stale, pruned: of those that were cut; effect: with our \
         policy; paper: its iterations in the order of the columns, and its effect"
    ));
    report.note(format!(
        "indefinite: reached {times} times the iterations of the plain run, where it was stopped; what the paper has above that \
         counts as {times}. false: of the programs whose dead data is truly dead (not EclipseCP, MySQL and SPECjbb2000, which read some of it late), how many died of a pruned reference \
         under our policy"
    ));
}

/// How many programs whose dead data is truly dead have read what was pruned.
#[derive(Default)]
struct Falses(u64);

impl Falses {
    fn add(&mut self, life: &Life) {
        self.0 += (life.program.dead_is_dead && life.ours.is_false()) as u64;
    }

    fn tell(&self, report: &mut Report) {
        report.lower("prune.false", Some(0.0), self.0 as f64, "programs");
    }
}

fn line(life: &Life) -> String {
    let paper = &life.program.paper;
    let number = |it: Option<f64>| it.map_or("–".into(), |it| it.to_string());
    let numbers = [
        paper.base,
        paper.most_stale,
        paper.individual,
        paper.default,
    ];
    format!(
        "{:12} {:>6} {:>12} {:>12} {:>12} {:>12} {:>6} {:>6}  {:10}  {}, {}\n",
        life.program.name,
        life.base.show(),
        life.most_stale.show(),
        life.individual.show(),
        life.papers.show(),
        life.ours.show(),
        life.ours.edge_types,
        life.ours.pruned.len(),
        effect(life.effect()),
        numbers.map(number).join("/"),
        effect(paper.effect),
    )
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::NoHelp => "no help",
        Effect::Longer => "longer",
        Effect::Indefinite => "indefinite",
    }
}

fn describe(report: &mut Report, life: &Life, size: Size) {
    let program = life.program;
    // Long enough to see how much it needs.
    let repaired = live(
        program,
        Plan {
            leak: false,
            ..Plan::new(size, None, life.base.iterations * 2)
        },
    );
    let needed = repaired.samples.iter().map(|it| it.reachable_bytes).max();
    let pruned = life.ours.pruned.iter().take(4).map(|it| {
        let (source, target, bytes) = (it.source(), it.target(), it.bytes() >> 10);
        format!("{source} → {target} ({bytes} KiB)")
    });
    let pruned: Vec<String> = pruned.collect();
    report.note(format!(
        "{} ({}): a heap of {} KiB, of which {} would be live without the leak; with our policy reachable memory grows by \
         {:.0} bytes an iteration in the second half, the last quarter takes {:.2} times as long as the second; pruned most: {}",
        program.name,
        program.about,
        program.heap_bytes(size) >> 10,
        needed.unwrap_or(0) >> 10,
        life.ours.slope(),
        life.ours.slowdown(),
        match pruned.is_empty() {
            true => "nothing".to_string(),
            false => pruned.join(", "),
        },
    ));
}

#[cfg(test)]
mod tests;
