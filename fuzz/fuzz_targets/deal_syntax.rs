//! Any text is a tree or mistakes; a tree that was read is written, in either style, and read
//! again as the same.
#![no_main]

use heaphound_deal::diagnostic::Diagnostics;
use heaphound_deal::fmt::{Style, format};
use heaphound_deal::parse::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let parsed = parse(text);
    if !parsed.diagnostics.is_empty() {
        drop(Diagnostics::new("fuzz", text, parsed.diagnostics).to_string());
        return;
    }
    for style in [Style::Ascii, Style::Unicode] {
        let once = format("fuzz", text, style).expect("it was read");
        let again = parse(&once);
        assert!(again.diagnostics.is_empty(), "{once}\n{:?}", again.diagnostics);
        assert_eq!(again.file.items, parsed.file.items, "{once}");
        let twice = format("fuzz", &once, style).expect("it was written so");
        assert_eq!(once, twice);
    }
});
