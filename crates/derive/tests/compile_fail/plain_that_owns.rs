//! What changes in an object is plain data: text that changes is a reference to a `Str`.

use heaphound::{Var, managed};

#[managed]
struct Node {
    name: Var<String>,
}

fn main() {}
