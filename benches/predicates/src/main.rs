//! Should a predicate about objects be machine code?
//!
//! Evaluates four predicates of the DeAL paper on all objects of a stand-in heap, by an interpreter,
//! by closures for one object and for 64, and by code that Cranelift makes for one object and
//! for 64; interleaved in one run, each answer checked against the interpreter's. The heap is warm
//! (10,000 objects) or larger than most of the caches (a million), lies in order or shuffled, and has one
//! class, or 2 % of objects in other classes. `cargo run --release [-- --quick]`.

mod closures;
mod heap;
mod machine;

use std::time::Duration;

use closures::{Batch, Truths};
use heap::{Contents, Formula, Heap, LANES, Rng};
use machine::{Code, Kind};

const PREDICATES: [&str; 4] = [
    "x.next.prev == x",
    "x.data <= x.next.data",
    "x.left.parent == x && x.right.parent == x",
    "x.data <= x.left.data && x.data <= x.right.data",
];
const WAYS: [&str; 6] = [
    "interpreter",
    "closures",
    "lanes",
    "code",
    "code ×64",
    "code ×64, selects",
];
/// What the others are compared with: what the product does.
const LANES_WAY: usize = 2;
const KINDS: [Kind; 3] = [Kind::Object, Kind::Branches, Kind::Selects];

type Way<'a> = Box<dyn Fn(&mut Vec<Truths>) + 'a>;

/// The six ways to evaluate one formula on one heap.
fn ways<'a>(heap: &'a Heap, formula: &'a Formula, codes: &'a [Code<'a>]) -> [Way<'a>; 6] {
    let scalar = closures::scalar(heap, formula);
    let lanes = closures::lanes(heap, formula);
    [
        by_object(heap, |x| formula.holds(heap, x) as u64),
        by_object(heap, move |x| scalar(x) as u64),
        by_batch(heap, move |batch| lanes(batch, !0)),
        by_object(heap, codes[0].object_test()),
        by_batch(heap, codes[1].batch_test()),
        by_batch(heap, codes[2].batch_test()),
    ]
}

fn by_object<'a>(heap: &'a Heap, test: impl Fn(u32) -> u64 + 'a) -> Way<'a> {
    Box::new(move |answers| {
        answers.clear();
        answers.extend(heap.batches.iter().map(|objects| {
            let mut truths = Truths::default();
            for (lane, &x) in objects.iter().enumerate() {
                let truth = test(x);
                truths.yes |= (truth & 1) << lane;
                truths.absent |= (truth >> 1) << lane;
            }
            truths
        }));
    })
}

fn by_batch<'a>(heap: &'a Heap, test: impl Fn(&Batch<'_>) -> Truths + 'a) -> Way<'a> {
    Box::new(move |answers| {
        answers.clear();
        answers.extend(
            heap.batches
                .iter()
                .map(|objects| test(&Batch::new(heap, objects).expect("one class"))),
        );
    })
}

fn codes<'a>(heap: &'a Heap, formula: &'a Formula) -> Vec<Code<'a>> {
    let isa = machine::native();
    KINDS
        .map(|kind| Code::new(&isa, heap, formula, kind))
        .into()
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (large, rounds) = if quick { (100_000, 5) } else { (1_000_000, 21) };
    check(if quick { 20 } else { 200 });

    println!("{rounds} rounds; median ns per object (median ratio to lanes, round by round)\n");
    print!("{:<49} {:<27}", "predicate", "heap");
    WAYS.iter().for_each(|way| print!(" {way:>18}"));
    println!();
    let mut means = [0.0; 6];
    let mut rows = 0.0;
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
    for predicate in PREDICATES {
        for count in [10_000, large] {
            for shuffled in [false, true] {
                for contents in [Contents::OneClass, Contents::Mixed] {
                    let heap = Heap::new(predicate, count, shuffled, contents, &mut rng);
                    let order = if shuffled { "shuffled" } else { "in order" };
                    let mixed = if contents == Contents::Mixed {
                        ", mixed"
                    } else {
                        ""
                    };
                    print!("{predicate:<49} {:<27}", format!("{count} {order}{mixed}"));
                    for (way, (ns, ratio)) in
                        measure(&heap, predicate, rounds).into_iter().enumerate()
                    {
                        print!(" {:>18}", format!("{ns:.2} ({ratio:.2})"));
                        means[way] += ratio.ln();
                    }
                    rows += 1.0;
                    println!();
                }
            }
        }
    }
    print!("{:<77}", "geometric mean of the ratios");
    means
        .iter()
        .for_each(|sum| print!(" {:>18}", format!("({:.2})", (sum / rows).exp())));
    println!();
    println!("\nµs to compile, medians\n");
    for predicate in PREDICATES {
        print!("{predicate:<49}");
        for (way, micros) in compile_times(predicate, &mut rng) {
            print!("   {way} {micros:.1}");
        }
        println!();
    }
}

