//! Known programs on our heap, and as they are written with `Rc<RefCell>`, gc-arena and boxes.
//!
//! Ours are the examples of the library, as they stand there. Every measurement is a ratio inside one run: all sides in turn,
//! round by round, medians. What casts take is counted in instructions (`casts.rs`).

mod arena {
    pub mod gcbench;
}
mod boxed;
mod casts;
#[path = "../../../crates/heaphound/examples/deltablue.rs"]
mod deltablue;
#[path = "../../../crates/heaphound/examples/gcbench.rs"]
mod gcbench;
#[path = "../../../crates/heaphound/examples/havlak.rs"]
mod havlak;
#[path = "../../../crates/heaphound/examples/lisp.rs"]
mod lisp;
mod rc {
    pub mod gcbench;
    pub mod richards;
}
#[path = "../../../crates/heaphound/examples/richards.rs"]
mod richards;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Instant;

use clap::Parser;
use heaphound::collections::{GcHashMap, GcVec, MapMut, VecMut};
use heaphound::{Collector, Heap, Mutator, Slot, managed};

/// Known programs on our heap and with `Rc<RefCell>`.
#[derive(Parser)]
#[command(name = "programs", version)]
struct Options {
    /// Rounds to take medians of.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Prints rows of `id` and `measured` as JSON.
    #[arg(long)]
    json: bool,
    /// Runs one program once, for a profiler: deltablue, gcbench, havlak, lisp or richards.
    #[arg(long, value_name = "PROGRAM")]
    once: Option<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(program) = &options.once {
        once(program);
        return ExitCode::SUCCESS;
    }
    let mut rows = Vec::new();
    let mut row = |id: &str, goal: &str, measured: Option<f64>| {
        if !options.json {
            match measured {
                Some(it) => println!("{id:34} {it:8.2}   {goal}"),
                None => println!("{id:34}        -   {goal}"),
            }
        }
        if let Some(it) = measured {
            rows.push(serde_json::json!({ "id": id, "measured": it }));
        }
    };
    let gcbench = |collector| {
        move || {
            on_heap(collector, |m| {
                black_box(gcbench::run(m).expect("room"));
            })
        }
    };
    let [marksweep, generational, rc, arena, boxed] = medians(
        options.rounds,
        [
            &mut gcbench(Collector::MarkSweep),
            &mut gcbench(Collector::Generational),
            &mut || {
                black_box(rc::gcbench::run());
            },
            &mut || {
                black_box(arena::gcbench::run());
            },
            &mut || {
                black_box(boxed::run());
            },
        ],
    );
    row("programs.gcbench.vs_rc", "<= 0.45", Some(marksweep / rc));
    row("programs.gcbench.vs_gc_arena", "", Some(marksweep / arena));
    row("programs.gcbench.vs_box", "", Some(marksweep / boxed));
    row(
        "programs.gcbench.gen.vs_rc",
        "<= 0.45",
        Some(generational / rc),
    );
    row(
        "programs.gcbench.gen.vs_gc_arena",
        "",
        Some(generational / arena),
    );
    row(
        "programs.gcbench.gen.vs_box",
        "",
        Some(generational / boxed),
    );
    let richards = |collector| {
        move || {
            on_heap(collector, |m| {
                for _ in 0..100 {
                    assert_eq!(richards::run(m).expect("room"), (2322, 928));
                }
            })
        }
    };
    let [marksweep, generational, rc] = medians(
        options.rounds,
        [
            &mut richards(Collector::MarkSweep),
            &mut richards(Collector::Generational),
            &mut || {
                for _ in 0..100 {
                    assert_eq!(rc::richards::run(), (2322, 928));
                }
            },
        ],
    );
    row("programs.richards.vs_rc", "<= 0.95", Some(marksweep / rc));
    row(
        "programs.richards.gen.vs_rc",
        "<= 0.95",
        Some(generational / rc),
    );
    for (name, run) in [("deltablue", 200), ("havlak", 2)] {
        let on = |collector| {
            move || {
                on_heap(collector, |m| match name {
                    "deltablue" => deltablue::run(m, run).expect("room"),
                    _ => assert_eq!(havlak::run(m, 1, run).expect("room"), (1605, 5213)),
                })
            }
        };
        let both = [
            &mut on(Collector::Generational) as _,
            &mut on(Collector::MarkSweep) as _,
        ];
        let [generational, marksweep] = medians(options.rounds, both);
        row(
            &format!("programs.{name}.gen.vs_marksweep"),
            "",
            Some(generational / marksweep),
        );
    }
    let casts = ["deltablue", "lisp"].map(casts::share);
    for (name, share) in ["deltablue", "lisp"].into_iter().zip(casts) {
        row(&format!("programs.{name}.casts_pct"), "", share);
    }
    let most = casts.into_iter().flatten().reduce(f64::max);
    row("programs.casts_pct", "<= 5", most);
    let [ours, std, quick] = hashmap(options.rounds);
    row("programs.hashmap.vs_std", "<= 1.3", Some(ours / std));
    row(
        "programs.hashmap.vs_std_with_our_hasher",
        "",
        Some(ours / quick),
    );
    row(
        "programs.iterate.vs_array",
        "<= 1.05",
        Some(iterate(options.rounds)),
    );
    if options.json {
        println!("{}", serde_json::Value::Array(rows));
    }
    ExitCode::SUCCESS
}

