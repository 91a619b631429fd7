//! What findings call objects, roots and places, and how much of a path they tell.
#![cfg(feature = "assertions")]

use std::sync::{Arc, Mutex};

use heaphound::finding::Finding;
use heaphound::snapshot::{ObjectId, Snapshot};
use heaphound::view::HeapView;
use heaphound::{
    AssertionKind, Collector, Header, Heap, HeapBuilder, Local, Managed, Mutator, PlainData,
    PlainKind, Reaction, Rules, Slot, Str, deal, testing,
};

const BOTH: [Collector; 2] = [Collector::MarkSweep, Collector::Generational];

fn builder(collector: Collector) -> HeapBuilder {
    Heap::builder().collector(collector).max_bytes(512 << 20)
}

#[derive(Managed)]
#[repr(C)]
struct Window {
    header: Header,
    #[managed(caption)]
    title: Slot<Str>,
    next: Slot<Window>,
}

#[derive(Managed)]
#[repr(C)]
struct Dialog {
    #[managed(superclass)]
    window: Window,
    modal: bool,
}

fn window<'a>(m: &mut Mutator<'a>, title: &str) -> Local<'a, Window> {
    let title = m.alloc_str(title).unwrap();
    let title = Some(title);
    m.alloc(WindowInit { title, next: None }).unwrap()
}

/// All findings from now on.
fn listen(heap: &Heap) -> Arc<Mutex<Vec<Finding>>> {
    let found: Arc<Mutex<Vec<Finding>>> = Arc::default();
    for kind in [AssertionKind::Dead, AssertionKind::Region] {
        let found = found.clone();
        let call = move |finding: &Finding| found.lock().unwrap().push(finding.clone());
        heap.set_reaction(kind, Reaction::Call(Arc::new(call)));
    }
    found
}

/// The only object of a capture that has a name.
fn find(heap: &Snapshot, name: &str) -> ObjectId {
    let named = heap.objects().filter(|it| heap.name_of(*it) == name);
    let [object] = named.collect::<Vec<_>>()[..] else {
        panic!("one object is called {name}");
    };
    object
}

#[test]
fn an_object_has_one_name_in_findings_and_files() {
    for collector in BOTH {
        let heap = builder(collector).zeal(7).build().unwrap();
        let found = listen(&heap);
        let mut m = heap.attach("main").unwrap();
        let windows = m.static_root::<Window>("windows");
        let before = m.capture(PlainData::All);
        // A young one that moves, twice.
        let leaked = {
            let mut m = m.scope();
            for _ in 0..50 {
                window(&mut m, "closed");
            }
            let leaked = window(&mut m, "preferences");
            windows.set(&m, Some(&m[leaked]));
            let name = m.inspect(|heap| heap.name_of(heap.id(leaked).unwrap()));
            m.assert_dead(leaked);
            name
        };
        m.collect();
        for _ in 0..1_000 {
            window(&mut m.scope(), "another");
        }
        m.collect();
        let finding = found.lock().unwrap().remove(0);
        assert_eq!(finding.objects[0].name, leaked);
        let caption = r#"title="preferences""#;
        assert_eq!(finding.objects[0].caption.as_deref(), Some(caption));
        let text = format!("error: {leaked} ({caption}) was asserted dead and is reachable");
        assert!(finding.to_string().starts_with(&text), "{finding}");

        // A file knows it by that name, after it was read and written as well.
        let heap = m.capture(PlainData::All);
        let object = find(&heap, &leaked);
        assert_eq!(heap.caption_of(object).as_deref(), Some(caption));
        for write in [write_text, write_binary] {
            let copy = write(&heap);
            let object = find(&copy, &leaked);
            assert_eq!(copy.caption_of(object).as_deref(), Some(caption));
        }
        // No file has another object of a name that is in use, or was.
        let last = before.objects().map(|it| before.number_of(it)).max();
        let number: u64 = leaked.split_once('#').unwrap().1.parse().unwrap();
        assert!(last.is_none_or(|last| last < number));
        let mut numbers: Vec<u64> = heap.objects().map(|it| heap.number_of(it)).collect();
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|it| it[0] < it[1]));
        let fresh = window(&mut m, "fresh");
        let fresh = m.inspect(|heap| heap.name_of(heap.id(fresh).unwrap()));
        assert!(heap.objects().all(|it| heap.name_of(it) != fresh));
    }
}

