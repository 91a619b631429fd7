//! A formatter that lays out a long document, page after page: a tree of areas for each page,
//! which is printed when it is full. The document's outline and its fonts stay; the pages should
//! not.

use heaphound::{Header, Local, Managed, Mutator, Ref, Slot, Str, Var};

use super::{Each, Work};
use crate::programs::table::HashTable;
use crate::programs::{Outcome, Random};

#[derive(Managed)]
#[repr(C)]
struct AreaTree {
    header: Header,
    first: Slot<Page>,
    last: Slot<Page>,
    fonts: Ref<HashTable>,
}

#[derive(Managed)]
#[repr(C)]
struct Page {
    header: Header,
    number: u64,
    height: Var<u64>,
    body: Slot<Area>,
    next: Slot<Page>,
}

/// A block, a line or a word.
#[derive(Managed)]
#[repr(C)]
struct Area {
    header: Header,
    width: Var<u64>,
    font: Slot<Font>,
    text: Slot<Str>,
    parent: Slot<Area>,
    first: Slot<Area>,
    next: Slot<Area>,
}

#[derive(Managed)]
#[repr(C)]
struct Font {
    header: Header,
    name: Ref<Str>,
    widths: Ref<heaphound::PlainArray<u64>>,
}

/// Fonts of a document.
const FONTS: u64 = 12;
/// The height of a page, in lines.
const PAGE: u64 = 30;
/// Pages that are being laid out until the ones before are known to be final.
const OPEN_PAGES: usize = 3;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let fonts = HashTable::new(&mut m);
    let tree = m.alloc(AreaTreeInit {
        first: None,
        last: None,
        fonts,
    });
    let tree = tree.expect("room");
    m.static_root::<AreaTree>("areas").set(&m, Some(&m[tree]));
    for number in 0..FONTS {
        let mut m = m.scope();
        let name = m.alloc_str(&format!("font {number}")).expect("room");
        let widths = m.alloc_plain(128, number).expect("room");
        let font = m.alloc(FontInit { name, widths }).expect("room");
        HashTable::insert(&mut m, fonts, number, font);
    }
    let mut press = Press {
        tree,
        random: Random::new(7),
        pages: 0,
        leak: work.leak,
        outcome: Outcome::default(),
    };
    for _ in 0..work.rounds {
        for _ in 0..2 * work.scale {
            press.page(&mut m.scope());
        }
        each(&mut m);
    }
    press.outcome
}

struct Press<'a> {
    tree: Local<'a, AreaTree>,
    random: Random,
    pages: u64,
    leak: bool,
    outcome: Outcome,
}

impl Press<'_> {
    fn page(&mut self, m: &mut Mutator<'_>) {
        let page = m.alloc(PageInit {
            number: self.pages,
            height: 0,
            body: None,
            next: None,
        });
        let page = page.expect("room");
        self.pages += 1;
        match m[self.tree].last.get() {
            Some(last) => last.next.set(Some(&m[page])),
            None => m[self.tree].first.set(Some(&m[page])),
        }
        m[self.tree].last.set(Some(&m[page]));
        let body = self.area(m, None, None);
        m[page].body.set(Some(&m[body]));
        while m[page].height.get() < PAGE {
            let lines = 1 + self.random.below(8);
            self.block(&mut m.scope(), body, lines);
            m[page].height.set(m[page].height.get() + lines);
        }
        self.print(m);
    }

    fn block(&mut self, m: &mut Mutator<'_>, body: Local<'_, Area>, lines: u64) {
        let block = self.area(m, Some(body), None);
        for _ in 0..lines {
            let mut m = m.scope();
            let line = self.area(&mut m, Some(block), None);
            for _ in 0..4 + self.random.below(5) {
                let mut m = m.scope();
                // What is measured on the way is not kept.
                let draft = format!("w{}", self.random.skewed(1 << 40));
                m.alloc_str(&draft.repeat(3)).expect("room");
                let text = m.alloc_str(&draft).expect("room");
                self.area(&mut m, Some(line), Some(text));
            }
        }
    }

    fn area<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        parent: Option<Local<'_, Area>>,
        text: Option<Local<'_, Str>>,
    ) -> Local<'a, Area> {
        let font = self.random.below(FONTS);
        let font = m[self.tree].fonts.get().get::<Font>(font);
        let font = text.and(font).map(|font| m.local(font));
        let next = parent.and_then(|parent| m[parent].first.get());
        let next = next.map(|next| m.local(next));
        let width = text.map_or(0, |text| m[text].len() as u64);
        let init = AreaInit {
            width,
            font: font.map(|it| m.local(&m[it])),
            text: text.map(|it| m.local(&m[it])),
            parent: parent.map(|it| m.local(&m[it])),
            first: None,
            next,
        };
        let area = m.alloc(init).expect("room");
        if let Some(parent) = parent {
            m[parent].first.set(Some(&m[area]));
            m[parent].width.set(m[parent].width.get() + width);
        }
        area
    }

    /// Prints what is final, and should forget it.
    fn print(&mut self, m: &Mutator<'_>) {
        let tree = &m[self.tree];
        let mut page = tree.first.get();
        while let Some(done) = page {
            if done.number as usize + OPEN_PAGES > self.pages as usize {
                break;
            }
            if done.number as usize + OPEN_PAGES == self.pages as usize {
                let width = done.body.get().map_or(0, |body| body.width.get());
                self.outcome.note(width);
            }
            page = done.next.get();
            if !self.leak {
                tree.first.set(page);
            }
        }
    }
}
