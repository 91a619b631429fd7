//! Answers that are yes or no, and the paths that prove them.

use heaphound_heap::RootKind;
use heaphound_heap::finding::Evidence;
use heaphound_heap::path::{Origin, Search, Trail};
use heaphound_heap::probe::ProbeError;
use heaphound_heap::root::Part;
use heaphound_heap::snapshot::ObjectId;
use heaphound_heap::spelling::thread_name;
use heaphound_heap::view::HeapView;

use super::asking::{Asking, MOST_PATHS};
use super::outcome::{Truth, Why};

pub fn is_heap(asking: &Asking<'_>, object: ObjectId) -> Truth {
    let (count, why) = referrers(asking, object);
    Truth {
        kind: "referenced",
        yes: count >= 1,
        why,
    }
}

pub fn is_shared(asking: &Asking<'_>, object: ObjectId) -> Truth {
    let (count, why) = referrers(asking, object);
    Truth {
        kind: "shared",
        yes: count >= 2,
        why,
    }
}

/// Returns how many objects refer to an object, and shows a path through each.
fn referrers(asking: &Asking<'_>, object: ObjectId) -> (usize, Why) {
    let all = asking.probes.pred(object);
    let mut why = Why::new(asking.referrers(all.len(), object), &[object]);
    let shown = &all.as_slice()[..all.len().min(MOST_PATHS)];
    let trails = asking.probes.paths_to_each(&Search::everywhere(), shown);
    for mut trail in trails.into_iter().flatten() {
        extend(asking, &mut trail, object);
        why.evidence.push(asking.way(&trail));
    }
    if all.len() > MOST_PATHS {
        let more = all.len() - MOST_PATHS;
        why.notes
            .push(format!("{more} more are not shown; `pred` lists them"));
    }
    // An object to which no object refers may still be held by a root.
    if all.is_empty()
        && let Some(trail) = asking.probes.path(&Search::everywhere(), object)
    {
        why.evidence.push(asking.show("only roots do", &trail));
    }
    why.notes.extend(asking.garbage_notes(&[object]));
    (all.len(), why)
}

/// Adds the step to `to` at the end of a path.
fn extend(asking: &Asking<'_>, trail: &mut Trail<ObjectId>, to: ObjectId) {
    let last = *trail.objects.last().expect("a path has an object");
    let mut place = None;
    asking.heap.for_each_strong_edge(last, |at, target| {
        if target == to {
            place.get_or_insert(at);
        }
    });
    trail.places.extend(place);
    trail.objects.extend(place.map(|_| to));
}

pub fn is_reachable(asking: &Asking<'_>, [a, b]: [ObjectId; 2]) -> Truth {
    let (from, to) = (asking.name(a), asking.name(b));
    let yes = asking.probes.is_reachable(a, b);
    let mut why = match yes {
        true => Why::new(format!("{to} is reachable from {from}"), &[a, b]),
        false => Why::new(format!("no path leads from {from} to {to}"), &[a, b]),
    };
    why.evidence.extend(way_between(asking, a, &[], b));
    why.notes = asking.garbage_notes(&[a, b]);
    Truth {
        kind: "reachable",
        yes,
        why,
    }
}

/// Returns a path from an object to another that passes none of `avoid`.
fn path_between(
    asking: &Asking<'_>,
    from: ObjectId,
    avoid: &[ObjectId],
    to: ObjectId,
) -> Option<Trail<ObjectId>> {
    let search = Search {
        from: Origin::Objects(&[from]),
        avoid,
    };
    asking.probes.path(&search, to)
}

/// The same, as evidence.
fn way_between(
    asking: &Asking<'_>,
    from: ObjectId,
    avoid: &[ObjectId],
    to: ObjectId,
) -> Option<Evidence> {
    let trail = path_between(asking, from, avoid, to)?;
    Some(asking.way(&trail))
}

