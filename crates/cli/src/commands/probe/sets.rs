//! Answers that are sets: of objects, threads or references.

use std::collections::BTreeSet;

use heaphound_heap::finding::Evidence;
use heaphound_heap::path::{Search, named};
use heaphound_heap::probe::ProbeError;
use heaphound_heap::root::{Part, RootSet};
use heaphound_heap::set::ObjectSet;
use heaphound_heap::snapshot::ObjectId;
use heaphound_heap::spelling::{root_name, thread_name};
use heaphound_heap::view::{HeapView, Strength};
use heaphound_heap::{Root, RootKind};
use heaphound_report::Members;
use heaphound_report::answer::{Kind, Member};

use super::asking::{Asking, MOST_PATHS};
use super::outcome::{Set, Why};
use crate::listing::{count_of, left_out_note};

pub fn thread_reach(asking: &Asking<'_>, object: ObjectId, avoid: &[ObjectId], part: Part) -> Set {
    let threads = asking.probes.thread_reach(object, avoid, part);
    let listed: Vec<String> = threads.iter().take(asking.limit).cloned().collect();
    let name = asking.name(object);
    let around = asking.around(avoid);
    let (its, their) = match part {
        Part::Stack => (" from its stack", " from their stacks"),
        Part::Object => (" from its thread object", " from their thread objects"),
        Part::Both => ("", ""),
    };
    let message = match threads.len() {
        0 => format!("no thread reaches {name}{its}{around}"),
        1 => format!("1 thread reaches {name}{its}{around}"),
        n => format!("{n} threads reach {name}{their}{around}"),
    };
    let mut why = Why::new(message, &[object]);
    for thread in &listed {
        let trail = asking.probes.thread_path(thread, part, avoid, object);
        why.evidence
            .extend(trail.map(|it| asking.show(thread_name(thread), &it)));
    }
    let members = Members {
        of: Kind::Threads,
        count: threads.len(),
        listed: listed
            .iter()
            .map(|it| Member::from(root_name(it).into_owned()))
            .collect(),
    };
    why.notes.extend(left_out_note(&members));
    why.notes.extend(asking.garbage_notes(&[object]));
    Set { members, why }
}

/// Returns the references that `unique` would invalidate: those of any strength, in roots and in
/// objects that roots keep, those that wait for their finalizers included: a finalizer could read
/// them. `unique` collects first, so references in garbage do not count.
pub fn unique(asking: &Asking<'_>, object: ObjectId) -> Set {
    let own = |root: &Root| {
        root.kind == RootKind::ThreadStack && Some(root.name.as_str()) == asking.asker()
    };
    let mut kept: Option<String> = None;
    let mut references = Vec::new();
    for (root, to) in asking.heap.roots() {
        if *to != object {
            continue;
        }
        match own(root) && kept.is_none() {
            true => kept = Some(root.to_string()),
            false => references.push(root.to_string()),
        }
    }
    let starts: Vec<ObjectId> = asking.heap.roots().iter().map(|(_, to)| *to).collect();
    for from in asking.probes.reach_avoiding(&starts, &[]).iter() {
        asking.heap.for_each_edge(from, |place, strength, to| {
            if to == object {
                let slot = asking.heap.slot_name(from, place);
                let strength = match strength {
                    Strength::Strong => "",
                    Strength::Weak => " (weak)",
                    Strength::Dependent => " (dependent)",
                };
                references.push(format!("{} {slot}{strength}", asking.name(from)));
            }
        });
    }
    let name = asking.name(object);
    let message = match references.len() {
        0 => format!("no reference to {name} would be invalidated"),
        1 => format!("1 reference to {name} would be invalidated"),
        n => format!("{n} references to {name} would be invalidated"),
    };
    let mut why = Why::new(message, &[object]);
    match (asking.asker(), kept) {
        (_, Some(kept)) => why.notes.push(format!("{kept} is kept")),
        (Some(asker), None) => why.notes.push(format!(
            "the stack of {} has no reference to keep",
            thread_name(asker)
        )),
        (None, None) => {}
    }
    why.notes.extend(asking.garbage_notes(&[object]));
    let count = references.len();
    references.truncate(asking.limit);
    let members = Members {
        of: Kind::References,
        count,
        listed: references.into_iter().map(Member::from).collect(),
    };
    why.notes.extend(left_out_note(&members));
    Set { members, why }
}

