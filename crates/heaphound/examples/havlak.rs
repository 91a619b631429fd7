//! Havlak: finds the loops of a control-flow graph, nested and irreducible ones too.
//!
//! After Robert Hundt's benchmark, with the graphs of its versions in other languages. The graph and the loops are objects,
//! with cycles wherever one looks; what is only counted is in vectors of Rust.
//!
//! Checks: the numbers of loops and blocks are known, rules say that loops nest, and a search leaves nothing behind.

use std::collections::BTreeSet;

use heaphound::collections::{GcVec, VecMut};
use heaphound::{
    Heap, Local, Mutator, OutOfMemory, Ref, RefArray, Rules, Slot, Var, managed, testing,
};

#[managed]
struct Block {
    #[managed(caption)]
    number: u32,
    into: Ref<GcVec<Block>>,
    out: Ref<GcVec<Block>>,
    /// Its place in a search that is under way.
    order: Var<u32>,
}

#[managed]
struct Graph {
    blocks: Ref<GcVec<Block>>,
}

#[managed]
struct Loop {
    parent: Slot<Loop>,
    header: Slot<Block>,
    reducible: bool,
    blocks: Ref<GcVec<Block>>,
    children: Ref<GcVec<Loop>>,
    depth: Var<u32>,
}

#[managed]
struct Loops {
    root: Ref<Loop>,
    all: Ref<GcVec<Loop>>,
}

/// A block in a search, in a set of blocks that are one so far.
#[managed]
struct Member {
    parent: Slot<Member>,
    block: Ref<Block>,
    found: Slot<Loop>,
    order: u32,
}

impl Member {
    /// The member that stands for the set. The way to it is made shorter.
    fn set(&self) -> &Member {
        let mut top = self;
        while let Some(above) = top.parent.get() {
            top = above;
        }
        let mut at = self;
        while let Some(above) = at.parent.get() {
            at.parent.set(top);
            at = above;
        }
        top.parent.clear();
        top
    }
}

const UNVISITED: u32 = u32::MAX;

fn graph<'a>(m: &mut Mutator<'a>) -> Result<Local<'a, Graph>, OutOfMemory> {
    m.scoped(|m| {
        let blocks = GcVec::new(m)?;
        let graph = m.alloc(GraphInit { blocks })?;
        block(m, graph, 0)?;
        Ok(graph)
    })
}

/// The block of a number, made if there is none. Numbers are given out in order.
fn block<'a>(
    m: &mut Mutator<'a>,
    graph: Local<'_, Graph>,
    number: usize,
) -> Result<Local<'a, Block>, OutOfMemory> {
    m.scoped(|m| {
        let blocks = m.local(m[graph].blocks.get());
        while m[blocks].len() <= number {
            let (into, out) = (GcVec::new(m)?, GcVec::new(m)?);
            let new = m.alloc(BlockInit {
                number: m[blocks].len() as u32,
                into,
                out,
                order: UNVISITED,
            })?;
            blocks.push(m, new)?;
        }
        Ok(m.local(m[blocks].get(number).expect("it was made")))
    })
}

fn connect(
    m: &mut Mutator<'_>,
    graph: Local<'_, Graph>,
    from: usize,
    to: usize,
) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let (from, to) = (block(&mut m, graph, from)?, block(&mut m, graph, to)?);
    let (out, into) = (m.local(m[from].out.get()), m.local(m[to].into.get()));
    out.push(&mut m, to)?;
    into.push(&mut m, from)
}

fn diamond(m: &mut Mutator<'_>, graph: Local<'_, Graph>, at: usize) -> Result<usize, OutOfMemory> {
    for (from, to) in [(0, 1), (0, 2), (1, 3), (2, 3)] {
        connect(m, graph, at + from, at + to)?;
    }
    Ok(at + 3)
}

fn straight(m: &mut Mutator<'_>, graph: Local<'_, Graph>, at: usize) -> Result<usize, OutOfMemory> {
    connect(m, graph, at, at + 1)?;
    Ok(at + 1)
}

