//! Semidominators, and dominators from them.
//!
//! The *semidominator* of an object is the smallest number from which a path leads to it whose inner objects
//! all have larger numbers than it. Objects are taken by falling number, and those that
//! have been taken make a forest: each hangs on its parent once the parent was taken too. The
//! semidominator is the smallest of the numbers from which edges lead there directly, and of the semidominators
//! that are met on the way up the forest from the larger ones. Ways that were walked are shortened.
//!
//! Then the nearest dominator, by rising number, is the first one above the parent, in the tree of dominators as far as
//! it is known, that is not larger than the semidominator.

use super::search::{Kept, NO_EDGE, Node};

/// Finds the number of each object's nearest dominator, given what the search knows of numbers and edges: in the end
/// it is the parent.
pub fn find_dominators(nodes: Vec<Node>, kept: Vec<Kept>) -> Vec<Node> {
    let mut forest = Forest {
        taken: nodes.len() as u32,
        nodes,
        way: Vec::new(),
    };
    for number in (1..forest.taken).rev() {
        let Node {
            mut semi,
            smallest: mut edge,
            ..
        } = forest.nodes[number as usize];
        while edge != NO_EDGE && semi > 0 {
            let kept = &kept[edge as usize];
            semi = semi.min(forest.smallest_above(kept.from));
            edge = kept.before;
        }
        let node = &mut forest.nodes[number as usize];
        node.semi = semi;
        // The list of edges is not needed again, and its place is free.
        node.smallest = semi;
        forest.taken = number;
    }
    drop(kept);
    let mut nodes = forest.nodes;
    for number in 1..nodes.len() {
        let Node { parent, semi, .. } = nodes[number];
        let mut dominator = parent;
        while dominator > semi {
            dominator = nodes[dominator as usize].parent;
        }
        nodes[number].parent = dominator;
    }
    nodes
}

/// The objects that were taken, each on its parent.
struct Forest {
    nodes: Vec<Node>,
    /// The smallest number that was taken.
    taken: u32,
    /// The way that is being shortened; kept for its memory.
    way: Vec<u32>,
}

impl Forest {
    /// Returns the smallest semidominator from an object that was taken up to the last above it that was.
    #[inline]
    fn smallest_above(&mut self, number: u32) -> u32 {
        let node = &self.nodes[number as usize];
        match node.above >= self.taken {
            true => self.shorten(number),
            false => node.smallest,
        }
    }

    fn shorten(&mut self, number: u32) -> u32 {
        let mut at = number;
        loop {
            let above = self.nodes[at as usize].above;
            if above < self.taken {
                break;
            }
            self.way.push(at);
            at = above;
        }
        // `at` is the top: what it hangs on has not been taken.
        let Node {
            above,
            mut smallest,
            ..
        } = self.nodes[at as usize];
        while let Some(below) = self.way.pop() {
            let node = &mut self.nodes[below as usize];
            node.above = above;
            smallest = smallest.min(node.smallest);
            node.smallest = smallest;
        }
        smallest
    }
}
