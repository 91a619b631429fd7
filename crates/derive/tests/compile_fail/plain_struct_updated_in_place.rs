//! Data with several parts is not changed by one atomic operation.

use heaphound::{Plain, Var};

#[derive(Clone, Copy, Plain)]
struct Point {
    x: f32,
    y: f32,
}

fn twice(at: &Var<Point>) {
    at.update(|it| Point { x: 2.0 * it.x, ..it });
}

fn main() {}