/// Two loops one behind the other, in a third.
fn base_loop(
    m: &mut Mutator<'_>,
    graph: Local<'_, Graph>,
    from: usize,
) -> Result<usize, OutOfMemory> {
    let header = straight(m, graph, from)?;
    let first = diamond(m, graph, header)?;
    let between = straight(m, graph, first)?;
    let second = diamond(m, graph, between)?;
    let footer = straight(m, graph, second)?;
    connect(m, graph, second, between)?;
    connect(m, graph, first, header)?;
    connect(m, graph, footer, from)?;
    straight(m, graph, footer)
}

fn large_graph(m: &mut Mutator<'_>, graph: Local<'_, Graph>) -> Result<(), OutOfMemory> {
    let mut n = 2;
    for _ in 0..10 {
        connect(m, graph, 2, n + 1)?;
        n += 1;
        for _ in 0..10 {
            let top = n;
            n = straight(m, graph, n)?;
            for _ in 0..5 {
                n = base_loop(m, graph, n)?;
            }
            let bottom = straight(m, graph, n)?;
            connect(m, graph, n, top)?;
            n = bottom;
        }
        connect(m, graph, n, 1)?;
    }
    Ok(())
}

fn new_loop<'a>(
    m: &mut Mutator<'a>,
    header: Option<Local<'_, Block>>,
    reducible: bool,
) -> Result<Local<'a, Loop>, OutOfMemory> {
    m.scoped(|m| {
        let (blocks, children) = (GcVec::new(m)?, GcVec::new(m)?);
        let header = header.map(|it| m.local(it));
        m.alloc(LoopInit {
            parent: None,
            header,
            reducible,
            blocks,
            children,
            depth: 0,
        })
    })
}

fn loops<'a>(m: &mut Mutator<'a>) -> Result<Local<'a, Loops>, OutOfMemory> {
    m.scoped(|m| {
        let (root, all) = (new_loop(m, None, true)?, GcVec::new(m)?);
        all.push(m, root)?;
        m.alloc(LoopsInit { root, all })
    })
}

/// Numbers blocks in the order of a search in depth. Returns the last number below each.
fn number_blocks(start: &Block, count: usize) -> (Vec<&Block>, Vec<usize>) {
    let (mut order, mut last) = (vec![start], vec![0; count]);
    start.order.set(0);
    let mut open = vec![(0, 0)];
    while let Some((at, edge)) = open.last_mut() {
        let next = order[*at].out.get().get(*edge);
        *edge += 1;
        match next {
            Some(next) if next.order.get() == UNVISITED => {
                next.order.set(order.len() as u32);
                open.push((order.len(), 0));
                order.push(next);
            }
            Some(_) => {}
            None => {
                last[*at] = order.len() - 1;
                open.pop();
            }
        }
    }
    (order, last)
}

/// Finds the loops of a graph.
fn find(
    m: &mut Mutator<'_>,
    graph: Local<'_, Graph>,
    loops: Local<'_, Loops>,
) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let blocks = m[graph].blocks.get();
    let count = blocks.len();
    blocks.iter().for_each(|it| it.order.set(UNVISITED));
    let start = blocks.first().expect("it has a start");
    let (order, last) = number_blocks(start, count);
    let is_below = |w: usize, v: usize| w <= v && v <= last[w];

    // The edges that lead into a block, from below it and from elsewhere.
    let (mut back, mut other) = (
        vec![Vec::new(); order.len()],
        vec![BTreeSet::new(); order.len()],
    );
    for (w, block) in order.iter().enumerate() {
        let visited = block.into.get().iter().map(|it| it.order.get());
        for v in visited.filter(|&it| it != UNVISITED) {
            match is_below(w, v as usize) {
                true => back[w].push(v as usize),
                false => {
                    other[w].insert(v as usize);
                }
            }
        }
    }
    let order: Vec<u32> = order.iter().map(|it| it.number).collect();
    let members: Local<'_, RefArray<Member>> = m.alloc_refs(order.len())?;
    for (place, &number) in order.iter().enumerate() {
        let mut m = m.scope();
        let block = block(&mut m, graph, number as usize)?;
        let new = m.alloc(MemberInit {
            parent: None,
            block,
            found: None,
            order: place as u32,
        })?;
        m[members][place].set(new);
    }
    let set = |members: &RefArray<Member>, at: usize| {
        members[at].get().expect("one for each").set().order as usize
    };
    for w in (0..order.len()).rev() {
        // Blocks of the loop whose header is `w`, each by the set that it is in.
        let mut body = Vec::new();
        let (mut itself, mut reducible) = (false, true);
        for &v in &back[w] {
            match v == w {
                true => itself = true,
                false => body.push(set(&m[members], v)),
            }
        }
        let mut next = 0;
        while let Some(&x) = body.get(next) {
            next += 1;
            for y in other[x].clone() {
                let y = set(&m[members], y);
                if !is_below(w, y) {
                    reducible = false;
                    other[w].insert(y);
                } else if y != w && !body.contains(&y) {
                    body.push(y);
                }
            }
        }
        if body.is_empty() && !itself {
            continue;
        }
        let mut m = m.scope();
        let header = block(&mut m, graph, order[w] as usize)?;
        let found = new_loop(&mut m, Some(header), reducible)?;
        let all = m.local(m[loops].all.get());
        all.push(&mut m, found)?;
        let head = m.local(m[members][w].get().expect("one for each"));
        m[head].found.set(found);
        for x in body {
            let mut m = m.scope();
            let member = m.local(m[members][x].get().expect("one for each"));
            m[member].parent.set(head);
            match m[member].found.get() {
                Some(inner) => inner.parent.set(&m[found]),
                None => {
                    let (blocks, block) = (
                        m.local(m[found].blocks.get()),
                        m.local(m[member].block.get()),
                    );
                    blocks.push(&mut m, block)?;
                }
            }
        }
    }
    Ok(())
}

