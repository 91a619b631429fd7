//! A test-bed for the growth detector: small programs of different shapes, of which some leak.
//!
//! Each runs for [`ROUNDS`] rounds. After each the caller may collect, or write the heap. A program that leaks says
//! which slot is to blame, and where one of several containers of a class grows, in which element it is.

/// Declares a class: a managed struct, but for its header.
macro_rules! class {
    ($name:ident { $($slots:tt)* }) => {
        #[derive(heaphound::Managed)]
        #[repr(C)]
        struct $name {
            header: heaphound::Header,
            $($slots)*
        }
    };
}

mod bounded;
mod leaks;
mod mixed;

use std::sync::Arc;

use heaphound::finding::{Finding, Hop, Named, Path};
use heaphound::{
    Collector, Growth, Heap, HeapBuilder, Local, Managed, Mutator, Reaction, RefArray, Slot, Str,
};

pub use bounded::BOUNDED;
pub use leaks::LEAKS;
pub use mixed::Mixed;

use super::growing::Each;

/// How long each program runs.
pub const ROUNDS: u64 = 24;

/// A small program.
pub struct Small {
    /// What it is called.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What is to blame: a cause for each, none if nothing leaks.
    pub blamed: &'static [Blamed],
    /// Whether the leak has stopped when the program ends.
    pub stops: bool,
    pub(crate) run: fn(&mut Mutator<'_>, Each<'_>),
}

/// A slot that holds what should not be held.
#[derive(Debug)]
pub struct Blamed {
    /// The class that has it.
    pub from: &'static str,
    /// Its name.
    pub slot: &'static str,
    /// The class that it leads to.
    pub to: &'static str,
    /// The element on the way, where it matters which.
    pub element: Option<u32>,
}

impl Small {
    /// Runs it.
    pub fn run(&self, m: &mut Mutator<'_>, each: Each<'_>) {
        (self.run)(m, each);
    }
}

/// A finding about growth, as the steps of its paths.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// The way through classes and slots.
    pub path: Vec<Step>,
    /// The way to an object.
    pub example: Vec<Step>,
}

/// A step of a path: from a class, through a slot, or an element of an array, to a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The class that it starts from.
    pub from: String,
    /// The slot; empty for an element.
    pub slot: String,
    /// Which element.
    pub element: Option<u32>,
    /// The class that it leads to.
    pub to: String,
}

impl Shown {
    /// Returns what a finding shows.
    pub fn of(finding: &Finding) -> Self {
        let steps = |path: &Path| -> Vec<Step> {
            let before = path.hops.iter().map(|hop| &hop.to);
            let before = std::iter::once(&path.first).chain(before);
            let step = |(from, hop): (&Named, &Hop)| Step {
                from: from.class.clone(),
                slot: hop.slot.clone(),
                element: hop.index,
                to: hop.to.class.clone(),
            };
            before.zip(&path.hops).map(step).collect()
        };
        match &finding.evidence[..] {
            [path, example] => Self {
                path: steps(&path.path),
                example: steps(&example.path),
            },
            _ => Self::default(),
        }
    }

    /// Returns whether it blames what is to blame, by classes and by an object.
    fn blames(&self, blamed: &Blamed) -> bool {
        let is_it =
            |it: &Step| (&*it.from, &*it.slot, &*it.to) == (blamed.from, blamed.slot, blamed.to);
        let element = |it: &Step| {
            let there = it.from == blamed.to || it.to == blamed.from;
            there && it.element == blamed.element
        };
        self.path.iter().any(is_it)
            && self.example.iter().any(is_it)
            && (blamed.element.is_none() || self.example.iter().any(element))
    }
}

impl Small {
    /// Says what is wrong with what was found: there is one finding for each cause and no other.
    ///
    /// # Errors
    /// If something is.
    pub fn judge(&self, found: &[Shown]) -> Result<(), String> {
        judge(self.name, self.blamed, found)
    }

    /// Runs it on a heap of its own, collected after each round, and returns what was found, and what of that
    /// was withdrawn.
    pub fn watch(&self, collector: Collector) -> Found {
        watch(Heap::builder().collector(collector), |m| {
            self.run(m, &mut |m| {
                m.collect();
            });
        })
    }
}

/// Says what is wrong with what was found in a program: there is one finding for each cause and no other.
///
/// # Errors
/// If something is.
pub fn judge(name: &str, blamed: &[Blamed], found: &[Shown]) -> Result<(), String> {
    let of = |blamed: &Blamed| found.iter().filter(|it| it.blames(blamed)).count();
    let once = blamed.iter().all(|it| of(it) == 1);
    let text = |steps: &[Step]| -> String {
        let step = |it: &Step| match it.element {
            Some(at) => format!("[{at}] {}", it.to),
            None => format!(".{} {}", it.slot, it.to),
        };
        let first = steps.first().map_or("", |it| &it.from);
        let steps: Vec<String> = steps.iter().map(step).collect();
        format!("{first}{}", steps.join(" "))
    };
    let shown = |it: &Shown| format!("\n  {}\n    {}", text(&it.path), text(&it.example));
    match once && found.len() == blamed.len() {
        true => Ok(()),
        false => Err(format!(
            "{name}: {} findings, {} expected: {}{}",
            found.len(),
            blamed.len(),
            blamed
                .iter()
                .map(|it| format!("{it:?} "))
                .collect::<String>(),
            found.iter().map(shown).collect::<String>()
        )),
    }
}

