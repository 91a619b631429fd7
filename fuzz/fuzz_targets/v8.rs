//! Any text gives a heap or an error; a heap that was read is written and read again, and then it stays as it is.
//!
//! Rows of numbers are made of the bytes, or nothing behind the head would ever be reached.
#![no_main]

use heaphound_snapshot::{ReadOptions, read_v8, write_v8};
use libfuzzer_sys::fuzz_target;

const META: &str = r#"{"meta":{"node_fields":["type","name","id","self_size","edge_count","detachedness"],"node_types":[["hidden","array","string","object","code","closure","regexp","number","native","synthetic","symbol","strange"]],"edge_fields":["type","name_or_index","to_node"],"edge_types":[["context","element","property","internal","hidden","shortcut","weak","odd"]]},"node_count":9,"edge_count":9}"#;
const STRINGS: &str = r#""","map","__proto__","(GC roots)","(Statics)","(Stack roots)","(names)","0","4000000000","name","value","1 / part of key (a @1) -> value (b @2) pair in WeakMap (table @3)","part of key (a @2) -> value (b @1) pair in WeakMap (table @1)","<div a>","Detached x","system / Map","heap number","(WeakMap pair)","\ud83d\ude00""#;

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, rest)) = bytes.split_first() else {
        return;
    };
    match kind {
        0..64 => check(rest),
        _ => check(rows(kind, rest).as_bytes()),
    }
});

/// A snapshot of as many nodes as the first byte says, whose numbers are bytes.
fn rows(kind: u8, bytes: &[u8]) -> String {
    let nodes = (kind % 16) as usize + 1;
    let mut bytes = bytes.iter().copied();
    let mut next = |below: usize| bytes.next().unwrap_or(0) as usize % below;
    let mut rows = Vec::new();
    let mut count = 0;
    for node in 0..nodes {
        let edges = next(6);
        count += edges;
        let (kind, name) = if node == 0 {
            (9, 0)
        } else {
            (next(12), next(19))
        };
        rows.push(format!(
            "{kind},{name},{},{},{edges},{}",
            next(8),
            next(40),
            next(3)
        ));
    }
    let edge = |_| format!("{},{},{}", next(8), next(19), next(nodes) * 6);
    let edges: Vec<String> = (0..count).map(edge).collect();
    let (nodes, edges) = (rows.join(","), edges.join("\n,"));
    format!(
        "{{\"snapshot\":{META},\"nodes\":[{nodes}],\"edges\":[{edges}],\"strings\":[{STRINGS}]}}"
    )
}

fn check(text: &[u8]) {
    let options = ReadOptions::default();
    let read = |text: &[u8]| read_v8(text, text.len() as u64, "fuzz", &options, &mut |_, _| {});
    match read(text) {
        Ok(heap) => {
            let mut once = Vec::new();
            write_v8(&heap, &mut once, &mut |_, _| {}).expect("memory does not fail");
            let again = read(&once).expect("it was written so");
            let mut twice = Vec::new();
            write_v8(&again, &mut twice, &mut |_, _| {}).expect("memory does not fail");
            read(&twice).expect("it was written so");
        }
        Err(error) => assert!(error.at <= text.len() as u64),
    }
}
