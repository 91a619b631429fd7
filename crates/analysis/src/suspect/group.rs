//! Groups: objects of one class that no single object keeps alive, and that together retain much.

use std::collections::{BTreeMap, HashMap};

use heaphound_heap::finding::{Path, group};
use heaphound_heap::path::{Search, shortest_to_each};
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::trace::Traceable;
use heaphound_heap::view::HeapView;
use heaphound_heap::{ClassId, RootKind};

use super::{Options, Suspect, What, below};
use crate::dominator::DominatorTree;

/// How many objects of a group are looked at for how they are held.
const MOST_PATHS: usize = 200;
/// How many ways to them are listed.
const MOST_WAYS: usize = 3;

pub fn find(heap: &Snapshot, tree: &DominatorTree<'_>, options: Options) -> Vec<Suspect> {
    let retained = |it: ObjectId| tree.dominators().retained_bytes(it);
    let mut groups: HashMap<ClassId, Vec<ObjectId>> = HashMap::new();
    for object in tree.below(None) {
        // A large one is a suspect of its own.
        if retained(object) < options.least_bytes {
            groups
                .entry(heap.class_of(object))
                .or_default()
                .push(object);
        }
    }
    let sum = |objects: &[ObjectId]| {
        objects
            .iter()
            .fold(0, |sum: u64, it| sum.saturating_add(retained(*it)))
    };
    let groups = groups
        .into_iter()
        .map(|(class, objects)| (sum(&objects), class, objects));
    let mut groups: Vec<(u64, ClassId, Vec<ObjectId>)> = groups
        .filter(|(bytes, _, objects)| *bytes >= options.least_bytes && objects.len() > 1)
        .collect();
    groups.sort_by_key(|(bytes, class, _)| (std::cmp::Reverse(*bytes), *class));
    let listed = groups.into_iter().take(options.most);
    let suspect = |(retained_bytes, class, objects): (u64, ClassId, Vec<ObjectId>)| {
        let (count, below) = below(heap, tree, objects.iter().copied());
        Suspect {
            what: What::Group {
                class,
                count: objects.len(),
            },
            retained_bytes,
            objects: count,
            filled_by: Vec::new(),
            below,
            holder: None,
            ways: ways(heap, &objects),
        }
    };
    listed.map(suspect).collect()
}

/// Returns how some objects of a group are held, evenly chosen. The numbers are of all, as far as these tell.
fn ways(heap: &Snapshot, objects: &[ObjectId]) -> Vec<(usize, Path)> {
    let step = objects.len().div_ceil(MOST_PATHS).max(1);
    let some: Vec<ObjectId> = objects.iter().copied().step_by(step).collect();
    let mut visits = heap.visits();
    let trails = shortest_to_each(heap, &mut visits, &Search::everywhere(), &some);
    let paths = trails.into_iter().flatten().map(|it| it.describe(heap));
    // What different static fields hold is not held in the same way, though their paths may look alike.
    let mut by_field: BTreeMap<Option<String>, Vec<Path>> = BTreeMap::new();
    for path in paths {
        let root = path.root.as_ref();
        let root = root.filter(|it| it.kind == RootKind::Static);
        let field = root.map(|it| without_count(&it.name).to_string());
        by_field.entry(field).or_default().push(path);
    }
    let mut ways: Vec<(usize, Path)> = by_field.into_values().flat_map(group).collect();
    ways.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    ways.truncate(MOST_WAYS);
    let scaled = |count: usize| (count * objects.len()).div_ceil(some.len().max(1));
    let ways = ways.into_iter().map(|(count, path)| (scaled(count), path));
    ways.collect()
}

/// The name of a static field without what tells it from one of a class of the same name that another loader has:
/// `Plug.data (2)`.
fn without_count(name: &str) -> &str {
    let count = name.strip_suffix(')').and_then(|it| it.rsplit_once(" ("));
    match count {
        Some((field, count)) if count.bytes().all(|it| it.is_ascii_digit()) => field,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::without_count;

    #[test]
    fn fields_of_classes_of_one_name_are_one() {
        for name in ["Plug.data", "Plug.data (2)", "Plug.data (600)"] {
            assert_eq!(without_count(name), "Plug.data");
        }
        assert_eq!(without_count("Plug.data (x)"), "Plug.data (x)");
    }
}
