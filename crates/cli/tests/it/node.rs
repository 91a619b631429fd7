//! The rules for Node that are built in, on real heap snapshots and on tiny ones.

use std::path::Path;
use std::process::Command;

use heaphound_testkit::v8::V8File;

use crate::folder::Folder;

/// Runs a program on Node that writes a heap snapshot; says so where Node is not installed.
fn snapshot(folder: &Folder, name: &str, program: &str) -> Option<String> {
    let path = folder.0.join(name);
    let ending = "require('v8').writeHeapSnapshot(process.argv[1]); process.exit(0);";
    let program = format!("{program}\n{ending}");
    let node = Command::new("node")
        .arg("-e")
        .arg(program)
        .arg(&path)
        .output();
    let Ok(output) = node else {
        eprintln!("skipped: node is not installed");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    Some(path.display().to_string())
}

/// Checks a heap by the rules. Returns the exit code and what was printed.
fn check(path: &str) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_heaphound"))
        .args(["check", path, "--rules", "node", "--color", "never"])
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap(), shown + &wrong)
}

#[test]
fn a_program_without_a_leak_keeps_the_rules() {
    let folder = Folder::new("node-clean");
    let program = "
        const { EventEmitter } = require('events');
        const bus = new EventEmitter();
        for (let i = 0; i < 5; i++) bus.on('data', () => bus);
        globalThis.bus = bus;
        globalThis.cache = new Map([['a', Buffer.alloc(1000)]]);
        setTimeout(() => {}, 1e6);
        setInterval(() => {}, 1e6);";
    let Some(path) = snapshot(&folder, "clean.heapsnapshot", program) else {
        return;
    };
    let (code, shown) = check(&path);
    assert_eq!(code, 0, "{shown}");
}

#[test]
fn leaks_break_the_rules_and_show_a_path() {
    let folder = Folder::new("node-leaky");
    let program = "
        const { EventEmitter } = require('events');
        const bus = new EventEmitter();
        bus.setMaxListeners(0);
        globalThis.bus = bus;
        function request(i) {
            const body = i === 0 ? Buffer.alloc(4 << 20) : null;
            bus.on('data', () => body && body.length);
            setTimeout(() => i, 1e6);
        }
        for (let i = 0; i < 1200; i++) request(i);";
    let Some(path) = snapshot(&folder, "leaky.heapsnapshot", program) else {
        return;
    };
    let (code, shown) = check(&path);
    assert_eq!(code, 1, "{shown}");
    for expected in [
        "error[listeners]",
        "error[timers]",
        "warning[buffers-in-closures]",
        "static:global → global#",
        ".bus → EventEmitter#",
        "._events → Object#",
        ".data → Array#",
    ] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    assert!(!shown.contains("[detached-nodes]"), "{shown}");
}

#[test]
fn detached_nodes_break_a_rule() {
    let folder = Folder::new("node-detached");
    let mut file = V8File::new();
    let global = file.node("object", "Window", 40);
    let cache = file.node("object", "Object", 40);
    let list = file.node("native", "<ul id=\"menu\">", 100);
    file.global(global);
    let events = file.node("object", "Object", 40);
    file.edge(global, "property", "_events", events);
    file.edge(global, "property", "cache", cache);
    file.edge(cache, "property", "menu", list);
    file.set_detachedness(list, 2);
    // What every heap of V8 has, and no other.
    let map = file.node("hidden", "system / Map", 40);
    file.edge(list, "internal", "map", map);
    let path = folder.0.join("page.heapsnapshot");
    std::fs::write(&path, file.text()).unwrap();
    let (code, shown) = check(Path::to_str(&path).unwrap());
    assert_eq!(code, 1, "{shown}");
    for expected in [
        "error[detached-nodes]",
        "\"Detached <ul>\"#",
        "static:Window → Window#5 .cache → Object#7 .menu",
    ] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
}

#[test]
fn an_object_is_named_as_in_chromes_tools() {
    let folder = Folder::new("node-named");
    let mut file = V8File::new();
    let global = file.node("object", "Window", 40);
    let list = file.node("object", "List", 100);
    file.global(global);
    file.edge(global, "property", "list", list);
    let path = folder.0.join("page.heapsnapshot");
    std::fs::write(&path, file.text()).unwrap();
    for name in ["List@7", "@7", "List#7"] {
        let output = Command::new(env!("CARGO_BIN_EXE_heaphound"))
            .args(["path", Path::to_str(&path).unwrap(), name])
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("static:Window → Window#5"), "{shown}");
    }
}