pub fn is_disjoint(asking: &Asking<'_>, [a, b]: [ObjectId; 2]) -> Truth {
    let names = [asking.name(a), asking.name(b)];
    let common = asking.probes.common(a, b);
    let why = match common {
        None => {
            let message = format!(
                "nothing is reachable from both {} and {}",
                names[0], names[1]
            );
            Why::new(message, &[a, b])
        }
        Some(common) => {
            let name = asking.name(common);
            let message = format!(
                "{name} is reachable from both {} and {}",
                names[0], names[1]
            );
            let mut why = Why::new(message, &[a, b, common]);
            for (from, name) in [a, b].into_iter().zip(names) {
                let label = format!("from {name}");
                let trail = path_between(asking, from, &[], common);
                why.evidence.extend(trail.map(|it| asking.show(label, &it)));
            }
            why
        }
    };
    Truth {
        kind: "disjoint",
        yes: common.is_none(),
        why,
    }
}

pub fn is_unique_owner(asking: &Asking<'_>, owner: ObjectId) -> Truth {
    let name = asking.name(owner);
    let yes = asking.probes.is_unique_owner(owner);
    let mut why = if yes {
        let count = asking.probes.reach(owner).len() - 1;
        let message = match count {
            0 => format!("{name} reaches nothing but itself"),
            1 => format!("{name} dominates the 1 object that it reaches"),
            n => format!("{name} dominates all {n} objects that it reaches"),
        };
        Why::new(message, &[owner])
    } else {
        let free = asking.probes.not_owned(owner);
        let shown = &free.as_slice()[..free.len().min(MOST_PATHS)];
        let objects = if free.len() == 1 { "object" } else { "objects" };
        let message = format!(
            "{name} reaches {} {objects} that it does not dominate",
            free.len()
        );
        let mut why = Why::new(message, &[owner]);
        let search = Search {
            from: Origin::Roots(asking.others()),
            avoid: &[owner],
        };
        let trails = asking.probes.paths_to_each(&search, shown);
        for (object, trail) in shown.iter().zip(trails) {
            why.objects.push(*object);
            let label = format!("to {} around {name}", asking.name(*object));
            why.evidence.extend(trail.map(|it| asking.show(label, &it)));
        }
        if free.len() > MOST_PATHS {
            let more = free.len() - MOST_PATHS;
            why.notes.push(format!("{more} more of them are not shown"));
        }
        why
    };
    why.notes.extend(uncounted_note(asking));
    why.notes.extend(asking.garbage_notes(&[owner]));
    Truth {
        kind: "unique-owner",
        yes,
        why,
    }
}

/// Returns a note that says which paths do not count, if some do not.
fn uncounted_note(asking: &Asking<'_>) -> Option<String> {
    let asker = asking.asker()?;
    Some(format!(
        "paths from the stack of {}, which asks, do not count",
        thread_name(asker)
    ))
}

pub fn reach_through(asking: &Asking<'_>, [a, b]: [ObjectId; 2], cut: &[ObjectId]) -> Truth {
    let (from, to) = (asking.name(a), asking.name(b));
    let names = asking.names_of(cut);
    let yes = asking.probes.reach_through(a, cut, b);
    let objects: Vec<ObjectId> = [a, b].iter().chain(cut).copied().collect();
    let through = way_between(asking, a, &[], b);
    let mut why = match (yes, &through) {
        (true, Some(_)) => {
            let message = format!("every path from {from} to {to} meets {names}");
            Why::new(message, &objects)
        }
        (true, None) => {
            let message = format!("no path leads from {from} to {to} at all");
            Why::new(message, &objects)
        }
        (false, _) => {
            let message = format!("a path leads from {from} to {to} around {names}");
            Why::new(message, &objects)
        }
    };
    why.evidence.extend(match yes {
        true => through,
        false => way_between(asking, a, cut, b),
    });
    Truth {
        kind: "reached-through",
        yes,
        why,
    }
}

