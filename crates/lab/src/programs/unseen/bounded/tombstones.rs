//! A search tree in which deleted nodes stay as tombstones. When there are more of them than of
//! others, a balanced tree is built of the others.

use heaphound::{Local, Mutator, Ref, RefArray, Slot, Str, Var};

use super::*;

class!(SearchTree { root: Slot<TreeNode> });
class!(TreeNode {
    key: u64, deleted: Var<u64>, value: Ref<Str>, left: Slot<TreeNode>, right: Slot<TreeNode>
});

/// Keys that are in the tree, and those that come and go in a round.
const KEYS: usize = 900;
const EXCHANGED: usize = 18;
/// Lines that are written in a round.
const LINES: usize = 140;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(120), Outcome::default());
    let tree = m.alloc(SearchTreeInit { root: None }).expect("room");
    m.static_root::<SearchTree>("tree").set(&m, Some(&m[tree]));
    let (mut keys, mut deleted) = (Vec::new(), 0);
    for _ in 0..work.rounds {
        for _ in 0..EXCHANGED * work.scale {
            let key = random.below(1 << 40);
            insert(&mut m.scope(), tree, key);
            keys.push(key);
            if keys.len() > KEYS * work.scale {
                let key = keys.swap_remove(random.index(keys.len()));
                outcome.note(m[tree].delete(key));
                deleted += 1;
            }
        }
        if deleted > keys.len() {
            let mut m = m.scope();
            let count = m[tree].live().len();
            let values = m.alloc_refs::<Str>(count).expect("room");
            let live = m[tree].live();
            let values_of = live.iter().zip(m[values].iter());
            values_of.for_each(|(node, value)| value.set(Some(node.value.get())));
            let sorted: Vec<u64> = live.iter().map(|it| it.key).collect();
            let root = build(&mut m, &sorted, values, 0);
            m[tree].root.set(root.map(|it| &m[it]));
            deleted = 0;
        }
        write_lines(&mut m, LINES * work.scale, &mut outcome);
        each(&mut m);
    }
    outcome
}

fn insert(m: &mut Mutator<'_>, tree: Local<'_, SearchTree>, key: u64) {
    let value = m.alloc_str(&format!("the value of {key}")).expect("room");
    let node = m.alloc(TreeNodeInit {
        key,
        deleted: 0,
        value,
        left: None,
        right: None,
    });
    m[tree].place(key).set(Some(&m[node.expect("room")]));
}

/// Returns a balanced tree of keys in order; `values` has those of all, from `first` on theirs.
fn build<'a>(
    m: &mut Mutator<'a>,
    keys: &[u64],
    values: Local<'_, RefArray<Str>>,
    first: usize,
) -> Option<Local<'a, TreeNode>> {
    let middle = keys.len() / 2;
    let &key = keys.get(middle)?;
    let built = m.scoped(|m| {
        let left = build(m, &keys[..middle], values, first);
        let right = build(m, &keys[middle + 1..], values, first + middle + 1);
        let value = m.local(m[values][first + middle].get().expect("all have one"));
        m.alloc(TreeNodeInit {
            key,
            deleted: 0,
            value,
            left,
            right,
        })
    });
    Some(built.expect("room"))
}

impl SearchTree {
    /// Returns where a key that is not there belongs.
    fn place(&self, key: u64) -> &Slot<TreeNode> {
        let mut slot = &self.root;
        while let Some(node) = slot
            .get()
            .filter(|it| it.key != key || it.deleted.get() == 1)
        {
            slot = if key < node.key {
                &node.left
            } else {
                &node.right
            };
        }
        slot
    }

    /// Makes a tombstone of a key. Returns how long its value was.
    fn delete(&self, key: u64) -> u64 {
        let node = self.place(key).get().expect("it is there");
        node.deleted.set(1);
        node.value.get().len() as u64
    }

    /// Returns the nodes that are not deleted, in order.
    fn live(&self) -> Vec<&TreeNode> {
        let (mut live, mut path, mut next) = (Vec::new(), Vec::new(), self.root.get());
        loop {
            while let Some(node) = next {
                path.push(node);
                next = node.left.get();
            }
            let Some(node) = path.pop() else {
                return live;
            };
            live.extend((node.deleted.get() == 0).then_some(node));
            next = node.right.get();
        }
    }
}