/// For each way, the median time of an object, and the median of the ratios to lanes.
fn measure(heap: &Heap, predicate: &str, rounds: usize) -> [(f64, f64); 6] {
    let formula = Formula::parse(predicate);
    let codes = codes(heap, &formula);
    let ways = ways(heap, &formula, &codes);
    let mut expected = Vec::new();
    ways[0](&mut expected);
    let mut answers = Vec::with_capacity(expected.len());
    let objects = heap.batches.len() * LANES;
    // So that a measurement takes a millisecond at least.
    let passes = (100_000 / objects).max(1);
    let mut samples = [const { Vec::new() }; 6];
    for round in 0..=rounds {
        for turn in 0..ways.len() {
            // Every other round goes backwards, and each begins elsewhere.
            let turn = if round % 2 == 0 {
                turn
            } else {
                ways.len() - 1 - turn
            };
            let way = (turn + round / 2) % ways.len();
            let start = cpu_time();
            (0..passes).for_each(|_| ways[way](&mut answers));
            let ns = (cpu_time() - start).as_nanos() as f64;
            assert!(answers == expected, "{} differs: {predicate}", WAYS[way]);
            // The first round warms up.
            if round > 0 {
                samples[way].push(ns / (passes * objects) as f64);
            }
        }
    }
    std::array::from_fn(|way| {
        let pairs = samples[way].iter().zip(&samples[LANES_WAY]);
        let ratios = pairs.map(|(way, lanes)| way / lanes).collect();
        (median(samples[way].clone()), median(ratios))
    })
}

/// Holds all ways against the interpreter, on small heaps where anything refers to anything.
fn check(heaps: u64) {
    for predicate in PREDICATES {
        let formula = Formula::parse(predicate);
        let (mut yes, mut absent, mut no) = (0, 0, 0);
        for seed in 1..=heaps {
            let mut rng = Rng(seed * 0x9e37_79b9);
            let contents =
                [Contents::Random, Contents::Mixed, Contents::OneClass][seed as usize % 3];
            let heap = Heap::new(predicate, 300, seed % 2 == 0, contents, &mut rng);
            let codes = codes(&heap, &formula);
            let [twin, others @ ..] = ways(&heap, &formula, &codes);
            let (mut expected, mut answers) = (Vec::new(), Vec::new());
            twin(&mut expected);
            for (other, name) in others.iter().zip(&WAYS[1..]) {
                other(&mut answers);
                assert_eq!(
                    answers, expected,
                    "{name} differs: {predicate}, seed {seed}"
                );
            }
            for truths in expected {
                yes += truths.yes.count_ones();
                absent += truths.absent.count_ones();
                no += (!(truths.yes | truths.absent)).count_ones();
            }
        }
        // Or else nothing was checked.
        assert!(
            yes > 0 && absent > 0 && no > 0,
            "{predicate}: {yes} {absent} {no}"
        );
    }
}

/// What it takes to compile a predicate, by lanes and by each kind of code.
fn compile_times(predicate: &str, rng: &mut Rng) -> Vec<(&'static str, f64)> {
    let heap = Heap::new(predicate, 100, false, Contents::OneClass, rng);
    let formula = Formula::parse(predicate);
    let isa = machine::native();
    let time = |compile: &dyn Fn()| {
        let samples = (0..51).map(|_| {
            let start = cpu_time();
            compile();
            (cpu_time() - start).as_nanos() as f64 / 1000.0
        });
        median(samples.collect())
    };
    let mut times = vec![(
        WAYS[LANES_WAY],
        time(&|| drop(closures::lanes(&heap, &formula))),
    )];
    for (kind, way) in KINDS.into_iter().zip(&WAYS[3..]) {
        times.push((way, time(&|| drop(Code::new(&isa, &heap, &formula, kind)))));
    }
    times
}

/// Of this thread: others may run on the machine.
fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists, and writes there.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
