//! EclipseCP, Eclipse's bug 155889: to cut a large text, save, paste it and save again leaks the text. The
//! commands that could be undone hold it, and so do the events of the document.
//!
//! Kept: both lists, which are gone through, while their texts are not read; the same classes of texts in the document
//! and in labels, which are read, labels rarely; and caches that grow slowly, and are in use.

use heaphound::{Bytes, Header, Invalidated, Managed, Mutator, Ref, RefArray, Slot};

use super::{Death, Each, Text, Work, WorkingSet};

#[derive(Managed)]
#[repr(C)]
struct Editor {
    header: Header,
    document: Ref<Text>,
    labels: Ref<RefArray<Text>>,
    undo: Slot<TextCommand>,
    events: Slot<DocumentEvent>,
    cache: Slot<Cached>,
}

#[derive(Managed)]
#[managed(name = "DefaultUndoManager$TextCommand")]
#[repr(C)]
struct TextCommand {
    header: Header,
    text: Ref<Text>,
    before: Slot<TextCommand>,
}

#[derive(Managed)]
#[repr(C)]
struct DocumentEvent {
    header: Header,
    text: Ref<Text>,
    before: Slot<DocumentEvent>,
}

#[derive(Managed)]
#[repr(C)]
struct Cached {
    header: Header,
    data: Ref<Bytes>,
    next: Slot<Cached>,
}

const LABELS: usize = 200;
/// Iterations between two readings of all labels.
const LABELS_READ: u64 = 5;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work<'_>, each: Each<'_>) -> Result<(), Death> {
    let used = WorkingSet::new(m, work)?;
    let labels = m.alloc_refs::<Text>(LABELS)?;
    for place in 0..LABELS {
        let mut m = m.scope();
        let label = Text::new(&mut m, 20)?;
        m[labels][place].set(Some(&m[label]));
    }
    let size = work.part(48, 1);
    let document = Text::new(m, size)?;
    let editor = m.alloc(EditorInit {
        document,
        labels,
        undo: None,
        events: None,
        cache: None,
    })?;
    for iteration in 1u64.. {
        {
            let mut m = m.scope();
            let cut = Text::new(&mut m, size)?;
            let before = m[editor].undo.try_get()?.map(|it| m.local(it));
            let before = before.filter(|_| work.leak);
            let command = m.alloc(TextCommandInit { text: cut, before })?;
            m[editor].undo.set(Some(&m[command]));
            let pasted = Text::new(&mut m, size)?;
            let before = m[editor].events.try_get()?.map(|it| m.local(it));
            let before = before.filter(|_| work.leak);
            let event = m.alloc(DocumentEventInit {
                text: pasted,
                before,
            })?;
            m[editor].events.set(Some(&m[event]));
            m[editor].document.set(&m[pasted]);
            let data = m.alloc_bytes(&vec![0; size / 100])?;
            let next = m[editor].cache.try_get()?.map(|it| m.local(it));
            let next = next.filter(|_| work.leak);
            let cached = m.alloc(CachedInit { data, next })?;
            m[editor].cache.set(Some(&m[cached]));
        }
        m[editor].read(iteration)?;
        m[used].read()?;
        if !each() {
            break;
        }
    }
    Ok(())
}

impl Editor {
    /// Reads what an editor does: all but the texts of commands and events.
    fn read(&self, iteration: u64) -> Result<(), Invalidated> {
        self.document.try_get()?.chars.try_get()?;
        let mut command = self.undo.try_get()?;
        while let Some(it) = command {
            command = it.before.try_get()?;
        }
        let mut event = self.events.try_get()?;
        while let Some(it) = event {
            event = it.before.try_get()?;
        }
        let mut cached = self.cache.try_get()?;
        while let Some(it) = cached {
            it.data.try_get()?;
            cached = it.next.try_get()?;
        }
        if iteration.is_multiple_of(LABELS_READ) {
            for label in self.labels.try_get()?.iter() {
                if let Some(label) = label.try_get()? {
                    label.chars.try_get()?;
                }
            }
        }
        Ok(())
    }
}
