//! What strings say that consist of others. V8 writes of a concatenated string no more than its two parts.
//!
//! No more is kept of one than V8 writes of others. Each is found from its parts, which come first: a string that a loop
//! made, a piece at a time, is a list of such strings as long as the loop.

use std::collections::{HashMap, HashSet};

use super::classes::{Classes, Sort};
use super::graph::Graph;
use super::slots::{Slots, Start};
use crate::budget::Budget;

/// V8 writes no more characters of a string, in units of UTF-16.
const MOST_CHARACTERS: usize = 1024;
/// Bytes of a string object before its characters; small ones have fewer.
const STRING_HEADER: usize = 16;
const SMALL_HEADER: usize = 12;

/// Returns an error if V8 did not write all of a string, or may not have: how long it is at least. How many bytes the string takes shows
/// it, unless it has its characters elsewhere.
pub fn is_whole(text: &str, bytes: usize) -> Result<(), u32> {
    // Characters are bytes at least.
    if text.len() < MOST_CHARACTERS {
        return Ok(());
    }
    let units = text.encode_utf16().count();
    if units < MOST_CHARACTERS {
        return Ok(());
    }
    let width = match text.chars().any(|it| it as u32 > 0xff) {
        true => 2,
        false => 1,
    };
    let (least, most) = (
        SMALL_HEADER + units * width,
        STRING_HEADER + 8 + units * width,
    );
    if (least..=most).contains(&bytes) {
        return Ok(());
    }
    let length = bytes.saturating_sub(STRING_HEADER) / width;
    Err(u32::try_from(length.max(text.len() + 1)).unwrap_or(u32::MAX))
}

/// What is known of a text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Text {
    pub start: String,
    pub is_whole: bool,
}

/// The texts of concatenated strings, by node.
#[derive(Debug, Default)]
pub struct Joined {
    texts: HashMap<u32, Text>,
}

impl Joined {
    /// Finds all. `unknown` are strings that stand for what is not known.
    pub fn find(
        graph: &Graph,
        classes: &Classes,
        slots: &Slots,
        unknown: &HashSet<u32>,
        budget: &mut Budget,
    ) -> Self {
        let parts = parts(graph, classes, slots);
        let mut texts: HashMap<u32, Option<Text>> = HashMap::new();
        let flat = |node: u32| {
            let name = graph.name[node as usize];
            let class = classes.of.get(node as usize);
            let sort = class.and_then(|it| classes.list.get(*it as usize));
            if sort?.sort != Sort::String || unknown.contains(&name) {
                return None;
            }
            let text = graph.strings.str(name);
            Some(Text {
                start: text.into(),
                is_whole: is_whole(text, graph.size[node as usize] as usize).is_ok(),
            })
        };
        // What is entered has no text until it is left, so that a string that is a part of itself has none.
        let mut way = Vec::new();
        for &node in parts.keys() {
            way.push((node, false));
            while let Some((at, is_entered)) = way.pop() {
                let both = parts[&at];
                if !is_entered {
                    if texts.contains_key(&at) {
                        continue;
                    }
                    texts.insert(at, None);
                    way.push((at, true));
                    let is_open = |it: &u32| parts.contains_key(it) && !texts.contains_key(it);
                    way.extend(both.into_iter().filter(is_open).map(|it| (it, false)));
                    continue;
                }
                let text_of = |node: u32| match texts.get(&node) {
                    Some(text) => text.clone(),
                    None => flat(node),
                };
                let text = join(text_of(both[0]), || text_of(both[1]));
                texts.insert(at, text.filter(|it| budget.spend(it.start.len())));
            }
        }
        let known = texts.into_iter().filter_map(|(node, it)| Some((node, it?)));
        Self {
            texts: known.collect(),
        }
    }

    /// Takes the text of a string, if it is known.
    pub fn take(&mut self, node: u32) -> Option<Text> {
        self.texts.remove(&node)
    }
}

/// The two parts of each concatenated string.
fn parts(graph: &Graph, classes: &Classes, slots: &Slots) -> HashMap<u32, [u32; 2]> {
    let mut all = HashMap::new();
    let mut edge = 0;
    for (node, &count) in graph.edge_count.iter().enumerate() {
        let edges = edge..edge + count as usize;
        edge = edges.end;
        let class = classes.list.get(classes.of[node] as usize);
        if class.is_none_or(|it| it.sort != Sort::ConsString) {
            continue;
        }
        let mut parts = [None; 2];
        for edge in edges {
            if Start::of(graph.edge_kind[edge]) == Start::Slot {
                match slots.name(graph.edge_name[edge], &graph.strings) {
                    "first" => parts[0] = Some(graph.edge_to[edge]),
                    "second" => parts[1] = Some(graph.edge_to[edge]),
                    _ => {}
                }
            }
        }
        if let [Some(first), Some(second)] = parts {
            all.insert(node as u32, [first, second]);
        }
    }
    all
}

/// Joins two parts, as far as V8 would write them.
fn join(first: Option<Text>, second: impl FnOnce() -> Option<Text>) -> Option<Text> {
    let mut text = first?;
    if !text.is_whole {
        return Some(text);
    }
    let Some(second) = second() else {
        text.is_whole = false;
        return Some(text);
    };
    let mut units = text.start.encode_utf16().count();
    for char in second.start.chars() {
        units += char.len_utf16();
        if units > MOST_CHARACTERS {
            text.is_whole = false;
            return Some(text);
        }
        text.start.push(char);
    }
    text.is_whole = second.is_whole;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_are_whole_if_their_bytes_say_so() {
        let text = |count: usize| "a".repeat(count);
        assert_eq!(is_whole(&text(1023), 0), Ok(()));
        assert_eq!(is_whole(&text(1024), 1040), Ok(()));
        assert_eq!(is_whole(&text(1024), 1036), Ok(()));
        assert_eq!(is_whole(&text(1024), 2016), Err(2000));
        // Its characters are elsewhere.
        assert_eq!(is_whole(&text(1024), 32), Err(1025));
        assert_eq!(is_whole(&"ж".repeat(1024), 2064), Ok(()));
        assert_eq!(is_whole(&"ж".repeat(1023), 0), Ok(()));
    }

    #[test]
    fn parts_are_joined_as_far_as_they_are_known() {
        let text = |start: &str, is_whole| {
            Some(Text {
                start: start.into(),
                is_whole,
            })
        };
        assert_eq!(join(text("a", true), || text("b", true)), text("ab", true));
        assert_eq!(
            join(text("a", true), || text("b", false)),
            text("ab", false)
        );
        assert_eq!(join(text("a", false), || text("b", true)), text("a", false));
        assert_eq!(join(text("a", true), || None), text("a", false));
        assert_eq!(join(None, || text("b", true)), None);
        let long = "x".repeat(1023);
        let joined = join(text(&long, true), || text("yz", true)).unwrap();
        assert_eq!((joined.start.len(), joined.is_whole), (1024, false));
    }
}
