//! Reports as pages: a small one whole, large ones bounded.

use expect_test::{Expect, expect_file};
use heaphound_heap::finding::{Evidence, Finding, Hop, Known, Named, Path, Severity};
use heaphound_heap::root::{Root, RootKind};
use heaphound_report::document::{
    Axis, Branch, Cell, Chart, Document, Edge, Graph, Line, Names, Node, Part, Table, Tone, Tree,
};
use heaphound_report::{About, html};

/// Compares a page without its style and script, which are files of their own.
fn check(page: &str, expect: expect_test::ExpectFile) {
    expect.assert_eq(&bare(page));
}

fn bare(page: &str) -> String {
    let mut bare = page.to_string();
    for (start, end) in [("<style>", "</style>"), ("<script>", "</script>")] {
        let from = bare.find(start).unwrap() + start.len();
        let to = bare.find(end).unwrap();
        bare.replace_range(from..to, "…");
    }
    let policy = bare.find("sha256-").unwrap();
    let end = bare[policy..].find('\'').unwrap() + policy;
    bare.replace_range(policy..end, "sha256-…");
    bare
}

/// What is between the header and the footer.
fn main_of(document: &Document) -> String {
    let page = html::document(document);
    let from = page.find("<main>\n").unwrap() + "<main>\n".len();
    page[from..page.find("</main>").unwrap()].to_string()
}

fn check_part(part: Part, expect: Expect) {
    let mut document = Document::new("x", "y");
    document.section("s").push(part);
    let main = main_of(&document);
    let main = main.trim_start_matches("<section id=\"s1\">\n<h2>s</h2>\n");
    expect.assert_eq(main.trim_end_matches("</section>\n"));
}

fn list(nodes: usize) -> Finding {
    let named = |number: usize| Named::new(format!("Node#{number}"), "Node");
    let hop = |number| Hop {
        slot: "next".into(),
        index: None,
        to: named(number),
    };
    let root = Some(Root::new(RootKind::Static, "list"));
    let path = Path::new(root, named(1), (2..=nodes).map(hop).collect());
    Finding {
        objects: vec![named(nodes)],
        evidence: vec![Evidence::way(path)],
        notes: vec!["it was <asserted> dead".into()],
        place: Some("src/main.rs:7:5".into()),
        collection: Some(3),
        ..Finding::new("dead", Severity::Error, format!("Node#{nodes} is not dead"))
    }
}

#[test]
fn a_small_page_whole() {
    let mut document = Document::new("shop.hhs", "heaphound check");
    document.headline(Tone::Bad, "2 rules, 1 failed");
    document.fact("live", "1.2 KiB");
    let mut known = list(1);
    known.known = Some(Known {
        since: "2026-01-31".into(),
        reason: "until the next release".into(),
    });
    let section = document.section("Findings");
    section.push(Part::Findings(vec![known, list(3)]));
    let mut table = Table::new(["class", "bytes", "of all", "more", "example"]);
    table.row([
        Cell::name("<script>"),
        Cell::Count(1234),
        Cell::share(1, 3),
        Cell::Change(5, 3),
        Cell::Empty,
    ]);
    table.left_out = 7;
    document.section("Classes").push(Part::Table(table));
    let section = document.section("Rest");
    section.push(Part::Text("Text.".into()));
    section.push(Part::Code("two\n<lines>".into()));
    section.push(Part::Names(Names {
        listed: vec!["a".into(), "b".into()],
        left_out: 1,
    }));
    let page = html::document(&document);
    check(&page, expect_file!["pages/small.html"]);
}

