//! Properties: what is printed parses to the same tree; nothing makes the front end panic.

use heaphound_deal::check::{Scope, compile};
use heaphound_deal::fmt::{Style, format, print};
use heaphound_deal::parse::parse;
use heaphound_deal::syntax::*;
use heaphound_heap::RootKind;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn name(text: &str) -> Name {
    Name {
        span: Span::default(),
        text: text.into(),
    }
}

fn expr(kind: ExprKind) -> Expr {
    Expr::new(Span::default(), kind)
}

fn word() -> impl Strategy<Value = &'static str> {
    select(vec![
        "x", "d", "next", "Root", "R2", "Rd", "this", "static", "length", "a::B",
    ])
}

fn field() -> impl Strategy<Value = Name> {
    let odd = select(vec![
        "a.b",
        "open orders",
        "[]",
        "",
        "\t\0",
        "List<Order>",
        "\"",
        "0",
    ]);
    prop_oneof![5 => word(), 1 => odd].prop_map(name)
}

fn class() -> impl Strategy<Value = Name> {
    select(vec![
        "Node",
        "java.util.Map",
        "Map<K, V>",
        "Map<K,V>",
        "a.b::Map<c::K, d.List<V[], Grid<8>>>",
        "List<Order>[]",
        "List<>",
        "List <Order>",
        "List<Order",
        "List<(u8, u8)>",
        "Node~2",
        "a::Node",
        "x",
        "[T]",
        "Map$Entry",
    ])
    .prop_map(name)
}

fn host() -> impl Strategy<Value = HostName> {
    let kinds = vec![
        RootKind::Static,
        RootKind::ThreadObject,
        RootKind::ThreadStack,
        RootKind::Other,
    ];
    let names = vec![
        "list",
        "old-list",
        "open orders",
        "a/b.rs:3",
        "-x",
        "x-",
        "0",
        "ü\"\\",
    ];
    let root =
        (select(kinds), select(names), option::of(0u32..9)).prop_map(|(kind, name, index)| {
            let has_index = matches!(kind, RootKind::ThreadStack | RootKind::Other);
            HostName::Root {
                kind,
                name: name.into(),
                index: index.filter(|_| has_index),
            }
        });
    let object = (class(), any::<u64>()).prop_map(|(class, number)| HostName::Object {
        class: class.text,
        number,
    });
    prop_oneof![root, object]
}

fn constant() -> impl Strategy<Value = Constant> {
    prop_oneof![
        Just(Constant::Null),
        any::<bool>().prop_map(Constant::Bool),
        any::<i64>().prop_map(|it| Constant::Integer(it.into())),
        any::<f64>()
            .prop_filter("finite", |it| it.is_finite())
            .prop_map(Constant::Float),
        (
            0u64..1 << 20,
            select(vec![Unit::Bytes, Unit::KiB, Unit::Gb])
        )
            .prop_map(|(n, unit)| Constant::Size(n, unit)),
        any::<String>().prop_map(Constant::Text),
        any::<char>().prop_map(Constant::Char),
    ]
}

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        3 => word().prop_map(|it| ExprKind::Name(it.into())),
        1 => host().prop_map(ExprKind::Host),
        1 => constant().prop_map(ExprKind::Constant),
    ]
    .prop_map(expr)
}

fn relation(path: impl Strategy<Value = Expr> + Clone) -> impl Strategy<Value = Relation> {
    let part =
        (option::of(path.clone()), vec(path, 0..3)).prop_map(|(source, exclusions)| RelationPart {
            span: Span::default(),
            source,
            exclusions,
        });
    vec(part, 1..3).prop_map(|parts| Relation {
        span: Span::default(),
        parts,
    })
}