/// What was found in a run.
pub struct Found {
    /// What stands at the end.
    pub standing: Vec<Shown>,
    /// What was withdrawn.
    pub withdrawn: Vec<Shown>,
}

/// Runs a program on a heap of its own, and returns what was found.
pub fn watch(heap: HeapBuilder, run: impl FnOnce(&mut Mutator<'_>)) -> Found {
    let heap = heap
        .collector_threads(1)
        .max_bytes(64 << 20)
        .build()
        .expect("a heap");
    let quiet = Reaction::Call(Arc::new(|_| {}));
    let growth = Growth::new().register(&heap, Some(quiet));
    let mut m = heap.attach("main").expect("attached once");
    run(&mut m);
    drop(m);
    drop(growth);
    let known = heap.findings();
    let shown = |withdrawn: bool| {
        let those = known
            .iter()
            .filter(|it| it.withdrawn.is_some() == withdrawn);
        those.map(|it| Shown::of(&it.finding)).collect()
    };
    Found {
        standing: shown(false),
        withdrawn: shown(true),
    }
}

class!(Record { number: u64, text: Slot<Str> });

/// Works for all rounds; beside what it does, something is written and forgotten.
fn rounds(m: &mut Mutator<'_>, each: Each<'_>, mut work: impl FnMut(&mut Mutator<'_>, u64)) {
    for round in 0..ROUNDS {
        work(&mut m.scope(), round);
        write_and_forget(m, 600);
        each(m);
    }
}

fn write_and_forget(m: &mut Mutator<'_>, lines: usize) {
    for _ in 0..lines {
        let mut m = m.scope();
        text(&mut m, 100);
    }
}

fn text<'a>(m: &mut Mutator<'a>, length: usize) -> Local<'a, Str> {
    m.alloc_str(&"-".repeat(length)).expect("room")
}

fn record<'a>(m: &mut Mutator<'a>, number: u64) -> Local<'a, Record> {
    m.scoped(|m| {
        let text = text(m, 24);
        let init = RecordInit {
            number,
            text: Some(text),
        };
        m.alloc(init)
    })
    .expect("room")
}

/// Makes an object the value of a static.
fn publish<T: Managed>(m: &Mutator<'_>, name: &str, object: Local<'_, T>) {
    m.static_root::<T>(name).set(m, Some(&m[object]));
}

/// Returns a longer array with the same elements.
fn longer<'a, T: Managed + ?Sized>(
    m: &mut Mutator<'a>,
    old: Local<'_, RefArray<T>>,
    length: usize,
) -> Local<'a, RefArray<T>> {
    let new = m.alloc_refs::<T>(length).expect("room");
    let count = m[old].len();
    m[new].copy_from(0, &m[old], 0..count);
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_leak_is_one_finding_and_nothing_else_is() {
        let mut wrong = Vec::new();
        for program in LEAKS.iter().chain(BOUNDED) {
            for collector in [Collector::MarkSweep, Collector::Generational] {
                let found = program.watch(collector);
                let withdrawn = found.withdrawn.len();
                let judged = program.judge(&[found.standing, found.withdrawn].concat());
                wrong.extend(judged.err().map(|it| format!("{collector:?}, {it}")));
                let expected = usize::from(program.stops);
                if withdrawn != expected {
                    wrong.push(format!("{}: {withdrawn} withdrawn", program.name));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Of eighty runs, no more are judged wrong.
    const MOST_WRONG: usize = 7;

    /// Runs programs in one way, and says what is wrong with which.
    fn mixed(seeds: std::ops::Range<u64>, collector: Collector, forced: bool) -> Vec<String> {
        let judged = seeds.filter_map(|seed| {
            // One leak mostly, sometimes none or two.
            let leaks = [1, 1, 0, 1, 2][seed as usize % 5];
            let heap = Heap::builder().collector(collector);
            let least = 256 << 10;
            let (heap, rounds) = match forced {
                true => (heap, ROUNDS),
                false => (heap.initial_bytes(least).nursery_bytes(least), 4 * ROUNDS),
            };
            let program = Mixed::new(seed, leaks, rounds);
            let found = watch(heap, |m| {
                program.run(m, &mut |m| {
                    if forced {
                        m.collect();
                    }
                });
            });
            // While it starts, its heap grows: that is withdrawn.
            let found = match forced {
                true => [found.standing, found.withdrawn].concat(),
                false => found.standing,
            };
            let name = format!("{seed} {collector:?} {forced}");
            judge(&name, &program.blamed, &found).err()
        });
        judged.collect()
    }

    #[test]
    fn of_many_containers_of_a_class_the_one_that_leaks_is_found() {
        let mut wrong = mixed(0..40, Collector::MarkSweep, true);
        wrong.extend(mixed(0..20, Collector::Generational, true));
        wrong.extend(mixed(0..20, Collector::MarkSweep, false));
        // Some leaks are hidden by what other containers of their classes do, and what fills up evenly at the
        // start looks like a leak until it stops.
        assert!(
            wrong.len() <= MOST_WRONG,
            "{} of 80:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
    }
}
