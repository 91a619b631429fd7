//! EclipseDiff, Eclipse's bug 115789: each structural comparison leaves an entry in the navigation history.
//!
//! The history and the inputs that its entries refer to are read again and again, so that they are live, and
//! grow; but on each input hangs a large tree of differences that nobody looks at any more. Kept: history,
//! inputs and trees, each with the contents of files; the rest of Eclipse is a working set.

use heaphound::{Bytes, Header, Invalidated, Local, Managed, Mutator, Ref, RefArray, Slot};

use super::{Death, Each, Work, WorkingSet};
use crate::programs::Random;

#[derive(Managed)]
#[repr(C)]
struct NavigationHistory {
    header: Header,
    last: Slot<HistoryEntry>,
}

#[derive(Managed)]
#[repr(C)]
struct HistoryEntry {
    header: Header,
    input: Ref<ResourceCompareInput>,
    before: Slot<HistoryEntry>,
}

#[derive(Managed)]
#[repr(C)]
struct ResourceCompareInput {
    header: Header,
    root: Slot<DiffNode>,
}

#[derive(Managed)]
#[repr(C)]
struct DiffNode {
    header: Header,
    content: Ref<Bytes>,
    parent: Slot<DiffNode>,
    children: Ref<RefArray<DiffNode>>,
}

/// Children of a node.
const CHILDREN: usize = 4;
/// The longest content of a file.
const CONTENT: usize = 600;
/// Comparisons between two readings of the history.
const READ: u64 = 8;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work<'_>, each: Each<'_>) -> Result<(), Death> {
    let used = WorkingSet::new(m, work)?;
    let mut random = work.random();
    let history = m.alloc(NavigationHistoryInit { last: None })?;
    let nodes = work.part(256, CONTENT / 2 + 64);
    for iteration in 1u64.. {
        {
            let mut m = m.scope();
            let root = tree(&mut m, nodes, &mut random)?;
            let root = Some(root);
            let input = m.alloc(ResourceCompareInputInit { root })?;
            let before = m[history].last.try_get()?.map(|it| m.local(it));
            let before = before.filter(|_| work.leak);
            let entry = m.alloc(HistoryEntryInit { input, before })?;
            m[history].last.set(Some(&m[entry]));
        }
        if iteration.is_multiple_of(READ) {
            m[history].read()?;
        }
        m[used].read()?;
        if !each() {
            break;
        }
    }
    Ok(())
}

impl NavigationHistory {
    fn read(&self) -> Result<(), Invalidated> {
        let mut entry = self.last.try_get()?;
        while let Some(it) = entry {
            it.input.try_get()?;
            entry = it.before.try_get()?;
        }
        Ok(())
    }
}

/// Makes a tree of `nodes` nodes.
fn tree<'a>(
    m: &mut Mutator<'a>,
    nodes: usize,
    random: &mut Random,
) -> Result<Local<'a, DiffNode>, Death> {
    m.scoped(|m| {
        let content = m.alloc_bytes(&vec![b'x'; random.index(CONTENT)])?;
        let below = nodes - 1;
        let children = m.alloc_refs::<DiffNode>(CHILDREN.min(below))?;
        let node = m.alloc(DiffNodeInit {
            content,
            parent: None,
            children,
        })?;
        for place in 0..CHILDREN.min(below) {
            let mut m = m.scope();
            let share = below / CHILDREN + usize::from(place < below % CHILDREN);
            let child = tree(&mut m, share, random)?;
            m[child].parent.set(Some(&m[node]));
            m[children][place].set(Some(&m[child]));
        }
        Ok(node)
    })
}
