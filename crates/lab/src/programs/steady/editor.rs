//! A text editor: lines in a list, edits that replace them, and a bounded list of what can be
//! undone. From time to time another file is opened, which may be of any size.

use heaphound::{Header, Local, Managed, Mutator, Ref, RefArray, Slot, Str, Var};

use super::{Each, Work};
use crate::programs::{Outcome, Random};

#[derive(Managed)]
#[repr(C)]
struct Editor {
    header: Header,
    document: Slot<Document>,
    undo: Ref<RefArray<Edit>>,
    edits: Var<u64>,
}

#[derive(Managed)]
#[repr(C)]
struct Document {
    header: Header,
    path: Ref<Str>,
    lines: Ref<RefArray<Line>>,
}

#[derive(Managed)]
#[repr(C)]
struct Line {
    header: Header,
    text: Ref<Str>,
    marks: Slot<Mark>,
}

/// A place of a line that is shown in a colour.
#[derive(Managed)]
#[repr(C)]
struct Mark {
    header: Header,
    from: u64,
    next: Slot<Mark>,
}

#[derive(Managed)]
#[repr(C)]
struct Edit {
    header: Header,
    line: u64,
    before: Slot<Line>,
}

/// Lines of a file, at most.
const LINES: usize = 900;
/// Edits that can be undone.
const UNDO: usize = 250;
/// Edits of a round.
const EDITS: usize = 120;
/// After about this many rounds another file is opened.
const OPENED: u64 = 40;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let mut outcome = Outcome::default();
    let mut random = Random::new(101);
    let undo = m.alloc_refs(UNDO * work.scale).expect("room");
    let editor = m.alloc(EditorInit {
        document: None,
        undo,
        edits: 0,
    });
    let editor = editor.expect("room");
    m.static_root::<Editor>("editor").set(&m, Some(&m[editor]));
    open(&mut m.scope(), editor, work.scale, &mut random);
    for _ in 0..work.rounds {
        if random.below(OPENED) == 0 {
            open(&mut m.scope(), editor, work.scale, &mut random);
        }
        for _ in 0..EDITS * work.scale {
            match random.below(6) {
                0 => undo_one(&m, editor),
                _ => edit(&mut m.scope(), editor, &mut random),
            }
            outcome.note(m[editor].edits.get());
        }
        each(&mut m);
    }
    outcome
}

fn line<'a>(m: &mut Mutator<'a>, random: &mut Random) -> Local<'a, Line> {
    m.scoped(|m| {
        let text = "some words ".repeat(random.index(6));
        let text = m.alloc_str(&text)?;
        let line = m.alloc(LineInit { text, marks: None })?;
        for _ in 0..random.below(4) {
            let mut m = m.scope();
            let next = m[line].marks.get().map(|it| m.local(it));
            let from = random.below(60);
            let mark = m.alloc(MarkInit { from, next })?;
            m[line].marks.set(Some(&m[mark]));
        }
        Ok::<_, heaphound::OutOfMemory>(line)
    })
    .expect("room")
}

fn open(m: &mut Mutator<'_>, editor: Local<'_, Editor>, scale: usize, random: &mut Random) {
    let count = 1 + random.index(LINES * scale);
    let lines = m.alloc_refs::<Line>(count).expect("room");
    for place in 0..count {
        let mut m = m.scope();
        let line = line(&mut m, random);
        m[lines][place].set(Some(&m[line]));
    }
    let path = m.alloc_str(&format!("file {count}")).expect("room");
    let document = m.alloc(DocumentInit { path, lines }).expect("room");
    m[editor].document.set(Some(&m[document]));
    m[editor].undo.get().iter().for_each(|edit| edit.clear());
}

fn edit(m: &mut Mutator<'_>, editor: Local<'_, Editor>, random: &mut Random) {
    let document = m.local(m[editor].document.get().expect("one is open"));
    let at = random.index(m[document].lines.get().len());
    let new = line(m, random);
    let before = m[document].lines.get()[at].get().map(|it| m.local(it));
    let made = m.alloc(EditInit {
        line: at as u64,
        before,
    });
    let made = made.expect("room");
    m[document].lines.get()[at].set(Some(&m[new]));
    let editor = &m[editor];
    let undo = editor.undo.get();
    undo[editor.edits.get() as usize % undo.len()].set(Some(&m[made]));
    editor.edits.set(editor.edits.get() + 1);
}

fn undo_one(m: &Mutator<'_>, editor: Local<'_, Editor>) {
    let editor = &m[editor];
    let Some(last) = editor.edits.get().checked_sub(1) else {
        return;
    };
    let undo = editor.undo.get();
    let slot = &undo[last as usize % undo.len()];
    if let (Some(edit), Some(document)) = (slot.get(), editor.document.get()) {
        document.lines.get()[edit.line as usize].set(edit.before.get());
        slot.clear();
        editor.edits.set(last);
    }
}
