//! Every diagnostic, as it is shown.

use expect_test::{Expect, expect};
use heaphound_deal::check::{Scope, compile};
use heaphound_heap::class::Elements;
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind};

const STATES: PlainKind = PlainKind::Enum {
    variants: &["Open", "Closed"],
};

type Row<'a> = (
    &'a str,
    Option<u32>,
    &'a [(&'a str, FieldKind)],
    Option<Elements>,
);

fn classes() -> Vec<ClassInfo> {
    use FieldKind::{Opt, Owned, Plain, Ref};
    let node: &[(&str, FieldKind)] = &[
        ("next", Opt),
        ("prev", Opt),
        ("data", Plain(PlainKind::I32)),
        ("weight", Plain(PlainKind::F64)),
        ("state", Plain(STATES)),
        ("flag", Plain(PlainKind::Bool)),
        ("letter", Plain(PlainKind::Char)),
        ("name", Opt),
        ("items", Ref),
        ("buffer", Owned),
    ];
    let person: &[(&str, FieldKind)] = &[("age", Plain(PlainKind::U8)), ("lastOrder", Opt)];
    let all: [Row<'_>; 11] = [
        ("Node", None, node, None),
        ("SubNode", Some(1), node, None),
        ("Person", None, person, None),
        ("String", None, &[], Some(Elements::Text)),
        ("Node[]", None, &[], Some(Elements::Refs)),
        ("shop::Order", None, &[], None),
        ("bank::Order", None, &[], None),
        ("Stored", None, &[], None),
        ("List<shop::Order>", None, &[("first", Ref)], None),
        ("shop::List<bank::Order>", None, &[("last", Ref)], None),
        ("Closing", None, &[], None),
    ];
    let classes = all.into_iter().zip(1..);
    let classes = classes.map(|((name, above, fields, elements), id)| ClassInfo {
        id: ClassId(id),
        name: name.into(),
        superclass: above.map(ClassId),
        // `Stored` is an interface of the people and of `Closing`, which is one of lists.
        interfaces: match id {
            3 | 11 => vec![ClassId(8)],
            9 | 10 => vec![ClassId(11)],
            _ => Vec::new(),
        },
        is_interface: matches!(id, 8 | 11),
        fields: fields
            .iter()
            .map(|&(name, kind)| FieldInfo {
                name: name.into(),
                offset: 0,
                kind,
            })
            .collect(),
        elements,
        caption: None,
    });
    classes.collect()
}

fn check(text: &str, expected: Expect) {
    let classes = classes();
    let scope = Scope::new(&classes)
        .bind("d", Some(ClassId(1)))
        .bind("list", None)
        .bind("person", Some(ClassId(3)));
    expected.assert_eq(&match compile("heap.deal", text, &scope) {
        Ok(resolved) => format!("fine: {} rules\n", resolved.rules.len()),
        Err(wrong) => format!("{wrong}\n"),
    });
}