/// Hangs the outermost loops on the root, and numbers all by how deep they are.
fn nest(m: &mut Mutator<'_>, loops: Local<'_, Loops>) -> Result<(), OutOfMemory> {
    let count = m[loops].all.get().len();
    for at in 1..count {
        let mut m = m.scope();
        let it = m.local(m[loops].all.get().get(at).expect("it is there"));
        if m[it].parent.get().is_none() {
            m[it].parent.set(m[loops].root.get());
        }
        let children = m.local(m[it].parent.get().expect("just set").children.get());
        children.push(&mut m, it)?;
    }
    let mut left = vec![m[loops].root.get()];
    while let Some(it) = left.pop() {
        for child in it.children.get().iter() {
            child.depth.set(it.depth.get() + 1);
            left.push(child);
        }
    }
    Ok(())
}

/// Runs the benchmark: searches a small graph some times and then a large one. Returns the numbers of loops and blocks.
pub fn run(m: &mut Mutator<'_>, small: usize, large: usize) -> Result<(usize, usize), OutOfMemory> {
    let mut m = m.scope();
    let (graph, all) = built(&mut m, small)?;
    for _ in 0..large {
        let mut m = m.scope();
        let others = loops(&mut m)?;
        find(&mut m, graph, others)?;
    }
    nest(&mut m, all)?;
    Ok((m[all].all.get().len(), m[graph].blocks.get().len()))
}

/// The graph, and its loops.
fn built<'a>(
    m: &mut Mutator<'a>,
    small: usize,
) -> Result<(Local<'a, Graph>, Local<'a, Loops>), OutOfMemory> {
    let (graph, all) = (graph(m)?, loops(m)?);
    base_loop(m, graph, 0)?;
    connect(m, graph, 0, 2)?;
    for _ in 0..small {
        find(m, graph, all)?;
    }
    large_graph(m, graph)?;
    find(m, graph, all)?;
    Ok((graph, all))
}

#[allow(dead_code)] // Not in the benchmark.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let heap = Heap::builder().build()?;
    let mut m = heap.attach("main")?;
    assert_eq!(run(&mut m, 1, 2)?, (1605, 5213));
    // Nothing of a run is left.
    testing::assert_no_leaks(&mut m, |m| run(m, 1, 0).expect("room"));
    let (_graph, all) = built(&mut m, 1)?;
    nest(&mut m, all)?;
    let rules = "
        instances(Member) <= 0;
        assertion(forall Loop x: x.parent != x);
        assertion(forall Loop x: x.parent == null -> x.depth == 0);
        assertion(forall Loop x: x.parent != null && x.header != null -> x.depth >= 1);
    ";
    let findings = Rules::new(rules).check(&mut m)?;
    assert!(findings.is_empty(), "{findings:?}");
    println!("1605 loops in 5213 blocks");
    Ok(())
}
