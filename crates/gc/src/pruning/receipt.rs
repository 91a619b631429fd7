//! What was pruned, as a value, as a finding and as the error of whoever reads it all the same.

use std::fmt;

use heaphound_heap::assertion::paths_to;
use heaphound_heap::finding::{Evidence, Finding, Severity};
use heaphound_heap::root::RootKind;
use heaphound_heap::view::HeapView;

use crate::error::OutOfMemory;
use crate::findings::Found;
use crate::marking::SiftedType;
use crate::raw::MarkedHeap;

/// What leak pruning has pruned of one type of references: from objects of one class to objects of
/// another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pruned {
    source: String,
    target: String,
    references: usize,
    objects: usize,
    bytes: usize,
    times: u64,
    first: u64,
    last: u64,
    pub(crate) averted: Option<OutOfMemory>,
}

impl Pruned {
    pub(crate) fn nothing_yet(source: &str, target: &str) -> Self {
        Self {
            source: source.into(),
            target: target.into(),
            references: 0,
            objects: 0,
            bytes: 0,
            times: 0,
            first: 0,
            last: 0,
            averted: None,
        }
    }

    pub(crate) fn add(&mut self, it: &SiftedType, collection: u64) {
        self.references += it.references;
        self.objects += it.objects;
        self.bytes += it.bytes;
        if self.times == 0 {
            self.first = collection;
        }
        self.times += 1;
        self.last = collection;
    }

    /// The class of the objects whose references were cut.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The class of the objects that the references led to.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// References that were cut.
    pub fn references(&self) -> usize {
        self.references
    }

    /// Objects that were freed because of it: those that the references led to, and what hung on them
    /// alone.
    pub fn objects(&self) -> usize {
        self.objects
    }

    /// Their bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many collections have pruned such references.
    pub fn times(&self) -> u64 {
        self.times
    }

    /// The number of the first and of the last collection that did, over both kinds.
    pub fn collections(&self) -> (u64, u64) {
        (self.first, self.last)
    }

    /// The error that the program would have got, had nothing been pruned.
    pub fn averted(&self) -> Option<&OutOfMemory> {
        self.averted.as_ref()
    }
}

/// `Order -> Date`.
impl fmt::Display for Pruned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.source, self.target)
    }
}

/// Memory would have been exhausted, and has not been.
pub(super) fn warning(averted: &OutOfMemory) -> Finding {
    Finding::new(
        "out-of-memory-averted",
        Severity::Warning,
        format!(
            "leak pruning keeps the program running, which would soon have ended with: {averted}"
        ),
    )
}

/// What a collection has pruned. References of a type are one finding, however often they are pruned.
pub(super) fn pruned(heap: &MarkedHeap<'_>, all: &Pruned, now: &SiftedType, found: &mut Found<'_>) {
    tell(heap, all, now, ["pruned", "were cut"], found);
}

/// What a collection would have pruned.
pub(super) fn would_prune(
    heap: &MarkedHeap<'_>,
    all: &Pruned,
    now: &SiftedType,
    found: &mut Found<'_>,
) {
    tell(heap, all, now, ["would-prune", "would be cut"], found);
}

fn tell(
    heap: &MarkedHeap<'_>,
    all: &Pruned,
    now: &SiftedType,
    [kind, what]: [&str; 2],
    found: &mut Found<'_>,
) {
    let mut finding = Finding {
        class: Some(all.to_string()),
        ..Finding::new(kind, Severity::Warning, message(all, now, what))
    };
    tracing::info!(heap = heap.heap().id, "{}", finding.message);
    if found.is_new(finding.fingerprint()) {
        describe(heap, now, &mut finding);
        found.add(finding);
    }
}

fn message(all: &Pruned, now: &SiftedType, what: &str) -> String {
    let SiftedType {
        references,
        objects,
        bytes,
        ..
    } = now;
    format!(
        "{references} references {all} {what}, by which {objects} objects of {bytes} bytes are freed"
    )
}

/// Adds where one of the references is.
fn describe(heap: &MarkedHeap<'_>, now: &SiftedType, finding: &mut Finding) {
    let (Some((holder, offset)), Some(stalest)) = (now.sample, now.stalest) else {
        return;
    };
    let holder = heap.object(holder);
    let (paths, _) = paths_to(heap, &[holder]);
    let class = heap.class(heap.class_of(holder));
    let field = class.fields.iter().find(|it| it.offset as usize == offset);
    let place = match field {
        Some(field) => format!("its slot `{}`", field.name),
        None => "an element".into(),
    };
    finding.notes.push(format!(
        "nobody had read them for about {} to {} collections; {place} is one",
        1u32 << now.from.min(7),
        1u32 << stalest,
    ));
    let on_stack = paths.iter().any(|path| {
        let root = path.root.as_ref();
        root.is_some_and(|root| root.kind == RootKind::ThreadStack)
    });
    if on_stack {
        finding.notes.push(
            "a thread's stack holds the object that has it; what the stack itself refers to is never pruned"
                .into(),
        );
    }
    finding.evidence = paths.into_iter().map(Evidence::example).collect();
}
