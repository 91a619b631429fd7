//! Expressions on the live heap.

use heaphound::deal::expr::Answer;
use heaphound::{
    Evaluate, EvaluateError, Header, Heap, Managed, RefArray, Root, Slot, Str, Var, deal, evaluate,
};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: Var<i32>,
    next: Slot<Node>,
    name: Slot<Str>,
    all: Slot<RefArray<Node>>,
}

fn node<'m>(value: i32, next: Option<heaphound::Local<'m, Node>>) -> NodeInit<'m> {
    NodeInit {
        value,
        next,
        name: None,
        all: None,
    }
}

#[test]
fn an_expression_sees_slots_values_elements_and_text() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let last = m.alloc(node(7, None)).unwrap();
    let first = m.alloc(node(-1, Some(last))).unwrap();
    let array = m.alloc_refs::<Node>(3).unwrap();
    let name = m.alloc_str("last").unwrap();
    m[array][2].set(Some(&m[first]));
    m[first].all.set(Some(&m[array]));
    m[last].name.set(Some(&m[name]));
    m.collect();
    let variables: [(&str, &dyn heaphound::Subject); 2] = [("a", &first), ("b", &last)];
    for text in [
        "reach(a).has(b) && !reach(b).has(a)",
        "a.next == b && a.next.value == 7 && a.value < 0",
        "a.all.length == 3 && a.all[2] == a && a.all[0] == null && a.all[9] == null",
        "b.name == \"last\" && b.next == null",
        "(\\num_of Node x; x.value > 0) == 1",
        "dom(a, b)",
        "!is_shared(b) && is_shared(a) -> false",
        "is_thread_stack_owned(b)",
        "dom(stack(current_thread()), b)",
        "forall Node x: x in stack(thread:main) || reach(stack(thread:main)).has(x)",
    ] {
        assert_eq!(m.holds(text, &variables), Ok(true), "{text}");
    }
    let size = m.ask(|heap| {
        let found = evaluate(heap, "reach(a)", &variables).unwrap();
        match found.answer {
            Answer::Set(set) => set.contains(heap.id(last).unwrap()) && set.len() == 4,
            _ => false,
        }
    });
    assert!(size);
}

#[test]
fn what_cannot_be_answered_says_why() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let a = m.alloc(node(7, None)).unwrap();
    let none: Option<Root<Node>> = None;
    assert_eq!(m.holds("a == null", &[("a", &none)]), Ok(true));
    let null = m.holds("reach(a).is_empty()", &[("a", &none)]).unwrap_err();
    assert!(null.to_string().contains("this is null"), "{null}");
    assert_eq!(
        m.holds("reach(a)", &[("a", &a)]),
        Err(EvaluateError::NotATruth)
    );
    let wrong = m.holds("a.nxt == null", &[("a", &a)]).unwrap_err();
    assert!(
        wrong.to_string().contains("did you mean `next`?"),
        "{wrong}"
    );
    let null = m.holds("a.next.value == 1", &[("a", &a)]).unwrap_err();
    assert!(null.to_string().contains("read of null"), "{null}");
    let rule = m.holds("assertion(forall Node x: x.value > 0)", &[]);
    assert_eq!(rule, Err(EvaluateError::NotAnExpression));
}

#[derive(Managed)]
#[repr(C)]
struct Tree {
    header: Header,
    left: Slot<Tree>,
    right: Slot<Tree>,
    parent: Slot<Tree>,
}

#[test]
fn a_tree_with_parents_is_unshared_by_its_children() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let none = TreeInit {
        left: None,
        right: None,
        parent: None,
    };
    let leaf = m.alloc(none).unwrap();
    let top = m
        .alloc(TreeInit {
            left: Some(leaf),
            right: None,
            parent: None,
        })
        .unwrap();
    m[leaf].parent.set(Some(&m[top]));
    let other = m
        .alloc(TreeInit {
            left: None,
            right: None,
            parent: Some(top),
        })
        .unwrap();
    m[top].right.set(Some(&m[other]));
    let mut all = deal!(m, "unshared(Tree)");
    let mut children = deal!(m, "unshared(Tree by left, right)");
    assert_eq!(all.check(&mut m).unwrap().len(), 1);
    assert!(children.check(&mut m).unwrap().is_empty());
    m[other].left.set(Some(&m[leaf]));
    let found = children.check(&mut m).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].objects.len(), 1);
}
