//! What a heap consists of, in tables.

use super::page::Page;
use super::table::put as put_table;
use super::{BOLD, DIM, PLAIN};
use crate::figures::count;
use crate::info::{Amount, Info};

/// Puts what a heap consists of.
pub fn put(page: &mut Page, heap: &str, info: &Info) {
    page.put(BOLD, heap);
    page.end();
    if info.total.objects == 0 {
        page.put(PLAIN, "  the heap has no objects");
        page.end();
    }
    let amount = |amount: Amount| vec![count(amount.objects as u64), count(amount.bytes)];
    let rows = [
        ("objects", info.total),
        ("reachable", info.reachable),
        ("unreachable", info.unreachable),
    ];
    let rows = rows.map(|(title, it)| (title.into(), amount(it)));
    put_table(page, &["", "objects", "bytes"], &rows);
    page.put(PLAIN, &format!("  {} edges", count(info.edges as u64)));
    page.end();

    page.end();
    let title = format!("classes ({})", info.class_count);
    let rows = info.classes.iter().map(|class| {
        let reachable = class.reachable_objects as u64;
        let mut numbers = vec![class.bytes, class.objects as u64, reachable];
        numbers.extend(class.retained_bytes);
        let cells = numbers.into_iter().map(count).collect();
        let name = match class.same_name {
            Some(it) => format!("{} ({} of {})", class.name, it.nth, it.of),
            None => class.name.clone(),
        };
        (name, cells)
    });
    let rows: Vec<_> = rows.collect();
    let mut titles = vec![title.as_str(), "bytes", "objects", "reachable"];
    match info.retained {
        None => {}
        Some("exact") => titles.push("retained"),
        // What several instances keep together, and none alone, is not counted.
        Some(_) => titles.push("retained ≥"),
    }
    put_table(page, &titles, &rows);
    if info.classes_left_out > 0 {
        page.put(DIM, &format!("  … and {} more", info.classes_left_out));
        page.end();
    }

    page.end();
    let rows = info.roots.iter().map(|roots| {
        let number = count(roots.count as u64);
        (roots.kind.to_string(), vec![number])
    });
    put_table(page, &["roots", "count"], &rows.collect::<Vec<_>>());

    page.end();
    let rows = info.threads.iter().map(|thread| {
        let stack = count(thread.stack_roots as u64);
        let object = thread.object.clone().unwrap_or("none".into());
        (thread.name.clone(), vec![stack, object])
    });
    let titles = ["threads", "stack roots", "thread object"];
    put_table(page, &titles, &rows.collect::<Vec<_>>());
}
