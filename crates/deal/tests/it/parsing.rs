//! Every assertion that the papers print, by its text.

use expect_test::{Expect, expect};
use heaphound_deal::fmt::{Style, format};
use heaphound_deal::parse::{parse, parse_statement};
use heaphound_deal::syntax::Statement;

/// Parses a text and formats it, in ASCII.
fn check(text: &str, expected: Expect) {
    let formatted = format("it", text, Style::Ascii);
    expected.assert_eq(&formatted.unwrap_or_else(|wrong| format!("{wrong}\n")));
}

/// Different ways to write the same.
fn same(texts: &[&str]) {
    let trees: Vec<Statement> = texts
        .iter()
        .map(|text| parse_statement("it", text).unwrap_or_else(|wrong| panic!("{wrong}")))
        .collect();
    for (tree, text) in trees.iter().zip(texts) {
        assert_eq!(*tree, trees[0], "{text}");
    }
}

#[test]
fn the_papers_list_is_written_in_four_ways() {
    same(&[
        "assertion(forall Node x: reach[d](x) -> x.next.prev == x)",
        r#"assertion(
             "forall Node x: reach[d](x) -> x.next.prev == x");"#,
        "assertion(∀x ∈ Node : Rd(x) ⇒ (x.next.prev = x));",
        r"assertion(\forall x \in \text{Node} : \mathbf{R}d(x) \Rightarrow (x.\text{next.prev} = x))",
        "assertion(∀ x ∈ Node : 𝐑d(x) ⇒ (x.next.prev = x))",
    ]);
}

#[test]
fn section_1_dominance() {
    same(&[
        r"assertion(\forall x \in \text{Node} : \neg \mathbf{R} r_0 / d(x))",
        r"assertion(\forall x \in \text{Node} : \neg \mathbf{R}/d(x))",
        "assertion(∀x ∈ Node : ¬R/d(x))",
        "assertion(forall Node x: !reach[/d](x))",
    ]);
}

