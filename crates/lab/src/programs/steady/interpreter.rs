//! An interpreter of a small functional language: cells, numbers, closures and environments. Each
//! round evaluates a program, some of which remember results in a table that they then drop.

use heaphound::{Header, Local, Managed, Mutator, Object, Ref, Slot};

use super::{Each, Work};
use crate::programs::table::HashTable;
use crate::programs::{Outcome, Random};

/// A pair of a list.
#[derive(Managed)]
#[repr(C)]
struct Cons {
    header: Header,
    head: Ref<Object>,
    tail: Slot<Cons>,
}

#[derive(Managed)]
#[repr(C)]
struct Number {
    header: Header,
    value: i64,
}

/// What variables are bound to, the latest first.
#[derive(Managed)]
#[repr(C)]
struct Environment {
    header: Header,
    variable: u64,
    value: Ref<Object>,
    outer: Slot<Environment>,
}

#[derive(Managed)]
#[repr(C)]
struct Closure {
    header: Header,
    body: u64,
    environment: Slot<Environment>,
}

#[derive(Managed)]
#[repr(C)]
struct Image {
    header: Header,
    globals: Slot<Environment>,
    remembered: Slot<HashTable>,
}

/// Functions that every program begins with.
const GLOBALS: u64 = 200;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let mut outcome = Outcome::default();
    let mut random = Random::new(51);
    let image = m.alloc(ImageInit {
        globals: None,
        remembered: None,
    });
    let image = image.expect("room");
    m.static_root::<Image>("image").set(&m, Some(&m[image]));
    for variable in 0..GLOBALS * work.scale as u64 {
        let mut m = m.scope();
        let environment = m[image].globals.get().map(|it| m.local(it));
        let body = variable;
        let closure = m.alloc(ClosureInit { body, environment }).expect("room");
        let outer = m[image].globals.get().map(|it| m.local(it));
        let value = closure.upcast(&m);
        let bound = m.alloc(EnvironmentInit {
            variable,
            value,
            outer,
        });
        let bound = bound.expect("room");
        m[image].globals.set(Some(&m[bound]));
    }
    for _ in 0..work.rounds {
        let size = (200 + random.below(400)) * work.scale as u64;
        let mut told = m.scope();
        let result = match random.below(3) {
            0 => quicksort(&mut told, size, &mut random),
            1 => remember(&mut told, image, size),
            _ => apply(&mut told, image, size),
        };
        drop(told);
        outcome.note(result);
        each(&mut m);
    }
    outcome
}

fn number<'a>(m: &mut Mutator<'a>, value: i64) -> Local<'a, Object> {
    let number = m.alloc(NumberInit { value }).expect("room");
    number.upcast(m)
}

fn cons<'a>(
    m: &mut Mutator<'a>,
    head: Local<'a, Object>,
    tail: Option<Local<'a, Cons>>,
) -> Local<'a, Cons> {
    m.alloc(ConsInit { head, tail }).expect("room")
}

impl Cons {
    fn value(&self) -> i64 {
        self.head
            .get()
            .downcast::<Number>()
            .expect("a number")
            .value
    }
}

/// Sorts a list of random numbers, in lists.
fn quicksort(m: &mut Mutator<'_>, size: u64, random: &mut Random) -> u64 {
    let mut list = None;
    for _ in 0..size {
        let value = number(m, random.below(10_000) as i64);
        list = Some(cons(m, value, list));
    }
    let sorted = sort(m, list, None);
    let mut sum = 0u64;
    let mut last = i64::MIN;
    let mut next = sorted.map(|it| &m[it]);
    while let Some(cell) = next {
        assert!(cell.value() >= last, "it is sorted");
        last = cell.value();
        sum = sum.wrapping_mul(3).wrapping_add(last as u64);
        next = cell.tail.get();
    }
    sum
}

/// Returns a sorted copy of a list, before another.
fn sort<'a>(
    m: &mut Mutator<'a>,
    list: Option<Local<'_, Cons>>,
    rest: Option<Local<'_, Cons>>,
) -> Option<Local<'a, Cons>> {
    let Some(list) = list else {
        return rest.map(|rest| m.local(&m[rest]));
    };
    let sorted = m.scoped(|m| {
        let (mut less, mut more) = (None, None);
        let pivot = m[list].value();
        let mut next = m[list].tail.get().map(|it| m.local(it));
        while let Some(cell) = next {
            let head = m.local(m[cell].head.get());
            match m[cell].value() < pivot {
                true => less = Some(cons(m, head, less)),
                false => more = Some(cons(m, head, more)),
            }
            next = m[cell].tail.get().map(|it| m.local(it));
        }
        let rest = rest.map(|rest| m.local(&m[rest]));
        let above = sort(m, more, rest);
        let head = m.local(m[list].head.get());
        let middle = cons(m, head, above);
        Ok::<_, heaphound::OutOfMemory>(sort(m, less, Some(middle)).expect("not empty"))
    });
    Some(sorted.expect("room"))
}

/// Fibonacci's numbers, remembered in a table.
fn remember(m: &mut Mutator<'_>, image: Local<'_, Image>, size: u64) -> u64 {
    let table = HashTable::new(m);
    m[image].remembered.set(Some(&m[table]));
    for at in 0..size {
        let mut m = m.scope();
        let before = |back: u64| -> i64 {
            let key = at.checked_sub(back);
            let found = key.and_then(|key| m[table].get::<Number>(key));
            found.map_or(1, |it| it.value)
        };
        let value = before(1).wrapping_add(before(2));
        let number = m.alloc(NumberInit { value }).expect("room");
        HashTable::insert(&mut m, table, at, number);
    }
    let last = m[table].get::<Number>(size - 1).map_or(0, |it| it.value);
    m[image].remembered.clear();
    last as u64
}

/// Applies closures that bind their arguments.
fn apply(m: &mut Mutator<'_>, image: Local<'_, Image>, size: u64) -> u64 {
    let mut sum = 0u64;
    let globals = m.local(m[image].globals.get().expect("some are bound"));
    for call in 0..size / 20 {
        let mut m = m.scope();
        let environment = m.local(&m[globals]);
        for depth in 0..20 {
            let value = number(&mut m, (call * depth) as i64);
            let outer = m.local(&m[environment]);
            let bound = m.alloc(EnvironmentInit {
                variable: depth,
                value,
                outer: Some(outer),
            });
            let bound = bound.expect("room");
            m.set_local(environment, &m[bound]);
        }
        let mut found = Some(&m[environment]);
        while let Some(bound) = found.filter(|it| it.variable != call % 20) {
            found = bound.outer.get();
        }
        let value = found.and_then(|it| it.value.get().downcast::<Number>());
        sum = sum.wrapping_add(value.map_or(0, |it| it.value as u64));
    }
    sum
}