fn write_text(heap: &Snapshot) -> Snapshot {
    let mut text = Vec::new();
    heaphound::file::write_text(heap, &mut text, &mut |_, _| {}).unwrap();
    heaphound::file::read_text(&text, "heap", &mut |_, _| {}).unwrap()
}

fn write_binary(heap: &Snapshot) -> Snapshot {
    let mut bytes = Vec::new();
    heaphound::file::write_binary(heap, &mut bytes, &mut |_, _| {}).unwrap();
    heaphound::file::read_binary(&bytes, "heap", &mut |_, _| {}).unwrap()
}

#[test]
fn a_finalizer_does_not_change_a_name() {
    for collector in BOTH {
        let heap = builder(collector).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let saved = m.static_root::<Window>("saved");
        let name = {
            let mut m = m.scope();
            let it = window(&mut m, "back again");
            let anchor = m.static_root::<Window>("saved");
            m.on_death(&m[it], move |m, it| anchor.set(m, Some(&m[it])));
            m.inspect(|heap| heap.name_of(heap.id(it).unwrap()))
        };
        m.collect();
        m.collect();
        let it = m.local(saved.get(&m).expect("the finalizer has saved it"));
        let now = m.inspect(|heap| heap.name_of(heap.id(it).unwrap()));
        assert_eq!(now, name);
    }
}

