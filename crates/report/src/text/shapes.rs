//! Recursive data structures, in tables.

use super::page::Page;
use super::table::put as put_table;
use super::{BOLD, PLAIN};
use crate::figures::count;
use crate::shapes::{Shapes, Structure};

/// Puts all structures of a heap.
pub fn put(page: &mut Page, heap: &str, shapes: &Shapes) {
    page.put(BOLD, heap);
    page.end();
    let name = |it: &Structure| match &it.through {
        Some(through) => format!("{} through {through}", it.class),
        None => it.class.clone(),
    };
    let rows = shapes.structures.iter().map(|it| {
        let share = it.bytes as f64 * 100.0 / shapes.heap_bytes.max(1) as f64;
        let cells = vec![
            it.looks_like.clone(),
            count(it.objects),
            count(it.bytes),
            format!("{share:.1} %"),
        ];
        (name(it), cells)
    });
    let titles = ["structures", "look like", "objects", "bytes", "of the heap"];
    put_table(page, &titles, &rows.collect::<Vec<_>>());
    if !shapes.structures.is_empty() {
        page.end();
        let rows = shapes.structures.iter().map(|it| {
            let cells = it.incoming.iter().chain(&it.outgoing);
            (name(it), cells.map(|it| count(*it)).collect())
        });
        let titles = [
            "degrees", "in=0", "in=1", "in=2", "in>2", "out=0", "out=1", "out=2", "out>2",
        ];
        put_table(page, &titles, &rows.collect::<Vec<_>>());
    }
    for it in &shapes.structures {
        if let Some(slots) = it.dictionary {
            page.end();
            let (name, slots) = (&it.class, count(slots as u64));
            let line = format!(
                "{name} has {slots} slots and is taken for a dictionary: they are not told apart"
            );
            page.put(PLAIN, &line);
            page.end();
        }
    }
    if let Some(learnt) = &shapes.learnt {
        page.end();
        let how = match learnt.merged {
            true => "added to",
            false => "wrote",
        };
        let line = format!("{how} {}: {}", learnt.profile, kinds(learnt.structures));
        page.put(PLAIN, &line);
        page.end();
    }
    if let Some(tested) = &shapes.tested {
        page.end();
        let line = format!(
            "compared with {}: {}",
            tested.profile,
            kinds(tested.structures)
        );
        page.put(PLAIN, &line);
        page.end();
        if !tested.unknown.is_empty() {
            let line = format!("  not in it: {}", tested.unknown.join(", "));
            page.put(PLAIN, &line);
            page.end();
        }
        if !tested.absent.is_empty() {
            let line = format!("  not in the heap: {}", tested.absent.join(", "));
            page.put(PLAIN, &line);
            page.end();
        }
    }
}

fn kinds(count: usize) -> String {
    match count {
        1 => "1 kind of structure".into(),
        count => format!("{count} kinds of structures"),
    }
}
