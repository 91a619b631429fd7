//! A B-tree from numbers to objects, as SPEC JBB keeps its orders in.
//!
//! Objects are in the leaves. An inner node has a key for each child, not larger than any
//! key below it. A full node is split on the way down; a node goes when it is empty, so
//! that removing allocates nothing.

use heaphound::{Header, Local, Managed, Mutator, Object, PlainArray, Ref, RefArray, Slot, Var};

/// The tree.
#[derive(Managed)]
#[repr(C)]
pub(super) struct LongBTree {
    header: Header,
    root: Slot<LongBTreeNode>,
}

#[derive(Managed)]
#[repr(C)]
struct LongBTreeNode {
    header: Header,
    count: Var<u64>,
    keys: Ref<PlainArray<u64>>,
    children: Slot<RefArray<LongBTreeNode>>,
    values: Slot<RefArray<Object>>,
}

/// Entries of a node.
const WIDTH: usize = 8;

impl LongBTree {
    /// Returns an empty tree.
    pub(super) fn new<'a>(m: &mut Mutator<'a>) -> Local<'a, LongBTree> {
        m.alloc(LongBTreeInit { root: None }).expect("room")
    }

    /// Returns what a key leads to.
    pub(super) fn get<T: Managed>(&self, key: u64) -> Option<&T> {
        let mut node = self.root.get()?;
        while let Some(children) = node.children.get() {
            node = children[node.position(key)].get()?;
        }
        let at = node.find(key)?;
        node.values.get()?[at].get()?.downcast()
    }

    /// Adds an object under a key that is not there yet.
    pub(super) fn insert<T: Managed>(
        m: &mut Mutator<'_>,
        tree: Local<'_, LongBTree>,
        key: u64,
        value: Local<'_, T>,
    ) {
        let mut m = m.scope();
        match m[tree].root.get() {
            None => {
                let leaf = LongBTreeNode::leaf(&mut m);
                m[tree].root.set(Some(&m[leaf]));
            }
            Some(root) if root.is_full() => {
                let old = m.local(root);
                let top = LongBTreeNode::inner(&mut m);
                m[top].keys.get()[0].set(m[old].keys.get()[0].get());
                m[top].children.get().expect("inner")[0].set(Some(&m[old]));
                m[top].count.set(1);
                m[tree].root.set(Some(&m[top]));
            }
            Some(_) => {}
        }
        let at = m.local(m[tree].root.get().expect("just made"));
        while let Some(children) = m[at].children.get() {
            let position = m[at].position(key);
            let child = children[position].get().expect("inner nodes are dense");
            if child.is_full() {
                LongBTreeNode::split(&mut m, at, position);
                continue;
            }
            let least = &m[at].keys.get()[position];
            least.set(least.get().min(key));
            m.set_local(at, child);
        }
        m[at].put(key, m[value].as_object());
    }

    /// Takes a key out.
    pub(super) fn remove(&self, key: u64) {
        if let Some(root) = self.root.get() {
            root.remove(key);
        }
        while let Some(root) = self.root.get() {
            match (root.len(), root.children.get()) {
                (0, _) => self.root.clear(),
                (1, Some(children)) => self.root.set(children[0].get()),
                _ => break,
            }
        }
    }
}

