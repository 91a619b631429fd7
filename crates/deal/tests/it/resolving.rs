//! What names are resolved to.

use expect_test::{Expect, expect};
use heaphound_deal::check::{Scope, compile};
use heaphound_deal::resolved::{Dereference, Path, Program, Resolved, Start, Step};
use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::SnapshotBuilder;
use heaphound_heap::view::HeapView;
use heaphound_heap::{ClassId, ClassInfo};

fn classes() -> Vec<ClassInfo> {
    let mut builder = SnapshotBuilder::default();
    let node = builder.add_class(
        "Node",
        None,
        &["next", "prev", "items", "cell[0]", "cell[1]"],
    );
    builder.add_class("SubNode", Some(node), &["extra"]);
    builder.add_class("Other", None, &["next"]);
    let mut classes = builder.finish().unwrap().classes().to_vec();
    classes.push(ClassInfo {
        id: ClassId(4),
        name: "Node[]".into(),
        superclass: None,
        interfaces: Vec::new(),
        is_interface: false,
        fields: Vec::new(),
        elements: Some(Elements::Refs),
        caption: None,
    });
    classes
}

/// Shows relations, quantifiers, and what must not be null.
fn check(text: &str, expected: Expect) {
    let classes = classes();
    let scope = Scope::new(&classes).bind("d", None).bind("e", None);
    let resolved = compile("it", text, &scope).unwrap_or_else(|wrong| panic!("{wrong}"));
    let mut shown = String::new();
    for rule in &resolved.rules {
        show(&resolved, &rule.program, &classes, &mut shown);
    }
    expected.assert_eq(&shown);
}

fn show(resolved: &Resolved, program: &Program, classes: &[ClassInfo], shown: &mut String) {
    let path = |path: &Path| {
        let mut text = match path.start {
            Start::Variable(id) => program.quantifiers[id.0 as usize].variable.clone(),
            Start::Host(id) => format!("{:?}", resolved.hosts[id.0 as usize].source),
            Start::Asker => "asker".into(),
        };
        path.steps
            .iter()
            .for_each(|&it| text += &step(resolved, it));
        text
    };
    let list = |list: &[Path]| list.iter().map(path).collect::<Vec<_>>().join(", ");
    let dereferences = |list: &[Dereference]| {
        let list = list.iter();
        let list = list.map(|it| format!("{}({})", path(&it.path), step(resolved, it.step)));
        list.collect::<Vec<_>>().join(", ")
    };
    for (nth, relation) in program.relations.iter().enumerate() {
        *shown += &format!("relation {nth}:");
        for part in &relation.parts {
            let source = part.source.as_ref().map_or("roots".into(), path);
            *shown += &format!(" {source} / {};", list(&part.exclusions));
        }
        *shown += "\n";
    }
    for (nth, it) in program.quantifiers.iter().enumerate() {
        let range = classes.iter().filter(|class| it.classes.contains(class.id));
        let range: Vec<&str> = range.map(|it| it.name.as_str()).collect();
        let parent = it.parent.map(|it| it.0);
        let (kind, variable) = (it.kind.name(), &it.variable);
        let range = if it.classes.is_all() {
            "all".into()
        } else {
            range.join(", ")
        };
        *shown += &format!("{nth}: {kind} {variable} of {range}, inside {parent:?}\n");
        *shown += &format!("   dereferences {}\n", dereferences(&it.dereferences));
    }
    *shown += &format!("outside: {}\n", dereferences(&program.dereferences));
}

fn step(resolved: &Resolved, step: Step) -> String {
    match step {
        Step::Field(id) => format!(".{}", resolved.fields[id.0 as usize].name),
        Step::Element(index) => format!("[{index}]"),
    }
}

#[test]
fn dereferences_are_listed_once() {
    check(
        "assertion(forall Node x: reach[d](x) -> x.next.prev == x && x.next.prev.items[1] != null)",
        expect![[r#"
            relation 0: Variable("d") / ;
            0: forall x of Node, SubNode, inside None
               dereferences x(.next), x.next(.prev), x.next.prev(.items), x.next.prev.items([1])
            outside: 
        "#]],
    );
}

#[test]
fn comparing_with_null_reads_the_slot_and_nothing_behind_it() {
    check(
        "assertion(forall Node x: x.next != null)",
        expect![[r#"
            0: forall x of Node, SubNode, inside None
               dereferences x(.next)
            outside: 
        "#]],
    );
}

#[test]
fn objects_without_the_field_are_left_out() {
    check(
        "assertion((forall x: x.prev != null) && exists Node y: y.extra == y)",
        expect![[r#"
            0: forall x of all, inside None
               dereferences x(.prev)
            1: exists y of Node, SubNode, inside None
               dereferences y(.extra)
            outside: 
        "#]],
    );
}

#[test]
fn equal_relations_have_one_number() {
    check(
        "
        let f = d.next;
        unsafeAssert((forall x: reach[f/e](x)) && exists y: reach[ d.next / e ](y) || reach[/e || d](y));
        ",
        expect![[r#"
            relation 0: Variable("d").next / Variable("e");
            relation 1: roots / Variable("e"); Variable("d") / ;
            0: forall x of all, inside None
               dereferences 
            1: exists y of all, inside None
               dereferences 
            outside: Variable("d")(.next)
        "#]],
    );
}

#[test]
fn a_path_belongs_to_its_variables_quantifier() {
    check(
        "forall Node x: exists Node y: x.next.next == y.prev.prev || d.next.next == y; d.next == null",
        expect![[r#"
            0: forall x of Node, SubNode, inside None
               dereferences x(.next), x.next(.next)
            1: exists y of Node, SubNode, inside Some(0)
               dereferences y(.prev), y.prev(.prev)
            outside: Variable("d")(.next), Variable("d").next(.next)
            outside: Variable("d")(.next)
        "#]],
    );
}

#[test]
fn elements_of_inline_arrays_are_fields() {
    check(
        "assertion(forall Node x: x.cell[1].next == x)",
        expect![[r#"
            0: forall x of Node, SubNode, inside None
               dereferences x(.cell[1]), x.cell[1](.next)
            outside: 
        "#]],
    );
}

#[test]
fn what_a_query_selects_is_dereferenced() {
    check(
        "query Node x: true select x.next.prev",
        expect![[r#"
            0: { x of Node, SubNode, inside None
               dereferences x(.next), x.next(.prev)
            outside: 
        "#]],
    );
}

#[test]
fn a_path_behind_a_variable_that_the_file_binds() {
    check(
        "let f = static:list.next; forall Node x: f.prev.next == x",
        expect![[r#"
            0: forall x of Node, SubNode, inside None
               dereferences 
            outside: Named(Root { kind: Static, name: "list", index: None })(.next), Named(Root { kind: Static, name: "list", index: None }).next(.prev), Named(Root { kind: Static, name: "list", index: None }).next.prev(.next)
        "#]],
    );
}