pub fn running(asking: &Asking<'_>) -> Set {
    let found = asking.probes.running();
    let threads = asking.heap.threads().len();
    // Two threads may have the same object.
    let roots = asking.heap.roots().iter();
    let with = roots.filter(|(root, _)| root.kind == RootKind::ThreadObject);
    let with: BTreeSet<&str> = with.map(|(root, _)| root.name.as_str()).collect();
    let message = match (threads, with.len()) {
        (0, _) => "no thread is running".into(),
        (1, 1) => "1 running thread has a thread object".into(),
        (_, n) => format!("{n} of {threads} running threads have a thread object"),
    };
    objects(asking, found, message)
}

pub fn thread_roots(asking: &Asking<'_>, thread: &str, part: Part) -> Result<Set, ProbeError> {
    let found = asking.probes.thread_roots(thread, part)?;
    let objects_word = count_of(found.len());
    let thread = thread_name(thread);
    let message = match part {
        Part::Stack => format!("the stack of {thread} refers to {objects_word}"),
        _ => format!("the roots of {thread} refer to {objects_word}"),
    };
    Ok(objects(asking, found, message))
}

pub fn reach(asking: &Asking<'_>, from: &[ObjectId], avoid: &[ObjectId]) -> Set {
    let (found, start) = match from {
        [] => {
            let mut starts = Vec::new();
            let all = RootSet::All;
            asking
                .heap
                .for_each_root_target(all, |object| starts.push(object));
            (
                asking.probes.reach_avoiding(&starts, avoid),
                "the roots".into(),
            )
        }
        _ => (
            asking.probes.reach_avoiding(from, avoid),
            asking.names_of(from),
        ),
    };
    let around = asking.around(avoid);
    let verb = if found.len() == 1 { "is" } else { "are" };
    let message = format!(
        "{} {verb} reachable from {start}{around}",
        count_of(found.len())
    );
    objects(asking, found, message)
}

pub fn pred(asking: &Asking<'_>, object: ObjectId) -> Set {
    let found = asking.probes.pred(object);
    let message = asking.referrers(found.len(), object);
    let mut set = objects(asking, found, message);
    set.why.notes.extend(asking.garbage_notes(&[object]));
    set
}

/// Adds a path to each object that a finding is about, where a path exists.
pub fn add_paths(asking: &Asking<'_>, why: &mut Why, members: &Members) {
    let are_members = members.of == Kind::Objects;
    let shown = &why.objects[..why.objects.len().min(MOST_PATHS)];
    let trails = asking.probes.paths_to_each(&Search::everywhere(), shown);
    let paths = trails.iter().flatten().map(|it| match are_members {
        true => asking.way(it),
        false => asking.show("how it is held", it),
    });
    why.evidence = paths.collect::<Vec<Evidence>>();
    let count = shown.len();
    if are_members && members.count > count {
        let paths = format!("paths lead to the first {count} of {}", members.count);
        why.notes.push(paths);
    }
}

fn objects(asking: &Asking<'_>, found: ObjectSet<ObjectId>, message: String) -> Set {
    let listed: Vec<ObjectId> = found.iter().take(asking.limit).collect();
    let members = Members {
        of: Kind::Objects,
        count: found.len(),
        listed: listed
            .iter()
            .map(|it| named(asking.heap, *it).into())
            .collect(),
    };
    let mut why = Why::new(message, &listed);
    why.notes.extend(left_out_note(&members));
    Set { members, why }
}
