//! A simulation of customers in a shop: events in a skew heap, a tree that is always merged, and a
//! population that comes and goes at random.

use heaphound::{Header, Local, Managed, Mutator, Ref, Slot, Str, Var};

use super::{Each, Work};
use crate::programs::{Outcome, Random};

#[derive(Managed)]
#[repr(C)]
struct World {
    header: Header,
    events: Slot<Event>,
}

#[derive(Managed)]
#[repr(C)]
struct Event {
    header: Header,
    time: u64,
    customer: Slot<Visitor>,
    left: Slot<Event>,
    right: Slot<Event>,
}

#[derive(Managed)]
#[repr(C)]
struct Visitor {
    header: Header,
    visits: Var<u64>,
    name: Ref<Str>,
    memory: Slot<Memory>,
}

#[derive(Managed)]
#[repr(C)]
struct Memory {
    header: Header,
    time: u64,
    next: Slot<Memory>,
}

/// Events of a round.
const EVENTS: usize = 250;
/// Visitors to begin with; as many come as go, on average.
const VISITORS: usize = 300;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let mut outcome = Outcome::default();
    let mut random = Random::new(91);
    let world = m.alloc(WorldInit { events: None }).expect("room");
    m.static_root::<World>("world").set(&m, Some(&m[world]));
    let wanted = VISITORS * work.scale;
    for _ in 0..wanted {
        arrive(&mut m.scope(), world, 0, &mut random);
    }
    let mut visitors = wanted;
    for _ in 0..work.rounds {
        for _ in 0..EVENTS * work.scale {
            let mut m = m.scope();
            let event = m[world].events.get().expect("somebody is there");
            m[world]
                .events
                .set(merge(event.left.get(), event.right.get()));
            let now = event.time;
            let visitor = m.local(event.customer.get().expect("an event of somebody"));
            outcome.note(now ^ m[visitor].visits.get());
            m[visitor].visits.set(m[visitor].visits.get() + 1);
            // The fuller it is, the sooner people go.
            let stays = random.index(20 * wanted) > visitors;
            match stays {
                true => {
                    remember(&mut m, visitor, now);
                    schedule(&mut m, world, visitor, now, &mut random);
                }
                false => visitors -= 1,
            }
            if random.below(19) == 0 {
                arrive(&mut m, world, now, &mut random);
                visitors += 1;
            }
        }
        each(&mut m);
    }
    outcome
}

fn arrive(m: &mut Mutator<'_>, world: Local<'_, World>, now: u64, random: &mut Random) {
    let name = format!("visitor {}", random.below(10_000));
    let name = m.alloc_str(&name).expect("room");
    let visitor = m.alloc(VisitorInit {
        visits: 0,
        name,
        memory: None,
    });
    let visitor = visitor.expect("room");
    schedule(m, world, visitor, now, random);
}

/// The last few visits are remembered.
fn remember(m: &mut Mutator<'_>, visitor: Local<'_, Visitor>, time: u64) {
    let next = m[visitor].memory.get().map(|it| m.local(it));
    let memory = m.alloc(MemoryInit { time, next }).expect("room");
    m[visitor].memory.set(Some(&m[memory]));
    let mut last = Some(&m[memory]);
    for _ in 0..5 {
        last = last.and_then(|it| it.next.get());
    }
    if let Some(last) = last {
        last.next.clear();
    }
}

fn schedule(
    m: &mut Mutator<'_>,
    world: Local<'_, World>,
    visitor: Local<'_, Visitor>,
    now: u64,
    random: &mut Random,
) {
    let customer = m.local(&m[visitor]);
    let event = m.alloc(EventInit {
        time: now + 1 + random.below(1_000),
        customer: Some(customer),
        left: None,
        right: None,
    });
    let event = event.expect("room");
    let all = merge(m[world].events.get(), Some(&m[event]));
    m[world].events.set(all);
}

/// Returns all events of two heaps as one, the earliest at the top.
fn merge<'m>(a: Option<&'m Event>, b: Option<&'m Event>) -> Option<&'m Event> {
    // From the top down, the right side of each before its left.
    let mut tops = Vec::new();
    let (mut a, mut b) = (a, b);
    let mut rest = loop {
        let (Some(one), Some(other)) = (a, b) else {
            break a.or(b);
        };
        let (first, second) = match one.time <= other.time {
            true => (one, other),
            false => (other, one),
        };
        tops.push(first);
        (a, b) = (first.right.get(), Some(second));
    };
    while let Some(top) = tops.pop() {
        top.right.set(top.left.get());
        top.left.set(rest);
        rest = Some(top);
    }
    rest
}
