//! A long warm-up: a server compiles each of its templates when it is first asked for. Some are
//! asked for all the time, most rarely, so that the last come late. Then nothing grows any more;
//! requests go on.

use heaphound::{Header, Local, Managed, Mutator, Ref, RefArray, Slot, Str};

use super::{Each, Work};
use crate::programs::table::HashTable;
use crate::programs::{Outcome, Random};

#[derive(Managed)]
#[repr(C)]
struct Template {
    header: Header,
    source: Ref<Str>,
    parts: Ref<RefArray<Part>>,
}

#[derive(Managed)]
#[repr(C)]
struct Part {
    header: Header,
    number: u64,
    text: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Response {
    header: Header,
    body: Ref<Str>,
    before: Slot<Response>,
}

/// Templates that there are.
const TEMPLATES: u64 = 400;
/// Requests of a round.
const REQUESTS: usize = 60;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let mut outcome = Outcome::default();
    let mut random = Random::new(71);
    let templates = HashTable::new(&mut m);
    m.static_root::<HashTable>("templates")
        .set(&m, Some(&m[templates]));
    let count = TEMPLATES * work.scale as u64;
    for _ in 0..work.rounds {
        for _ in 0..REQUESTS * work.scale {
            let mut m = m.scope();
            // One of the few, or any.
            let which = match random.below(8) {
                0 => random.below(count),
                _ => random.below(1 + count / 50),
            };
            let template = find(&mut m, templates, which);
            outcome.note(respond(&mut m, template));
        }
        each(&mut m);
    }
    outcome
}

/// Returns a template, which is compiled if it was not before.
fn find<'a>(
    m: &mut Mutator<'a>,
    templates: Local<'_, HashTable>,
    which: u64,
) -> Local<'a, Template> {
    if let Some(template) = m[templates].get::<Template>(which) {
        return m.local(template);
    }
    m.scoped(|m| {
        let source = m.alloc_str(&format!("page {which} {{name}} {{date}}"))?;
        let count = 3 + which as usize % 8;
        let parts = m.alloc_refs::<Part>(count)?;
        for number in 0..count {
            let mut m = m.scope();
            let text = m.alloc_str(&format!("part {number} of {which}"))?;
            let number = number as u64;
            let part = m.alloc(PartInit { number, text })?;
            m[parts][number as usize].set(Some(&m[part]));
        }
        let template = m.alloc(TemplateInit { source, parts })?;
        HashTable::insert(m, templates, which, template);
        Ok::<_, heaphound::OutOfMemory>(template)
    })
    .expect("room")
}

/// Fills a template in, part by part.
fn respond(m: &mut Mutator<'_>, template: Local<'_, Template>) -> u64 {
    let mut before: Option<Local<'_, Response>> = None;
    let mut length = 0;
    for place in 0..m[template].parts.get().len() {
        let part = m[template].parts.get()[place].get().expect("compiled");
        let body = format!("{}, {}", part.number, &**part.text.get());
        length += body.len() as u64;
        let body = m.alloc_str(&body).expect("room");
        before = Some(m.alloc(ResponseInit { body, before }).expect("room"));
    }
    length
}
