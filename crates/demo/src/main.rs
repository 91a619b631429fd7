//! `heaphound-demo`: a program that leaks, and what Heaphound says of it. `heaphound demo` starts it.
//!
//! The program that leaks is a shop (`shop.rs`); this file runs it on four heaps and tells what happens. A program of its own, so
//! that whoever asks heaps in files does not have to build the live heap.
#![forbid(unsafe_code)]

mod shop;

use std::error::Error;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use heaphound::finding::Finding;
use heaphound::report::document::{Axis, Chart, Line, Part, Section};
use heaphound::report::{self, page};
use heaphound::{AssertionKind, Growth, Heap, HeapBuilder, Reaction, Sampling, file, stats::Kind};

use shop::{open, serve};

/// What the shop has for its objects where memory runs out.
const HEAP_BYTES: usize = 8 << 20;
/// How many times as many orders are served with pruning as without, before we have seen enough.
const TIMES: u64 = 20;
/// Days for which growth is watched, and orders of a day.
const DAYS: u64 = 12;
const ORDERS: u64 = 500;

fn main() -> ExitCode {
    let page = std::env::args_os().nth(1);
    let page = page.map_or_else(|| PathBuf::from("heaphound-demo.html"), PathBuf::from);
    match run(&page) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(page_file: &Path) -> Result<(), Box<dyn Error>> {
    say(
        "A shop keeps its open orders in a table. Delivered orders should be garbage, but each customer's last order\n\
         refers to the one before. This is what Heaphound says of it; the program is crates/demo/src/shop.rs.",
    )?;

    say(
        "\n1. The program says what it expects: `m.assert_dead(order)`, when an order is delivered.\n",
    )?;
    let asserted = assert_dead()?;
    show(&asserted)?;

    say("\n2. Nobody says anything. `Growth::new().register(&heap, None)` watches the heap.\n")?;
    let (grown, growth) = watch_growth()?;
    show(&grown)?;

    let megabytes = HEAP_BYTES >> 20;
    say(&format!(
        "\n3. Memory runs out, at {megabytes} MiB. Then the same program on a heap with `.pruning(true)`.\n"
    ))?;
    let dies = shop_heap().build()?;
    let served = shop::serve_until_full(&dies, u64::MAX);
    say(&format!("without: out of memory after {served} orders"))?;
    let cuts = Told::default();
    let lives = shop_heap()
        .summaries(1)
        .sampling(Sampling::every(4096))
        .pruning(true)
        .pruning_reaction(cuts.reaction())
        .build()?;
    let served_on = shop::serve_until_full(&lives, served * TIMES);
    say(&match served_on == served * TIMES {
        true => format!("with:    {served_on} orders, and it could go on\n"),
        false => format!("with:    out of memory after {served_on} orders\n"),
    })?;
    let cuts = cuts.all();
    let first_cut = cuts.iter().find(|it| it.kind == "pruned");
    show(first_cut)?;

    let mut document = report::document(&lives, "a shop that leaks");
    document.sections.retain(|it| it.title != "Findings");
    let findings = Section {
        title: "Findings".into(),
        parts: vec![Part::Findings([asserted, grown, cuts].concat())],
    };
    let lines = [
        course("without pruning", &dies),
        course("with pruning", &lives),
    ];
    document
        .sections
        .splice(0..0, [findings, growth, lives_longer(lines)]);
    let page = page::document(&document);
    file::replace_file(page_file, |mut out| out.write_all(page.as_bytes()))
        .map_err(|error| format!("cannot write {}: {error}", page_file.display()))?;
    say(&format!(
        "\n4. All of it as a page, for a browser: {}",
        page_file.display()
    ))
}

/// Serves some orders that are asserted to be dead once they are delivered.
fn assert_dead() -> Result<Vec<Finding>, Box<dyn Error>> {
    let heap = Heap::builder().build()?;
    let told = Told::default();
    heap.set_reaction(AssertionKind::Dead, told.reaction());
    let mut m = heap.attach("main")?;
    let shop = open(&mut m)?;
    for number in 0..100 {
        serve(&mut m, shop, number, &|m, order| m.assert_dead(order))?;
    }
    m.collect();
    Ok(told.all())
}

/// Serves orders for some days, with a full collection at the end of each. Returns what grows.
fn watch_growth() -> Result<(Vec<Finding>, Section), Box<dyn Error>> {
    let heap = Heap::builder().build()?;
    let told = Told::default();
    let watch = Growth::new().register(&heap, Some(told.reaction()));
    let mut m = heap.attach("main")?;
    let shop = open(&mut m)?;
    for number in 0..DAYS * ORDERS {
        serve(&mut m, shop, number, &|_, _| {})?;
        if number % ORDERS == ORDERS - 1 {
            m.collect();
        }
    }
    Ok((told.all(), report::growth(&watch, &heap)))
}

/// A heap in which memory runs out.
fn shop_heap() -> HeapBuilder {
    Heap::builder()
        .max_bytes(HEAP_BYTES)
        .initial_bytes(HEAP_BYTES / 8)
}

/// Returns what lived at each full collection.
fn course(name: &str, heap: &Heap) -> Line {
    let stats = heap.stats();
    let full = stats.history.iter().filter(|it| it.kind == Kind::Full);
    Line {
        name: name.into(),
        points: full
            .map(|it| (it.allocated_bytes as f64, it.marked_bytes as f64))
            .collect(),
        breaks_off: heap.pruned().is_empty(),
    }
}

fn lives_longer(lines: [Line; 2]) -> Section {
    let chart = Chart {
        title: "Live bytes after each full collection, over the bytes that the shop had allocated"
            .into(),
        x: Axis::bytes("allocated"),
        y: Axis::bytes("live"),
        lines: lines.into(),
        limit: Some(("the heap".into(), HEAP_BYTES as f64)),
    };
    Section {
        title: "The same program, with and without pruning".into(),
        parts: vec![Part::Chart(chart)],
    }
}

/// What a heap has told.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Finding>>>);

impl Told {
    fn reaction(&self) -> Reaction {
        let told = self.0.clone();
        Reaction::Call(Arc::new(move |finding| {
            told.lock().expect("nobody panics").push(finding.clone());
        }))
    }

    fn all(&self) -> Vec<Finding> {
        self.0.lock().expect("nobody panics").clone()
    }
}

fn show<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Result<(), Box<dyn Error>> {
    findings.into_iter().try_for_each(|it| say(&it.to_string()))
}

fn say(text: &str) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout();
    match writeln!(out, "{text}") {
        // Who does not listen to the end may want the page all the same.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}
