//! Any bytes give a heap or an error with a place; a heap that was read is written, and read again.
//!
//! The header is put in front, or nothing behind it would ever be reached. Columns are checked, for
//! fuzzing has debug assertions.
#![no_main]

use heaphound_snapshot::{Input, ReadOptions, read_binary, read_input, write_binary, write_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, records)) = bytes.split_first() else {
        return;
    };
    let id_bytes = if choice & 1 == 0 { 4 } else { 8 };
    let mut dump = b"JAVA PROFILE 1.0.2\0\0\0\0".to_vec();
    dump.push(id_bytes);
    dump.extend([0; 8]);
    dump.extend_from_slice(records);
    let options = ReadOptions {
        values: choice & 2 == 0,
        threads: 1 + (choice >> 2 & 1) as usize,
        most_memory: 1 << 30,
    };
    let input = Input::memory(dump);
    if let Ok(heap) = read_input(input, "fuzz", &options, &mut |_, _| {}) {
        let mut once = Vec::new();
        write_binary(&heap, &mut once, &mut |_, _| {}).expect("memory does not fail");
        let again = read_binary(&once, "again", &mut |_, _| {}).expect("it was written so");
        assert_eq!((again.len(), again.edges()), (heap.len(), heap.edges()));
        let _ = write_text(&heap, std::io::sink(), &mut |_, _| {});
    }
});
