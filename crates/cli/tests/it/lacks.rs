//! What a file does not say of a heap is not concluded from it: interfaces, statics that are null, what was cut off, what was
//! redacted, what heaps of another kind have. And what it says means the same in each form.

use expect_test::expect;
use heaphound_testkit::hprof::Field::{Byte, Int, Object};
use heaphound_testkit::hprof::Hprof;
use heaphound_testkit::v8::V8File;

use crate::folder::Folder;
use crate::{run_in, told};

/// Two loaders with a class `shop.Item` each, one of them with a base of its own; lists; statics of all kinds.
fn shop() -> Vec<u8> {
    let mut dump = Hprof::new("1.0.2", 8);
    let object = dump.class("java/lang/Object", 0, &[]);
    dump.class("java/lang/Class", object, &[]);
    dump.class("java/util/List", object, &[]);
    let above = dump.class("java/util/AbstractList", object, &[]);
    let list = dump.class("java/util/ArrayList", above, &[("size", Int(0))]);
    dump.class("shop/Never", object, &[("amount", Int(0))]);
    dump.class("shop/NeverBelow", above, &[]);
    let fields = [("value", Object(0)), ("coder", Byte(0))];
    let string = dump.class("java/lang/String", object, &fields);
    let one = dump.class("shop/Item", object, &[("next", Object(0))]);
    let base = dump.class("shop/Base", object, &[]);
    let fields = [("next", Object(0)), ("label", Object(0))];
    let two = dump.class("shop/Item", base, &fields);
    let other = dump.class("other/Label", object, &[]);
    let till = dump.class("shop/Till", object, &[]);
    dump.set_loader(one, 0x100);
    dump.set_loader(two, 0x110);
    dump.set_static(till, "items", Object(0x200));
    dump.set_static(till, "list", Object(0x240));
    dump.set_static(till, "none", Object(0));
    dump.set_static(till, "count", Int(3));
    dump.segment(|heap| {
        heap.classes();
        heap.instance(0x100, object, &[]);
        heap.instance(0x110, object, &[]);
        heap.instance(0x200, one, &[Object(0x210)]);
        heap.instance(0x210, two, &[Object(0x220), Object(0x250)]);
        heap.instance(0x220, two, &[Object(0), Object(0x230)]);
        heap.instance(0x230, other, &[]);
        heap.instance(0x240, list, &[Int(0)]);
        heap.instance(0x250, string, &[Object(0x260), Byte(0)]);
        heap.primitives(0x260, 8, 5, b"apple");
    });
    dump.end();
    dump.finish()
}

/// The dump, and what it is converted to.
const FORMS: [&str; 3] = ["shop.hprof", "shop.heap", "shop.hhs"];

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("shop.hprof", shop());
    for form in &FORMS[1..] {
        let output = run_in(&folder.0, &format!("convert shop.hprof {form}"));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    folder
}

/// Runs a line in which `HEAP` is each form of the heap. All print the same.
fn check(folder: &Folder, line: &str, expect: expect_test::Expect) {
    let run = |form: &str| {
        let shown = told(&run_in(&folder.0, &line.replace("HEAP", form)));
        shown.replace(form, "HEAP")
    };
    let shown = run(FORMS[0]);
    expect.assert_eq(&shown);
    for form in &FORMS[1..] {
        assert_eq!(run(form), shown, "{form}");
    }
}

