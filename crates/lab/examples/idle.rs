//! Runs a program without assertions and prints seconds: of full collections, and in all.
//!
//! Built with and without what checks assertions, it shows what that costs a program which
//! asserts nothing.
//!
//! ```sh
//! cargo run --release -p heaphound-lab --example idle -- jbb 5
//! ```

use heaphound_lab::assertions::{Program, cost};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let program = match arguments.next().as_deref() {
        None | Some("jbb") => Program::Jbb,
        Some("db") => Program::Db,
        Some(other) => panic!("`{other}` is neither jbb nor db"),
    };
    let runs = arguments
        .next()
        .map_or(1, |it| it.parse().expect("how often"));
    for _ in 0..runs {
        let cost = cost(program, false);
        println!(
            "gc {:.6} total {:.6} collections {}",
            cost.gc.as_secs_f64(),
            cost.total.as_secs_f64(),
            cost.collections
        );
    }
}