#[test]
fn section_1_two_quantifiers() {
    check(
        r"assertion(
            (\forall x \in \text{Node} : (x.\text{data} > \text{threshold}) \Rightarrow \mathbf{R}\text{hotcache}(x)) \land
            (\exists y \in \text{Node} : \neg \mathbf{R}\text{hotcache}(y) \land y.\text{next} = \text{null}))",
        expect![[r#"
            assertion(
                (forall Node x: x.data > threshold -> reach[hotcache](x))
                    && (exists Node y: !reach[hotcache](y) && y.next == null)
            );
        "#]],
    );
}

#[test]
fn section_2_2_by_their_texts() {
    check(
        r"
        assertion(\forall x \in \text{Node} : \mathbf{R} \text{HttpSession}(x) \Rightarrow
        x \text{ instanceof Serializable } \land \\ \neg(x \text{ instanceof Thread}));
        assertion(\forall x \in \text{Node} : \mathbf{Rc}(x) \Rightarrow x.\text{data} \leq x.\text{next.data});
        assertion(\forall x \in \text{Node} : \mathbf{Rc}(x) \Rightarrow x.\text{next} \neq \text{null});
        assertion(\forall x \in Node : (x.next = null) \Rightarrow \mathbf{R}leaves(x));
        assertion(\exists x \in \text{Node} : x.\text{data} > 3.141 \land x.\text{data} < 3.142);
        assertion(\forall x \in \text{Node} : \neg \mathbf{R}/c(x) \Rightarrow x.\text{data} > 0);
        assertion(\forall x \in Person : \neg \mathbf{R}/males, females(x));
        assertDisjoint(\forall x \in Person : \mathbf{R}males(x) \lor \mathbf{R}females(x));
        assertDisjoint(\forall x \in \text{Person}:

        (\mathbf{R} \text{males}(x) \lor \mathbf{R} \text{females}(x)) \land \neg \mathbf{R}/\text{males}, \text{females}(x));
        assertDisjoint(\forall x : \neg(\mathbf{R}parseTree(x) \land \mathbf{R}syntaxTree(x)));
        unsafeAssert(\forall x : (\mathbf{R}s_1/o_1(x) \Rightarrow x.\text{data} > 0) \land (\mathbf{R}s_2/o_2(x) \Rightarrow x.\text{data} > 0));
        unsafeAssert(\exists x : \mathbf{R}s_1(x) \land x.\mathtt{data} \le 0 \lor \mathbf{R}s_2(x) \land x.\mathtt{data} < 0);
        ",
        expect![[r#"
            assertion(
                forall Node x:
                    reach[HttpSession](x) -> x instanceof Serializable && !(x instanceof Thread)
            );
            assertion(forall Node x: reach[c](x) -> x.data <= x.next.data);
            assertion(forall Node x: reach[c](x) -> x.next != null);
            assertion(forall Node x: x.next == null -> reach[leaves](x));
            assertion(exists Node x: x.data > 3.141 && x.data < 3.142);
            assertion(forall Node x: !reach[/c](x) -> x.data > 0);
            assertion(forall Person x: !reach[/males, females](x));
            assertDisjoint(forall Person x: reach[males](x) || reach[females](x));
            assertDisjoint(
                forall Person x: (reach[males](x) || reach[females](x)) && !reach[/males, females](x)
            );
            assertDisjoint(forall x: !(reach[parseTree](x) && reach[syntaxTree](x)));
            unsafeAssert(
                forall x: (reach[s_1/o_1](x) -> x.data > 0) && (reach[s_2/o_2](x) -> x.data > 0)
            );
            unsafeAssert(exists x: reach[s_1](x) && x.data <= 0 || reach[s_2](x) && x.data < 0);
        "#]],
    );
}

#[test]
fn section_4_and_5_by_their_texts() {
    check(
        r"
        assertDisjoint(\forall x \in Node : \mathbf{R}arr(x) \Rightarrow \neg \mathbf{R}/arr(x));
        assertion(\forall x \in \text{Node} : (x.\text{mark} = \text{dummy}) \Rightarrow \neg \mathbf{R}/\text{arr}(x));
        assertion(\forall x \in \text{Order} : x.\text{field} \neq \text{specialValue});
        ",
        expect![[r#"
            assertDisjoint(forall Node x: reach[arr](x) -> !reach[/arr](x));
            assertion(forall Node x: x.mark == dummy -> !reach[/arr](x));
            assertion(forall Order x: x.field != specialValue);
        "#]],
    );
}

#[test]
fn symbols_without_latex() {
    check(
        "
        assertion(∀x ∈ Node : RHttpSession(x) ⇒ x instanceof Serializable ∧ ¬(x instanceof Thread));
        assertDisjoint(∀x ∈ Person: (Rmales(x) ∨ Rfemales(x)) ∧ ¬R/males, females(x));
        unsafeAssert(∀x: Rs1/o1 ∨ s2/o2, o3(x) ⇔ x.a ≤ 3 ∧ x.b ≥ 4);
        assertion(∀x. x ∈ Node ⇒ x ≠ null);
        ",
        expect![[r#"
            assertion(
                forall Node x:
                    reach[HttpSession](x) -> x instanceof Serializable && !(x instanceof Thread)
            );
            assertDisjoint(
                forall Person x: (reach[males](x) || reach[females](x)) && !reach[/males, females](x)
            );
            unsafeAssert(forall x: reach[s1/o1 || s2/o2, o3](x) <-> x.a <= 3 && x.b >= 4);
            assertion(forall x: x in Node -> x != null);
        "#]],
    );
}

#[test]
fn relations_with_several_sources() {
    check(
        "unsafeAssert(forall x: reach[s1/o1, o2.f || s2/o3 || /o4](x) && reach[](x) && reach[Root/Rest](x))",
        expect![[r#"
            unsafeAssert(
                forall x: reach[s1/o1, o2.f || s2/o3 || /o4](x) && reach[](x) && reach[Root/Rest](x)
            );
        "#]],
    );
}

#[test]
fn phalanx_by_its_texts() {
    check(
        r"
        \forall Connection c; true;
          (\num_of Thread t; Phalanx.running().has(t);
           Phalanx.reach(t, {cm.conns}).has(c))<=1;
        (\num_of Thread t; t.isAlive(); \reach(t).has(c)) <= 1;
        pred(o).size() > 0;
        pred(o).size() > 1;
        reach(src).has(dst);
        !(exists Object v ; reach(o1).has(v) ; reach(o2).has(v));
        !(exists Object v ; reach(o).has(v) ; !dom(o, v));
        !reach(o1, cut).has(o2);
        dom(Thread.currentThread(), o);
        dom(stack(Thread.currentThread()), o);
        dom(roots(Thread.currentThread()), o);
        {Thread t | running().has(t) && (reach(t, avoid).has(o) || reach(stack(t), avoid).has(o))};
        stack(t).insert(t);
        ",
        expect![[r#"
            forall Connection c;
                true;
                (num_of Thread t; running().has(t); reach(t, {cm.conns}).has(c)) <= 1;
            (num_of Thread t; t.isAlive(); reach(t).has(c)) <= 1;
            pred(o).size() > 0;
            pred(o).size() > 1;
            reach(src).has(dst);
            !(exists Object v; reach(o1).has(v); reach(o2).has(v));
            !(exists Object v; reach(o).has(v); !dom(o, v));
            !reach(o1, cut).has(o2);
            dom(currentThread(), o);
            dom(stack(currentThread()), o);
            dom(roots(currentThread()), o);
            {Thread t | running().has(t) && (reach(t, avoid).has(o) || reach(stack(t), avoid).has(o))};
            stack(t).insert(t);
        "#]],
    );
}

#[test]
fn sets_have_operators() {
    same(&[
        "a in reach(b) | reach(c) & reach(d) - {e}",
        "a ∈ (reach(b) ∪ (reach(c) ∩ (reach(d) ∖ {e})))",
    ]);
}

#[test]
fn operators_bind_as_usual() {
    same(&[
        "a <-> b -> c -> d || e && !f == g",
        "(a <-> (b -> (c -> (d || (e && ((!f) == g))))))",
    ]);
    same(&["forall x: a && b -> c", "forall x: ((a && b) -> c)"]);
    same(&[
        "x is processed && y instanceof a.B",
        "(x is processed) && (y ∈ a.B)",
    ]);
}

#[test]
fn constants_and_names() {
    check(
        r##"
        forall "Map<K, V>" m: m.a == -1 && m.b == 1.5e3 && m.c == "x\"\n" && m.d == 'c' && m.e == '\''
          && m.items.length > 3 && m.items[3] != null && m.state == Open && m.big <= 10 MiB
          && m.f != Node#17 && m.g != "Map<K, V>"#3 && m.h != java.util.Map#4 && m.i != static:"open orders".x
          && m.j != thread:main[2] && m.k != thread-object:main && m.l is "in flight" && m.n == State::Open
        "##,
        expect![[r#"
            forall Map<K, V> m:
                m.a == -1
                    && m.b == 1500.0
                    && m.c == "x\"\n"
                    && m.d == 'c'
                    && m.e == '\''
                    && m.items.length > 3
                    && m.items[3] != null
                    && m.state == Open
                    && m.big <= 10 MiB
                    && m.f != Node#17
                    && m.g != Map<K, V>#3
                    && m.h != java.util.Map#4
                    && m.i != static:"open orders".x
                    && m.j != thread:main[2]
                    && m.k != thread-object:main
                    && m.l is "in flight"
                    && m.n == State::Open;
        "#]],
    );
}

#[test]
fn queries() {
    check(
        "
        query Node x: reach[d](x) && x.val > 0 select x.val limit 10;
        query x;
        query x limit 3;
        query Node x select count();
        query java.util.Node x: true select sum(x.val);
        query x ∈ Node: x.val > 3 select x, x.next.val;
        ",
        expect![[r#"
            query Node x: reach[d](x) && x.val > 0 select x.val limit 10;
            query x;
            query x limit 3;
            query Node x select count();
            query java.util.Node x: true select sum(x.val);
            query Node x: x.val > 3 select x, x.next.val;
        "#]],
    );
}

#[test]
fn rule_files() {
    check(
        r#"
        // How our heap looks.
        let d = static:list;      // host variables can be bound in the file


        rule links-agree error "a successor does not point back":
            assertion(forall Node x: reach[d](x) -> x.next.prev == x); // both ways
        rule one-searcher: instances(IndexSearcher) <= 1;
        rule small-cache warning: volume(only Entry) < 10 MiB;
        rule private: unshared(static:session);
        rule owned note "mine": owned_by(static:db, "Map<K, V>");
        /* Sold. */
        rule gone: dead(static:oldCompany.name);
        rule q: \forall Socket s; is_shared(s); // a range
            dom(current_thread(), s);
        rule "with blanks": true
        // the end
        "#,
        expect![[r#"
            // How our heap looks.
            let d = static:list; // host variables can be bound in the file

            rule links-agree error "a successor does not point back":
                assertion(forall Node x: reach[d](x) -> x.next.prev == x); // both ways
            rule one-searcher: instances(IndexSearcher) <= 1;
            rule small-cache warning: volume(only Entry) < 10 MiB;
            rule private: unshared(static:session);
            rule owned note "mine": owned_by(static:db, "Map<K, V>");
            /* Sold. */
            rule gone: dead(static:oldCompany.name);
            rule q:
                forall Socket s;
                    is_shared(s); // a range
                    dom(current_thread(), s);
            rule "with blanks": true;
            // the end
        "#]],
    );
}

#[test]
fn long_formulas_break_at_their_operators() {
    check(
        r#"
        rule long: assertion(forall Customer customer: customer.first_name != null && customer.last_name != null // names
          && (reach[database](customer) || customer.state == Removed /* gone */) -> customer.orders.length < 100 && customer.lastOrder.customer == customer);
        "#,
        expect![[r#"
            rule long:
                assertion(
                    forall Customer customer:
                        customer.first_name != null
                            && customer.last_name != null
                            && // names
                            (reach[database](customer) || customer.state == Removed)
                            -> /* gone */
                        customer.orders.length < 100 && customer.lastOrder.customer == customer
                );
        "#]],
    );
}

#[test]
fn unicode_style() {
    let text = "assertion(forall Node x: !reach[a || /b](x) <-> x instanceof A && (exists y: y.a != 3 -> y.b <= 4) || x in reach(d) | {a})";
    let unicode = format("it", text, Style::Unicode).unwrap();
    expect![[r#"
        assertion(
            ∀x ∈ Node:
                ¬reach[a ∨ /b](x)
                    ⇔ x instanceof A ∧ (∃y: y.a ≠ 3 ⇒ y.b ≤ 4) ∨ x ∈ (reach(d) ∪ {a})
        );
    "#]]
    .assert_eq(&unicode);
    let ascii = format("it", &unicode, Style::Ascii).unwrap();
    assert_eq!(parse(text).file.items, parse(&ascii).file.items);
    assert_eq!(parse(text).file.items, parse(&unicode).file.items);
}

#[test]
fn classes_with_type_arguments_need_no_quotes() {
    check(
        r##"
        forall List<Order> x: x.next instanceof java.util.Map<Str,List< Order >> && x in Grid<8>;
        forall x in shop::List<shop::Order>: x != List<Order>#3 && x != "Map<K, V>"#4 && x != a.Map<K, V>#5;
        {List<Order> x | x.size < 3};
        query List<Node[]> x select count();
        rule few: instances(List<Order>) <= 3;
        rule only-few: volume(only a.Map<K, V>) < 3 KiB;
        forall Node x: x.a<b && x.b>c && x.c<d->x.d<=e && (x.e<f)==(g>x.f);
        "##,
        expect![[r#"
            forall List<Order> x:
                x.next instanceof java.util.Map<Str, List<Order>> && x instanceof Grid<8>;
            forall shop::List<shop::Order> x:
                x != List<Order>#3 && x != Map<K, V>#4 && x != a.Map<K, V>#5;
            {List<Order> x | x.size < 3};
            query List<Node[]> x select count();
            rule few: instances(List<Order>) <= 3;
            rule only-few: volume(only a.Map<K, V>) < 3 KiB;
            forall Node x: x.a < b && x.b > c && x.c < d -> x.d <= e && (x.e < f) == (g > x.f);
        "#]],
    );
}

#[test]
fn comparisons_are_not_type_arguments() {
    check(
        "
        x.a<b>=c;
        (a<b, c>d)
        ",
        expect![[r#"
            it:2:14: comparisons do not chain
              x.a<b>=c;
                   ^^ join two of them with &&
            it:3:13: expected `)`, found `,`
              (a<b, c>d)
                  ^
        "#]],
    );
}

#[test]
fn the_formatter_keeps_parentheses_before_which_a_statement_would_begin() {
    for text in [
        "(query(x.val, x.val > 0));\n",
        "(query(x));\n",
        "(dead(x) == 1);\n",
        "(query is processed);\n",
        "(assertion(x).size() > 1);\n",
    ] {
        let formatted = heaphound_deal::fmt::format("text", text, Default::default()).unwrap();
        assert_eq!(formatted, text);
    }
}

#[test]
fn a_count_that_is_compared_twice_belongs_in_parentheses() {
    let text = "\\num_of N t: t.next == null <= 1";
    let parsed = heaphound_deal::parse::parse(text);
    let hint = parsed.diagnostics[0].hint.as_deref().unwrap();
    assert!(hint.contains("put the count in parentheses"), "{hint}");
}
