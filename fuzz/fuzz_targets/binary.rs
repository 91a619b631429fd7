//! Any bytes give a heap or an error; a heap that was read is written and read again.
//!
//! The checksum is put right first, or nothing behind it would ever be reached.
#![no_main]

use heaphound_snapshot::{MAGIC, checksum, read_binary, write_binary, write_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|sections: &[u8]| {
    let mut bytes = [&MAGIC[..], &[1], sections, &[0]].concat();
    bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
    if let Ok(heap) = read_binary(&bytes, "fuzz", &mut |_, _| {}) {
        let mut once = Vec::new();
        write_binary(&heap, &mut once, &mut |_, _| {}).expect("memory does not fail");
        let again = read_binary(&once, "again", &mut |_, _| {}).expect("it was written so");
        let mut twice = Vec::new();
        write_binary(&again, &mut twice, &mut |_, _| {}).expect("memory does not fail");
        assert_eq!(once, twice);
        // Two objects of one name cannot be told in text; all else can.
        let _ = write_text(&heap, std::io::sink(), &mut |_, _| {});
    }
});
