//! Eclipse's comparison editor, bug 115789: each comparison opens an editor on a tree of
//! differences. The navigation history counts who uses an editor's input, and keeps it until
//! nobody does. Where an entry of the history is merged into the one before, as it is when the same
//! editor is visited twice in a row, its use is not counted down.

use heaphound::{Bytes, Header, Local, Managed, Mutator, Ref, RefArray, Slot, Str, Var};

use super::{Each, Work};
use crate::programs::{Outcome, Random};

#[derive(Managed)]
#[repr(C)]
struct NavigationHistory {
    header: Header,
    /// The places that were visited last, a ring.
    entries: Ref<RefArray<HistoryEntry>>,
    next: Var<u64>,
    editors: Slot<EditorInfo>,
}

#[derive(Managed)]
#[repr(C)]
struct HistoryEntry {
    header: Header,
    line: u64,
    info: Ref<EditorInfo>,
}

/// An editor's input, and how many entries of the history refer to it.
#[derive(Managed)]
#[repr(C)]
struct EditorInfo {
    header: Header,
    uses: Var<u64>,
    input: Ref<CompareInput>,
    next: Slot<EditorInfo>,
}

#[derive(Managed)]
#[repr(C)]
struct CompareInput {
    header: Header,
    title: Ref<Str>,
    root: Ref<DiffNode>,
}

#[derive(Managed)]
#[repr(C)]
struct DiffNode {
    header: Header,
    name: Ref<Str>,
    left: Slot<FileContent>,
    right: Slot<FileContent>,
    parent: Slot<DiffNode>,
    children: Slot<RefArray<DiffNode>>,
}

#[derive(Managed)]
#[repr(C)]
struct FileContent {
    header: Header,
    text: Ref<Bytes>,
}

/// Places that the history remembers.
const REMEMBERED: usize = 20;
/// Levels of a tree of differences, and children of a node.
const DEPTH: usize = 3;
const CHILDREN: usize = 3;
/// The longest text of a file.
const TEXT: u64 = 400;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let entries = REMEMBERED * work.scale;
    let entries = m.alloc_refs::<HistoryEntry>(entries).expect("room");
    let history = m.alloc(NavigationHistoryInit {
        entries,
        next: 0,
        editors: None,
    });
    let history = history.expect("room");
    m.static_root::<NavigationHistory>("history")
        .set(&m, Some(&m[history]));
    let mut workbench = Workbench {
        history,
        random: Random::new(9),
        leak: work.leak,
        outcome: Outcome::default(),
    };
    for _ in 0..work.rounds {
        for _ in 0..3 * work.scale {
            workbench.compare(&mut m.scope());
        }
        each(&mut m);
    }
    workbench.outcome
}

struct Workbench<'a> {
    history: Local<'a, NavigationHistory>,
    random: Random,
    leak: bool,
    outcome: Outcome,
}

impl Workbench<'_> {
    /// Compares two versions, looks at some differences and closes the editor.
    fn compare(&mut self, m: &mut Mutator<'_>) {
        let input = self.input(m);
        let next = m[self.history].editors.get().map(|info| m.local(info));
        let info = m.alloc(EditorInfoInit {
            uses: 0,
            input,
            next,
        });
        let info = info.expect("room");
        m[self.history].editors.set(Some(&m[info]));
        for _ in 0..1 + self.random.below(3) {
            self.visit(&mut m.scope(), info);
        }
        self.outcome.note(m[info].uses.get());
    }

    /// Notes a place in the history. Two in a row in one editor are merged.
    fn visit(&mut self, m: &mut Mutator<'_>, info: Local<'_, EditorInfo>) {
        let line = self.random.below(1_000);
        let count = |info: &EditorInfo, by: i64| {
            info.uses.set(info.uses.get().wrapping_add_signed(by));
        };
        count(&m[info], 1);
        let info = m.local(&m[info]);
        let entry = m.alloc(HistoryEntryInit { line, info }).expect("room");
        let history = &m[self.history];
        let entries = history.entries.get();
        let next = history.next.get();
        let at = |number: u64| &entries[number as usize % entries.len()];
        let last = next.checked_sub(1).and_then(|last| at(last).get());
        if last.is_some_and(|last| std::ptr::eq(last.info.get(), &m[info])) {
            at(next - 1).set(Some(&m[entry]));
            // The entry that was there is gone.
            if !self.leak {
                count(&m[info], -1);
            }
            return;
        }
        if let Some(oldest) = at(next).get() {
            let info = oldest.info.get();
            count(info, -1);
            if info.uses.get() == 0 {
                history.forget(info);
            }
        }
        at(next).set(Some(&m[entry]));
        history.next.set(next + 1);
    }

    fn input<'a>(&mut self, m: &mut Mutator<'a>) -> Local<'a, CompareInput> {
        m.scoped(|m| {
            let title = format!("compare {}", self.random.below(1_000));
            let title = m.alloc_str(&title)?;
            let root = self.tree(m, DEPTH);
            m.alloc(CompareInputInit { title, root })
        })
        .expect("room")
    }

    fn tree<'a>(&mut self, m: &mut Mutator<'a>, depth: usize) -> Local<'a, DiffNode> {
        m.scoped(|m| {
            let name = m.alloc_str(&format!("file{}.rs", self.random.below(500)))?;
            let count = match depth {
                0 => 0,
                _ => 1 + self.random.index(CHILDREN),
            };
            let children = m.alloc_refs::<DiffNode>(count)?;
            let left = (depth == 0).then(|| self.content(m));
            let right = (depth == 0).then(|| self.content(m));
            let node = m.alloc(DiffNodeInit {
                name,
                left,
                right,
                parent: None,
                children: (count > 0).then_some(children),
            })?;
            for place in 0..count {
                let mut m = m.scope();
                let child = self.tree(&mut m, depth - 1);
                m[child].parent.set(Some(&m[node]));
                m[children][place].set(Some(&m[child]));
            }
            Ok::<_, heaphound::OutOfMemory>(node)
        })
        .expect("room")
    }

    fn content<'a>(&mut self, m: &mut Mutator<'a>) -> Local<'a, FileContent> {
        m.scoped(|m| {
            let text = vec![b'x'; self.random.below(TEXT) as usize];
            let text = m.alloc_bytes(&text)?;
            m.alloc(FileContentInit { text })
        })
        .expect("room")
    }
}

impl NavigationHistory {
    /// Drops an editor's input that nobody uses.
    fn forget(&self, info: &EditorInfo) {
        let mut slot = &self.editors;
        while let Some(other) = slot.get() {
            if std::ptr::eq(other, info) {
                slot.set(other.next.get());
                return;
            }
            slot = &other.next;
        }
    }
}