pub fn dom(asking: &Asking<'_>, [a, b]: [ObjectId; 2], kind: &'static str) -> Truth {
    let (above, below) = (asking.name(a), asking.name(b));
    let yes = asking.probes.dom(a, b);
    let inside = way_between(asking, a, &[], b);
    let mut why;
    if yes {
        let message = format!("every path from a root to {below} passes {above}");
        why = Why::new(message, &[a, b]);
        why.evidence.extend(inside);
    } else if inside.is_none() {
        let message = format!("no path leads from {above} to {below}");
        why = Why::new(message, &[a, b]);
        let held = asking.probes.path(&Search::everywhere(), b);
        why.evidence
            .extend(held.map(|it| asking.show("it is held", &it)));
    } else {
        let message = format!("a path leads to {below} around {above}");
        why = Why::new(message, &[a, b]);
        let around = asking.probes.bypass(a, b);
        why.evidence.extend(around.map(|it| asking.way(&it)));
    }
    why.notes.extend(uncounted_note(asking));
    why.notes.extend(asking.garbage_notes(&[a, b]));
    Truth { kind, yes, why }
}

pub fn is_thread_owned(
    asking: &Asking<'_>,
    object: ObjectId,
    part: Part,
) -> Result<Truth, ProbeError> {
    let asker = asking.asker().ok_or(ProbeError::NobodyAsks)?;
    if part == Part::Object {
        let thread = asking.probes.thread_object(asker)?;
        return Ok(dom(asking, [thread, object], "thread-object-owned"));
    }
    let name = asking.name(object);
    let (kind, who) = match part {
        Part::Stack => (
            "thread-stack-owned",
            format!("the stack of {}", thread_name(asker)),
        ),
        _ => ("thread-owned", thread_name(asker)),
    };
    let yes = asking.probes.is_thread_owned(object, part)?;
    let own = asking.probes.thread_path(asker, part, &[], object);
    let message = match (yes, &own) {
        (true, _) => format!("only {who} reaches {name}"),
        (false, Some(_)) => format!("not only {who} reaches {name}"),
        (false, None) => format!("{who} does not reach {name}"),
    };
    let mut why = Why::new(message, &[object]);
    match yes {
        true => why.evidence.extend(own.map(|it| asking.way(&it))),
        false => why.evidence = others_who_reach(asking, asker, object, part),
    }
    if why.evidence.len() > MOST_PATHS {
        why.evidence.truncate(MOST_PATHS);
        why.notes.push(format!(
            "others reach it, too: the first {MOST_PATHS} are shown"
        ));
    }
    why.notes.extend(asking.garbage_notes(&[object]));
    Ok(Truth { kind, yes, why })
}

/// Returns a path from each root or thread, except the asker, that reaches an object. Stops when
/// there is one path more than an answer shows.
fn others_who_reach(
    asking: &Asking<'_>,
    asker: &str,
    object: ObjectId,
    part: Part,
) -> Vec<Evidence> {
    let mut found = Vec::new();
    found.extend(path_from_kind(asking, RootKind::Static, object));
    for thread in asking.heap.threads() {
        let (part, who) = match (thread == asker, part) {
            (false, _) => (Part::Both, format!("{} reaches it", thread_name(thread))),
            (true, Part::Stack) => (Part::Object, "its own thread object reaches it".into()),
            (true, _) => continue,
        };
        let trail = asking.probes.thread_path(thread, part, &[], object);
        found.extend(trail.map(|it| asking.show(who, &it)));
        if found.len() > MOST_PATHS {
            return found;
        }
    }
    found.extend(path_from_kind(asking, RootKind::Handle, object));
    found.extend(path_from_kind(asking, RootKind::Other, object));
    found
}

/// Returns a path from a root of a kind that belongs to no thread.
fn path_from_kind(asking: &Asking<'_>, kind: RootKind, object: ObjectId) -> Option<Evidence> {
    let of_kind = || {
        asking
            .heap
            .roots()
            .iter()
            .filter(|(root, _)| root.kind == kind)
    };
    let starts: Vec<ObjectId> = of_kind().map(|(_, object)| *object).collect();
    let search = Search {
        from: Origin::Objects(&starts),
        avoid: &[],
    };
    let mut trail = asking.probes.path(&search, object)?;
    let root = of_kind().find(|(_, object)| *object == trail.objects[0]);
    trail.root = root.map(|(root, _)| root.clone());
    let label = match kind {
        RootKind::Static => "a static reaches it",
        RootKind::Handle => "a handle reaches it",
        _ => "the runtime holds it",
    };
    Some(asking.show(label, &trail))
}
