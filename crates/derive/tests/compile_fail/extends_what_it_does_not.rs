//! Only `#[managed]` says what a class extends, or whoever writes `unsafe`.

use heaphound::classes::{Above, Extends, Itself};
use heaphound::managed;

#[managed]
struct Number {
    value: u64,
}

#[managed]
struct Text {
    text: String,
}

impl Extends<Text, Above<Itself>> for Number {}

fn main() {}
