//! The examples of `docs/deal.md`.

use heaphound_deal::fmt::{Style, format};
use heaphound_deal::parse::parse;

#[test]
fn every_example_parses_and_formats() {
    let page = include_str!("../../../../docs/deal.md");
    let blocks = page.split("```deal\n").skip(1);
    let examples: Vec<&str> = blocks.map(|it| it.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 10);
    for text in examples {
        for style in [Style::Ascii, Style::Unicode] {
            let once = format("deal.md", text, style).unwrap_or_else(|wrong| panic!("{wrong}"));
            let twice = format("formatted", &once, style);
            assert_eq!(once, twice.unwrap_or_else(|wrong| panic!("{wrong}")));
            assert_eq!(parse(text).file.items, parse(&once).file.items, "{text}");
        }
    }
}