#[test]
fn areas_are_places_in_percent() {
    let branch = |name: &str, bytes, below| Branch {
        name: name.into(),
        bytes,
        below,
        ..Branch::default()
    };
    let tree = Tree {
        title: "areas".into(),
        bytes: 100,
        nodes: vec![
            branch("a", 60, vec![branch("b", 30, vec![])]),
            branch("c", 20, vec![]),
        ],
        left_out: Some((4, 20)),
    };
    check_part(
        Part::Treemap(tree.clone()),
        expect_test::expect![[r#"
        <figure class="picture"><figcaption>areas</figcaption><div class="areas"><div class="area l0" style="left:0%;top:0%;width:60%;height:100%" title="a: 60 bytes, 60.0 %"><span class="name">a</span> <span class="bytes inline">60 bytes</span><div class="inside"><div class="area l1" style="left:0%;top:0%;width:50%;height:100%" title="b: 30 bytes, 30.0 %"><span class="name">b</span><span class="bytes">30 bytes</span></div><div class="area rest" style="left:50%;top:0%;width:50%;height:100%" title="itself, and what is not listed: 30 bytes, 30.0 %"></div></div></div><div class="area l0" style="left:60%;top:0%;width:40%;height:50%" title="c: 20 bytes, 20.0 %"><span class="name">c</span><span class="bytes">20 bytes</span></div><div class="area rest" style="left:60%;top:50%;width:40%;height:50%" title="4 more: 20 bytes, 20.0 %"></div></div></figure>
    "#]],
    );
    check_part(
        Part::Outline(tree),
        expect_test::expect![[r#"
        <div class="outline"><ul><li><details open><summary><span class="line"><span class="n">60 bytes</span><span class="n share">60.0 %</span><span class="what"><span class="o">a</span> <span class="s"></span></span></span></summary><ul><li><div class="leaf"><span class="line"><span class="n">30 bytes</span><span class="n share">30.0 %</span><span class="what"><span class="o">b</span> <span class="s"></span></span></span></div></li></ul></details></li><li><div class="leaf"><span class="line"><span class="n">20 bytes</span><span class="n share">20.0 %</span><span class="what"><span class="o">c</span> <span class="s"></span></span></span></div></li><li class="more">… and 4 more, 20 bytes</li></ul></div>
    "#]],
    );
}

#[test]
fn a_graph_has_boxes_and_arrows() {
    let node = |name: &str| Node {
        name: name.into(),
        detail: "1 object".into(),
        stands_out: name == "B",
    };
    let graph = Graph {
        title: "a & b".into(),
        nodes: vec![node("A"), node("B")],
        edges: vec![Edge {
            from: 0,
            to: 1,
            label: ".next".into(),
            stands_out: true,
        }],
    };
    check_part(
        Part::Graph(graph),
        expect_test::expect![[r#"
            <figure class="picture"><figcaption>a &amp; b</figcaption><div class="scroll graph"><svg role="img" aria-label="a &amp; b" width="247" height="56" style="min-width:173px" viewBox="-6 -28 247 56"><path class="edge strong" d="M78.4 0.0C97.9 0.0 97.9 0.0 117.4 0.0C136.9 0.0 136.9 0.0 156.4 0.0"/><polygon class="head strong" points="156.4,0.0 147.4,4.0 147.4,-4.0"/><rect x="0.0" y="-22.0" width="78.4" height="44.0" rx="4"><title>A 1 object</title></rect><rect x="156.4" y="-22.0" width="78.4" height="44.0" rx="4" class="strong"><title>B 1 object</title></rect><text class="name" x="39.2" y="-3.0">A</text><text x="39.2" y="14.0">1 object</text><text class="name" x="195.6" y="-3.0">B</text><text x="195.6" y="14.0">1 object</text><text class="label" x="117.4" y="-5.0">.next</text></svg></div></figure>
        "#]],
    );
}

#[test]
fn a_long_path_is_closed_and_has_its_hops() {
    let mut document = Document::new("x", "y");
    document.section("s").push(Part::Findings(vec![list(150)]));
    let main = main_of(&document);
    assert!(main.contains("… .next → Node, 147 times more"), "{main}");
    assert!(main.contains("Node#3</span>") && main.contains("Node#102</span>"));
    assert!(!main.contains("Node#103</span>"));
    assert!(main.contains("… and 47 hops more"), "{main}");
}

/// Everything at once, much of it: a page stays of a size that a browser shows.
#[test]
fn large_inputs_are_shown_in_part_and_that_is_said() {
    let mut document = Document::new("n".repeat(100_000), "y");
    let findings: Vec<Finding> = (1..=10_000).map(|it| list(2 + it % 3)).collect();
    document.section("f").push(Part::Findings(findings));
    let mut table = Table::new(["class", "bytes"]);
    for number in 0..50_000 {
        table.row([Cell::Name(format!("C{number}")), Cell::Count(number)]);
    }
    document.section("t").push(Part::Table(table));
    document.section("n").push(Part::Names(Names {
        listed: (0..50_000).map(|it| format!("o{it}")).collect(),
        left_out: 3,
    }));
    let wide = |depth: usize| {
        let mut below = Vec::new();
        for _ in 0..depth {
            below = (0..12)
                .map(|it| Branch {
                    name: format!("b{it}"),
                    bytes: 1 << 20,
                    below: below.clone(),
                    ..Branch::default()
                })
                .collect();
        }
        below
    };
    let tree = Tree {
        title: String::new(),
        bytes: 12 << 20,
        nodes: wide(4),
        left_out: None,
    };
    document.section("a").push(Part::Treemap(tree.clone()));
    document.section("o").push(Part::Outline(tree));
    let node = |it: usize| Node {
        name: format!("C{it}"),
        ..Node::default()
    };
    let edge = |it: usize| Edge {
        from: it % 977,
        to: it * 7 % 991,
        ..Edge::default()
    };
    let graph = Graph {
        title: String::new(),
        nodes: (0..1_000).map(node).collect(),
        edges: (0..20_000).map(edge).collect(),
    };
    let section = document.section("g");
    for _ in 0..30 {
        section.push(Part::Graph(graph.clone()));
    }
    document.section("l").push(Part::Chart(Chart {
        title: String::new(),
        x: Axis::count("x"),
        y: Axis::bytes("y"),
        lines: (0..20)
            .map(|it| Line {
                name: format!("l{it}"),
                points: (0..100_000)
                    .map(|x| (x.into(), f64::from(it * x % 313)))
                    .collect(),
                breaks_off: false,
            })
            .collect(),
        limit: None,
    }));
    let page = html::document(&document);
    for said in [
        "500 of 10,000 findings are shown",
        "… and 49,000 more</p>",
        "… and 49,003 more</p>",
        "nodes and",
        "… and 10 pictures more are not drawn",
        "… and 14 more</li>",
    ] {
        assert!(page.contains(said), "{said}");
    }
    assert!(page.len() < 4 << 20, "{}", page.len());
}

#[test]
fn errors_keep_their_lines() {
    let page = html::error(
        &About::new("check", "x.heap"),
        "no class `A`\n  did you mean `B`?",
    );
    assert!(page.contains("no class `A`\n  did you mean `B`?"), "{page}");
    assert!(page.contains("class=\"headline bad\""));
}