#[test]
fn what_is_right_is_fine() {
    check(
        r#"
        let e = static:list.next;
        rule a: assertion(forall Node x: reach[d](x) -> x.next.prev == x);
        rule b: assertion(forall Node x: x.data <= x.next.data && x.weight < 3 && x.data >= 1.5);
        rule c: assertion(exists x: x.name == "Ann" || x.name < x.next.name);
        rule e: assertion(forall Node x: x.state == Open || x.state != State::Closed && Open == x.state);
        rule f: assertion(forall Node x: x.flag && x.flag == true && !x.flag && x.letter < 'c');
        rule g: assertion(forall Node x: x.items.length > 3 -> x.items[3].data == 2);
        rule h: assertDisjoint(forall Object x: reach[d](x) -> !reach[/d.next, e](x) || x is done);
        rule i: assertion((forall Node x: reach[d/e](x)) && exists Node x: reach[d/e](x));
        rule j: (num_of Node t; running().has(t); reach(t, {d}).has(e)) <= 1;
        rule k: forall Node x: forall Node y: x == y || dom(stack(thread:main), x) == is_shared(y);
        rule l: reach(d) - {e} == {Node y | y.data > 0}.union(pred(d));
        rule m: instances(Node) <= 1;
        rule n: volume(only Node) < 10 MiB;
        rule o: owned_by(d, Node);
        rule p: dead(static:x.next);
        query Node x: x.data > 3 select x.next.data, x.name limit 3;
        query Node x select max(x.data);
        reach(d).size();
        d.next
        "#,
        expect![[r#"
            fine: 19 rules
        "#]],
    );
}

#[test]
fn an_unknown_class_has_a_nearest_name() {
    check(
        "assertion(forall Nod x: x instanceof Persn); forall Zebra z: true",
        expect![[r#"
            heap.deal:1:18: there is no class `Nod`
              assertion(forall Nod x: x instanceof Persn); forall Zebra z: true
                               ^^^ did you mean `Node`?
            heap.deal:1:38: there is no class `Persn`
              assertion(forall Nod x: x instanceof Persn); forall Zebra z: true
                                                   ^^^^^ did you mean `Person`?
            heap.deal:1:53: there is no class `Zebra`
              assertion(forall Nod x: x instanceof Persn); forall Zebra z: true
                                                                  ^^^^^
        "#]],
    );
}

#[test]
fn a_short_name_of_several_classes() {
    check(
        "rule a: instances(Order) <= 1",
        expect![[r#"
        heap.deal:1:19: `Order` can be several classes
          rule a: instances(Order) <= 1
                            ^^^^^ shop::Order or bank::Order
    "#]],
    );
}

#[test]
fn an_unknown_field_has_a_nearest_name() {
    check(
        "
        assertion(forall Node x: x.nxt != null && x.next.agee > 3 && x.next.zebra == 1);
        assertion(forall Person x: x.data == 1);
        ",
        expect![[r#"
            heap.deal:2:36: neither `Node` nor a subclass has a field `nxt`
              assertion(forall Node x: x.nxt != null && x.next.agee > 3 && x.next.zebra == 1);
                                         ^^^ did you mean `next`?
            heap.deal:2:58: no class has a field `agee`
              assertion(forall Node x: x.nxt != null && x.next.agee > 3 && x.next.zebra == 1);
                                                               ^^^^ did you mean `age`?
            heap.deal:2:77: no class has a field `zebra`
              assertion(forall Node x: x.nxt != null && x.next.agee > 3 && x.next.zebra == 1);
                                                                                  ^^^^^
            heap.deal:3:38: `Person` has no field `data`
              assertion(forall Person x: x.data == 1);
                                           ^^^^
        "#]],
    );
}

#[test]
fn unlike_things_do_not_compare() {
    check(
        r#"
        assertion(forall Node x: x.data == "three");
        assertion(forall Node x: x.data == null);
        assertion(forall Node x: x.next == 3);
        assertion(forall Node x: x.flag == 1);
        assertion(forall Node x: x == person);
        assertion(forall Node x: x.letter == "c");
        assertion(forall Node x: x.state == "Open");
        assertion(forall Node x: x.state == Opne || x.state == Zebra);
        assertion(forall Node x: x.buffer == 3);
        assertion(forall Person x: x == "Ann");
        reach(d) == d;
        reach(d) > 3;
        "#,
        expect![[r#"
            heap.deal:2:34: a number does not compare with text
              assertion(forall Node x: x.data == "three");
                                       ^^^^^^^^^^^^^^^^^
            heap.deal:3:34: a number does not compare with null
              assertion(forall Node x: x.data == null);
                                       ^^^^^^^^^^^^^^
            heap.deal:4:34: an object does not compare with a number
              assertion(forall Node x: x.next == 3);
                                       ^^^^^^^^^^^
            heap.deal:5:34: true or false does not compare with a number
              assertion(forall Node x: x.flag == 1);
                                       ^^^^^^^^^^^
            heap.deal:6:34: a `Node` does not compare with a `Person`
              assertion(forall Node x: x == person);
                                       ^^^^^^^^^^^
            heap.deal:7:34: a character does not compare with text
              assertion(forall Node x: x.letter == "c");
                                       ^^^^^^^^^^^^^^^ a character stands in '…'
            heap.deal:8:34: one of Open, Closed does not compare with text
              assertion(forall Node x: x.state == "Open");
                                       ^^^^^^^^^^^^^^^^^ a variant stands without quotes
            heap.deal:9:45: there is no variant `Opne`
              assertion(forall Node x: x.state == Opne || x.state == Zebra);
                                                  ^^^^ did you mean `Open`?
            heap.deal:9:64: there is no variant `Zebra`
              assertion(forall Node x: x.state == Opne || x.state == Zebra);
                                                                     ^^^^^ there are Open, Closed
            heap.deal:10:34: opaque memory does not compare with a number
              assertion(forall Node x: x.buffer == 3);
                                       ^^^^^^^^^^^^^ derive Plain for the field's type to make it readable
            heap.deal:11:36: a `Person` does not compare with text
              assertion(forall Person x: x == "Ann");
                                         ^^^^^^^^^^
            heap.deal:12:9: a set does not compare with a `Node`
              reach(d) == d;
              ^^^^^^^^^^^^^
            heap.deal:13:9: a set does not compare with a number
              reach(d) > 3;
              ^^^^^^^^^^^^ compare its .size()
        "#]],
    );
}

#[test]
fn some_things_have_no_order() {
    check(
        "
        assertion(forall Person x: x < person);
        assertion(forall Node x: x.next < null);
        assertion(forall Node x: x.flag < true);
        assertion(forall Node x: x.state < Closed);
        reach(d) < reach(list);
        is_shared(d) < is_heap(d);
        ",
        expect![[r#"
            heap.deal:2:36: objects have no order
              assertion(forall Person x: x < person);
                                         ^^^^^^^^^^ compare their fields
            heap.deal:3:34: null has no order
              assertion(forall Node x: x.next < null);
                                       ^^^^^^^^^^^^^
            heap.deal:4:34: true and false have no order
              assertion(forall Node x: x.flag < true);
                                       ^^^^^^^^^^^^^
            heap.deal:5:34: variants of an enum have no order
              assertion(forall Node x: x.state < Closed);
                                       ^^^^^^^^^^^^^^^^
            heap.deal:6:9: sets have no order
              reach(d) < reach(list);
              ^^^^^^^^^^^^^^^^^^^^^^ compare their sizes, or ask (s - t).size() == 0
            heap.deal:7:9: true and false have no order
              is_shared(d) < is_heap(d);
              ^^^^^^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn plain_data_has_no_fields() {
    check(
        "assertion(forall Node x: x.data.next == null && x.name.length.x == 1 && x.data[3] == 1)",
        expect![[r#"
            heap.deal:1:26: this is a number and has no fields
              assertion(forall Node x: x.data.next == null && x.name.length.x == 1 && x.data[3] == 1)
                                       ^^^^^^
            heap.deal:1:49: this is a number and has no fields
              assertion(forall Node x: x.data.next == null && x.name.length.x == 1 && x.data[3] == 1)
                                                              ^^^^^^^^^^^^^
            heap.deal:1:73: this is a number, not an array
              assertion(forall Node x: x.data.next == null && x.name.length.x == 1 && x.data[3] == 1)
                                                                                      ^^^^^^
        "#]],
    );
}

#[test]
fn an_assertion_has_one_relation() {
    check(
        "
        assertion(forall Node x: reach[d](x) || reach[d](x) || reach[list](x));
        assertion((forall Node x: reach[/d](x)) && (exists y: reach[/d, list](y)));
        ",
        expect![[r#"
            heap.deal:2:70: `assertion` has one relation, and this is another
              assertion(forall Node x: reach[d](x) || reach[d](x) || reach[list](x));
                                                                           ^^^^ use `assertDisjoint` if no object is in both
            heap.deal:3:69: `assertion` has one relation, and this is another
              assertion((forall Node x: reach[/d](x)) && (exists y: reach[/d, list](y)));
                                                                          ^^^^^^^^ use `assertDisjoint` if no object is in both
        "#]],
    );
}

#[test]
fn quantifiers_of_an_assertion_do_not_nest() {
    check(
        "
        assertion(forall Node x: exists Node y: x.next == y);
        assertion(forall Node x: (num_of Node y: true) == 1);
        ",
        expect![[r#"
            heap.deal:2:34: quantifiers of an assertion do not nest
              assertion(forall Node x: exists Node y: x.next == y);
                                       ^^^^^^^^^^^^^ as an expression, without `assertion(…)`, they may
            heap.deal:3:35: an assertion has no num_of, only forall and exists
              assertion(forall Node x: (num_of Node y: true) == 1);
                                        ^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn an_assertion_takes_one_traversal() {
    check(
        "assertion(forall Node x: is_shared(x) || reach(d).has(x) || x in {d})",
        expect![[r#"
            heap.deal:1:26: an assertion takes one traversal, and `is_shared` takes its own
              assertion(forall Node x: is_shared(x) || reach(d).has(x) || x in {d})
                                       ^^^^^^^^^^^^ as an expression, without `assertion(…)`, it is fine
            heap.deal:1:42: an assertion takes one traversal, and `has` takes its own
              assertion(forall Node x: is_shared(x) || reach(d).has(x) || x in {d})
                                                       ^^^^^^^^^^^^^^^ as an expression, without `assertion(…)`, it is fine
            heap.deal:1:61: an assertion takes one traversal, and a set takes its own
              assertion(forall Node x: is_shared(x) || reach(d).has(x) || x in {d})
                                                                          ^^^^^^^^ as an expression, without `assertion(…)`, it is fine
        "#]],
    );
}

#[test]
fn an_assertion_is_quantified() {
    check(
        "assertion(d.next == null && forall Node x: true)",
        expect![[r#"
            heap.deal:1:11: an assertion speaks of all objects or of some
              assertion(d.next == null && forall Node x: true)
                        ^^^^^^^^^^^^^^ write `forall Node x: …` or `exists Node x: …`
        "#]],
    );
}

#[test]
fn a_source_comes_from_outside() {
    check(
        r#"
        assertion(forall Node x: reach[x.next](x));
        assertion(forall Node x: reach[/d, x](x));
        assertion(forall Node x: reach["d"](x));
        assertion(forall Node x: reach[/null](x));
        assertion(forall Node x: reach[d.data](x));
        "#,
        expect![[r#"
            heap.deal:2:40: a source cannot depend on the logic variable `x`
              assertion(forall Node x: reach[x.next](x));
                                             ^
            heap.deal:3:44: an exclusion cannot depend on the logic variable `x`
              assertion(forall Node x: reach[/d, x](x));
                                                 ^
            heap.deal:4:40: a constant cannot be a source
              assertion(forall Node x: reach["d"](x));
                                             ^^^
            heap.deal:5:41: a constant cannot be an exclusion
              assertion(forall Node x: reach[/null](x));
                                              ^^^^
            heap.deal:6:40: a source is an object, and this is a number
              assertion(forall Node x: reach[d.data](x));
                                             ^^^^^^
        "#]],
    );
}

#[test]
fn a_relation_is_asked_of_the_logic_variable() {
    check(
        "
        assertion(forall Node x: reach[d](x.next) || reach[d](list));
        reach[d](list);
        ",
        expect![[r#"
            heap.deal:2:43: reach[…] is asked of a logic variable
              assertion(forall Node x: reach[d](x.next) || reach[d](list));
                                                ^^^^^^ here of `x`
            heap.deal:2:63: reach[…] is asked of a logic variable
              assertion(forall Node x: reach[d](x.next) || reach[d](list));
                                                                    ^^^^ here of `x`
            heap.deal:3:18: reach[…] is asked of a logic variable
              reach[d](list);
                       ^^^^ of other objects ask reach(source).has(object)
        "#]],
    );
}

#[test]
fn an_unbound_variable_has_a_nearest_name() {
    check(
        "
        let other = static:list;
        assertion(forall Node xy: reach[lsit](xy) -> yx.next != othr && zebra == null);
        ",
        expect![[r#"
            heap.deal:3:41: `lsit` is not bound
              assertion(forall Node xy: reach[lsit](xy) -> yx.next != othr && zebra == null);
                                              ^^^^ did you mean `list`?
            heap.deal:3:54: `yx` is not bound
              assertion(forall Node xy: reach[lsit](xy) -> yx.next != othr && zebra == null);
                                                           ^^ did you mean `xy`?
            heap.deal:3:65: `othr` is not bound
              assertion(forall Node xy: reach[lsit](xy) -> yx.next != othr && zebra == null);
                                                                      ^^^^ did you mean `other`?
            heap.deal:3:73: `zebra` is not bound
              assertion(forall Node xy: reach[lsit](xy) -> yx.next != othr && zebra == null);
                                                                              ^^^^^
        "#]],
    );
}

#[test]
fn names_are_taken_once() {
    check(
        "
        let d = static:list;
        let e = 3;
        let f = d.data;
        rule a: true;
        rule a: false;
        forall Node d: true;
        forall Node x: exists Node x: true;
        forall null: true;
        ",
        expect![[r#"
            heap.deal:2:13: `d` is already bound
              let d = static:list;
                  ^
            heap.deal:3:17: a host variable is an object, not a constant
              let e = 3;
                      ^
            heap.deal:4:17: a host variable is an object, and this is a number
              let f = d.data;
                      ^^^^^^
            heap.deal:6:14: there is a rule `a` already
              rule a: false;
                   ^
            heap.deal:7:21: `d` is already a host variable
              forall Node d: true;
                          ^ choose another name
            heap.deal:8:36: `x` is already a logic variable
              forall Node x: exists Node x: true;
                                         ^ choose another name
            heap.deal:9:16: `null` cannot be a variable
              forall null: true;
                     ^^^^
        "#]],
    );
}

#[test]
fn a_misspelt_statement_is_not_taken_for_a_function() {
    check(
        "
        asertion(forall Node x: x.next == null);
        assert(forall Node x: x.next == null);
        rule two: assertDisjont(forall Node x: x.next == null);
        rule three: instance(Node);
        ",
        expect![[r#"
            heap.deal:2:9: there is no function `asertion`
              asertion(forall Node x: x.next == null);
              ^^^^^^^^ did you mean `assertion`?
            heap.deal:3:9: there is no function `assert`
              assert(forall Node x: x.next == null);
              ^^^^^^ did you mean `assertion`?
            heap.deal:4:19: there is no function `assertDisjont`
              rule two: assertDisjont(forall Node x: x.next == null);
                        ^^^^^^^^^^^^^ did you mean `assertDisjoint`?
            heap.deal:5:21: there is no function `instance`
              rule three: instance(Node);
                          ^^^^^^^^ did you mean `instances`?
        "#]],
    );
}

#[test]
fn functions_are_known_and_complete() {
    check(
        "
        is_shard(d);
        isShared(d, d);
        reach(d).hsa(d);
        reach(d, {d}, d);
        reach(d).has();
        instances(Node) <= 1 && true;
        true && instances(Node) <= 1;
        ",
        expect![[r#"
            heap.deal:2:9: there is no function `is_shard`
              is_shard(d);
              ^^^^^^^^ did you mean `is_shared`?
            heap.deal:3:9: `isShared` takes one argument, not 2
              isShared(d, d);
              ^^^^^^^^
            heap.deal:4:18: there is no method `hsa`
              reach(d).hsa(d);
                       ^^^ did you mean `has`?
            heap.deal:5:9: `reach` takes 0 to 2 arguments, not 3
              reach(d, {d}, d);
              ^^^^^
            heap.deal:6:18: `has` takes one argument, not 0
              reach(d).has();
                       ^^^
            heap.deal:7:30: expected `;`, found `&&`
              instances(Node) <= 1 && true;
                                   ^^
            heap.deal:8:17: there is no function `instances`
              true && instances(Node) <= 1;
                      ^^^^^^^^^ a GC assertion is a rule of its own, not part of one
        "#]],
    );
}

#[test]
fn sets_and_objects_are_not_the_same() {
    check(
        "
        pred(reach(d)).size() == 1;
        reach(d, list).has(d);
        reach(d).has(3);
        d.has(list);
        reach(d) | d;
        reach(3);
        {1, d};
        !d;
        d && reach(d);
        forall Node x: reach(x);
        num_of Node t; running().has(t); reach(t).has(d) <= 1 && true;
        !d == null;
        ",
        expect![[r#"
            heap.deal:2:14: an object is needed here, and this is a set
              pred(reach(d)).size() == 1;
                   ^^^^^^^^
            heap.deal:3:18: a set is needed here, and this is an object
              reach(d, list).has(d);
                       ^^^^ a set of one object stands in { }
            heap.deal:4:22: an object is needed here, and this is a number
              reach(d).has(3);
                           ^
            heap.deal:5:9: a set is needed here, and this is a `Node`
              d.has(list);
              ^ a set of one object stands in { }
            heap.deal:6:20: a set is needed here, and this is a `Node`
              reach(d) | d;
                         ^ a set of one object stands in { }
            heap.deal:7:15: an object or a set is needed here, and this is a number
              reach(3);
                    ^
            heap.deal:8:10: an object is needed here, and this is a number
              {1, d};
               ^
            heap.deal:9:10: this must be true or false, and is a `Node`
              !d;
               ^
            heap.deal:10:9: this must be true or false, and is a `Node`
              d && reach(d);
              ^
            heap.deal:10:14: this must be true or false, and is a set
              d && reach(d);
                   ^^^^^^^^
            heap.deal:11:24: this must be true or false, and is a set
              forall Node x: reach(x);
                             ^^^^^^^^
            heap.deal:12:42: true or false does not compare with a number
              num_of Node t; running().has(t); reach(t).has(d) <= 1 && true;
                                               ^^^^^^^^^^^^^^^^^^^^ a num_of that is compared stands in parentheses
            heap.deal:13:10: this must be true or false, and is a `Node`
              !d == null;
               ^
        "#]],
    );
}

#[test]
fn rules_hold_or_do_not() {
    check(
        "
        rule a: query Node x;
        rule b: reach(d);
        rule c: d.data;
        rule d: d.flag;
        rule e: reach(d).size();
        ",
        expect![[r#"
            heap.deal:2:17: a query finds objects, and a rule must hold or not
              rule a: query Node x;
                      ^^^^^^^^^^^^ count them: (num_of Node x: …) == 0
            heap.deal:3:17: this must be true or false, and is a set
              rule b: reach(d);
                      ^^^^^^^^
            heap.deal:4:17: this must be true or false, and is a number
              rule c: d.data;
                      ^^^^^^
            heap.deal:6:17: this must be true or false, and is a number
              rule e: reach(d).size();
                      ^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn gc_assertions_are_about_classes_and_objects() {
    check(
        "
        rule a: instances(d) <= 1;
        rule b: instances(Node) <= 3 MiB;
        rule c: instances(Node) >= 3;
        rule d: volume(Node) < 0;
        rule e: unshared(Nodee);
        rule f: dead(only d);
        rule g: owned_by(d);
        rule h: dead(3);
        ",
        expect![[r#"
            heap.deal:2:27: there is no class `d`
              rule a: instances(d) <= 1;
                                ^
            heap.deal:3:36: a limit is a number of objects
              rule b: instances(Node) <= 3 MiB;
                                         ^^^^^
            heap.deal:4:33: expected `<=` and a limit, found `>=`
              rule c: instances(Node) >= 3;
                                      ^^
            heap.deal:5:32: a limit of bytes is needed here, such as `10 MiB`
              rule d: volume(Node) < 0;
                                     ^
            heap.deal:6:26: `Nodee` is neither a host variable nor a class
              rule e: unshared(Nodee);
                               ^^^^^ did you mean `Node`?
            heap.deal:7:22: `only` is for classes, and this is an object
              rule f: dead(only d);
                           ^^^^^^
            heap.deal:8:27: expected `,` and then what it owns, found `)`
              rule g: owned_by(d);
                                ^
            heap.deal:9:22: an object is needed here, and this is a number
              rule h: dead(3);
                           ^
        "#]],
    );
}

#[test]
fn queries_select_values() {
    check(
        "
        query Node x select sum(x.next);
        query Node x select min(x.flag);
        query Node x select reach(x);
        query Node x: x.data;
        ",
        expect![[r#"
            heap.deal:2:33: a sum is of numbers, and this is an object
              query Node x select sum(x.next);
                                      ^^^^^^
            heap.deal:3:33: this is true or false, which has no order
              query Node x select min(x.flag);
                                      ^^^^^^
            heap.deal:4:29: a query selects values, and this is a set
              query Node x select reach(x);
                                  ^^^^^^^^
            heap.deal:5:23: this must be true or false, and is a number
              query Node x: x.data;
                            ^^^^^^
        "#]],
    );
}

#[test]
fn all_mistakes_of_a_text_are_told() {
    check(
        "
        rule a: assertion(forall Node x: x.next ==);
        rule b eror: assertion(forall Node x x.nxt == null);
        rule c: (d.next == == null && d.prv != null;
        rule d: d.next = d < 3 && d..next == 1;
        rule e: reach[d x && true;
        rule f: 'ab' == \"c;
        rule g true;
        rule h: d.items[x] == null)
        rule i: \\foral Node x; @ == 3; /* never closed
        ",
        expect![[r#"
            heap.deal:2:51: expected an expression, found `)`
              rule a: assertion(forall Node x: x.next ==);
                                                        ^
            heap.deal:3:16: `eror` is no severity
              rule b eror: assertion(forall Node x x.nxt == null);
                     ^^^^ did you mean `error`?
            heap.deal:3:46: expected `:` behind the variable, found `x`
              rule b eror: assertion(forall Node x x.nxt == null);
                                                   ^
            heap.deal:3:48: neither `Node` nor a subclass has a field `nxt`
              rule b eror: assertion(forall Node x x.nxt == null);
                                                     ^^^ did you mean `next`?
            heap.deal:4:28: expected an expression, found `==`
              rule c: (d.next == == null && d.prv != null;
                                 ^^
            heap.deal:4:41: neither `Node` nor a subclass has a field `prv`
              rule c: (d.next == == null && d.prv != null;
                                              ^^^ did you mean `prev`?
            heap.deal:4:52: expected `)`, found `;`
              rule c: (d.next == == null && d.prv != null;
                                                         ^
            heap.deal:5:28: comparisons do not chain
              rule d: d.next = d < 3 && d..next == 1;
                                 ^ join two of them with &&
            heap.deal:5:37: expected the name of a field, found `.`
              rule d: d.next = d < 3 && d..next == 1;
                                          ^
            heap.deal:6:25: expected `]`, found `x`
              rule e: reach[d x && true;
                              ^
            heap.deal:7:17: a character constant has one character
              rule f: 'ab' == "c;
                      ^^^^ text stands in "…"
            heap.deal:7:25: this quote is not closed in its line
              rule f: 'ab' == "c;
                              ^^^
            heap.deal:8:16: expected `:` and then what must hold, found `true`
              rule g true;
                     ^^^^
            heap.deal:9:25: expected the number of an element, found `x`
              rule h: d.items[x] == null)
                              ^
            heap.deal:9:35: expected `;`, found `)`
              rule h: d.items[x] == null)
                                        ^
            heap.deal:10:17: `\foral` is not known
              rule i: \foral Node x; @ == 3; /* never closed
                      ^^^^^^ did you mean `forall`?
            heap.deal:10:32: '@' means nothing here
              rule i: \foral Node x; @ == 3; /* never closed
                                     ^
            heap.deal:10:40: this comment is not closed
              rule i: \foral Node x; @ == 3; /* never closed
                                             ^^
        "#]],
    );
}

#[test]
fn formulas_in_quotes_have_their_own_places() {
    check(
        r#"assertion("forall Node x: x.nxt == x"); assertion("forall Node x: x.data =="); assertion("\t")"#,
        expect![[r#"
            heap.deal:1:29: neither `Node` nor a subclass has a field `nxt`
              assertion("forall Node x: x.nxt == x"); assertion("forall Node x: x.data =="); assertion("\t")
                                          ^^^ did you mean `next`?
            heap.deal:1:76: expected an expression, found the end
              …ertion("forall Node x: x.nxt == x"); assertion("forall Node x: x.data =="); assertion("\t")
                                                                                       ^
            heap.deal:1:90: a formula in quotes has no escapes
              … Node x: x.nxt == x"); assertion("forall Node x: x.data =="); assertion("\t")
                                                                                       ^^^^ leave the quotes out
        "#]],
    );
}

#[test]
fn carets_stand_under_tabs_and_wide_characters() {
    check(
        "\t\tassertion(forall Node x:\tx.name == \"日本語\" && x.nxt == null /* e\u{301} */ && x.prv == null)",
        expect![[r#"
            heap.deal:1:49: neither `Node` nor a subclass has a field `nxt`
              assertion(forall Node x:    x.name == "日本語" && x.nxt == null /* é */ && x.prv == null)
                                                                  ^^^ did you mean `next`?
            heap.deal:1:75: neither `Node` nor a subclass has a field `prv`
              …tion(forall Node x:    x.name == "日本語" && x.nxt == null /* é */ && x.prv == null)
                                                                                       ^^^ did you mean `prev`?
        "#]],
    );
}

#[test]
fn long_lines_are_cut() {
    let text = format!(
        "assertion(forall Node x: {} && x.nxt == x && {})",
        vec!["x.next == x"; 20].join(" && "),
        vec!["x.prev == x"; 20].join(" && "),
    );
    check(
        &text,
        expect![[r#"
        heap.deal:1:328: neither `Node` nor a subclass has a field `nxt`
          …t == x && x.next == x && x.next == x && x.next == x && x.next == x && x.nxt == x && x.prev == x && x.prev == x && x.prev == x && x.prev == x && …
                                                                                   ^^^ did you mean `next`?
    "#]],
    );
}

#[test]
fn a_mistake_at_the_end_is_at_the_end() {
    check(
        "assertion(forall Node x: ",
        expect![[r#"
            heap.deal:1:25: expected an expression, found the end
              assertion(forall Node x:
                                      ^
        "#]],
    );
    check(
        "d ==\n\n",
        expect![[r#"
            heap.deal:1:5: expected an expression, found the end
              d ==
                  ^
        "#]],
    );
}

#[test]
fn more_relations_than_a_traversal_has_marks_for_are_refused() {
    fn any(relations: &[String]) -> String {
        match relations {
            [one] => one.clone(),
            _ => {
                let (a, b) = relations.split_at(relations.len() / 2);
                format!("({} || {})", any(a), any(b))
            }
        }
    }
    let mut builder = heaphound_heap::snapshot::SnapshotBuilder::default();
    builder.add_class("Node", None, &["next"]);
    let heap = builder.finish().unwrap();
    let classes = heaphound_heap::view::HeapView::classes(&heap);
    let scope = heaphound_deal::check::Scope::new(classes).bind("d", None);
    let compiles = |count: usize| {
        let relations: Vec<String> = (0..count)
            .map(|number| format!("reach[d/Node#{number}](x)"))
            .collect();
        let text = format!("unsafeAssert(forall Node x: {})", any(&relations));
        let compiled = heaphound_deal::check::compile("it", &text, &scope);
        compiled.map(|_| ()).map_err(|wrong| wrong.to_string())
    };
    assert_eq!(compiles(124), Ok(()));
    let wrong = compiles(125).unwrap_err();
    assert!(wrong.contains("at most 124 relations"), "{wrong}");
}

#[test]
fn interfaces_are_classes_without_instances() {
    check(
        "assertion(forall Stored x: x.age > 3)",
        expect![[r#"
        fine: 1 rules
    "#]],
    );
    check(
        "rule it: instances(Closing) <= 3",
        expect![[r#"
        fine: 1 rules
    "#]],
    );
    check(
        "assertion(forall Person x: x instanceof Stored)",
        expect![[r#"
            fine: 1 rules
        "#]],
    );
    check(
        "rule it: instances(only Closing) <= 3",
        expect![[r#"
        heap.deal:1:25: `Closing` is an interface and has no instances of its own
          rule it: instances(only Closing) <= 3
                                  ^^^^^^^
    "#]],
    );
    check(
        "assertion(forall x: x != Stored#1)",
        expect![[r#"
        heap.deal:1:26: `Stored` is an interface and has no instances of its own
          assertion(forall x: x != Stored#1)
                                   ^^^^^^^^
    "#]],
    );
    check(
        "assertion(forall Stored x: x.agee > 3)",
        expect![[r#"
        heap.deal:1:30: neither `Stored` nor a subclass has a field `agee`
          assertion(forall Stored x: x.agee > 3)
                                       ^^^^ did you mean `age`?
    "#]],
    );
    check(
        "assertion(forall Closing x: x == 3)",
        expect![[r#"
        heap.deal:1:29: a `Closing` does not compare with a number
          assertion(forall Closing x: x == 3)
                                      ^^^^^^
    "#]],
    );
}

#[test]
fn type_arguments_are_part_of_a_name() {
    check(
        "assertion(forall List<shop::Order> x: x.first != null)",
        expect![[r#"
            fine: 1 rules
        "#]],
    );
    check(
        "assertion(forall shop::List<bank::Order> x: x.last != null)",
        expect![[r#"
            fine: 1 rules
        "#]],
    );
    // Either list is one of orders.
    check(
        "assertion(forall List<Order> x: x.last != null)",
        expect![[r#"
            heap.deal:1:18: `List<Order>` can be several classes
              assertion(forall List<Order> x: x.last != null)
                               ^^^^^^^^^^^ List<shop::Order> or shop::List<bank::Order>
        "#]],
    );
    check(
        "assertion(forall List<Orders> x: x.last != null)",
        expect![[r#"
            heap.deal:1:18: there is no class `List<Orders>`
              assertion(forall List<Orders> x: x.last != null)
                               ^^^^^^^^^^^^
        "#]],
    );
    check(
        "rule it: instances(List<Person>) <= 3",
        expect![[r#"
        heap.deal:1:20: there is no class `List<Person>`
          rule it: instances(List<Person>) <= 3
                             ^^^^^^^^^^^^
    "#]],
    );
}
