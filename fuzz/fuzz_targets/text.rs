//! Any text gives a heap or mistakes; a heap that was read is written and read again.
#![no_main]

use heaphound_snapshot::{read_text, write_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match read_text(bytes, "fuzz", &mut |_, _| {}) {
        Err(errors) => drop(errors.to_string()),
        Ok(heap) => {
            let mut text = Vec::new();
            write_text(&heap, &mut text, &mut |_, _| {}).expect("names are distinct");
            let again = read_text(&text, "again", &mut |_, _| {}).expect("it was written so");
            let mut twice = Vec::new();
            write_text(&again, &mut twice, &mut |_, _| {}).expect("names are distinct");
            assert_eq!(text, twice);
        }
    }
});
