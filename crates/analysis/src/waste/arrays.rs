//! Arrays of one value: of zeros, of nulls, or of one other value.

use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;

use super::{Draft, NO_VALUES, bytes_of};
use crate::dominator::Dominators;

/// Shorter arrays are not worth a look.
const LEAST_LENGTH: usize = 8;

/// What the elements of an array are, all of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Same {
    Zero,
    Null,
    Other,
}

/// Finds arrays all of whose elements are the same, by class.
pub fn find(heap: &Snapshot, dominators: &Dominators) -> Draft {
    let mut draft = Draft::new("uniform-arrays", "arrays of one value");
    let count = heap.classes().len();
    let mut members: Vec<[Vec<ObjectId>; 3]> = vec![Default::default(); count];
    let (mut known, mut unknown) = (false, false);
    for object in dominators.objects() {
        let class = heap.class_of(object).0 as usize - 1;
        let same = match heap.classes()[class].elements {
            None | Some(Elements::Text) => continue,
            Some(Elements::Refs) => references(heap, object),
            Some(Elements::Plain(kind)) => match heap.element_bytes(object) {
                Some(bytes) => {
                    known = true;
                    plain(&bytes, kind.bytes())
                }
                None => {
                    unknown = true;
                    None
                }
            },
        };
        if let Some(same) = same {
            members[class][same as usize].push(object);
        }
    }
    draft.not_known = match (known, unknown) {
        (false, true) => Some(NO_VALUES),
        (true, true) => Some("the file does not have all arrays"),
        _ => None,
    };
    for (class, members) in heap.classes().iter().zip(members) {
        let words = ["zeros", "nulls", "one value"];
        for (objects, word) in members.into_iter().zip(words) {
            if !objects.is_empty() {
                let bytes = bytes_of(heap, &objects);
                draft.add(
                    format!("{} of {word}", class.name),
                    bytes,
                    objects.len(),
                    objects,
                );
            }
        }
    }
    draft
}

fn plain(bytes: &[u8], width: usize) -> Option<Same> {
    if bytes.len() < LEAST_LENGTH * width {
        return None;
    }
    let (first, rest) = bytes.split_at(width);
    // A shifted comparison tells whether each is as the one before.
    if rest != &bytes[..bytes.len() - width] {
        return None;
    }
    match first.iter().all(|&byte| byte == 0) {
        true => Some(Same::Zero),
        false => Some(Same::Other),
    }
}

fn references(heap: &Snapshot, object: ObjectId) -> Option<Same> {
    let length = heap.length_of(object)?;
    if length < LEAST_LENGTH {
        return None;
    }
    let (mut edges, mut first, mut is_same) = (0, None, true);
    heap.for_each_target(object, |to| {
        edges += 1;
        is_same &= *first.get_or_insert(to) == to;
    });
    // What was cut is not null.
    let is_cut = || heap.cut_of(object).next().is_some();
    match edges {
        0 if !is_cut() => Some(Same::Null),
        edges if edges == length && is_same => Some(Same::Other),
        _ => None,
    }
}
