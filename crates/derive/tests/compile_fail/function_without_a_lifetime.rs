//! A function that allocates gives the mutator's lifetime to what it returns: `&mut Mutator<'a>` and `Local<'a, Node>`.

use heaphound::{Local, Mutator, OutOfMemory, Slot, managed};

#[managed]
struct Node {
    next: Slot<Node>,
}

fn node<'a>(m: &'a mut Mutator<'_>) -> Result<Local<'a, Node>, OutOfMemory> {
    m.alloc(NodeInit { next: None })
}

fn two(m: &mut Mutator<'_>) -> Result<(), OutOfMemory> {
    let first = node(m)?;
    let second = node(m)?;
    m[first].next.set(second);
    Ok(())
}

fn main() {}
