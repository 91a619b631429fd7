//! Dumps of JVMs, by every command.

use expect_test::expect;
use heaphound_testkit::hprof::Field::{Byte, Int, Object};
use heaphound_testkit::hprof::Hprof;

use crate::folder::Folder;

/// Three orders in a list, of which the last is known to a thread.
fn shop() -> Vec<u8> {
    let mut dump = Hprof::new("1.0.2", 8);
    let object = dump.class("java/lang/Object", 0, &[]);
    let fields = [("value", Object(0)), ("coder", Byte(0))];
    let string = dump.class("java/lang/String", object, &fields);
    let thread = dump.class("java/lang/Thread", object, &[("name", Object(0))]);
    let article = dump.class("shop/Article", object, &[("name", Object(0))]);
    let fields = [("next", Object(0)), ("amount", Int(0))];
    let order = dump.class("shop/Order$Open", article, &fields);
    let array = dump.class("[Lshop/Order$Open;", object, &[]);
    let till = dump.class("shop/Till", object, &[]);
    dump.set_static(till, "open", Object(0x100));
    dump.set_static(till, "all", Object(0x190));
    dump.trace(5, 1, &[("sell", 7, "Till.java", 17)]);
    dump.segment(|heap| {
        heap.classes();
        for nth in 0..3u64 {
            let at = 0x100 + 0x30 * nth;
            let next = if nth < 2 { at + 0x30 } else { 0 };
            let fields = [Object(next), Int(nth as i32), Object(at + 0x10)];
            heap.instance(at, order, &fields);
            heap.instance(at + 0x10, string, &[Object(at + 0x20), Byte(0)]);
            let name = format!("order-{nth}");
            heap.primitives(at + 0x20, 8, name.len() as u32, name.as_bytes());
        }
        heap.objects(0x190, array, &[0x130, 0, 0x100]);
        heap.instance(0x1b0, thread, &[Object(0x1c0)]);
        heap.instance(0x1c0, string, &[Object(0x1d0), Byte(0)]);
        heap.primitives(0x1d0, 8, 6, b"till 1");
        heap.root(0x08, 0x1b0, &[1, 5]);
        heap.root(0x03, 0x160, &[1, 0]);
    });
    dump.end();
    dump.finish()
}

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("shop.hprof", shop());
    folder
}