fn exprs() -> impl Strategy<Value = Expr> {
    use BinaryOp::*;
    let ops = vec![
        Iff,
        Implies,
        Or,
        And,
        Eq,
        Ne,
        Lt,
        Le,
        Gt,
        Ge,
        In,
        Union,
        Intersection,
        Difference,
    ];
    leaf().prop_recursive(6, 40, 4, move |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        let kinds = vec![
            QuantifierKind::Forall,
            QuantifierKind::Exists,
            QuantifierKind::NumOf,
            QuantifierKind::SetOf,
            QuantifierKind::Fold(Fold::Sum),
            QuantifierKind::Fold(Fold::Min),
        ];
        let variables = select(vec!["x", "node", "R"]).prop_map(name);
        let quantifier = (select(kinds), option::of(class()), variables, option::of(inner.clone()), inner.clone());
        let quantifier = quantifier.prop_map(|(kind, class, variable, range, body)| {
            let range = range.filter(|_| kind != QuantifierKind::SetOf);
            ExprKind::Quantifier(Box::new(Quantifier { span: Span::default(), kind, class, variable, range, body }))
        });
        let label = select(vec!["processed", "in flight"]).prop_map(name);
        let functions = select(vec!["reach", "pred", "is_shared", "dom", "query", "assertion", "dead"]).prop_map(name);
        let methods = select(vec!["has", "size", "union", "head"]).prop_map(name);
        prop_oneof![
            2 => (boxed(), field()).prop_map(|(of, field)| ExprKind::Field(of, field)),
            1 => (boxed(), any::<u64>()).prop_map(|(of, index)| ExprKind::Element(of, index)),
            2 => boxed().prop_map(ExprKind::Not),
            6 => (select(ops.clone()), boxed(), boxed()).prop_map(|(op, a, b)| ExprKind::Binary(op, a, b)),
            1 => (boxed(), class()).prop_map(|(of, class)| ExprKind::InstanceOf(of, class)),
            1 => (boxed(), label).prop_map(|(of, label)| ExprKind::HasLabel(of, label)),
            1 => (relation(inner.clone()), boxed()).prop_map(|(relation, of)| ExprKind::Reach(relation, of)),
            2 => quantifier,
            1 => vec(inner.clone(), 0..3).prop_map(ExprKind::Set),
            1 => (functions, vec(inner.clone(), 0..3)).prop_map(|(name, list)| ExprKind::Call(name, list)),
            1 => (boxed(), methods, vec(inner.clone(), 0..2)).prop_map(|(of, name, list)| ExprKind::Method(of, name, list)),
        ]
        .prop_map(expr)
    })
}

fn statements() -> impl Strategy<Value = Statement> {
    let kinds = select(vec![
        AssertionKind::Plain,
        AssertionKind::Disjoint,
        AssertionKind::Unsafe,
    ]);
    let span = Span::default();
    let assertion = (kinds, exprs()).prop_map(move |(kind, formula)| {
        Statement::Assertion(Assertion {
            span,
            kind,
            formula,
        })
    });
    let target = || {
        (any::<bool>(), exprs()).prop_map(move |(only, what)| {
            let is_class = what.as_class().is_some();
            Target {
                span,
                only: only && is_class,
                what,
            }
        })
    };
    let limit = || {
        (any::<bool>(), exprs()).prop_map(move |(strict, value)| Limit {
            span,
            strict,
            value,
        })
    };
    let gc = prop_oneof![
        (target(), limit()).prop_map(|(target, limit)| GcAssertionKind::Instances(target, limit)),
        (target(), limit()).prop_map(|(target, limit)| GcAssertionKind::Volume(target, limit)),
        target().prop_map(GcAssertionKind::Dead),
        (target(), vec(field(), 0..3))
            .prop_map(|(target, slots)| GcAssertionKind::Unshared(target, slots)),
        (target(), target()).prop_map(|(a, b)| GcAssertionKind::OwnedBy(a, b)),
    ]
    .prop_map(move |kind| Statement::Gc(GcAssertion { span, kind }));
    let selection = prop_oneof![
        Just(Select::Objects),
        Just(Select::Count(span)),
        vec(exprs(), 1..3).prop_map(Select::Values),
        (select(vec![Fold::Sum, Fold::Min, Fold::Max]), exprs())
            .prop_map(move |(fold, of)| Select::Fold(span, fold, of)),
    ];
    let query = (
        option::of(class()),
        option::of(exprs()),
        selection,
        option::of(any::<u64>()),
    );
    let query = query.prop_map(move |(class, body, select, limit)| {
        Statement::Query(Query {
            span,
            class,
            variable: name("x"),
            body,
            select,
            limit,
        })
    });
    prop_oneof![assertion, gc, query, exprs().prop_map(Statement::Expr)]
}