/// Runs something on a new heap with room enough.
fn on_heap(collector: Collector, f: impl FnOnce(&mut Mutator<'_>)) {
    let builder = Heap::builder().max_bytes(1 << 30).collector(collector);
    let heap = builder.build().expect("address space");
    f(&mut heap.attach("main").expect("not attached yet"));
}

/// The median time of each, in seconds. They take turns.
fn medians<const N: usize>(rounds: usize, mut all: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..rounds {
        for (run, times) in all.iter_mut().zip(&mut times) {
            let start = Instant::now();
            run();
            times.push(start.elapsed().as_secs_f64());
        }
    }
    times.map(|mut it| {
        it.sort_by(f64::total_cmp);
        it[it.len() / 2]
    })
}

fn once(program: &str) {
    on_heap(Collector::MarkSweep, |m| match program {
        "deltablue" => deltablue::run(m, 200).expect("room"),
        "lisp" => {
            let lisp = lisp::Lisp::new(m).expect("room");
            let fib =
                "(define fib (lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))) (fib 18)";
            assert_eq!(lisp.run(m, fib).expect("it is defined"), "2584");
        }
        "gcbench" => assert!(gcbench::run(m).expect("room") > 0),
        "havlak" => assert_eq!(havlak::run(m, 1, 2).expect("room"), (1605, 5213)),
        "richards" => assert_eq!(richards::run(m).expect("room"), (2322, 928)),
        other => panic!("no program is called {other}"),
    });
}

#[managed]
struct Entry {
    number: u64,
    next: Slot<Entry>,
}

const ENTRIES: u64 = 1_000_000;

/// Inserts into and reads a `HashMap<u64, Rc<…>>`.
fn std_hashmap<S: BuildHasher + Default>() {
    struct Entry {
        number: u64,
        _next: Option<Rc<Entry>>,
    }
    let mut map = HashMap::with_hasher(S::default());
    for number in 0..ENTRIES {
        map.insert(
            key(number),
            Rc::new(Entry {
                number,
                _next: None,
            }),
        );
    }
    let sum: u64 = (0..ENTRIES).map(|it| map[&key(it)].number).sum();
    assert_eq!(sum, ENTRIES * (ENTRIES - 1) / 2);
}

fn key(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Insert and get: ours, that of std, and that with the hasher that ours has.
fn hashmap(rounds: usize) -> [f64; 3] {
    let mut ours = || {
        on_heap(Collector::MarkSweep, |m| {
            let map = GcHashMap::<u64, Entry>::new(m).expect("room");
            for number in 0..ENTRIES {
                let mut m = m.scope();
                let entry = m.alloc(EntryInit { number, next: None }).expect("room");
                map.insert(&mut m, key(number), entry).expect("room");
            }
            let sum: u64 = (0..ENTRIES)
                .map(|it| m[map].get(&key(it)).expect("it is there").number)
                .sum();
            assert_eq!(sum, ENTRIES * (ENTRIES - 1) / 2);
        })
    };
    let all: [&mut dyn FnMut(); 3] = [
        &mut ours,
        &mut std_hashmap::<RandomState>,
        &mut std_hashmap::<foldhash::fast::FixedState>,
    ];
    medians(rounds, all)
}

/// Iterating over a vector, beside an array of slots of the same objects.
fn iterate(rounds: usize) -> f64 {
    let mut result = 0.0;
    on_heap(Collector::MarkSweep, |m| {
        let count = 100_000;
        let vec = GcVec::new(m).expect("room");
        let array = m.alloc_refs(count).expect("room");
        for number in 0..count {
            let mut m = m.scope();
            let entry = m
                .alloc(EntryInit {
                    number: number as u64,
                    next: None,
                })
                .expect("room");
            vec.push(&mut m, entry).expect("room");
            m[array][number].set(&m[entry]);
        }
        let (vec, array) = (&m[vec], &m[array]);
        let sum = |it: &mut dyn FnMut() -> u64| {
            for _ in 0..100 {
                black_box(it());
            }
        };
        let [ours, raw] = medians(
            rounds,
            [
                &mut || sum(&mut || vec.iter().map(|it| it.number).sum()),
                &mut || {
                    sum(&mut || {
                        array
                            .iter()
                            .filter_map(Slot::get)
                            .map(|it: &Entry| it.number)
                            .sum()
                    })
                },
            ],
        );
        result = ours / raw;
    });
    result
}
