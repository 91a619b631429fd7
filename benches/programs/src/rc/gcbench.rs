//! GCBench with reference counts: the same trees in the same order as the example's.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

#[derive(Default)]
struct Node {
    left: RefCell<Option<Rc<Node>>>,
    right: RefCell<Option<Rc<Node>>>,
    _i: Cell<u32>,
    _j: Cell<u32>,
}

fn bottom_up(depth: u32) -> Rc<Node> {
    let node = Node::default();
    if depth > 0 {
        node.left.replace(Some(bottom_up(depth - 1)));
        node.right.replace(Some(bottom_up(depth - 1)));
    }
    Rc::new(node)
}

fn top_down(depth: u32, root: &Rc<Node>) {
    if depth == 0 {
        return;
    }
    let (left, right) = (Rc::new(Node::default()), Rc::new(Node::default()));
    root.left.replace(Some(left.clone()));
    root.right.replace(Some(right.clone()));
    top_down(depth - 1, &left);
    top_down(depth - 1, &right);
}

fn size(depth: u32) -> usize {
    (1 << (depth + 1)) - 1
}

pub fn run() -> usize {
    let lives = Rc::new(Node::default());
    top_down(16, &lives);
    let mut array = vec![0.0; 500_000];
    for at in 1..array.len() / 2 {
        array[at] = 1.0 / at as f64;
    }
    let mut count = 0;
    for depth in (4..=16).step_by(2) {
        let times = 2 * size(16) / size(depth);
        for _ in 0..times {
            let root = Rc::new(Node::default());
            top_down(depth, &root);
            drop(root);
            bottom_up(depth);
        }
        count += 2 * times;
    }
    assert!(lives.left.borrow().is_some() && array[1000] == 0.001);
    count
}
