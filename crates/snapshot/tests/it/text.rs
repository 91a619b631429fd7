//! Heap text: each construct, and each mistake. A text is shown as it is written after it
//! was read, or with what is wrong with it.

use expect_test::{Expect, expect};
use heaphound_snapshot::{read, read_text, write_text};

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&shown(text.as_bytes()));
}

fn shown(text: &[u8]) -> String {
    match read_text(text, "heap.txt", &mut |_, _| {}) {
        Ok(heap) => {
            let mut out = Vec::new();
            write_text(&heap, &mut out, &mut |_, _| {}).unwrap();
            String::from_utf8(out).unwrap()
        }
        Err(errors) => format!("{errors}\n"),
    }
}

#[test]
fn a_sketch_makes_its_classes() {
    check(
        "
        // Two lists share a node.
        root main -> List#1, List#2
        List#1.head -> Node#3
        List#2.head -> Node#3   // the same
        ",
        expect![[r#"
            class List { head -> }
            class Node {}
            root thread:main[0] -> List#1
            root thread:main[1] -> List#2
            List#1 { head -> Node#3 }
            List#2 { head -> Node#3 }
            Node#3
        "#]],
    );
}

#[test]
fn a_sketch_finds_slots_arrays_and_values() {
    check(
        "
        root static:map -> Map#1
        Map#1 { table -> Table#1, cache -weak-> Node#1, load = 0.75, open = true }
        Table#1[3] -> Node#1
        Table#1[1] -> Node#2
        Node#1 { key = 'x', hash = 5 }
        Node#2 { hash = 2.5, next -> null }
        Bytes#1 [ 1, 2, 3 ]
        Name#1 \"orders\"
        Empty#1 []
        ",
        expect![[r#"
            class Map { table ->, cache -weak->, load: f64, open: bool }
            class Table { [] -> }
            class Node { key: char, hash: f64, next -> }
            class Bytes { []: i64 }
            class Name { text }
            class Empty { [] -> }
            root static:map -> Map#1
            Map#1 { table -> Table#1, cache -weak-> Node#1, load = 0.75, open = true }
            Table#1
            Table#1[1] -> Node#2
            Table#1[3] -> Node#1
            Node#1 { key = 'x', hash = 5.0 }
            Node#2 { hash = 2.5 }
            Bytes#1 [ 1, 2, 3 ]
            Name#1 "orders"
            Empty#1 [ ]
        "#]],
    );
}

#[test]
fn a_class_declares_fields_of_every_kind() {
    check(
        "
        class Node : Base { next ->, prev -weak->, dep -dependent->, buf: owned }
        class Base { a: bool, b: char, c: u8, d: u16, e: u32, f: u64, color: enum(red, \"light green\") }
        class Signed: Base { a1: i8, b1: i16, c1: i32, d1: i64, e1: f32, f1: f64, }
        class Node[] { [] -> }
        class Bytes { [] : u8 }
        class Str { text }
        class Text { text: u8, text }
        class Nothing
        class Inline { slots[0] ->, slots[1] ->, pos.x: f64, \"odd name\" -> }
        ",
        expect![[r#"
            class Node : Base { next ->, prev -weak->, dep -dependent->, buf: owned }
            class Base { a: bool, b: char, c: u8, d: u16, e: u32, f: u64, color: enum(red, "light green") }
            class Signed : Base { a1: i8, b1: i16, c1: i32, d1: i64, e1: f32, f1: f64 }
            class Node[] { [] -> }
            class Bytes { []: u8 }
            class Str { text }
            class Text { text: u8, text }
            class Nothing {}
            class Inline { slots[0] ->, slots[1] ->, pos.x: f64, "odd name" -> }
        "#]],
    );
}

#[test]
fn values_are_read_as_their_field_wants_them() {
    check(
        "
        class V { bool: bool, char: char, i: i8, u: u64, f: f32, g: f64, e: enum(red, green, nan) }
        V#1 { bool = true, char = '\\'', i = -128, u = 18446744073709551615, f = 0.1, g = 5, e = green }
        V#2 { char = '\\u{e9}', f = nan, g = -inf, e = \"nan\" }
        V#3 { char = 'é', f = inf, g = -1.5e-300, e = red }
        V#4.i = -5
        V#4.bool = false
        ",
        expect![[r#"
            class V { bool: bool, char: char, i: i8, u: u64, f: f32, g: f64, e: enum(red, green, "nan") }
            V#1 { bool = true, char = '\'', i = -128, u = 18446744073709551615, f = 0.10000000149011612, g = 5.0, e = green }
            V#2 { char = 'é', f = nan, g = -inf, e = "nan" }
            V#3 { char = 'é', f = inf, g = -1.5e-300, e = red }
            V#4 { bool = false, i = -5 }
        "#]],
    );
}

#[test]
fn arrays_are_listed_with_runs_of_null() {
    check(
        "
        class Node[] { [] -> }
        class Node {}
        class B { [] : i16 }
        Node[]#4 [ Node#5, null, Node#6 ]
        Node[]#5 [ null*1000, Node#5, null*3, null*3 ]
        Node[]#6[70000] -> Node#5
        Node[]#7 (12 elements)
        Node[]#7[11] -> Node#6
        Node[]#8 []
        B#1 [ -1, 300 ]
        B#2 (100 bytes, 44 elements) [ 7 ]
        B#3 (44 elements)
        B#4 [ ]
        ",
        expect![[r#"
            class Node[] { [] -> }
            class Node {}
            class B { []: i16 }
            Node[]#4 [ Node#5, null, Node#6 ]
            Node[]#5 [ null*1000, Node#5, null*6 ]
            Node[]#6
            Node[]#6[70000] -> Node#5
            Node[]#7 [ null*11, Node#6 ]
            Node[]#8 [ ]
            B#1 [ -1, 300 ]
            B#2 (100 bytes, 44 elements) [ 7 ]
            B#3 (44 elements)
            B#4 [ ]
            Node#5
            Node#6
        "#]],
    );
}

#[test]
fn text_and_names_are_quoted() {
    check(
        r##"
        class "Map<K, V>" { text }
        class java.util.HashMap$Node { größe -> }
        class Vec<u8> {}
        "Map<K, V>"#3 "a \"quote\", a \\, a\nline, \u{1f600}, \xff // no comment"
        java.util.HashMap$Node#5 { größe -> Vec<u8>#1 }
        thread "a b"
        root static:"open orders" -> Vec<u8>#1
        root "say \"hi\"" -> Vec<u8>#1
        "##,
        expect![[r##"
            class "Map<K, V>" { text }
            class java.util.HashMap$Node { größe -> }
            class Vec<u8> {}
            thread "a b"
            root static:"open orders" -> Vec<u8>#1
            root thread:"say \"hi\""[0] -> Vec<u8>#1
            "Map<K, V>"#3 "a \"quote\", a \\, a\nline, 😀, \xff // no comment"
            java.util.HashMap$Node#5 { größe -> Vec<u8>#1 }
            Vec<u8>#1
        "##]],
    );
}

#[test]
fn roots_of_every_kind() {
    check(
        r#"
        thread idle
        root static:orders -> A#1
        root main -> A#1, A#2
        root thread:main -> A#3
        root thread:main[7] @ "src/main.rs:10:5" -> A#4, A#5
        root thread:worker-1 -> A#1
        root thread-object:main -> A#6
        root handle:src/main.rs:3:5[0] -> A#1
        root other:jni -> A#1, A#2
        root finalizer:pending[2] -> A#2
        "#,
        expect![[r#"
            class A {}
            thread idle
            root static:orders -> A#1
            root thread-object:main -> A#6
            root thread:main[0] -> A#1
            root thread:main[1] -> A#2
            root thread:main[2] -> A#3
            root thread:main[7] @ "src/main.rs:10:5" -> A#4
            root thread:main[8] @ "src/main.rs:10:5" -> A#5
            root thread:worker-1[0] -> A#1
            root handle:src/main.rs:3:5[0] -> A#1
            root other:jni[0] -> A#1
            root other:jni[1] -> A#2
            root finalizer:pending[2] -> A#2
            A#1
            A#2
            A#3
            A#4
            A#5
            A#6
        "#]],
    );
}

#[test]
fn sizes_are_written_where_they_are_not_the_usual() {
    check(
        "
        class A { a ->, b: u8 }
        class R { [] -> }
        class T { text }
        A#1 (16 bytes)
        A#2 (17 bytes)
        A#3 (5000000000 bytes) { a -> A#1 }
        R#1 (24 bytes) [ A#1, A#2, A#3 ]
        R#2 (25 bytes) [ ]
        T#1 \"four\"
        ",
        expect![[r#"
            class A { a ->, b: u8 }
            class R { [] -> }
            class T { text }
            A#1
            A#2 (17 bytes)
            A#3 (5000000000 bytes) { a -> A#1 }
            R#1 [ A#1, A#2, A#3 ]
            R#2 (25 bytes) [ ]
            T#1 "four"
        "#]],
    );
}

#[test]
fn what_is_said_of_an_object_may_stand_anywhere() {
    check(
        "
        class N { a ->, b ->, v: i32 }
        N#2.b -> N#1
        N#1 { v = 1 }
        N#2.a -> N#3
        N#2.v = 7
        N#1 (80 bytes)
        ",
        expect![[r#"
            class N { a ->, b ->, v: i32 }
            N#2 { a -> N#3, b -> N#1, v = 7 }
            N#1 (80 bytes) { v = 1 }
            N#3
        "#]],
    );
}

#[test]
fn an_empty_text_is_an_empty_heap() {
    check("", expect![[""]]);
    check("\u{feff}\r\n // nothing\r\n\t", expect![[""]]);
}

#[test]
fn threads_keep_their_order() {
    check(
        "
        thread z
        root thread:m -> A#1
        thread b
        root thread:a -> A#1
        ",
        expect![[r#"
            class A {}
            thread z
            thread m
            thread b
            thread a
            root thread:a[0] -> A#1
            root thread:m[0] -> A#1
            A#1
        "#]],
    );
}

#[test]
fn unknown_names_are_told_with_the_nearest() {
    check(
        "
        class Node { next ->, value: u32, color: enum(red, green) }
        Nodee#1 { next -> Node#2 }
        Node#1 { nxt -> Node#2 }
        Node#1 { value = 5, colour = red }
        Node#2 { color = gren }
        root thred:main -> Node#1
        rot main -> Node#1
        Node#3 { next -> Knot#1 }
        ",
        expect![[r#"
            heap.txt:3:9: there is no class `Nodee`
              Nodee#1 { next -> Node#2 }
              ^ did you mean `Node`?
            heap.txt:4:18: `Node` has no field `nxt`
              Node#1 { nxt -> Node#2 }
                       ^ did you mean `next`?
            heap.txt:5:29: `Node` has no field `colour`
              Node#1 { value = 5, colour = red }
                                  ^ did you mean `color`?
            heap.txt:6:26: `gren` is none of the enum's variants
              Node#2 { color = gren }
                               ^ did you mean `green`?
            heap.txt:7:14: there are no roots of kind `thred`
              root thred:main -> Node#1
                   ^ did you mean `thread`?
            heap.txt:8:9: expected an object, as in `rot#1`
              rot main -> Node#1
              ^ did you mean `root`?
            heap.txt:9:26: there is no class `Knot`
              Node#3 { next -> Knot#1 }
                               ^
        "#]],
    );
}

#[test]
fn what_is_given_twice_is_a_mistake() {
    check(
        "
        class N { a ->, v: u8 }
        class R { [] -> }
        class N {}
        class D { x ->, x: u8 }
        N#1 { a -> N#2, a -> N#3 }
        N#2 { a -> N#2, v = 1 }
        N#2.a -> null
        N#2.v = 1
        N#3 (8 bytes)
        N#3 (8 bytes)
        R#1 [ N#1 ]
        R#1 [ N#1 ]
        R#1[0] -> N#1
        R#2 (3 elements)
        R#2[3] -> N#1
        R#2[1] -> N#1
        R#2[1] -> N#1
        R#3 (3 elements) [ N#1 ]
        root static:s -> N#1
        root static:s -> N#2
        root static:t -> N#1, N#2
        root main[1] -> N#1
        root main[0] -> N#1, N#2
        thread x
        thread x
        ",
        expect![[r#"
            heap.txt:4:15: `N` is declared twice (first in line 2)
              class N {}
                    ^
            heap.txt:5:25: `D` has a field `x` already
              class D { x ->, x: u8 }
                              ^
            heap.txt:6:25: N#1.a is given twice (first in line 6)
              N#1 { a -> N#2, a -> N#3 }
                              ^
            heap.txt:8:13: N#2.a is given twice (first in line 7)
              N#2.a -> null
                  ^
            heap.txt:9:13: N#2.v is given twice (first in line 7)
              N#2.v = 1
                  ^
            heap.txt:11:14: the size is given twice (first in line 10)
              N#3 (8 bytes)
                   ^
            heap.txt:13:14: the elements are given twice (first in line 12)
              R#1 [ N#1 ]
                   ^
            heap.txt:14:13: the elements of R#1 are listed (first in line 12)
              R#1[0] -> N#1
                  ^
            heap.txt:16:13: R#2 has 3 elements
              R#2[3] -> N#1
                  ^
            heap.txt:18:13: R#2[1] is given twice (first in line 17)
              R#2[1] -> N#1
                  ^
            heap.txt:19:32: elements are listed: 1; the length says 3
              R#3 (3 elements) [ N#1 ]
                                     ^
            heap.txt:21:14: `static:s` is there twice (first in line 20)
              root static:s -> N#2
                   ^
            heap.txt:22:14: `static:t` is there twice (first in line 22)
              root static:t -> N#1, N#2
                   ^
            heap.txt:24:14: `thread:main[1]` is there twice (first in line 23)
              root main[0] -> N#1, N#2
                   ^
            heap.txt:26:16: this thread is declared twice (first in line 25)
              thread x
                     ^
        "#]],
    );
}

#[test]
fn what_does_not_fit_is_a_mistake() {
    check(
        "
        class N { a ->, w -weak->, v: u8, o: owned, e: enum(x) }
        class R { [] -> }
        class B { [] : u8 }
        class S { text }
        N#1 { a = 5 }
        N#1 { v -> N#2 }
        N#1 { v = 256 }
        N#1 { v = -1 }
        N#1 { v = true }
        N#1 { o = 1 }
        N#1 { e = y }
        N#1 { a -weak-> N#1 }
        N#1 { w -dependent-> N#1 }
        N#1 [ N#1 ]
        N#1 (3 elements)
        N#1[0] -> N#1
        R#1 [ 1 ]
        R#1 \"x\"
        B#1 [ N#1 ]
        B#1[2] = 5
        B#2 [ 1000 ]
        S#1 [ 1 ]
        S#2 (2 elements) \"abc\"
        ",
        expect![[r#"
            heap.txt:6:15: `a` is a slot: `a -> …`
              N#1 { a = 5 }
                    ^
            heap.txt:7:15: `N` keeps a value in `v`: `v = …`
              N#1 { v -> N#2 }
                    ^
            heap.txt:8:19: `256` is not a value of `u8`
              N#1 { v = 256 }
                        ^
            heap.txt:9:19: `-1` is not a value of `u8`
              N#1 { v = -1 }
                        ^
            heap.txt:10:19: `true` is not a value of `u8`
              N#1 { v = true }
                        ^
            heap.txt:11:15: `o` is owned, and not seen
              N#1 { o = 1 }
                    ^
            heap.txt:12:19: `y` is none of the enum's variants
              N#1 { e = y }
                        ^ did you mean `x`?
            heap.txt:13:15: the slot `a` is `->`
              N#1 { a -weak-> N#1 }
                    ^
            heap.txt:14:15: the slot `w` is `-weak->`
              N#1 { w -dependent-> N#1 }
                    ^
            heap.txt:15:14: `N` has no elements
              N#1 [ N#1 ]
                   ^
            heap.txt:16:14: `N` has no elements
              N#1 (3 elements)
                   ^
            heap.txt:17:13: `N` is not an array of references
              N#1[0] -> N#1
                  ^
            heap.txt:18:15: `R` is not an array of plain data
              R#1 [ 1 ]
                    ^
            heap.txt:19:13: `R` is not a string
              R#1 "x"
                  ^
            heap.txt:20:15: `B` is not an array of references
              B#1 [ N#1 ]
                    ^
            heap.txt:21:9: the elements of a plain array are given together
              B#1[2] = 5
              ^ as in `Buf#1 [ 1, 2, 3 ]`
            heap.txt:22:15: `1000` is not a value of `u8`
              B#2 [ 1000 ]
                    ^
            heap.txt:23:15: `S` is not an array of plain data
              S#1 [ 1 ]
                    ^
            heap.txt:24:26: elements are listed: 3; the length says 2
              S#2 (2 elements) "abc"
                               ^
        "#]],
    );
}

#[test]
fn interfaces_are_read_and_written() {
    check(
        "
        interface Closeable: AutoCloseable
        class Stream : Closeable, Base, \"Read, Write\" { from -> }
        interface AutoCloseable // without fields
        interface \"Read, Write\"
        class Base { id: u8 }
        class Socket : Stream,AutoCloseable
        Socket#1 { id = 5, from -> Stream#1 }
        ",
        expect![[r#"
            interface Closeable : AutoCloseable
            class Stream : Base, Closeable, "Read, Write" { from -> }
            interface AutoCloseable
            interface "Read, Write"
            class Base { id: u8 }
            class Socket : Stream, AutoCloseable {}
            Socket#1 { from -> Stream#1, id = 5 }
            Stream#1
        "#]],
    );
}

#[test]
fn captions_are_read_written_and_inherited() {
    check(
        "
        class Window by title { title ->, id: u8 }
        class Dialog : Window { modal: bool }
        class Page : Window by \"the id\" { \"the id\": u32 }
        class by by by { by: u8 }
        class Str { text }
        Dialog#1 { title -> Str#1 }
        Str#1 \"preferences\"
        ",
        expect![[r#"
            class Window by title { title ->, id: u8 }
            class Dialog : Window { modal: bool }
            class Page : Window by "the id" { "the id": u32 }
            class by by by { by: u8 }
            class Str { text }
            Dialog#1 { title -> Str#1 }
            Str#1 "preferences"
        "#]],
    );
}

#[test]
fn a_caption_is_a_field_that_can_be_read() {
    check(
        "
        class Window by titel { title -> }
        class Page by buffer { buffer: owned }
        class Line by { a: u8 }
        interface Shown by title
        ",
        expect![[r#"
            heap.txt:2:25: `Window` has no field `titel`
              class Window by titel { title -> }
                              ^ did you mean `title`?
            heap.txt:3:23: `buffer` is memory that nobody looks into
              class Page by buffer { buffer: owned }
                            ^
            heap.txt:4:23: expected a field, but found '{'
              class Line by { a: u8 }
                            ^
            heap.txt:5:25: expected `{`, but found 'b'
              interface Shown by title
                              ^
        "#]],
    );
}

#[test]
fn wrong_supertypes_are_told() {
    check(
        "
        interface A : B
        interface B : C, D
        interface C
        interface D : A
        class Base
        class Other
        class N : Base, C, Base
        class M : C, Other, D, Base, C
        interface I : C, Base
        interface J { x -> }
        interface K : Missing
        interface C
        class L : C,
        C#1
        N#1 { x -> C#2 }
        root main -> C#1
        ",
        expect![[r#"
            heap.txt:2:23: `A` extends itself
              interface A : B
                            ^
            heap.txt:8:28: `Base` is there twice (first in line 8)
              class N : Base, C, Base
                                 ^
            heap.txt:9:32: `M` extends `Other` already
              class M : C, Other, D, Base, C
                                     ^ `Base` could be an interface: `interface Base`
            heap.txt:9:38: `C` is there twice (first in line 9)
              class M : C, Other, D, Base, C
                                           ^
            heap.txt:10:26: `I` is an interface, and `Base` is a class
              interface I : C, Base
                               ^
            heap.txt:11:21: `J` is an interface and has no fields
              interface J { x -> }
                          ^
            heap.txt:12:23: there is no class `Missing`
              interface K : Missing
                            ^
            heap.txt:13:19: `C` is declared twice (first in line 4)
              interface C
                        ^
            heap.txt:14:21: expected a superclass or an interface, but the line ends here
              class L : C,
                          ^
            heap.txt:15:9: `C` is an interface and has no instances of its own
              C#1
              ^
            heap.txt:16:20: `C` is an interface and has no instances of its own
              N#1 { x -> C#2 }
                         ^
            heap.txt:17:22: `C` is an interface and has no instances of its own
              root main -> C#1
                           ^
        "#]],
    );
}

#[test]
fn syntax_is_told_by_line_and_column() {
    check(
        "
        class
        class A { a }
        class B { a -> b -> }
        class C { a: u31, b: enum(x, x) }
        class D : D { }
        class E : Missing
        class F { [] -weak-> }
        class G { [] ->, text }
        class H } {
        class I {}
        I
        I#
        I#1 {
        I#1 { a - I#1 }
        I#1 } x
        I#1 (3 apples)
        I#1 (3 bytes
        I#99999999999999999999
        I#1 \"open
        I#1 { a = \"\\q\" }
        root
        root x
        root x -> null
        root x -> I#1 I#2
        root x[ -> I#1
        root nothing:x -> I#1
        thread
        # no comment
        ",
        expect![[r#"
            heap.txt:2:14: expected the name of a class, but the line ends here
              class
                   ^
            heap.txt:3:21: expected `->` or `:`, but found '}'
              class A { a }
                          ^
            heap.txt:4:24: expected `}` or `,`, but found 'b'
              class B { a -> b -> }
                             ^
            heap.txt:5:22: there is no kind `u31`
              class C { a: u31, b: enum(x, x) }
                           ^ did you mean `u32`?
            heap.txt:6:19: `D` extends itself
              class D : D { }
                        ^
            heap.txt:7:19: there is no class `Missing`
              class E : Missing
                        ^
            heap.txt:8:19: elements hold strongly: `[] ->`
              class F { [] -weak-> }
                        ^
            heap.txt:9:26: `G` has elements already
              class G { [] ->, text }
                               ^
            heap.txt:10:17: expected `{`, but found '}'
              class H } {
                      ^
            heap.txt:12:9: expected an object, as in `I#1`
              I
              ^
            heap.txt:13:11: expected the object's number, but the line ends here
              I#
                ^
            heap.txt:14:14: expected the name of a field, but the line ends here
              I#1 {
                   ^
            heap.txt:15:17: expected `->` or `=`, but found '-'
              I#1 { a - I#1 }
                      ^
            heap.txt:16:13: expected the end of the line, but found '}'
              I#1 } x
                  ^
            heap.txt:17:16: expected `bytes` or `elements`, but found 'a'
              I#1 (3 apples)
                     ^
            heap.txt:18:21: expected `)` or `,`, but the line ends here
              I#1 (3 bytes
                          ^
            heap.txt:19:11: this number is too large
              I#99999999999999999999
                ^
            heap.txt:20:13: this quote is not closed in its line
              I#1 "open
                  ^
            heap.txt:21:20: this escape is not known
              I#1 { a = "\q" }
                         ^ known are \" \' \\ \n \r \t \0 \u{…}
            heap.txt:22:13: expected the name of a root, but the line ends here
              root
                  ^
            heap.txt:23:15: expected `->`, but the line ends here
              root x
                    ^
            heap.txt:24:19: a root refers to an object, never to null
              root x -> null
                        ^
            heap.txt:25:23: expected the end of the line, but found 'I'
              root x -> I#1 I#2
                            ^
            heap.txt:26:16: expected an index, but found ' '
              root x[ -> I#1
                     ^
            heap.txt:27:14: there are no roots of kind `nothing`
              root nothing:x -> I#1
                   ^
            heap.txt:28:15: expected the name of a thread, but the line ends here
              thread
                    ^
            heap.txt:29:9: expected an object, as in `Node#1`, but found '#'
              # no comment
              ^
        "#]],
    );
}

#[test]
fn runs_beyond_all_arrays_are_refused() {
    check(
        "
        A#1 [ null*99999999999 ]
        A#2 [ null*4294967295, null ]
        A#3[4294967296] -> A#1
        A#4 (99999999999 elements)
        ",
        expect![[r#"
            heap.txt:2:20: an array has fewer than 2³² elements
              A#1 [ null*99999999999 ]
                         ^
            heap.txt:3:32: an array has fewer than 2³² elements
              A#2 [ null*4294967295, null ]
                                     ^
            heap.txt:4:13: an array has fewer than 2³² elements
              A#3[4294967296] -> A#1
                  ^
            heap.txt:5:14: an array has fewer than 2³² elements
              A#4 (99999999999 elements)
                   ^
        "#]],
    );
}

#[test]
fn a_sketch_keeps_to_the_first_use() {
    check(
        "
        A#1.x -> A#2
        A#2.x = 5
        A#3.y = 1
        A#4.y = true
        A#5.z = word
        A#6 [ 1, 2 ]
        A#7 [ A#1 ]
        ",
        expect![[r#"
            heap.txt:3:13: `x` is a slot: `x -> …`
              A#2.x = 5
                  ^
            heap.txt:5:17: `true` is not a value of `i64`
              A#4.y = true
                      ^
            heap.txt:6:17: `word` is not a value of `i64`
              A#5.z = word
                      ^
            heap.txt:8:15: `A` is not an array of references
              A#7 [ A#1 ]
                    ^
        "#]],
    );
}

#[test]
fn a_long_line_is_shown_around_the_mistake() {
    let line = format!("{}A#1 {{ }} x {}", " ".repeat(100), "y".repeat(100));
    check(
        &line,
        expect![[r#"
        heap.txt:1:109: expected the end of the line, but found 'x'
          A#1 { } x yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
                  ^
    "#]],
    );
    let line = format!("A#1 [ {} ? {} ]", "null, ".repeat(100), "A#1, ".repeat(100));
    check(
        &line,
        expect![[r#"
        heap.txt:1:608: expected a value, but found '?'
          …ull, null, null, null, null, null, null, null, null, null,  ? A#1, A#1, A#1, A#1, A#1, A#1, A#1, A#1, A#1, A#1, A#1, A#1…
                                                                       ^
    "#]],
    );
}

#[test]
fn after_a_hundred_mistakes_it_is_enough() {
    let text = "class A\nB#1\nA#1 ?\n".to_string() + &"A#1 ?\n".repeat(1000);
    let shown = shown(text.as_bytes());
    assert!(shown.ends_with("\n… and more\n"), "{shown}");
    assert_eq!(shown.matches("heap.txt:").count(), 100);
}

#[test]
fn bytes_that_are_not_utf8_are_told_with_their_place() {
    let shown = shown(b"A#1\nA#2 { \xff -> A#1 }\n\xc3\x28");
    expect![[r#"
        heap.txt:2:7: this is not UTF-8: ff
          A#2 { � -> A#1 }
                ^
        heap.txt:3:1: this is not UTF-8: c3
          �(
          ^
    "#]]
    .assert_eq(&shown);
}

#[test]
fn the_examples_of_the_manual_are_right() {
    let manual = include_str!("../../../../docs/heap-text.md");
    let mut count = 0;
    for block in manual.split("```heap\n").skip(1) {
        let (text, _) = block.split_once("```").unwrap();
        if let Err(errors) = read_text(text.as_bytes(), "heap-text.md", &mut |_, _| {}) {
            panic!("{errors}\nin\n{text}");
        }
        count += 1;
    }
    assert!(count > 5);
}

#[test]
fn progress_is_told_about_every_megabyte() {
    let text = "// 40 bytes of a comment, again and again\n".repeat(100_000);
    let mut told = Vec::new();
    read_text(text.as_bytes(), "", &mut |done, all| told.push((done, all))).unwrap();
    assert_eq!(told.len(), 5);
    assert!(told.is_sorted() && told.iter().all(|it| it.1 == text.len() as u64));
}

#[test]
fn several_mistakes_of_one_line_are_told() {
    check(
        "
        class Node { next ->, v: i8 }
        Node#1 { nxt -> Node#2, v = 300 }
        ",
        expect![[r#"
            heap.txt:3:18: `Node` has no field `nxt`
              Node#1 { nxt -> Node#2, v = 300 }
                       ^ did you mean `next`?
            heap.txt:3:37: `300` is not a value of `i8`
              Node#1 { nxt -> Node#2, v = 300 }
                                          ^
        "#]],
    );
}

#[test]
fn references_that_were_cut_are_kept_in_both_forms() {
    let text = "class Node { next ->, other -weak->, data: i32 }
class Node[] { next ->, [] -> }

root main -> Node#1
Node#1 { next -> cut, other -weak-> cut, data = 1 }
Node[]#2 { next -> cut } [ cut, null*5, Node#1, cut ]
Node[]#3
Node[]#3[70000] -> cut
";
    let heap = read(text.as_bytes(), "heap", &mut |_, _| {}).unwrap();
    assert_eq!(heap.cut().len(), 6);
    assert_eq!(heap.edges(), 1);
    use heaphound_heap::snapshot::ObjectId;
    use heaphound_heap::view::{HeapView, Place};
    assert!(
        heap.is_cut(ObjectId(1), Place::Element(0)) && heap.is_cut(ObjectId(1), Place::Element(7))
    );
    assert!(
        !heap.is_cut(ObjectId(1), Place::Element(1))
            && !heap.is_cut(ObjectId(1), Place::Element(6))
    );
    let mut bytes = Vec::new();
    heaphound_snapshot::write_binary(&heap, &mut bytes, &mut |_, _| {}).unwrap();
    let again = read(&bytes, "heap", &mut |_, _| {}).unwrap();
    for heap in [&heap, &again] {
        let mut written = Vec::new();
        heaphound_snapshot::write_text(heap, &mut written, &mut |_, _| {}).unwrap();
        let written = String::from_utf8(written).unwrap();
        let all = read(written.as_bytes(), "heap", &mut |_, _| {}).unwrap();
        assert_eq!(all.cut(), heap.cut(), "{written}");
        assert!(
            written.contains("{ next -> cut, other -weak-> cut, data = 1 }"),
            "{written}"
        );
        assert!(
            written.contains("[ cut, null*5, Node#1, cut ]"),
            "{written}"
        );
    }
    for (wrong, what) in [
        ("root main -> cut", "never to null"),
        ("A#1 { next -> cut, next -> A#1 }", "given twice"),
        ("A[]#1 [ cut*3 ]", "expected"),
    ] {
        let error = read(wrong.as_bytes(), "heap", &mut |_, _| {}).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
    // A class may still have that name.
    let named = read(
        b"root main -> cut#1\ncut#1 { next -> cut#1 }",
        "heap",
        &mut |_, _| {},
    );
    assert_eq!(named.unwrap().edges(), 1);
}
