//! JSON fits its schema, whatever is asked.

use serde_json::Value;

use heaphound_testkit::schema;

use crate::run;

/// Runs a command, holds its JSON against the schema, and answers it.
fn check(line: &str, code: i32) -> Value {
    let output = run(&format!("{line} --json"));
    let text = String::from_utf8(output.stdout).unwrap();
    schema::check(&text);
    assert_eq!(output.status.code(), Some(code), "{line}\n{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_command_fits_the_schema() {
    let answer = check("probe web.heap is-shared Log", 0);
    assert_eq!(answer["answer"]["yes"], true);
    assert_eq!(answer["findings"], Value::Array(Vec::new()));
    for (line, code) in [
        ("probe web.heap is-shared Log --expect no", 1),
        ("probe web.heap is-disjoint Task#1 Pool", 1),
        (
            "probe web.heap is-thread-owned Log --as main --object-only",
            1,
        ),
        (
            "probe web.heap reach-through Pool Socket#1 --cut Connection#1",
            0,
        ),
        ("probe web.heap thread-reach Log --avoid Thread#1", 0),
        ("probe web.heap unique Log", 0),
        ("probe web.heap running", 0),
        ("probe web.heap stack worker --expect empty", 1),
        ("eval web.heap is_shared(Log#1)", 0),
        ("eval web.heap is_shared(Pool#1)", 1),
        ("eval web.heap reach(Pool#1) --limit 2", 0),
        ("eval web.heap reach(Pool#1).size()", 0),
        ("eval web.heap reach(Pool#1).size() --explain", 0),
        ("eval web.heap reach(Pool#7).size()", 2),
        ("path web.heap Log", 0),
        ("path web.heap Connection#1 --count 3", 0),
        ("path web.heap Orphan", 1),
        ("info web.heap", 0),
        ("info web.heap --sort retained --retained exact --all", 0),
        ("info web.heap --retained no", 0),
        ("info web.heap --retained no --sort retained", 2),
        ("path web.heap Task --merge", 0),
        ("path web.heap Connection#1 --merge --count 9", 0),
        ("dominators web.heap", 0),
        ("dominators web.heap Pool --by class", 0),
        ("dominators web.heap Orphan", 2),
        ("suspects web.heap", 0),
        ("suspects web.heap --fail", 1),
        ("suspects leaks.heap --min 15", 0),
        ("diff orders-1.heap orders-2.heap", 0),
        ("diff web.heap orders-2.heap", 0),
        ("waste waste.heap", 0),
        ("waste web.heap", 0),
        ("check web.heap --rules web.deal", 1),
        ("check web.heap 'query Connection c'", 0),
        ("check web.heap 'instances(Pool) < 2'", 0),
        ("check web.heap 'is_thread_owned(Log#1)'", 2),
        ("deal explain web.deal", 0),
        ("deal fmt --check web.deal", 0),
        ("info names.heap", 0),
        ("grow orders-1.heap orders-2.heap orders-3.heap --table", 1),
        ("grow web.heap web.heap web.heap", 0),
        ("grow web.heap web.heap", 2),
        ("grow web.heap orders-1.heap web.heap", 2),
        ("shapes orders-3.heap", 0),
        ("shapes web.heap --test missing.json", 2),
        ("summary missing.heap", 2),
    ] {
        check(line, code);
    }
}

#[test]
fn errors_are_json_too() {
    let document = check("path web.heap Nobody", 2);
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.contains("Nobody"), "{message}");
    check("info missing.heap", 2);
}

#[test]
fn json_says_what_is_left_out() {
    let document = check("probe web.heap reach --limit 2", 0);
    let members = &document["answer"]["members"];
    assert_eq!(members["count"], 22);
    assert_eq!(members["listed"].as_array().unwrap().len(), 2);
    assert_eq!(members["left_out"], 20);
    let document = check("probe web.heap reach --all", 0);
    assert_eq!(document["answer"]["members"]["left_out"], 0);
}

#[test]
fn json_has_all_hops_of_a_long_path() {
    let directory = std::env::temp_dir().join(format!("heaphound-long-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let edges = (1..1000).map(|i| format!("Node#{i}.next -> Node#{}\n", i + 1));
    let heap = format!("root static:list -> Node#1\n{}", edges.collect::<String>());
    std::fs::write(directory.join("list.heap"), heap).unwrap();
    let text = crate::run_in(&directory, "path list.heap Node#1000");
    let json = crate::run_in(&directory, "path list.heap Node#1000 --json");
    std::fs::remove_dir_all(&directory).unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("… .next → Node, 997 times more"), "{text}");
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    let hops = &document["answer"]["evidence"][0]["path"]["hops"];
    assert_eq!(hops.as_array().unwrap().len(), 999);
}
