//! The test-bed of the growth detector, over files: each program writes six heaps, which `grow` compares.

use std::fs;

use heaphound::{Heap, PlainData};
use heaphound_lab::programs::bed::{BOUNDED, LEAKS, ROUNDS, Shown, Small, Step};
use serde_json::Value;

use crate::run_in;

const FILES: u64 = 6;

#[test]
fn each_leak_is_one_finding_and_nothing_else_is() {
    let mut wrong = Vec::new();
    for program in LEAKS.iter().chain(BOUNDED) {
        let found = over_files(program);
        let judged = match program.stops {
            // It is over when the last heaps are written.
            true if found.is_empty() => Ok(()),
            true => Err(format!("{}: {found:#?}", program.name)),
            false => program.judge(&found),
        };
        wrong.extend(judged.err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns what `grow` says about heaps of a program.
fn over_files(program: &Small) -> Vec<Shown> {
    let name = format!("heaphound-bed-{}-{}", std::process::id(), program.name);
    let directory = std::env::temp_dir().join(name.replace(' ', "-"));
    fs::create_dir_all(&directory).unwrap();
    let heap = Heap::builder().max_bytes(64 << 20).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let (mut round, mut files) = (0, Vec::new());
    program.run(&mut m, &mut |m| {
        round += 1;
        if round % (ROUNDS / FILES) == 0 {
            let file = format!("{round:02}.hhs");
            m.write_heap(directory.join(&file), PlainData::Omit)
                .unwrap();
            files.push(file);
        }
    });
    let told = run_in(&directory, &format!("grow {} --json", files.join(" ")));
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    let findings = told["findings"].as_array().unwrap();
    let shown = |it: &Value| Shown {
        path: steps(&it["evidence"][0]["path"]),
        example: steps(&it["evidence"][1]["path"]),
    };
    findings.iter().map(shown).collect()
}

fn steps(path: &Value) -> Vec<Step> {
    let text = |it: &Value| it.as_str().unwrap_or_default().to_string();
    let mut from = text(&path["first"]["class"]);
    let hops = path["hops"].as_array().map_or(&[][..], Vec::as_slice);
    let mut steps = Vec::new();
    for hop in hops {
        let to = text(&hop["to"]["class"]);
        steps.push(Step {
            from: std::mem::replace(&mut from, to.clone()),
            slot: text(&hop["slot"]),
            element: hop["index"].as_u64().map(|it| it as u32),
            to,
        });
    }
    steps
}
