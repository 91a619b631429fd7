//! GCBench with gc-arena: a call for each pair of trees, and a chance to collect after it, as its documentation advises.

use gc_arena::barrier::field;
use gc_arena::{Arena, Collect, Gc, Lock, Mutation, Rootable};

type Slot<'gc> = Lock<Option<Gc<'gc, Node<'gc>>>>;

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    left: Slot<'gc>,
    right: Slot<'gc>,
    _i: u32,
    _j: u32,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Roots<'gc> {
    lives: Gc<'gc, Node<'gc>>,
    array: Vec<f64>,
}

fn node<'gc>(
    mc: &Mutation<'gc>,
    left: Option<Gc<'gc, Node<'gc>>>,
    right: Option<Gc<'gc, Node<'gc>>>,
) -> Gc<'gc, Node<'gc>> {
    let (left, right) = (Lock::new(left), Lock::new(right));
    Gc::new(
        mc,
        Node {
            left,
            right,
            _i: 0,
            _j: 0,
        },
    )
}

fn bottom_up<'gc>(mc: &Mutation<'gc>, depth: u32) -> Gc<'gc, Node<'gc>> {
    if depth == 0 {
        return node(mc, None, None);
    }
    let left = bottom_up(mc, depth - 1);
    let right = bottom_up(mc, depth - 1);
    node(mc, Some(left), Some(right))
}

fn top_down<'gc>(mc: &Mutation<'gc>, depth: u32, root: Gc<'gc, Node<'gc>>) {
    if depth == 0 {
        return;
    }
    let (left, right) = (node(mc, None, None), node(mc, None, None));
    let written = Gc::write(mc, root);
    field!(written, Node, left).unlock().set(Some(left));
    field!(written, Node, right).unlock().set(Some(right));
    top_down(mc, depth - 1, left);
    top_down(mc, depth - 1, right);
}

fn size(depth: u32) -> usize {
    (1 << (depth + 1)) - 1
}

pub fn run() -> usize {
    let mut arena = Arena::<Rootable![Roots<'_>]>::new(|mc| {
        let lives = node(mc, None, None);
        top_down(mc, 16, lives);
        let mut array = vec![0.0; 500_000];
        for at in 1..array.len() / 2 {
            array[at] = 1.0 / at as f64;
        }
        Roots { lives, array }
    });
    let mut count = 0;
    for depth in (4..=16).step_by(2) {
        let times = 2 * size(16) / size(depth);
        for _ in 0..times {
            arena.mutate(|mc, _| {
                top_down(mc, depth, node(mc, None, None));
                bottom_up(mc, depth);
            });
            arena.collect_debt();
        }
        count += 2 * times;
    }
    arena.mutate(|_, roots| {
        assert!(roots.lives.left.get().is_some() && roots.array[1000] == 0.001);
    });
    count
}