#[test]
fn info_tells_of_classes_roots_and_threads() {
    folder("dump-info").check(
        "info shop.hprof",
        expect![[r#"
        shop.hprof
                       objects  bytes
          objects           20    432
          reachable         13    312
          unreachable        7    120
          18 edges

          classes (16)       bytes  objects  reachable  retained ≥
          java.lang.Class      120        7          0           0
          byte[]                96        4          4          96
          java.lang.String      96        4          4         192
          shop.Order$Open       72        3          3         216
          shop.Order$Open[]     32        1          1          32
          java.lang.Thread      16        1          1          64

          roots          count
          static             2
          thread-object      1
          thread             1

          threads  stack roots        thread object
          till 1             1  java.lang.Thread#18
    "#]],
    );
}

#[test]
fn paths_have_javas_names() {
    let folder = folder("dump-path");
    folder.check(
        "path shop.hprof 0x160",
        expect![[r#"
        a path from a root to shop.Order$Open#14 (name="order-2")
          static:"shop.Till.all" → shop.Order$Open[]#17
            [0] → shop.Order$Open#11 (name="order-1")
            .next → shop.Order$Open#14 (name="order-2")
    "#]],
    );
    folder.check(
        "path shop.hprof 0x160 --from thread:'till 1'",
        expect![[r#"
            a path from thread:"till 1" to shop.Order$Open#14 (name="order-2")
              thread:"till 1"[0] @ shop.Till.sell (Till.java:17) → shop.Order$Open#14 (name="order-2")
        "#]],
    );
    folder.check(
        "path shop.hprof 0x161",
        expect![[r#"
        error: there is no object at 0x161
        exit code 2
    "#]],
    );
    folder.check(
        "probe shop.hprof is-shared static:shop.Till.open",
        expect![[r#"
            no (expected yes)
            error[not-shared]: 1 reachable object refers to shop.Order$Open#8 (name="order-0")
              objects: shop.Order$Open#8 (name="order-0")
              static:"shop.Till.all" → shop.Order$Open[]#17 [2] → shop.Order$Open#8 (name="order-0")
              fingerprint: f886e7ddb3f17a43
            exit code 1
        "#]],
    );
}

#[test]
fn rules_speak_java() {
    let folder = folder("dump-rules");
    folder.write(
        "shop.deal",
        r#"
        rule named: assertion(exists shop.Order$Open x: x.name == "order-1" && x.amount == 1);
        rule short: assertion(forall Order$Open x: x.next.next == null);
        rule one-array: instances(shop.Order$Open[]) <= 1;
        rule elements: assertion(forall shop.Order$Open[] x: x[1] == null);
        rule unquoted: reach(static:shop.Till.open.next).size() == 6;
        rule quoted: reach(static:"shop.Till.open").size() == 9;
        rule inherited: assertion(forall Article x: x.name instanceof java.lang.String);
        "#,
    );
    folder.check("check shop.hprof --rules shop.deal", expect![[r#"
        error[short]: `short` does not hold
          objects: shop.Order$Open#8 (name="order-0")
          x = shop.Order$Open#8 (name="order-0"), x.next = shop.Order$Open#11 (name="order-1"), x.next.next = shop.Order$Open#14 (name="order-2"):
            static:"shop.Till.open" → shop.Order$Open#8 (name="order-0")
          note: 1 object breaks `forall Order$Open x: x.next.next == null`
          place: shop.deal:3:9
          fingerprint: 98b33c4b1ad82013
        7 rules, 1 failed
        exit code 1
    "#]]);
    for bind in ["static:shop.Till.open", "0x100", "shop.Order$Open#8"] {
        let line = format!("eval shop.hprof reach(d).size() --bind d={bind}");
        folder.check(&line, expect![["9\n"]]);
    }
}

#[test]
fn packed_and_from_stdin() {
    let folder = folder("dump-stdin");
    let plain = folder.sh("$H info shop.hprof");
    let piped = folder.sh("cat shop.hprof | $H info - | sed s/^-$/shop.hprof/");
    assert_eq!(piped.stdout, plain.stdout);
    let packed = folder.sh("gzip -k shop.hprof && $H info shop.hprof.gz | sed s/.gz$//");
    assert_eq!(packed.stdout, plain.stdout);
}

#[test]
fn a_dump_converts_with_all_its_text() {
    let folder = folder("dump-convert");
    folder.check(
        "convert shop.hprof shop.hhs",
        expect![[r#"
            wrote shop.hhs (binary, 904 bytes): 20 objects, 18 edges
        "#]],
    );
    let query = r#"eval shop.hhs 'exists shop.Order$Open x: x.name == "order-2"'"#;
    folder.check(
        query,
        expect![[r#"
        yes: the expression is true
    "#]],
    );
    folder.check(
        "convert shop.hprof copy.hprof",
        expect![[r#"
        error: dumps of JVMs are read, and not written
          use .heap, .txt, .hhs or .heapsnapshot, or `--to text|binary|v8`
        exit code 2
    "#]],
    );
}

#[test]
fn what_is_wrong_with_a_dump_is_said() {
    let folder = folder("dump-cut");
    let bytes = shop();
    folder.write("cut.hprof", &bytes[..bytes.len() - 100]);
    folder.check("eval cut.hprof 1<2", expect![[r#"
        yes: the expression is true
        note: cut.hprof: at byte 1815: the file ends inside an object; what came behind it is missing
        note: cut.hprof: 1 reference leads to an object that the dump does not have
    "#]]);
    folder.write("head.hprof", &bytes[..40]);
    folder.check(
        "info head.hprof",
        expect![[r#"
        error: head.hprof: at byte 40: the file ends before its heap begins
        exit code 2
    "#]],
    );
    let large = folder.sh("HEAPHOUND_MAX_INPUT=1000 $H info shop.hprof");
    assert_eq!(large.status.code(), Some(2));
}