#[test]
fn captions_are_inherited_escaped_and_shortened() {
    let heap = builder(BOTH[0]).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let caption = |m: &mut Mutator<'_>, it: Local<'_, heaphound::Object>| {
        m.inspect(|heap| heap.caption_of(heap.id(it).unwrap()))
    };
    for (title, expected) in [
        ("", r#"title="""#.to_string()),
        ("a \"b\"\n\u{202e}", r#"title="a \"b\"\n\u{202e}""#.into()),
        (&"ü".repeat(40), format!(r#"title="{}""#, "ü".repeat(40))),
        (&"ü".repeat(41), format!(r#"title="{}"…"#, "ü".repeat(40))),
        (
            &"x".repeat(1_000_000),
            format!(r#"title="{}"…"#, "x".repeat(40)),
        ),
    ] {
        let title = m.alloc_str(title).unwrap();
        let window = WindowInit {
            title: Some(title),
            next: None,
        };
        let dialog = DialogInit {
            window,
            modal: true,
        };
        let dialog = m.alloc(dialog).unwrap();
        let dialog = dialog.upcast(&m);
        assert_eq!(caption(&mut m, dialog), Some(expected));
    }
    let untitled = WindowInit {
        title: None,
        next: None,
    };
    let untitled = m.alloc(untitled).unwrap();
    let untitled = untitled.upcast(&m);
    assert_eq!(caption(&mut m, untitled), None);
}

#[test]
fn dynamic_classes_have_captions() {
    let heap = builder(BOTH[0]).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let base = heap.define_class("Base").plain("id", PlainKind::U32);
    let base = base.caption("id").define().unwrap();
    let named = heap.define_class("Named").extends(&base).unwrap();
    let named = named.slot("name").caption("name").define().unwrap();
    let plain = heap.define_class("Plain").extends(&base).unwrap();
    let plain = plain.slot("first").define().unwrap();
    let name = m.alloc_str("a name").unwrap();
    let it = m.alloc_instance(&named).unwrap();
    m[it][0].set(Some(m[name].as_object()));
    let other = m.alloc_instance(&plain).unwrap();
    let captions = m.inspect(|heap| {
        [heap.id(it), heap.id(other)].map(|it| heap.caption_of(it.unwrap()).unwrap())
    });
    assert_eq!(captions, [r#"name="a name""#, "id=0"]);
    let wrong = heap.define_class("Wrong").slot("a").caption("b").define();
    let error = wrong.err().unwrap().to_string();
    assert_eq!(error, "the caption `b` is none of the fields");
}

#[test]
fn a_very_long_path_is_told_in_short() {
    for collector in BOTH {
        const NODES: usize = 1_000_000;
        let heap = builder(collector).build().unwrap();
        let found = listen(&heap);
        let mut m = heap.attach("main").unwrap();
        let windows = m.static_root::<Window>("windows");
        let last = {
            let mut m = m.scope();
            let last = window(&mut m, "last");
            windows.set(&m, Some(&m[last]));
            m.root(&m[last])
        };
        for _ in 1..NODES {
            let mut m = m.scope();
            let next = windows.get(&m).map(|it| m.local(it));
            let before = WindowInit { title: None, next };
            let before = m.alloc(before).unwrap();
            windows.set(&m, Some(&m[before]));
        }
        m.assert_dead(&last);
        drop(last);
        m.collect();
        let pause = heap.stats().history.back().map(|it| it.pause);
        let finding = found.lock().unwrap().remove(0);
        let path = &finding.evidence[0].path;
        assert_eq!(path.length(), NODES - 1);
        assert!(path.hops.len() < 2_000, "{} hops", path.hops.len());
        let left_out = path.left_out.unwrap();
        let text = finding.to_string();
        assert!(text.len() < 1_000, "{text}");
        let said = format!("(… {} hops are not shown)", left_out.hops);
        assert!(text.contains(&said), "{text}");
        println!("pause with a path of {NODES} objects: {pause:?}");
    }
}

#[test]
fn a_region_is_told_by_what_holds_the_rest() {
    for collector in BOTH {
        let heap = builder(collector).build().unwrap();
        let found = listen(&heap);
        let mut m = heap.attach("main").unwrap();
        let windows = m.static_root::<Window>("windows");
        m.in_region(|m| {
            let first = window(m, "first");
            let second = window(m, "second");
            m[first].next.set(Some(&m[second]));
            windows.set(m, Some(&m[first]));
            window(m, "closed");
        });
        m.collect();
        let found = std::mem::take(&mut *found.lock().unwrap());
        let [finding] = &found[..] else {
            panic!("{found:?}");
        };
        let caption = finding.objects[0].caption.as_deref();
        assert_eq!(caption, Some(r#"title="first""#));
        let end = "and is reachable, and so are 3 more that it holds";
        assert!(finding.message.ends_with(end), "{finding}");
        assert_eq!(finding.objects.len(), 4);
        assert_eq!(heap.findings()[0].objects, 4);
        // It goes when the last of them does.
        windows.clear(&m);
        m.collect();
        assert!(heap.findings()[0].withdrawn.is_some());
    }
}

#[test]
fn two_regions_are_two_findings_though_one_holds_the_other() {
    let heap = builder(BOTH[0]).build().unwrap();
    let found = listen(&heap);
    let mut m = heap.attach("main").unwrap();
    let windows = m.static_root::<Window>("windows");
    m.in_region(|m| {
        let first = window(m, "first");
        windows.set(m, Some(&m[first]));
    });
    m.in_region(|m| {
        let second = window(m, "second");
        windows.get(m).unwrap().next.set(Some(&m[second]));
    });
    m.collect();
    let found = found.lock().unwrap();
    let captions = found.iter().map(|it| it.objects[0].caption.clone());
    let captions: Vec<String> = captions.flatten().collect();
    assert_eq!(captions, [r#"title="first""#, r#"title="second""#]);
}

#[test]
fn a_local_is_named_with_its_scope_and_only_if_nothing_else_holds() {
    let heap = builder(BOTH[0]).build().unwrap();
    let found = listen(&heap);
    let mut m = heap.attach("main").unwrap();
    let windows = m.static_root::<Window>("windows");
    let line = line!() + 1;
    let mut m = m.scope();
    let local = window(&mut m, "local");
    let both = window(&mut m, "both");
    let array = m.alloc_refs::<Window>(1).unwrap();
    let root = m.static_root::<heaphound::RefArray<Window>>("array");
    root.set(&m, Some(&m[array]));
    m[array][0].set(Some(&m[both]));
    m.assert_dead(local);
    m.assert_dead(both);
    m.collect();
    let found = found.lock().unwrap();
    let path = |place: usize| found[place].evidence[0].path.to_string();
    let start = format!(" @ {}:{line}:", file!());
    let (first, second) = (path(0), path(1));
    assert!(
        first.starts_with("thread:main[") && first.contains(&start),
        "{first}"
    );
    assert!(second.starts_with("static:array → "), "{second}");
    drop(windows);
}

#[test]
fn findings_of_rules_say_where_they_stand() {
    let heap = builder(BOTH[0]).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    window(&mut m, "one");
    let text = "exists Window x: x.next != null";
    let line = line!() + 1;
    let deals = [
        deal!("exists Window x: x.next != null"),
        Rules::new(format!("assertion({text})")),
        Rules::named("windows", format!("// a comment\nassertion({text})")),
    ];
    let file = file!();
    let starts = [
        format!("{file}:{}:", line + 1),
        format!("{file}:{}:", line + 2),
        format!("windows:2 ({file}:{}:", line + 3),
    ];
    for (mut deal, start) in deals.into_iter().zip(starts) {
        let finding = deal.check(&mut m).unwrap().remove(0);
        let place = finding.place.unwrap();
        assert!(place.starts_with(&start), "{place}");
    }
    let mut gone = Rules::new("assertion(forall Nobody x: x.a == 1)");
    let finding = gone.check(&mut m).unwrap().remove(0);
    assert!(finding.place.unwrap().starts_with(file), "not checked");
}

#[test]
fn the_end_of_a_heap_says_what_was_never_checked() {
    for collector in BOTH {
        let heap = builder(collector).build().unwrap();
        let found = listen(&heap);
        let mut m = heap.attach("main").unwrap();
        let kept = window(&mut m, "kept");
        m.assert_dead(kept);
        m.collect();
        assert_eq!(heap.unchecked_assertions(), []);
        found.lock().unwrap().clear();
        let line = line!() + 2;
        for _ in 0..3 {
            m.expect().message("after logout").dead(kept);
        }
        m.in_region(|m| {
            window(m, "closed");
        });
        let unchecked = heap.unchecked_assertions();
        assert_eq!(unchecked.len(), 2);
        let Finding { message, place, .. } = &unchecked[0];
        assert_eq!(
            message,
            "it was asserted 3 times that an object is dead, and no full collection has checked it \
             since: after logout"
        );
        let start = format!("{}:{line}:", file!());
        assert!(place.as_ref().unwrap().starts_with(&start), "{place:?}");
        assert!(found.lock().unwrap().is_empty());
        drop(m);
        drop(heap);
        assert_eq!(*found.lock().unwrap(), unchecked);
    }
}

#[test]
fn what_was_taken_back_or_has_died_needs_no_check() {
    let heap = builder(Collector::Generational).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let [owner, item] = ["owner", "item"].map(|it| window(&mut m, it));
    m.assert_owned_by(owner, item);
    assert_eq!(heap.unchecked_assertions().len(), 1);
    m.retract_owned_by(owner, item);
    assert_eq!(heap.unchecked_assertions(), []);
    {
        let mut m = m.scope();
        let dead = window(&mut m, "dead");
        m.assert_dead(dead);
    }
    assert_eq!(heap.unchecked_assertions().len(), 1);
    m.collect_nursery();
    assert_eq!(heap.unchecked_assertions(), []);
}

#[test]
fn test_helpers_check_what_was_asserted() {
    let heap = builder(BOTH[0]).build().unwrap();
    listen(&heap);
    let mut m = heap.attach("main").unwrap();
    let known = window(&mut m, "known");
    m.assert_dead(known);
    m.collect();
    // What stood before is not this function's fault.
    testing::assert_no_leaks(&mut m, |m| {
        window(m, "fine");
    });
    let message = |payload: Box<dyn std::any::Any + Send>| *payload.downcast::<String>().unwrap();
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        testing::assert_no_leaks(&mut m, |m| m.assert_unshared(known));
        m.assert_instances::<Window>(0);
        testing::assert_no_findings(&mut m);
    }));
    let message = message(failed.unwrap_err());
    assert!(message.contains("was asserted dead"), "{message}");
    assert!(message.contains("1 instances of Window live"), "{message}");
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        testing::assert_no_leaks(&mut m, |m| m.assert_volume::<Str>(0));
    }));
    assert!(failed.is_err(), "an assertion of the function fails");
}
