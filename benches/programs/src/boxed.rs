//! GCBench with boxes: trees need nothing else. Nobody else may refer to a node, and whoever drops a tree waits for it.

#[derive(Default)]
struct Node {
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
    _i: u32,
    _j: u32,
}

fn bottom_up(depth: u32) -> Box<Node> {
    let mut node = Box::<Node>::default();
    if depth > 0 {
        node.left = Some(bottom_up(depth - 1));
        node.right = Some(bottom_up(depth - 1));
    }
    node
}

fn top_down(depth: u32, root: &mut Node) {
    if depth == 0 {
        return;
    }
    let left = root.left.insert(Box::default());
    let right = root.right.insert(Box::default());
    top_down(depth - 1, left);
    top_down(depth - 1, right);
}

fn size(depth: u32) -> usize {
    (1 << (depth + 1)) - 1
}

pub fn run() -> usize {
    let mut lives = Box::<Node>::default();
    top_down(16, &mut lives);
    let mut array = vec![0.0; 500_000];
    for at in 1..array.len() / 2 {
        array[at] = 1.0 / at as f64;
    }
    let mut count = 0;
    for depth in (4..=16).step_by(2) {
        let times = 2 * size(16) / size(depth);
        for _ in 0..times {
            let mut root = Box::<Node>::default();
            top_down(depth, &mut root);
            drop(root);
            bottom_up(depth);
        }
        count += 2 * times;
    }
    assert!(lives.left.is_some() && array[1000] == 0.001);
    count
}
