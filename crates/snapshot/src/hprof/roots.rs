//! Roots: static fields, threads and what they have on their stacks, and what the virtual machine holds.

use std::collections::{BTreeMap, HashMap, HashSet};

use heaphound_heap::snapshot::{Addresses, ObjectId};
use heaphound_heap::{Root, RootKind};

use super::classes::Classes;
use super::outline::Outline;
use super::peek::Peek;
use super::walker::{ClassRecord, Hold, RootRecord};
use crate::budget::Budget;

/// All roots, and the threads.
#[derive(Debug, Default)]
pub struct Roots {
    pub roots: Vec<(Root, ObjectId)>,
    pub threads: Vec<String>,
    /// Roots whose object the dump does not have.
    pub dangling: u64,
}

/// There are more roots than fit memory.
pub struct TooMany;

impl Roots {
    pub fn new(
        records: &[RootRecord],
        classes: (&[ClassRecord], &Classes),
        outline: &Outline,
        addresses: &Addresses,
        peek: &Peek<'_>,
        budget: &mut Budget,
    ) -> Result<Self, TooMany> {
        let mut roots = Self::default();
        roots.add_statics(classes, outline, addresses, budget)?;
        let threads = Threads::new(records, peek);
        roots.threads = threads
            .by_number
            .values()
            .map(|it| it.name.clone())
            .collect();
        // How many roots there are of a kind and name.
        let mut counts: HashMap<(RootKind, &str), u32> = HashMap::new();
        for record in records {
            let Some(object) = addresses.find(record.id) else {
                roots.dangling += (record.id != 0) as u64;
                continue;
            };
            let (kind, name) = match record.hold {
                Hold::Thread => (RootKind::ThreadObject, ""),
                Hold::JavaFrame
                | Hold::JniLocal
                | Hold::NativeStack
                | Hold::ThreadBlock
                | Hold::JniMonitor => (RootKind::ThreadStack, ""),
                Hold::JniGlobal => (RootKind::Handle, "jni-global"),
                Hold::StickyClass => (RootKind::Other, "system-class"),
                Hold::Monitor => (RootKind::Other, "monitor"),
                Hold::InternedString => (RootKind::Other, "interned-string"),
                Hold::Finalizing => (RootKind::Finalizer, "finalizing"),
                Hold::Debugger => (RootKind::Other, "debugger"),
                Hold::ReferenceCleanup => (RootKind::Other, "reference-cleanup"),
                Hold::VmInternal => (RootKind::Other, "vm-internal"),
                Hold::Unknown => (RootKind::Other, "unknown"),
            };
            let thread = threads.by_number.get(&record.thread);
            let name = match (name, thread) {
                ("", Some(thread)) => &thread.name,
                (name, _) => name,
            };
            let count = counts.entry((kind, name)).or_default();
            let index = *count;
            *count += 1;
            if kind == RootKind::ThreadObject && index > 0 {
                continue;
            }
            let scope = match kind {
                RootKind::ThreadStack => scope_of(record, thread, outline),
                _ => None,
            };
            let letters = name.len() + scope.as_ref().map_or(0, String::len);
            if !budget.spend(size_of::<Root>() + 64 + letters) {
                return Err(TooMany);
            }
            let root = Root {
                kind,
                name: name.into(),
                index,
                scope,
            };
            roots.roots.push((root, ObjectId(object)));
        }
        Ok(roots)
    }

    /// Adds what static fields refer to: `static:shop.Till.open`.
    fn add_statics(
        &mut self,
        (records, classes): (&[ClassRecord], &Classes),
        outline: &Outline,
        addresses: &Addresses,
        budget: &mut Budget,
    ) -> Result<(), TooMany> {
        let mut known = HashSet::new();
        for (record, info) in records.iter().zip(&classes.infos) {
            for &(field, _, target) in record.statics.iter().filter(|it| it.2 != 0) {
                let Some(object) = addresses.find(target) else {
                    self.dangling += 1;
                    continue;
                };
                let field = outline.name(field).unwrap_or_else(|| format!("{field:#x}"));
                let name = unlike(format!("{}.{field}", info.name), &mut known);
                if !budget.spend(size_of::<Root>() + 2 * name.len() + 64) {
                    return Err(TooMany);
                }
                let root = Root::new(RootKind::Static, &name);
                self.roots.push((root, ObjectId(object)));
            }
        }
        Ok(())
    }
}

/// The frame that holds a local.
fn scope_of(record: &RootRecord, thread: Option<&Thread>, outline: &Outline) -> Option<String> {
    let frame = thread.and_then(|it| outline.frame(it.trace?, record.frame));
    match (record.hold, frame) {
        (Hold::JniLocal, Some(frame)) => Some(format!("JNI local of {frame}")),
        (Hold::JniLocal, None) => Some("JNI local".into()),
        (Hold::NativeStack, _) => Some("native stack".into()),
        (Hold::JniMonitor, _) => Some("JNI monitor".into()),
        (Hold::ThreadBlock, _) => Some("thread block".into()),
        (_, frame) => frame,
    }
}

/// A name that no other has: with a number if need be, as two class loaders may have classes of one name.
fn unlike(name: String, known: &mut HashSet<String>) -> String {
    let mut unlike = name.clone();
    let mut more = 2;
    while known.contains(&unlike) {
        unlike = format!("{name} ({more})");
        more += 1;
    }
    known.insert(unlike.clone());
    unlike
}

/// The threads of a dump.
struct Threads {
    by_number: BTreeMap<u32, Thread>,
}

struct Thread {
    name: String,
    trace: Option<u32>,
}

impl Threads {
    fn new(records: &[RootRecord], peek: &Peek<'_>) -> Self {
        let objects = records.iter().filter(|it| it.hold == Hold::Thread);
        let ids: Vec<u64> = objects.clone().map(|it| it.id).collect();
        let names = peek.thread_names(&ids);
        let mut known = HashSet::new();
        let mut by_number = BTreeMap::new();
        for record in objects {
            let number = record.thread;
            by_number.entry(number).or_insert_with(|| {
                let name = names.get(&record.id).filter(|it| !it.is_empty());
                let name = name.cloned().unwrap_or_else(|| format!("thread-{number}"));
                Thread {
                    name: unlike(name, &mut known),
                    trace: Some(record.frame),
                }
            });
        }
        // Some have a stack and no object.
        for record in records {
            let of_stack = matches!(
                record.hold,
                Hold::JavaFrame
                    | Hold::JniLocal
                    | Hold::NativeStack
                    | Hold::ThreadBlock
                    | Hold::JniMonitor
            );
            if of_stack {
                by_number.entry(record.thread).or_insert_with(|| Thread {
                    name: unlike(format!("thread-{}", record.thread), &mut known),
                    trace: None,
                });
            }
        }
        Self { by_number }
    }
}
