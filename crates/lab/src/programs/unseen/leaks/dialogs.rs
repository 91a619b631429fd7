//! A window system: each dialog subscribes to some topics of a bus when it opens. Those that are
//! closed by a key, not by their button, should unsubscribe too.

use heaphound::{Local, Mutator, Ref, RefArray, Slot, Str, Var};

use super::*;
use crate::programs::queue::Queue;

class!(Desktop { open: Ref<Queue>, topics: Ref<RefArray<Topic>> });
class!(Topic { events: Var<u64>, first: Slot<Listener> });
class!(Listener { target: Ref<Dialog>, next: Slot<Listener> });
class!(Dialog {
    number: u64,
    /// How many topics it listens to; which is the first goes with its number.
    topics: u64,
    title: Ref<Str>,
    widgets: Slot<Widget>,
});
class!(Widget { clicks: Var<u64>, label: Ref<Str>, next: Slot<Widget> });

const TOPICS: usize = 8;
/// Dialogs that are open, and those that open in a round.
const OPEN: usize = 100;
const NEW: usize = 12;
/// One of this many dialogs is closed by a key.
const BY_KEY: u64 = 6;
/// Lines that are painted in a round.
const PAINTED: usize = 120;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(101), Outcome::default());
    let topics = m.alloc_refs::<Topic>(TOPICS).expect("room");
    for topic in 0..TOPICS {
        let mut m = m.scope();
        let (events, first) = (0, None);
        let made = m.alloc(TopicInit { events, first }).expect("room");
        m[topics][topic].set(Some(&m[made]));
    }
    let open = Queue::new(&mut m);
    let desktop = m.alloc(DesktopInit { open, topics }).expect("room");
    m.static_root::<Desktop>("desktop")
        .set(&m, Some(&m[desktop]));
    for round in 0..work.rounds {
        for _ in 0..NEW * work.scale {
            show(&mut m.scope(), open, topics, &mut random);
        }
        while m[open].len() > OPEN * work.scale {
            let dialog: &Dialog = m[open].pop().expect("it is open");
            outcome.note(dialog.number);
            if !dialog.number.is_multiple_of(BY_KEY) || !work.leak {
                for at in 0..dialog.topics as usize {
                    let topic = topic_of(&m[topics], dialog.number, at);
                    topic.unsubscribe(dialog);
                }
            }
        }
        outcome.note(topic_of(&m[topics], round as u64, 0).publish());
        write_lines(&mut m, PAINTED * work.scale, &mut outcome);
        each(&mut m);
    }
    outcome
}

fn show(
    m: &mut Mutator<'_>,
    open: Local<'_, Queue>,
    topics: Local<'_, RefArray<Topic>>,
    random: &mut Random,
) {
    let number = random.below(1 << 30);
    let title = m.alloc_str(&format!("dialog {number}")).expect("room");
    let mut widgets: Option<Local<'_, Widget>> = None;
    for _ in 0..2 + random.below(7) {
        let label = format!("field {}", random.below(1_000));
        let label = m.alloc_str(&label).expect("room");
        let (clicks, next) = (0, widgets);
        widgets = Some(
            m.alloc(WidgetInit {
                clicks,
                label,
                next,
            })
            .expect("room"),
        );
    }
    let count = 1 + random.index(3);
    let dialog = m.alloc(DialogInit {
        number,
        topics: count as u64,
        title,
        widgets,
    });
    let dialog = dialog.expect("room");
    Queue::push(m, open, dialog);
    for at in 0..count {
        let topic = m.local(topic_of(&m[topics], number, at));
        let target = m.local(&m[dialog]);
        let next = m[topic].first.get().map(|it| m.local(it));
        let listener = m.alloc(ListenerInit { target, next }).expect("room");
        m[topic].first.set(Some(&m[listener]));
    }
}

fn topic_of(topics: &RefArray<Topic>, number: u64, at: usize) -> &Topic {
    let topic = topics[(number as usize + at) % TOPICS].get();
    topic.expect("all are made")
}

impl Topic {
    fn unsubscribe(&self, dialog: &Dialog) {
        let mut slot = &self.first;
        while let Some(listener) = slot.get() {
            if std::ptr::eq(listener.target.get(), dialog) {
                slot.set(listener.next.get());
                return;
            }
            slot = &listener.next;
        }
    }

    /// Notifies all listeners of an event. Returns how many there are.
    fn publish(&self) -> u64 {
        self.events.set(self.events.get() + 1);
        let mut told = 0;
        let mut listener = self.first.get();
        while let Some(it) = listener {
            if let Some(widget) = it.target.get().widgets.get() {
                widget.clicks.set(self.events.get());
            }
            told += 1;
            listener = it.next.get();
        }
        told
    }
}