fn files() -> impl Strategy<Value = File> {
    let span = Span::default();
    let severity = option::of(select(vec![
        Severity::Note,
        Severity::Warning,
        Severity::Error,
    ]));
    let names = select(vec![
        "a",
        "links-agree",
        "no-2nd",
        "with blanks",
        "error",
        "-x",
    ])
    .prop_map(name);
    let rule = (names, severity, option::of(any::<String>()), statements());
    let rule = rule.prop_map(move |(own, severity, message, statement)| {
        let message = message.map(|it| name(&it));
        Item::Rule(Rule {
            span,
            name: own,
            severity,
            message,
            statement,
        })
    });
    let binding = exprs().prop_map(move |value| {
        Item::Let(Let {
            span,
            name: name("d"),
            value,
        })
    });
    let optional = vec(class(), 1..4);
    let optional = (optional, any::<bool>()).prop_map(move |(names, are_fields)| {
        Item::Optional(Optional {
            span,
            are_fields,
            names,
        })
    });
    let item = prop_oneof![4 => rule, 4 => binding, 1 => optional];
    vec(item, 0..4).prop_map(|items| File {
        items,
        comments: Vec::new(),
    })
}

/// Words that mean something, to be thrown together.
fn soup() -> impl Strategy<Value = String> {
    let words = vec![
        "forall",
        "exists",
        "\\num_of",
        "Node",
        "x",
        ":",
        ";",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        "/",
        "&&",
        "||",
        "!",
        "->",
        "<->",
        "==",
        "<",
        "reach",
        "reach[d](x)",
        "R",
        "Rd",
        "Rd.head(x)",
        "\\sum",
        "\\max",
        ".\"a b\"",
        "unshared(",
        "by",
        "query(",
        "new Object[] {",
        "in",
        "is",
        "instanceof",
        "let",
        "rule",
        "rule a:",
        "query",
        "select",
        "limit",
        "assertion(",
        "instances(",
        "<=",
        "1",
        "MiB",
        "3.5",
        "\"t\"",
        "'c'",
        "static:list",
        "Node#1",
        "// c\n",
        "/* c */",
        "\n",
        "|",
        "&",
        "-",
        "∀",
        "∈",
        "\\text{a b}",
        "\\mathbf{Rd}",
        "'",
        "\"",
        "\\",
        "has",
        "d",
        "only",
        "optional",
        "class",
        "=",
        "select",
        "count()",
    ];
    vec(select(words), 0..60).prop_map(|words| words.join(" "))
}

fn never_panics(text: &str) {
    let classes = [];
    let scope = Scope::new(&classes).bind("d", None);
    if let Err(wrong) = compile("it", text, &scope) {
        assert!(!wrong.list.is_empty());
        assert!(!wrong.to_string().is_empty());
    }
}

