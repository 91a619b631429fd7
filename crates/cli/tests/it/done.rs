//! From a program that leaks to a run that passes: its heap is dumped, suspects name the field, a rule fails with the path, a baseline
//! makes it pass, SARIF fits its schema. Skipped, with a message, where there is no JDK or no Node.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use heaphound_testkit::schema;
use serde_json::Value;

use crate::folder::Folder;
use crate::{run_in, told};

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn has(program: &str) -> bool {
    let found = Command::new(program)
        .arg("-version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let found = found.is_ok();
    if !found {
        eprintln!("skipped: there is no `{program}` on this machine");
    }
    found
}

const JAVA: &str = r#"
import java.util.*;
public class Shop {
    static class Order { final byte[] paper = new byte[1000]; final int number; Order(int n) { number = n; } }
    static class Audit { final List<Order> seen = new ArrayList<>(); }
    static final Audit AUDIT = new Audit();
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 20000; i++) AUDIT.seen.add(new Order(i));
        System.out.println("ready");
        Thread.sleep(600000);
    }
}
"#;

const JAVA_RULES: &str =
    "rule few-orders error \"orders are kept for ever\": instances(Shop$Order) <= 100;\n";

#[test]
fn a_java_program_that_leaks() {
    if !has("java") || !has("javac") || !has("jcmd") {
        return;
    }
    let folder = Folder::new("done-java");
    folder.write("Shop.java", JAVA);
    folder.write("heap.deal", JAVA_RULES);
    let compiled = Command::new("javac")
        .arg("Shop.java")
        .current_dir(&folder.0)
        .status();
    assert!(compiled.unwrap().success());
    let program = Command::new("java")
        .args(["-Xmx256m", "-cp", ".", "Shop"])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .spawn();
    let mut program = Running(program.unwrap());
    let mut line = String::new();
    let out = program.0.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "ready");
    let file = folder.0.join("app.hprof");
    let dumped = Command::new("jcmd")
        .arg(program.0.id().to_string())
        .arg("GC.heap_dump")
        .arg(&file)
        .output()
        .unwrap();
    assert!(file.exists(), "{dumped:?}");
    drop(program);
    check_heap(&folder, "app.hprof", &["Shop$Audit", "seen"]);
}

const NODE: &str = r#"
class Order { constructor(n) { this.number = n; this.paper = 'p'.repeat(10) + n; } }
class Audit { constructor() { this.seen = []; } }
globalThis.audit = new Audit();
for (let i = 0; i < 20000; i++) audit.seen.push(new Order(i));
require('v8').writeHeapSnapshot('app.heapsnapshot');
"#;

const NODE_RULES: &str =
    "rule few-orders error \"orders are kept for ever\": instances(Order) <= 100;\n";

#[test]
fn a_node_program_that_leaks() {
    if !has("node") {
        return;
    }
    let folder = Folder::new("done-node");
    folder.write("shop.js", NODE);
    folder.write("heap.deal", NODE_RULES);
    let ran = Command::new("node")
        .arg("shop.js")
        .current_dir(&folder.0)
        .status();
    assert!(ran.unwrap().success());
    check_heap(&folder, "app.heapsnapshot", &["Audit", "seen"]);
}

/// Runs what a person runs who has a dump. `field` are words of the path to what leaks.
fn check_heap(folder: &Folder, heap: &str, field: &[&str]) {
    let suspects = run_in(&folder.0, &format!("suspects {heap}"));
    assert_eq!(suspects.status.code(), Some(0), "{}", told(&suspects));
    let text = told(&suspects);
    for word in field {
        assert!(text.contains(word), "suspects do not name {word}:\n{text}");
    }
    let check = format!("check {heap} --rules heap.deal");
    let failed = run_in(&folder.0, &check);
    let text = told(&failed);
    assert_eq!(failed.status.code(), Some(1), "{text}");
    assert!(text.contains("error[few-orders]: "), "{text}");
    for word in field {
        assert!(
            text.contains(word),
            "the path does not have {word}:\n{text}"
        );
    }
    let known = format!("{check} --baseline heap.baseline");
    let updated = run_in(
        &folder.0,
        &format!("{known} --update-baseline --reason 'the audit is being rewritten'"),
    );
    assert_eq!(updated.status.code(), Some(0), "{}", told(&updated));
    let passed = run_in(&folder.0, &known);
    assert_eq!(passed.status.code(), Some(0), "{}", told(&passed));
    assert!(told(&passed).contains("known error[few-orders]"));
    for line in [
        format!("{check} --format sarif"),
        format!("{known} --format sarif"),
    ] {
        let output = run_in(&folder.0, &line);
        let text = String::from_utf8(output.stdout).unwrap();
        schema::check_sarif(&text);
        let log: Value = serde_json::from_str(&text).unwrap();
        let result = &log["runs"][0]["results"][0];
        assert_eq!(result["ruleId"], "few-orders");
        assert!(result["graphTraversals"].is_array(), "{text}");
    }
    // What leaves the building has the same findings, and no contents.
    let redacted = run_in(&folder.0, &format!("convert {heap} redacted.hhs --redact"));
    assert_eq!(redacted.status.code(), Some(0), "{}", told(&redacted));
    let again = run_in(
        &folder.0,
        "check redacted.hhs --rules heap.deal --baseline heap.baseline",
    );
    assert_eq!(again.status.code(), Some(0), "{}", told(&again));
    assert!(fs::metadata(folder.0.join("redacted.hhs")).unwrap().len() > 0);
}