impl LongBTreeNode {
    fn leaf<'a>(m: &mut Mutator<'a>) -> Local<'a, Self> {
        let values = m.alloc_refs(WIDTH).expect("room");
        Self::new(m, None, Some(values))
    }

    fn inner<'a>(m: &mut Mutator<'a>) -> Local<'a, Self> {
        let children = m.alloc_refs(WIDTH).expect("room");
        Self::new(m, Some(children), None)
    }

    fn new<'a>(
        m: &mut Mutator<'a>,
        children: Option<Local<'a, RefArray<LongBTreeNode>>>,
        values: Option<Local<'a, RefArray<Object>>>,
    ) -> Local<'a, Self> {
        let keys = m.alloc_plain(WIDTH, 0).expect("room");
        let init = LongBTreeNodeInit {
            count: 0,
            keys,
            children,
            values,
        };
        m.alloc(init).expect("room")
    }

    /// Moves the upper half of a full child into a new one behind it. The node has room.
    fn split(m: &mut Mutator<'_>, node: Local<'_, Self>, position: usize) {
        let mut m = m.scope();
        let children = m[node].children.get().expect("inner");
        let child = m.local(children[position].get().expect("dense"));
        let new = match m[child].children.is_null() {
            true => Self::leaf(&mut m),
            false => Self::inner(&mut m),
        };
        let (node, child, new) = (&m[node], &m[child], &m[new]);
        let half = WIDTH / 2;
        new.keys.get().copy_from(0, child.keys.get(), half..WIDTH);
        if let (Some(from), Some(to)) = (child.children.get(), new.children.get()) {
            to.copy_from(0, from, half..WIDTH);
            from[half..].iter().for_each(|slot| slot.clear());
        }
        if let (Some(from), Some(to)) = (child.values.get(), new.values.get()) {
            to.copy_from(0, from, half..WIDTH);
            from[half..].iter().for_each(|slot| slot.clear());
        }
        child.count.set(half as u64);
        new.count.set((WIDTH - half) as u64);
        let (at, children) = (position + 1, node.children.get().expect("inner"));
        node.make_room(at);
        node.keys.get()[at].set(new.keys.get()[0].get());
        children[at].set(Some(new));
    }

    fn len(&self) -> usize {
        self.count.get() as usize
    }

    fn is_full(&self) -> bool {
        self.len() == WIDTH
    }

    fn keys(&self) -> impl Iterator<Item = u64> {
        self.keys.get()[..self.len()].iter().map(|key| key.get())
    }

    /// Returns the child under which a key is, or would be.
    fn position(&self, key: u64) -> usize {
        self.keys()
            .take_while(|&it| it <= key)
            .count()
            .saturating_sub(1)
    }

    fn find(&self, key: u64) -> Option<usize> {
        self.keys().position(|it| it == key)
    }

    fn put(&self, key: u64, value: &Object) {
        let at = self.keys().take_while(|&it| it < key).count();
        self.make_room(at);
        self.keys.get()[at].set(key);
        self.values.get().expect("a leaf")[at].set(Some(value));
    }

    /// Moves what is at a place and behind it on by one.
    fn make_room(&self, at: usize) {
        let end = self.len();
        self.shift(at + 1, at..end);
        self.count.set(end as u64 + 1);
    }

    fn remove(&self, key: u64) {
        let at = match self.children.get() {
            Some(children) => {
                let at = self.position(key);
                let child = children[at].get().expect("dense");
                child.remove(key);
                (child.len() == 0).then_some(at)
            }
            None => self.find(key),
        };
        let Some(at) = at else { return };
        let last = self.len() - 1;
        self.shift(at, at + 1..last + 1);
        if let Some(children) = self.children.get() {
            children[last].clear();
        }
        if let Some(values) = self.values.get() {
            values[last].clear();
        }
        self.count.set(last as u64);
    }

    fn shift(&self, to: usize, range: std::ops::Range<usize>) {
        let keys = self.keys.get();
        keys.copy_from(to, keys, range.clone());
        if let Some(children) = self.children.get() {
            children.copy_from(to, children, range.clone());
        }
        if let Some(values) = self.values.get() {
            values.copy_from(to, values, range);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use heaphound::Heap;

    use super::super::Random;
    use super::*;

    #[derive(Managed)]
    #[repr(C)]
    struct Thing {
        header: Header,
        key: u64,
    }

    #[test]
    fn a_tree_holds_what_was_put_in_and_not_taken_out() {
        let heap = Heap::builder().zeal(50).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let tree = LongBTree::new(&mut m);
        let (mut random, mut keys) = (Random::new(1), BTreeSet::new());
        for round in 0..3000 {
            let key = random.below(200);
            let fill = if round / 500 % 2 == 0 { 3 } else { 1 };
            if random.below(4) < fill {
                if keys.insert(key) {
                    let mut m = m.scope();
                    let thing = m.alloc(ThingInit { key }).unwrap();
                    LongBTree::insert(&mut m, tree, key, thing);
                }
            } else {
                keys.remove(&key);
                m[tree].remove(key);
            }
            let found = |key| m[tree].get::<Thing>(key).map(|it| it.key);
            let all: BTreeSet<u64> = (0..200).filter_map(found).collect();
            assert_eq!(all, keys);
        }
        for key in keys {
            m[tree].remove(key);
        }
        assert!(m[tree].root.is_null());
    }
}
