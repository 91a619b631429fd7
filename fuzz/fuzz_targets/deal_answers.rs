//! Any text that fits the classes of a small heap has answers there, or it is said why not.
#![no_main]

use std::sync::LazyLock;

use heaphound_deal::bind::Binder;
use heaphound_deal::check::{Scope, compile};
use heaphound_deal::evaluate::Evaluation;
use heaphound_deal::expr::{Expression, Matching};
use heaphound_deal::plan::{Explain, Plans};
use heaphound_deal::resolved::HostId;
use heaphound_deal::traverse::{Setting, Texts};
use heaphound_deal::verdict::judge;
use heaphound_heap::probe::Probes;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use libfuzzer_sys::fuzz_target;

const HEAP: &str = r#"
    class Base { val: i32 }
    class Node : Base { next ->, real: f64, key: char, name ->, flag: bool, color: enum(red, green) }
    class Leaf : Base
    class Node[] { [] -> }
    class Bytes { []: u8 }
    class Str { text }
    root main -> Node#1
    root static:array -> Node[]#1
    root thread-object:main -> Leaf#1
    Node#1 { next -> Node#2, val = 3, real = 0.5, key = 'b', name -> Str#1, flag = true, color = red }
    Node#2 { next -> Node#3, val = -4, real = nan, key = 'a', name -> Str#2, flag = false, color = green }
    Node#3 { next -> null, val = 3, real = 2.0, key = 'c', name -> null, flag = true, color = green }
    Node[]#1 [ Node#1, null, Leaf#2 ]
    Leaf#1.val = 100
    Leaf#2.val = 7
    Str#1 "be"
    Str#2 "an"
    Bytes#1 [ 7, 255 ]
    Node#4 { next -> Node#1, val = 9 }
"#;

static SNAPSHOT: LazyLock<Snapshot> = LazyLock::new(|| {
    heaphound_snapshot::read_text(HEAP.as_bytes(), "fuzz", &mut |_, _| {}).expect("it is right")
});

fuzz_target!(|text: &str| {
    // How long an answer takes grows with how deep quantifiers nest: as many as a person writes.
    if text.len() > 200 {
        return;
    }
    let heap = &*SNAPSHOT;
    let a = heap.find("Node", 1);
    let b = heap.find("Node", 4);
    let mut scope = Scope::new(heap.classes());
    let mut binder = Binder::of(heap).ask_as(Some("main"));
    binder = binder.objects(|class, number| heap.find(class, number));
    for (name, object) in [("a", a), ("b", b), ("c", None)] {
        scope = scope.bind(name, object.map(|it| heap.class_of(it)));
        binder = binder.variable(name, object);
    }
    let resolved = match compile("fuzz", text, &scope) {
        Ok(resolved) => resolved,
        Err(wrong) => return drop(wrong.to_string()),
    };
    let plans = Plans::new(&resolved);
    let explain = Explain {
        text,
        resolved: &resolved,
        plans: &plans,
    };
    drop(explain.to_string());
    let Ok(bindings) = binder.bind(&resolved) else {
        return;
    };
    let hosts = 0..resolved.hosts.len() as u32;
    let hosts: Vec<Option<ObjectId>> = hosts.map(|host| bindings.get(HostId(host))).collect();
    let labelled: Vec<Vec<ObjectId>> = resolved.labels.iter().map(|_| a.into_iter().collect()).collect();
    for interpret in [false, true] {
        let setting = Setting {
            view: heap,
            resolved: &resolved,
            hosts: &hosts,
            labelled: &labelled,
            asker: bindings.asker(),
            threads: 1,
            interpret,
            sources_live: false,
        };
        let texts = Texts::new(std::slice::from_ref(&setting));
        for traversal in texts.share(std::slice::from_ref(&plans)) {
            let outcomes = texts.decide(&traversal, |_| false);
            drop(judge(&texts, &[text], &traversal, &outcomes, None));
        }
    }
    for rule in &resolved.rules {
        // By probes and indexes it is what it is by loops.
        let [fast, slow] = [Matching::Probes, Matching::AsWritten].map(|matching| {
            let expression = Expression::of(&resolved, rule, matching)?;
            drop(expression.explain().to_string());
            let evaluated = expression.evaluate(&Probes::of(heap), &bindings);
            // Not-a-number is not itself.
            Some(format!("{:?}", evaluated.map(|it| it.answer)))
        });
        assert_eq!(fast, slow);
    }
    drop(Evaluation::new(heap, &resolved, text, &bindings).threads(1).run());
});
