//! Programs that do not leak, though something in them grows for a time.

use super::leaks::resize;
use super::{Kind, Program, Run};
use crate::held_out::sketch::{Id, NULL};

const fn healthy(name: &'static str, run: fn(&mut Run)) -> Program {
    Program {
        name,
        kind: Kind::Healthy,
        run,
    }
}

pub const ALL: [Program; 18] = [
    healthy("a cache fills up, then evicts", |r| {
        sizes(r, |_, step| [100, 200, 300, 300, 300, 300, 300, 300][step]);
    }),
    healthy("warm-up: each step adds half as much", |r| {
        r.steps = 8;
        sizes(r, |_, step| 800 - (800 >> (step + 1)));
    }),
    healthy("saw-tooth with a period of three", |r| {
        r.steps = 8;
        let shift = r.dice.below(3);
        sizes(r, move |r, step| {
            [50, 200, 350][(step + shift) % 3] + r.dice.below(30)
        });
    }),
    healthy("phases of a compiler", phases),
    healthy("a table is resized", |r| {
        let before = 80 + r.dice.below(8);
        sizes(r, move |r, step| before + 4 * step.min(5) + r.dice.below(6));
    }),
    healthy("constant churn", |r| {
        sizes(r, |r, _| r.about(250));
    }),
    healthy("seasonal load", |r| {
        r.steps = 8;
        let shift = r.dice.below(4);
        sizes(r, move |r, step| {
            let load = [100, 220, 300, 220][(step + shift) % 4];
            load + r.dice.below(20)
        });
    }),
    healthy("batches of any size", |r| {
        sizes(r, |r, _| 50 + r.dice.below(350));
    }),
    healthy("a ring buffer of log lines fills", ring_buffer),
    healthy("a cache whose entries expire", |r| {
        // What comes is random, and a third goes.
        let mut size = 200;
        sizes(r, move |r, _| {
            size = size * 2 / 3 + r.dice.below(134);
            size
        });
    }),
    healthy("an archive with a limit", |r| {
        r.steps = 8;
        sizes(r, |r, step| (120 * (step + 1)).min(480) + r.dice.below(4));
    }),
    healthy("a day: more sessions, then fewer", |r| {
        r.steps = 7;
        sizes(r, |r, step| {
            [50, 150, 250, 300, 240, 140, 60][step] + r.dice.below(30)
        });
    }),
    healthy("parts that are made when first used", lazy),
    healthy("an undo history with a limit", bounded_history),
    healthy("a pool at its high-water marks", |r| {
        r.steps = 8;
        sizes(r, |_, step| [100, 100, 140, 140, 140, 180, 180, 180][step]);
    }),
    healthy("names that are swept now and then", |r| {
        r.steps = 8;
        let shift = r.dice.below(4);
        sizes(r, move |r, step| {
            100 * (1 + (step + shift) % 4) + r.dice.below(20)
        });
    }),
    healthy("a feature is loaded once", |r| {
        r.steps = 8;
        sizes(r, |r, step| [100, 500][step / 4] + r.dice.below(10));
    }),
    healthy("two caches share a budget", two_caches),
];

/// A map, which has as many entries at each snapshot as a function says.
fn sizes(r: &mut Run, mut size: impl FnMut(&mut Run, usize) -> usize) {
    let map = r.map();
    let store = r.h.add("Store", &[("entries", map)], &[]);
    r.hold("store", store);
    for step in 0..r.steps {
        let wanted = size(r, step);
        // A third of what was there is replaced.
        let kept = r.map_len(map) * 2 / 3;
        resize(r, map, kept.min(wanted), record);
        resize(r, map, wanted, record);
        r.snapshot();
    }
}

fn record(r: &mut Run) -> Id {
    let bytes = 40 + 8 * r.dice.below(10);
    let body = r.data("Bytes", bytes);
    r.h.add("Record", &[("body", body)], &[])
}

/// Each phase makes what the next one reads, and lets go of what it has read.
fn phases(r: &mut Run) {
    let unit = r.h.add(
        "Unit",
        &[("tree", NULL), ("types", NULL), ("code", NULL)],
        &[],
    );
    r.hold("unit", unit);
    let fill = |r: &mut Run, slot: &'static str, class: &'static str, count: usize| {
        let list = match r.h.at(unit, slot) {
            NULL => r.list(),
            list => list,
        };
        for _ in 0..r.about(count) {
            let part = r.data(class, 48);
            r.list_push(list, part);
        }
        r.h.set(unit, slot, list);
    };
    for step in 0..8 {
        match step {
            0 | 1 => fill(r, "tree", "Syntax", 200),
            2 | 3 => fill(r, "types", "Type", 120),
            4 => {
                r.h.set(unit, "tree", NULL);
                fill(r, "code", "Instruction", 150);
            }
            5 => fill(r, "code", "Instruction", 150),
            6 => r.h.set(unit, "types", NULL),
            _ => {}
        }
        r.snapshot();
    }
}

fn ring_buffer(r: &mut Run) {
    r.steps = 8;
    let lines = r.h.array("Line[]", 512);
    let log = r.h.add("RingLog", &[("lines", lines)], &[]);
    r.hold("log", log);
    let mut at = 0;
    for _ in 0..r.steps {
        for _ in 0..r.about(150) {
            let text = r.text();
            let line = r.h.add("Line", &[("text", text)], &[]);
            r.h.set_element(lines, at % 512, line);
            at += 1;
        }
        r.snapshot();
    }
}

fn lazy(r: &mut Run) {
    r.steps = 8;
    let map = r.map();
    let container = r.h.add("Container", &[("beans", map)], &[]);
    r.hold("container", container);
    for step in 0..r.steps {
        let count = [40, 20, 20, 10, 0, 0, 0, 0][step];
        let wanted = r.map_len(map) + count;
        resize(r, map, wanted, |r| {
            let state = r.data("State", 64);
            r.h.add("Bean", &[("state", state)], &[])
        });
        r.snapshot();
    }
}

fn bounded_history(r: &mut Run) {
    let list = r.list();
    let editor = r.h.add("Editor", &[("history", list)], &[]);
    r.hold("editor", editor);
    let paragraphs = r.list();
    r.hold("document", paragraphs);
    for _ in 0..r.steps {
        for _ in 0..r.about(80) {
            let before = r.data("Before", 64);
            let command = r.h.add("Command", &[("before", before)], &[]);
            r.list_push(list, command);
            if r.list_len(list) > 100 {
                r.list_remove(list, 0);
            }
            let len = r.list_len(paragraphs);
            if len < 100 || r.dice.below(2) == 0 {
                let paragraph = r.data("Paragraph", 120);
                r.list_push(paragraphs, paragraph);
            } else {
                let index = r.dice.below(len);
                r.list_remove(paragraphs, index);
            }
        }
        r.snapshot();
    }
}

fn two_caches(r: &mut Run) {
    r.steps = 8;
    let (images, texts) = (r.map(), r.map());
    let slots = [("images", images), ("texts", texts)];
    let budget = r.h.add("Budget", &slots, &[]);
    r.hold("budget", budget);
    for step in 0..r.steps {
        let share = [100, 160, 220, 280, 220, 160, 100, 160][step];
        resize(r, images, share, |r| r.data("Image", 200));
        resize(r, texts, 380 - share, |r| r.data("Article", 200));
        r.snapshot();
    }
}
