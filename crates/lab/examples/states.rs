//! Runs programs that do not leak with leak pruning forced to a state, and prints seconds: of full
//! collections, of their marking, and in all.
//!
//! ```sh
//! cargo run --release -p heaphound-lab --example states -- select small db
//! ```

use std::time::{Duration, Instant};

use heaphound::{Pruning, PruningState, stats::Kind};
use heaphound_lab::programs::steady::STEADY;
use heaphound_lab::programs::{Size, builder};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let state = match arguments.next().as_deref() {
        None | Some("plain") => None,
        Some("inactive") => Some(PruningState::Inactive),
        Some("observe") => Some(PruningState::Observe),
        Some("select") => Some(PruningState::Select),
        Some(other) => panic!("`{other}` is neither plain, inactive, observe nor select"),
    };
    let size = match arguments.next().as_deref() {
        None | Some("small") => Size::Small,
        Some("large") => Size::Large,
        Some(other) => panic!("`{other}` is neither small nor large"),
    };
    let names: Vec<String> = arguments.collect();
    for program in STEADY {
        if !names.is_empty() && names.iter().all(|it| it != program.name) {
            continue;
        }
        let builder = match state {
            Some(state) => builder(size).pruning(Pruning::new().force(state)),
            None => builder(size),
        };
        let heap = builder.build().expect("a heap");
        let mut m = heap.attach("main").expect("attached once");
        let begin = Instant::now();
        program.run(&mut m, size, &mut |_| {});
        let total = begin.elapsed();
        let stats = heap.stats();
        let full = || stats.history.iter().filter(|it| it.kind == Kind::Full);
        let gc: Duration = full().map(|it| it.pause).sum();
        let mark: Duration = full().map(|it| it.mark_time).sum();
        let objects: usize = full().map(|it| it.marked_objects).sum();
        println!(
            "{:12} gc {:.4} mark {:.4} rest {:.4} total {:.4} collections {} marked {}",
            program.name,
            gc.as_secs_f64(),
            mark.as_secs_f64(),
            total.saturating_sub(gc).as_secs_f64(),
            total.as_secs_f64(),
            full().count(),
            objects,
        );
    }
}