/// Formatted text stays as it is, says the same, and has the same comments.
fn formats_well(text: &str) {
    for style in [Style::Ascii, Style::Unicode] {
        let Ok(once) = format("it", text, style) else {
            return;
        };
        let twice = format("it", &once, style).unwrap_or_else(|wrong| panic!("{once}\n{wrong}"));
        assert_eq!(once, twice, "of {text:?}");
        let (before, after) = (parse(text).file, parse(&once).file);
        assert_eq!(before.items, after.items, "of {text:?}");
        let comments = |file: &File| -> Vec<String> {
            file.comments.iter().map(|it| it.text.clone()).collect()
        };
        assert_eq!(comments(&before), comments(&after), "of {text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_printed_parses_to_the_same_tree(file in files()) {
        for style in [Style::Ascii, Style::Unicode] {
            let text = print(&file, style);
            let parsed = parse(&text);
            prop_assert!(parsed.diagnostics.is_empty(), "{text}\n{:?}", parsed.diagnostics);
            prop_assert_eq!(&parsed.file.items, &file.items, "{}", text);
            formats_well(&text);
        }
    }

    #[test]
    fn comments_are_kept(file in files(), places in vec((0usize..4000, select(vec!["/* c */", "// l\n", "\n// o\n", "/* m\nn */", "\n\n"])), 1..6)) {
        // Comments between tokens, wherever a blank is.
        let text = print(&file, Style::Ascii);
        let mut changed = String::new();
        for (nth, part) in text.split_inclusive(' ').enumerate() {
            changed.push_str(part);
            for (_, comment) in places.iter().filter(|(at, _)| at % 23 == nth) {
                changed.push_str(comment);
                changed.push(' ');
            }
        }
        formats_well(&changed);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..200)) {
        never_panics(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        never_panics(&text);
    }

    #[test]
    fn no_words_make_it_panic(text in soup()) {
        never_panics(&text);
        formats_well(&text);
    }
}

#[test]
fn what_fuzzing_found_formats_well() {
    for text in [
        "R0RtRR22R(P)",
        "R∈falsesese",
        "R is old",
        "R instanceof Node",
        "(Rd).foo(x)",
        "(Rd.a).foo(x)",
        "Rd.head(x)",
        "Rd.head.tail/e(x)",
        "x.\"a.b\" == 1",
        "x.\"List<Order>\"[3] == 1",
        "x.\"a b\".\"\\t\" != null",
        "num_of x: (a.has(x) <= 1)",
        "num_of x: a.has(x) <= 1",
        "\\num_of Thread t; t.isAlive(); \\reach(t).has(c) <= 1",
        "(\\sum Node x; x.flag; x.val) > (\\max Node x: x.val)",
        "query(x.val, (x in Node && Rd(x)) -> x.val > 0)",
        "query(x, x in Node)",
        "unshared(Tree by left, \"[]\")",
        "unshared(java.util.List<Order> by head)",
        "reach(a, new Object[] {b, c})",
    ] {
        assert!(parse(text).diagnostics.is_empty(), "{text}");
        formats_well(text);
    }
}

#[test]
fn deep_nesting_is_a_diagnostic() {
    for open in [
        "(",
        "!(",
        "{",
        "reach[",
        "reach(",
        "forall x: ",
        "a -> ",
        "x[",
        "!",
        "a && ",
        "a.b.",
        "\\text{",
        "assertion(",
        "a.has(",
        "/*",
        "- ",
    ] {
        let text = format!("true; {}", open.repeat(100_000));
        let parsed = parse(&text);
        assert!(!parsed.diagnostics.is_empty(), "{open}");
        never_panics(&text);
    }
}

#[test]
fn many_rules_are_no_trouble() {
    let rules: String = (0..5_000)
        .map(|n| format!("rule r{n}: assertion(forall x: x != null);\n"))
        .collect();
    never_panics(&rules);
    formats_well(&rules);
}

#[test]
fn the_tallest_trees_fit_on_a_small_stack() {
    let check = || {
        for (open, leaf, close) in [
            ("!", "true", ""),
            ("true && ", "true", ""),
            ("true -> ", "true", ""),
            ("(true || ", "true", ")"),
            ("reach(d).union(", "reach(d)", ")"),
            ("exists x: !(", "x == d", ")"),
            ("", "d", ".next"),
            ("", "{d}", ".union({d})"),
        ] {
            let most = (1..400).rev().step_by(7).find(|&count| {
                let text = format!("{}{leaf}{}", open.repeat(count), close.repeat(count));
                never_panics(&text);
                formats_well(&text);
                parse(&text).diagnostics.is_empty()
            });
            assert!(
                most.is_some_and(|most| most >= 24),
                "{open}{leaf}{close}: {most:?}"
            );
        }
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    thread.spawn(check).unwrap().join().unwrap();
}
