//! Everything that has a greatest number, one below it, at it, and one above: it works, or it is refused with
//! an error that says why.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;

use heaphound::view::HeapView;
use heaphound::{
    ClassError, Collector, DynClass, Evaluate, Header, Heap, HeapBuilder, Managed, Mutator, Object,
    PlainData, PlainKind, Slot,
};

fn builders() -> [HeapBuilder; 4] {
    let all = [Collector::MarkSweep, Collector::Generational];
    let [a, b] = all.map(|it| Heap::builder().collector(it).max_bytes(64 << 20));
    [a.clone(), b.clone(), a.zeal(2), b.zeal(2)]
}

/// The message of a panic.
fn panic_of(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    let text = panic.downcast_ref::<String>().cloned();
    text.unwrap_or_else(|| panic.downcast_ref::<&str>().unwrap().to_string())
}

const SLOTS: usize = 8192;
const PLAIN: usize = 8191;

fn record(heap: &Heap, slots: usize, plain: usize) -> Result<DynClass, ClassError> {
    let mut class = heap.define_class("Record");
    for i in 0..slots {
        class = class.slot(format!("s{i}"));
    }
    for i in 0..plain {
        class = class.plain(format!("p{i}"), PlainKind::U64);
    }
    class.define()
}

/// Bytes of the only `Record`, as the live heap says and as a capture does, written and read back.
fn bytes_of_record(m: &mut Mutator<'_>) -> [usize; 4] {
    fn in_view<V: HeapView>(view: &V) -> usize {
        let live = heaphound::view::live_objects(view);
        let mut records = live
            .into_iter()
            .filter(|&it| view.class(view.class_of(it)).name == "Record");
        view.bytes_of(records.next().unwrap())
    }
    let live = m.inspect(|view| in_view(view));
    let captured = m.capture(PlainData::All);
    let written = ["limits.hhs", "limits.heap"].map(|name| {
        let name = format!("heaphound-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        m.write_heap(&path, PlainData::All).unwrap();
        let read = heaphound::file::read_file(&path, &mut |_, _| {}).unwrap();
        std::fs::remove_file(&path).unwrap();
        in_view(&read)
    });
    [live, in_view(&captured), written[0], written[1]]
}

#[test]
fn dynamic_classes_with_as_many_fields_as_can_be() {
    for builder in builders() {
        for (slots, plain) in [
            (0, PLAIN - 1),
            (0, PLAIN),
            (1, PLAIN),
            (SLOTS - 1, 0),
            (SLOTS, 0),
            (SLOTS, PLAIN),
        ] {
            let heap = builder.clone().build().unwrap();
            let class = record(&heap, slots, plain).unwrap();
            let mut m = heap.attach("main").unwrap();
            let instance = m.alloc_instance(&class).unwrap();
            let text = m.alloc_str("the last").unwrap();
            if slots > 0 {
                m[instance][slots - 1].set(Some(m[text].as_object()));
            }
            if plain > 0 {
                m[instance].set_plain(plain - 1, 42u64);
                m[instance].set_plain(0, 41u64);
            }
            let hash = m[instance].as_object().identity_hash();
            let slot_bytes = (12 + 4 * slots).next_multiple_of(8);
            let bytes = slot_bytes + 8 * plain;
            for _ in 0..3 {
                assert_eq!(bytes_of_record(&mut m), [bytes; 4]);
                m.alloc_instance(&class).unwrap();
                m.collect();
                assert_eq!(m[instance].as_object().identity_hash(), hash);
                if slots > 0 {
                    let last: &Object = m[instance][slots - 1].get().unwrap();
                    assert_eq!(&**last.downcast::<heaphound::Str>().unwrap(), "the last");
                }
                if plain > 0 {
                    let read = m[instance].plain::<u64>(plain - 1);
                    let expected = if plain == 1 { 41 } else { 42 };
                    assert_eq!(read, expected);
                    let field = plain - 1;
                    let rule = format!("exists Record r: r.p{field} == {expected}");
                    assert!(m.holds(&rule, &[]).unwrap());
                    let rule = format!("forall Record r: r.p{field} != {}", expected + 1);
                    assert!(m.holds(&rule, &[]).unwrap());
                }
            }
            let stats = heap.stats();
            let full = stats.history.iter().rev();
            assert!(full.clone().any(|it| it.marked_bytes >= bytes));
            assert!(full.clone().all(|it| it.marked_bytes < 64 << 20));
        }
        let heap = builder.build().unwrap();
        for (slots, plain) in [(0, PLAIN + 1), (SLOTS + 1, 0), (SLOTS + 1, PLAIN + 1)] {
            let error = record(&heap, slots, plain).err().unwrap();
            let text = "a dynamic class has at most 8192 slots and 8191 plain fields";
            assert_eq!((&error, &*error.to_string()), (&ClassError::TooLarge, text));
        }
        // Inherited fields count.
        let above = record(&heap, 0, PLAIN).unwrap();
        let below = heap.define_class("Below").extends(&above).unwrap();
        let below = below.plain("one_more", PlainKind::Bool).define();
        assert_eq!(below.err(), Some(ClassError::TooLarge));
    }
}

macro_rules! sized {
    ($($name:ident, $init:ident, $bytes:expr);*) => {$(
        #[derive(Managed)]
        #[repr(C)]
        struct $name {
            header: Header,
            next: Slot<$name>,
            #[managed(owned)]
            data: [u8; $bytes - 12],
        }

        impl $name {
            fn check(builder: HeapBuilder) {
                let heap = builder.build().unwrap();
                let mut m = heap.attach("main").unwrap();
                let mut last = None;
                let mut hashes = Vec::new();
                for i in 0..5 {
                    let data = std::array::from_fn(|at| (at as u8).wrapping_add(i));
                    let new = m.alloc($init { next: last, data }).unwrap();
                    hashes.push(m[new].as_object().identity_hash());
                    last = Some(new);
                    m.scope().alloc($init { next: last, data: [0; $bytes - 12] }).unwrap();
                }
                m.collect();
                let live = heap.stats().history.back().unwrap().marked_bytes;
                assert_eq!(live, 5 * ($bytes as usize).next_multiple_of(8));
                let mut node = last.map(|it| &m[it]);
                for i in (0..5).rev() {
                    let it = node.unwrap();
                    assert!(it.data.iter().enumerate().all(|(at, &byte)| byte == (at as u8).wrapping_add(i)));
                    assert_eq!(it.as_object().identity_hash(), hashes[i as usize]);
                    node = it.next.get();
                }
            }
        }
    )*};
}

sized! {
    JustSmall, JustSmallInit, 8184;
    Small, SmallInit, 8192;
    Large, LargeInit, 8200;
    AlmostLargest, AlmostLargestInit, 65_520;
    Largest, LargestInit, 65_528
}

#[test]
fn structs_of_sizes_where_something_changes() {
    for builder in builders() {
        JustSmall::check(builder.clone());
        Small::check(builder.clone());
        Large::check(builder.clone());
        AlmostLargest::check(builder.clone());
        Largest::check(builder);
    }
}

macro_rules! many_slots {
    ($($name:ident, $init:ident, $slots:expr);*) => {$(
        #[derive(Managed)]
        #[repr(C)]
        struct $name {
            header: Header,
            slots: [Slot<$name>; $slots],
            number: u64,
        }

        impl $name {
            fn check(builder: HeapBuilder) {
                let heap = builder.build().unwrap();
                let mut m = heap.attach("main").unwrap();
                let none = || std::array::from_fn(|_| None);
                let node = m.alloc($init { slots: none(), number: 1 }).unwrap();
                for place in 0..$slots {
                    let mut m = m.scope();
                    let new = m.alloc($init { slots: none(), number: place as u64 }).unwrap();
                    m[node].slots[place].set(Some(&m[new]));
                }
                m.collect();
                for place in 0..$slots {
                    assert_eq!(m[node].slots[place].get().unwrap().number, place as u64);
                }
                assert_eq!(heap.stats().history.back().unwrap().marked_objects, 1 + $slots);
            }
        }
    )*};
}

// The bitmap of a class's trace word has 48 bits.
many_slots! {
    Slots47, Slots47Init, 47;
    Slots48, Slots48Init, 48;
    Slots49, Slots49Init, 49
}

#[test]
fn structs_with_more_slots_than_a_trace_word_has_bits() {
    for builder in builders() {
        Slots47::check(builder.clone());
        Slots48::check(builder.clone());
        Slots49::check(builder);
    }
}

#[test]
fn arrays_as_long_as_the_heap_is_large() {
    for builder in builders() {
        let heap = builder.max_bytes(8 << 20).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        // The largest that fits, to the byte.
        let (mut fits, mut fails) = (1, 8 << 20);
        while fails - fits > 1 {
            let length = (fits + fails) / 2;
            match m.scope().alloc_plain(length, 7u8) {
                Ok(_) => fits = length,
                Err(_) => fails = length,
            }
        }
        assert_eq!((fits + 12) % 4096, 0, "{fits}");
        let largest = m.alloc_plain(fits, 7u8).unwrap();
        m.collect();
        assert!(m[largest].iter().all(|it| it.get() == 7));
        let error = m.alloc_plain(fails, 7u8).err().unwrap();
        assert_eq!(error.asked_bytes(), fails + 12);
    }
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    for length in [1 << 31, u32::MAX as usize, 1 << 32, usize::MAX] {
        let errors = [
            m.alloc_plain(length, 0u8).err().unwrap(),
            m.alloc_plain(length, 0u64).err().unwrap(),
            m.alloc_refs::<Object>(length).err().unwrap(),
        ];
        for error in errors {
            let expected = format!("an array of {length} elements: the longest has 2147483647");
            assert_eq!(error.to_string(), expected);
        }
    }
    // The longest is refused for its size alone.
    let error = m.alloc_plain((1 << 31) - 1, 0u64).err().unwrap();
    assert!(error.to_string().contains("bytes asked"), "{error}");
    assert_eq!(heap.stats().full_collections, 1);
}

#[test]
fn as_many_locals_as_a_mutator_may_have() {
    for locals in [1, 2, 100] {
        let heap = Heap::builder().max_locals(locals).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        for _ in 0..locals {
            m.alloc_str("one").unwrap();
        }
        let what = panic_of(|| drop(m.alloc_str("one more")));
        let expected = format!("more than {locals} locals at once");
        assert!(what.starts_with(&expected), "{what}");
        m.collect();
        assert_eq!(heap.stats().history.back().unwrap().marked_objects, locals);
    }
    let most = (1 << 24) - 1;
    assert!(Heap::builder().max_locals(most - 1).build().is_ok());
    let heap = Heap::builder().max_locals(most).build().unwrap();
    let m = heap.attach("main").unwrap();
    drop(m);
    for locals in [0, most + 1] {
        let error = Heap::builder().max_locals(locals).build().err().unwrap();
        let expected = "max_locals must be between 1 and 16777215";
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn as_many_scopes_as_can_be_open() {
    fn deeper(m: &mut Mutator<'_>, depth: usize) -> usize {
        match depth {
            0 => {
                m.collect();
                1
            }
            _ => 1 + deeper(&mut m.scope(), depth - 1),
        }
    }
    let thread = std::thread::Builder::new().stack_size(256 << 20);
    let thread = thread.spawn(|| {
        let heap = Heap::builder().build().unwrap();
        let mut m = heap.attach("main").unwrap();
        // To attach opens the first.
        let most = 1 << 16;
        assert_eq!(deeper(&mut m, most - 2), most - 1);
        assert_eq!(deeper(&mut m, most - 1), most);
        let what = panic_of(|| {
            deeper(&mut m, most);
        });
        assert_eq!(what, "more than 65536 scopes are open in one another");
        assert_eq!(deeper(&mut m, 10), 11);
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn heaps_as_small_and_as_large_as_can_be() {
    const MIB: usize = 1 << 20;
    let whole = (32 << 30) - (1 << 30);
    let tagged = (8 << 30) - (1 << 30);
    for (invalidation, most) in [(false, whole), (true, tagged)] {
        let builder = || Heap::builder().invalidation(invalidation);
        for max_bytes in [MIB, MIB + 1, most - 1, most] {
            let heap = builder().max_bytes(max_bytes).build().unwrap();
            let mut m = heap.attach("main").unwrap();
            m.alloc_str("there is room").unwrap();
            m.collect();
        }
        for max_bytes in [0, MIB - 1, most + 1, usize::MAX] {
            let error = builder().max_bytes(max_bytes).build().err().unwrap();
            let expected =
                format!("max_bytes is {max_bytes}, but must be between {MIB} and {most}");
            assert!(error.to_string().contains(&expected), "{error}");
        }
    }
    let most = (256 << 20) - (64 << 10);
    let generational = || Heap::builder().collector(Collector::Generational);
    for nursery in [64 << 10, (64 << 10) + 4096, most - 4096, most] {
        for max_bytes in [(2 * nursery).max(MIB), whole] {
            let builder = generational().nursery_bytes(nursery).max_bytes(max_bytes);
            let heap = builder.build().unwrap();
            let mut m = heap.attach("main").unwrap();
            m.alloc_str("there is room").unwrap();
            m.collect();
        }
    }
    for nursery in [0, 4096, (64 << 10) - 4096, (64 << 10) + 1, most + 4096] {
        let error = generational().nursery_bytes(nursery).build().err().unwrap();
        let expected = format!("nursery_bytes is {nursery}, but must be");
        assert!(error.to_string().contains(&expected), "{error}");
    }
    for threads in [0, 1025] {
        assert!(Heap::builder().collector_threads(threads).build().is_err());
    }
    assert!(Heap::builder().collector_threads(1024).build().is_ok());
}

/// Conversions, drops and callbacks are the program's: they may do anything, at any time.
mod programs_code {
    use super::*;
    use heaphound::{AttachError, Check, Reaction, Registration};
    use std::cell::RefCell;
    use std::sync::{Arc, Mutex};

    /// A name that attaches this thread, when it is asked for.
    struct Name<'h, 'm>(&'h Heap, &'m RefCell<Vec<Mutator<'h>>>);

    impl From<Name<'_, '_>> for String {
        fn from(Name(heap, mutators): Name<'_, '_>) -> String {
            mutators.borrow_mut().extend(heap.attach("first"));
            "second".into()
        }
    }

    #[test]
    fn a_name_that_attaches_the_thread_is_not_attached_beside_it() {
        for builder in builders() {
            let heap = builder.build().unwrap();
            let mutators = RefCell::new(Vec::new());
            let second = heap.attach(Name(&heap, &mutators));
            assert_eq!(
                second.err(),
                Some(AttachError::AlreadyAttached("first".into()))
            );
            let mut m = mutators.into_inner().pop().unwrap();
            m.alloc_str("alone").unwrap();
            // Two on one thread would wait for each other.
            m.collect();
        }
    }

    /// Uses the heap when it is dropped.
    struct Uses {
        heap: Arc<Heap>,
        used: Arc<Mutex<usize>>,
    }

    impl Drop for Uses {
        fn drop(&mut self) {
            let heap = self.heap.clone();
            let used = heap.companion(|| 1u8);
            drop(heap.watch(Box::new(Nothing), None));
            heap.set_reaction(heaphound::AssertionKind::Dead, Reaction::Log);
            heap.define_class("FromADrop").slot("x").define().unwrap();
            assert!(heap.findings().is_empty());
            *self.used.lock().unwrap() += *used as usize;
        }
    }

    struct Nothing;

    impl Check for Nothing {}

    struct Owns(#[allow(dead_code)] Uses);

    impl Check for Owns {}

    /// If it does not come to its end, something was locked while the program's code ran.
    #[test]
    fn drops_of_what_a_heap_was_given_may_use_the_heap() {
        let heap = Arc::new(Heap::builder().build().unwrap());
        let used = Arc::<Mutex<usize>>::default();
        let uses = || Uses {
            heap: heap.clone(),
            used: used.clone(),
        };
        let call = |uses: Uses| {
            Reaction::Call(Arc::new(move |_| {
                let _ = &uses;
            }))
        };
        let check: Registration = heap.watch(Box::new(Owns(uses())), Some(call(uses())));
        drop(check);
        assert_eq!(*used.lock().unwrap(), 2);
        heap.set_reaction(heaphound::AssertionKind::Dead, call(uses()));
        heap.set_reaction(heaphound::AssertionKind::Dead, Reaction::Log);
        assert_eq!(*used.lock().unwrap(), 3);
    }

    /// Of two that are made at once one is dropped, and nothing is locked then.
    #[test]
    fn a_companion_that_came_second_may_use_the_heap_when_it_is_dropped() {
        let heap = Arc::new(Heap::builder().build().unwrap());
        let used = Arc::<Mutex<usize>>::default();
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let kept = heap.companion(|| {
                        both.wait();
                        Some(Uses {
                            heap: heap.clone(),
                            used: used.clone(),
                        })
                    });
                    // A cycle: the heap keeps what keeps the heap.
                    std::mem::forget(kept);
                });
            }
        });
        assert_eq!(*used.lock().unwrap(), 1);
    }
}