#[test]
fn a_rule_about_what_may_be_an_interface_is_not_checked() {
    let folder = folder("lacks-interfaces");
    folder.write(
        "lists.deal",
        "
        rule count: instances(java.util.List) <= 0;
        rule volume: volume(List) <= 1 KiB;
        rule all: assertion(forall java.util.List x: x != x);
        rule none: assertion(forall x: !(x instanceof java.util.List));
        rule counted: (\\num_of java.util.List x; true) == 0;
        rule dead: dead(java.util.List);
        rule owned: owned_by(java.util.List, shop.Item);
        rule with-subclasses: instances(java.util.AbstractList) <= 1;
        rule with-fields: instances(shop.Never) <= 0;
        rule with-superclass: instances(shop.NeverBelow) <= 0;
        rule with-objects: instances(other.Label) <= 1;
        ",
    );
    check(
        &folder,
        "check HEAP --rules lists.deal",
        expect![[r#"
        not checked: count: `java.util.List` may be an interface, and the heap does not say what implements it (name the classes that implement it)
        not checked: volume: `java.util.List` may be an interface, and the heap does not say what implements it (name the classes that implement it)
        not checked: all: `java.util.List` may be an interface, and the heap does not say what implements it (name the classes that implement it)
        not checked: none: `java.util.List` may be an interface, and the heap does not say what implements it (name the classes that implement it)
        not checked: counted: `java.util.List` may be an interface, and the heap does not say what implements it (name the classes that implement it)
        not checked: dead: `java.util.List` may be an interface, and the heap does not say what implements it (name the classes that implement it)
        not checked: owned: `java.util.List` may be an interface, and the heap does not say what implements it (name the classes that implement it)
        11 rules, 0 failed, 7 not checked
        exit code 2
    "#]],
    );
    folder.write(
        "optional.deal",
        "
        optional class java.util.List;
        rule count: instances(java.util.List) <= 0;
        ",
    );
    check(
        &folder,
        "check HEAP --rules optional.deal",
        expect![[r#"
            not checked: count: `java.util.List` may be an interface, and the heap does not say what implements it (name the classes that implement it)
            1 rule, 0 failed, 1 not checked
            exit code 2
        "#]],
    );
    check(
        &folder,
        "eval HEAP 'exists x: x instanceof java.util.List'",
        expect![[r#"
        error: expression:1:24: `java.util.List` may be an interface, and the heap does not say what implements it
          exists x: x instanceof java.util.List
                                 ^^^^^^^^^^^^^^ name the classes that implement it
        exit code 2
    "#]],
    );
}

#[test]
fn a_static_that_is_null_or_plain_spoils_its_rule_alone() {
    let folder = folder("lacks-statics");
    folder.write(
        "statics.deal",
        "
        let list = static:shop.Till.list;
        rule there: reach(static:shop.Till.items).size() == 6;
        rule field: static:shop.Till.items.next != null;
        rule host: list.size == 0;
        rule null: reach(static:shop.Till.none).size() == 0;
        rule null-quoted: reach(static:\"shop.Till.none\").size() == 0;
        rule plain: reach(static:shop.Till.count).size() == 0;
        rule field-of-null: static:shop.Till.none.next == null;
        rule no-static: reach(static:shop.Till.nothing).size() == 0;
        rule no-class: reach(static:shop.Shop.items).size() == 0;
        rule no-class-quoted: reach(static:\"shop.Shop.items\").size() == 0;
        ",
    );
    check(
        &folder,
        "check HEAP --rules statics.deal",
        expect![[r#"
        not checked: null: there is no root `static:"shop.Till.none"` (did you mean `static:"shop.Till.list"`?)
        not checked: null-quoted: there is no root `static:"shop.Till.none"` (did you mean `static:"shop.Till.list"`?)
        not checked: plain: there is no root `static:"shop.Till.count"` (did you mean `static:"shop.Till.list"`?)
        not checked: field-of-null: there is no root `static:"shop.Till.none"` (did you mean `static:"shop.Till.list"`?)
        not checked: no-static: there is no root `static:"shop.Till.nothing"` (did you mean `static:"shop.Till.items"`?)
        not checked: no-class: there is no root `static:"shop.Shop.items"` (did you mean `static:"shop.Till.items"`?)
        not checked: no-class-quoted: there is no root `static:"shop.Shop.items"` (did you mean `static:"shop.Till.items"`?)
        10 rules, 0 failed, 7 not checked
        exit code 2
    "#]],
    );
    // Nor does it matter that the heap has no static root at all.
    let mut dump = Hprof::new("1.0.2", 8);
    let object = dump.class("java/lang/Object", 0, &[]);
    let class = dump.class("M", object, &[]);
    dump.set_static(class, "w", Object(0));
    dump.segment(|heap| {
        heap.classes();
        heap.instance(0x100, object, &[]);
    });
    dump.end();
    folder.write("m.hprof", dump.finish());
    folder.check(
        "check m.hprof 'reach(static:M.w).size() == 0'",
        expect![[r#"
        not checked: reach(static:M.w).size() == 0: there is no root `static:"M.w"`
        1 rule, 0 failed, 1 not checked
        exit code 2
    "#]],
    );
    folder.check(
        "check m.hprof 'reach(static:\"M.w\").size() == 0'",
        expect![[r#"
        not checked: reach(static:"M.w").size() == 0: there is no root `static:"M.w"`
        1 rule, 0 failed, 1 not checked
        exit code 2
    "#]],
    );
}

#[test]
fn classes_of_one_name_are_one_to_rules_and_commands() {
    let folder = folder("lacks-names");
    check(
        &folder,
        "check HEAP 'query shop.Item x: x == x'",
        expect![[r#"
        query shop.Item x: x == x: 3 objects
          shop.Item#16
          shop.Item#17
          shop.Item#18
    "#]],
    );
    check(
        &folder,
        "check HEAP '(\\num_of java.lang.Class x; true)'",
        expect![[r#"
        \num_of java.lang.Class x; true: 0
    "#]],
    );
    check(
        &folder,
        "check HEAP 'instances(shop.Item) <= 2'",
        expect![[r#"
        error[assertion]: the assertion does not hold
          objects: shop.Item#16, shop.Item#17, shop.Item#18
          2 held like this:
            static:"shop.Till.items" → shop.Item#16 .next → shop.Item#17
          1 held like this:
            static:"shop.Till.items" → shop.Item#16
          note: 3 instances of shop.Item live; the assertion allows 2
          place: statement:1:1
          fingerprint: 95cf21d284236262
        1 rule, 1 failed
        exit code 1
    "#]],
    );
    check(
        &folder,
        "path HEAP shop.Item --merge",
        expect![[r#"
        2 merged paths to 3 objects of shop.Item
          2 held like this:
            static:"shop.Till.items" → shop.Item#16 .next → shop.Item#17
          1 held like this:
            static:"shop.Till.items" → shop.Item#16
    "#]],
    );
    check(
        &folder,
        "path HEAP Item#17",
        expect![[r#"
        a path from a root to shop.Item#17
          static:"shop.Till.items" → shop.Item#16 .next → shop.Item#17
    "#]],
    );
    check(
        &folder,
        "path HEAP Item",
        expect![[r#"
        error: class `shop.Item` has 3 instances; which one?
          shop.Item#16, shop.Item#17, shop.Item#18
        exit code 2
    "#]],
    );
    check(
        &folder,
        "info HEAP",
        expect![[r#"
            HEAP
                           objects  bytes
              objects           22    400
              reachable          7    144
              unreachable       15    256
              19 edges

              classes (21)         bytes  objects  reachable  retained ≥
              java.lang.Class        224       13          0           0
              shop.Item (2 of 2)      48        2          2         112
              java.lang.Object        32        2          0           0
              byte[]                  24        1          1          24
              java.lang.String        24        1          1          48
              java.util.ArrayList     16        1          1          16
              other.Label             16        1          1          16
              shop.Item (1 of 2)      16        1          1         128

              roots   count
              static      2

              threads  stack roots  thread object
              none
        "#]],
    );
    check(
        &folder,
        "dominators HEAP --by class",
        expect![[r#"
        HEAP: 7 live objects, 144 bytes
          retained  of all  objects  class
               128  88.9 %        6  shop.Item
               112  77.8 %        5    shop.Item
                48  33.3 %        2      java.lang.String
                40  27.8 %        2      shop.Item
                16  11.1 %        1  java.util.ArrayList
    "#]],
    );
    // A dump converts to the same heap whatever way it goes.
    let convert = |from: &str, to: &str| {
        let output = run_in(&folder.0, &format!("convert {from} {to}"));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    };
    convert("shop.hhs", "again.heap");
    assert_eq!(folder.read("again.heap"), folder.read("shop.heap"));
}

/// The first half of a dump.
fn cut() -> Vec<u8> {
    let bytes = shop();
    bytes[..bytes.len() - 60].to_vec()
}

const CUT: &str = "
    rule holds: instances(shop.Item) <= 3;
    rule fails: instances(shop.Item) <= 2;
    rule fails-for-one: assertion(forall shop.Item x: x.next != null);
    rule exists-fails: assertion(exists java.lang.String x: x == \"apple\");
    rule exists-holds: assertion(exists shop.Item x: x.next == null);
    rule nobody-knows: reach(static:shop.Till.items).size() == 6;
";

#[test]
fn what_holds_on_a_part_of_a_heap_is_not_checked() {
    let folder = Folder::new("lacks-parts");
    folder.write("cut.hprof", cut());
    folder.write("cut.deal", CUT);
    folder.check("check cut.hprof --rules cut.deal", expect![[r#"
        not checked: holds: it holds on what could be read, and parts of the heap are missing
          note: at byte 2415: the file ends inside an object; what came behind it is missing
          note: 1 reference leads to an object that the dump does not have
        error[fails]: `fails` does not hold
          objects: shop.Item#16, shop.Item#17, shop.Item#18
          2 held like this:
            static:"shop.Till.items" → shop.Item#16 .next → shop.Item#17
          1 held like this:
            static:"shop.Till.items" → shop.Item#16
          note: 3 instances of shop.Item live; the assertion allows 2
          place: cut.deal:3:5
          fingerprint: d9906ac7145a7a6a
        error[fails-for-one]: `fails-for-one` does not hold
          objects: shop.Item#18
          x = shop.Item#18, x.next = null:
            static:"shop.Till.items" → shop.Item#16 .next → shop.Item#17 .next → shop.Item#18
          note: 1 object breaks `forall shop.Item x: x.next != null`
          place: cut.deal:4:5
          fingerprint: 76dfcd178622ab4f
        not checked: exists-fails: it does not hold on what could be read, and parts of the heap are missing
          note: at byte 2415: the file ends inside an object; what came behind it is missing
          note: 1 reference leads to an object that the dump does not have
        holds: exists-holds
          note: at byte 2415: the file ends inside an object; what came behind it is missing
          note: 1 reference leads to an object that the dump does not have
        not checked: nobody-knows: it does not hold on what could be read, and parts of the heap are missing
          note: at byte 2415: the file ends inside an object; what came behind it is missing
          note: 1 reference leads to an object that the dump does not have
        6 rules, 2 failed, 3 not checked
        note: cut.hprof: at byte 2415: the file ends inside an object; what came behind it is missing
        note: cut.hprof: 1 reference leads to an object that the dump does not have
        exit code 2
    "#]]);
    for form in ["cut.heap", "cut.hhs", "cut.heapsnapshot"] {
        let output = run_in(&folder.0, &format!("convert cut.hprof {form}"));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let line = format!("check {form} 'instances(only other.Label) <= 1'");
        let shown = told(&run_in(&folder.0, &line));
        assert!(shown.contains("parts of the heap are missing"), "{shown}");
        assert!(shown.ends_with("exit code 2\n"), "{shown}");
    }
    let only = "check cut.hprof --rules cut.deal --only holds";
    folder.check(&format!("{only} --allow-unchecked"), expect![[r#"
        not checked: holds: it holds on what could be read, and parts of the heap are missing
          note: at byte 2415: the file ends inside an object; what came behind it is missing
          note: 1 reference leads to an object that the dump does not have
        1 rule, 0 failed, 1 not checked
        note: cut.hprof: at byte 2415: the file ends inside an object; what came behind it is missing
        note: cut.hprof: 1 reference leads to an object that the dump does not have
    "#]]);
    for format in ["json", "sarif", "junit"] {
        let output = run_in(&folder.0, &format!("{only} --format {format}"));
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains("parts of the heap are missing"), "{shown}");
        assert!(shown.contains("the file ends inside"), "{shown}");
    }
}

#[test]
fn no_cut_makes_a_rule_hold_that_fails_on_the_whole() {
    let folder = Folder::new("lacks-anywhere");
    let bytes = shop();
    for end in (0..bytes.len()).step_by(7) {
        folder.write("cut.hprof", &bytes[..end]);
        let line = "check cut.hprof 'instances(shop.Item) <= 2'";
        let output = run_in(&folder.0, line);
        let code = output.status.code();
        assert!(matches!(code, Some(1 | 2)), "{end}: {output:?}");
    }
}

#[test]
fn rules_for_other_heaps_are_not_checked() {
    let folder = folder("lacks-kind");
    let mut page = V8File::new();
    let root = page.root();
    let map = page.node("hidden", "system / Map", 40);
    page.element(root, 1, map);
    folder.write("page.heapsnapshot", page.text());
    folder.check(
        "check page.heapsnapshot --rules jdk --only tree-map-left --only linked-list-next",
        expect![[r#"
        not checked: linked-list-next: it is about the heap of a JVM, and this heap is none
        not checked: tree-map-left: it is about the heap of a JVM, and this heap is none
        2 rules, 0 failed, 2 not checked
        exit code 2
    "#]],
    );
    folder.check(
        "check page.heapsnapshot --rules node",
        expect![[r#"
        6 rules, all hold
    "#]],
    );
    check(
        &folder,
        "check HEAP --rules node --only timers",
        expect![[r#"
        not checked: timers: it is about the heap of V8, and this heap is none
        1 rule, 0 failed, 1 not checked
        exit code 2
    "#]],
    );
    folder.check(
        "check web.heap --rules jdk --only tree-map-left --allow-unchecked",
        expect![[r#"
        not checked: tree-map-left: it is about the heap of a JVM, and this heap is none
        1 rule, 0 failed, 1 not checked
    "#]],
    );
}

/// Whoever reads a report and not the terminal learns what the file lacks.
#[test]
fn each_report_says_what_is_missing() {
    let folder = Folder::new("lacks-reports");
    folder.write("cut.hprof", cut());
    for command in [
        "info",
        "suspects",
        "dominators",
        "waste",
        "shapes",
        "summary",
    ] {
        for format in ["json", "html"] {
            let output = run_in(
                &folder.0,
                &format!("{command} cut.hprof --format {format} -q"),
            );
            assert_eq!(output.status.code(), Some(0), "{command}: {output:?}");
            let shown = String::from_utf8(output.stdout).unwrap();
            assert!(
                shown.contains("the file ends inside an object"),
                "{command}: {shown}"
            );
            if format == "json" {
                let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
                assert!(json["notes"][0].is_string(), "{command}: {shown}");
            }
        }
    }
    for (expression, code) in [
        ("forall shop.Item x: x != null", 2),
        ("exists shop.Item x: x.next == null", 0),
        ("forall shop.Item x: x.next != null", 1),
        ("reach(static:shop.Till.items).size() == 6", 2),
    ] {
        let output = run_in(&folder.0, &format!("eval cut.hprof '{expression}'"));
        assert_eq!(output.status.code(), Some(code), "{expression}: {output:?}");
    }
}

/// What is dropped from a heap decides nothing there.
#[test]
fn a_rule_that_hangs_on_what_was_dropped_is_not_checked() {
    let folder = Folder::new("lacks-values");
    folder.write(
        "shop.heap",
        "class Order { total: i32, name ->, next -> }
        class Str { text }
        root static:orders -> Order#1
        Order#1 { total = 3, name -> Str#3, next -> Order#2 }
        Order#2 { total = 12, name -> Str#4 }
        Str#3 \"Ann\"
        Str#4 \"Bob\"
        ",
    );
    let output = run_in(&folder.0, "convert shop.heap dropped.hhs --redact");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    folder.write(
        "shop.deal",
        "
        rule small: assertion(forall Order x: x.total < 20);
        rule not-large: assertion(forall Order x: !(x.total >= 20));
        rule none-small: assertion(!(exists Order x: x.total < 0));
        rule named: assertion(exists Order x: x.name == \"Ann\");
        rule expression: forall Order x: x.total < 20;
        rule linked: assertion(exists Order x: x.next != null);
        rule few: instances(Order) <= 2;
        ",
    );
    folder.check(
        "check shop.heap --rules shop.deal",
        expect![[r#"
        7 rules, all hold
    "#]],
    );
    folder.check(
        "check dropped.hhs --rules shop.deal -q",
        expect![[r#"
        not checked: small: it hangs on values that the heap does not have
          note: the heap does not have `x.total` of 2 objects, Order#1 among them
        not checked: not-large: it hangs on values that the heap does not have
          note: the heap does not have `x.total` of 2 objects, Order#1 among them
        not checked: none-small: it hangs on values that the heap does not have
          note: the heap does not have `x.total` of 2 objects, Order#1 among them
        not checked: named: it hangs on values that the heap does not have
          note: the heap does not have `x.name` of 2 objects, Order#1 among them
        not checked: expression: it hangs on values that the heap does not have
          note: the heap does not have all values of `x.total < 20`
        7 rules, 0 failed, 5 not checked
        exit code 2
    "#]],
    );
    folder.check(
        "eval dropped.hhs 'forall Order x: x.total < 20' -q",
        expect![[r#"
            error: the expression hangs on values that the heap does not have
              the heap does not have all values of `x.total < 20`
            exit code 2
        "#]],
    );
    let output = run_in(
        &folder.0,
        "check dropped.hhs --rules shop.deal --format junit",
    );
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(shown.matches("it hangs on values").count(), 5, "{shown}");
}

/// A snapshot of V8 has no words for superclasses.
#[test]
fn a_rule_about_a_class_is_not_checked_where_superclasses_are_lost() {
    let folder = folder("lacks-superclasses");
    let rule = "'instances(java.util.AbstractList) <= 0'";
    folder.check(&format!("check shop.hhs {rule}"), expect![[r#"
        error[assertion]: the assertion does not hold
          objects: java.util.ArrayList#20
          1 held like this:
            static:"shop.Till.list" → java.util.ArrayList#20
          note: 1 instances of java.util.AbstractList and its subclasses live; the assertion allows 0
          place: statement:1:1
          fingerprint: d1f2c91ab25be2e1
        1 rule, 1 failed
        exit code 1
    "#]]);
    let output = run_in(&folder.0, "convert shop.hhs shop.heapsnapshot");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let rules = "
        rule lost: instances(shop.Item) <= 2;
        rule only: instances(only shop.Item) <= 3;
        rule all: assertion(forall x: x == x);
    ";
    folder.write("lost.deal", rules);
    folder.check(
        "check shop.heapsnapshot --rules lost.deal",
        expect![[r#"
            not checked: lost: the heap does not say which classes extend `shop.Item` (snapshots of V8 cannot have it: convert the dump to `.hhs`, which keeps it)
            3 rules, 0 failed, 1 not checked
            exit code 2
        "#]],
    );
    for form in ["again.heap", "again.hhs", "again.heapsnapshot"] {
        let output = run_in(&folder.0, &format!("convert shop.heapsnapshot {form}"));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let shown = told(&run_in(
            &folder.0,
            &format!("check {form} --rules lost.deal"),
        ));
        assert!(
            shown.contains("which classes extend `shop.Item`"),
            "{shown}"
        );
    }
}

/// A small integer is not in a snapshot of V8, and is not null.
#[test]
fn a_rule_that_takes_a_number_for_null_is_not_checked() {
    let folder = Folder::new("lacks-numbers");
    let mut page = V8File::new();
    let root = page.root();
    let map = page.node("hidden", "system / Map", 40);
    page.element(root, 1, map);
    let [one, two] = [(); 2].map(|()| page.node("object", "Order", 24));
    let name = page.node("string", "Ann", 16);
    page.edge(one, "property", "next", two);
    page.edge(one, "property", "name", name);
    page.global(one);
    folder.write("page.heapsnapshot", page.text());
    folder.write(
        "page.deal",
        "
        rule all: assertion(forall Order x: x.next != null);
        rule none: assertion(forall Order x: !(x.next != null));
        rule one: assertion(exists Order x: x.next != null);
        rule named: assertion(forall Order x: x.name != \"Bob\");
        rule expression: forall Order x: x.next != null;
        ",
    );
    folder.check(
        "check page.heapsnapshot --rules page.deal",
        expect![[r#"
            not checked: all: it hangs on values that the heap does not have
              note: the heap does not have `x.next` of Order#9
            error[none]: `none` does not hold
              objects: Order#7
              x = Order#7, x.next = Order#9:
                static:Order → Order#7
              note: 1 object breaks `forall Order x: !(x.next != null)`
              note: the heap does not have `x.next` of Order#9
              place: page.deal:3:9
              fingerprint: 3ea29b04ca03744b
            holds: one
              note: the heap does not have `x.next` of Order#9
            not checked: expression: it hangs on values that the heap does not have
              note: the heap does not have all values of `x.next != null`
            5 rules, 1 failed, 2 not checked
            exit code 2
        "#]],
    );
    let output = run_in(&folder.0, "convert page.heapsnapshot page.hhs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    folder.check(
        "check page.hhs --rules page.deal --only all",
        expect![[r#"
            not checked: all: it hangs on values that the heap does not have
              note: the heap does not have `x.next` of Order#9
            1 rule, 0 failed, 1 not checked
            exit code 2
        "#]],
    );
}
