//! Checks that use the heap they observe, or panic, and collections
//! that have other things to do as well.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use heaphound::finding::Finding;
use heaphound::{
    Check, Heap, MarkedHeap, Registration, check::Counted, check::Found, check::Needs,
};

/// An observer that does something.
struct Doing<F>(F);

impl<F: FnMut(&Counted<'_>) -> Vec<Finding> + Send> Check for Doing<F> {
    fn needs(&mut self) -> Needs {
        Needs::summary()
    }

    fn conclude(&mut self, _: &MarkedHeap<'_>, counted: &Counted<'_>, found: &mut Found<'_>) {
        (self.0)(counted).into_iter().for_each(|it| found.add(it));
    }
}

/// Fails if it takes long: a thread that waits for itself waits for ever.
fn soon(work: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let worker = thread::spawn(move || {
        work();
        done.send(()).unwrap();
    });
    match wait.recv_timeout(Duration::from_secs(120)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it waits for itself"),
        _ => worker.join().unwrap(),
    }
}

fn collect(heap: &Heap) {
    heap.attach("main").unwrap().collect();
}

#[test]
fn an_observer_asks_for_the_last_summary() {
    soon(|| {
        let heap = Arc::new(Heap::builder().build().unwrap());
        let (inner, seen) = (heap.clone(), Arc::new(Mutex::new(Vec::new())));
        let told = seen.clone();
        let watch = heap.watch(
            Box::new(Doing(move |_: &Counted<'_>| {
                let last = inner.summary().map(|it| it.collection);
                told.lock().unwrap().push(last);
                Vec::new()
            })),
            None,
        );
        collect(&heap);
        collect(&heap);
        drop(watch);
        assert_eq!(*seen.lock().unwrap(), [None, Some(1)]);
    });
}

#[test]
fn an_observer_reads_findings() {
    soon(|| {
        let heap = Arc::new(Heap::builder().build().unwrap());
        let inner = heap.clone();
        let watch = heap.watch(
            Box::new(Doing(move |_: &Counted<'_>| {
                assert!(inner.findings().is_empty());
                Vec::new()
            })),
            None,
        );
        collect(&heap);
        drop(watch);
        assert!(heap.findings().is_empty());
    });
}

#[test]
fn an_observer_lets_go_of_itself_and_registers_another() {
    soon(|| {
        let heap = Arc::new(Heap::builder().build().unwrap());
        let own: Arc<Mutex<Option<Registration>>> = Arc::default();
        let other: Arc<Mutex<Option<Registration>>> = Arc::default();
        let calls = Arc::new(Mutex::new((0, 0)));
        let (inner, me, next, count) = (heap.clone(), own.clone(), other.clone(), calls.clone());
        let watch = heap.watch(
            Box::new(Doing(move |_: &Counted<'_>| {
                count.lock().unwrap().0 += 1;
                drop(me.lock().unwrap().take());
                let count = count.clone();
                let another = Doing(move |_: &Counted<'_>| {
                    count.lock().unwrap().1 += 1;
                    Vec::new()
                });
                *next.lock().unwrap() = Some(inner.watch(Box::new(another), None));
                Vec::new()
            })),
            None,
        );
        *own.lock().unwrap() = Some(watch);
        collect(&heap);
        assert_eq!(*calls.lock().unwrap(), (1, 0));
        collect(&heap);
        assert_eq!(*calls.lock().unwrap(), (1, 1));
        drop(other.lock().unwrap().take());
        collect(&heap);
        assert_eq!(*calls.lock().unwrap(), (1, 1));
    });
}

/// Panics when it is asked, with something that panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

struct Unwilling;

impl Check for Unwilling {
    fn needs(&mut self) -> Needs {
        panic!("I will not say")
    }

    fn conclude(&mut self, _: &MarkedHeap<'_>, _: &Counted<'_>, _: &mut Found<'_>) {}
}

#[test]
fn an_observer_that_panics_when_it_is_asked_is_told_of() {
    soon(|| {
        let heap = Arc::new(Heap::builder().build().unwrap());
        heap.watch(Box::new(Unwilling), None).keep();
        collect(&heap);
        let found = heap.findings();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].finding.kind, "check-panicked");
    });
}

#[test]
fn what_an_observer_panics_with_may_panic_too() {
    soon(|| {
        let heap = Arc::new(Heap::builder().build().unwrap());
        let bomb = Doing(|_: &Counted<'_>| std::panic::panic_any(Bomb));
        heap.watch(Box::new(bomb), None).keep();
        collect(&heap);
        collect(&heap);
        assert_eq!(heap.findings().len(), 1);
        assert!(heap.summary().is_some());
    });
}
