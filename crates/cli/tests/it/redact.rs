//! `convert --redact`: a heap that others may see.

use expect_test::expect;

use crate::folder::Folder;
use crate::run_in;

const HEAP: &str = "\
class Account by owner { owner ->, balance: i64, next -> }
class Str { text }
class u8[] { []: u8 }
root static:accounts -> Account#1
Account#1 { owner -> Str#1, balance = 77123456789, next -> Account#2 }
Account#2 { balance = -5 }
Str#1 \"SECRET-ann@example.org\"
u8[]#1 [ 83, 69, 67, 82, 69, 84 ]
";

#[test]
fn the_contents_go_and_the_structure_stays() {
    let folder = Folder::new("redact");
    folder.write("bank.heap", HEAP);
    folder.check(
        "convert bank.heap out.heap --redact",
        expect![[r#"
            wrote out.heap (text, 437 bytes): 4 objects, 2 edges
              note: redacted: the values of plain fields, the elements of plain arrays and the text of strings are not here (4 objects had some, 48 bytes); classes, sizes, lengths, edges and all names are as they were
        "#]],
    );
    expect![[r#"
        note "redacted: the values of plain fields, the elements of plain arrays and the text of strings are not here (4 objects had some, 48 bytes); classes, sizes, lengths, edges and all names are as they were"
        class Account by owner { owner ->, balance: i64, next -> }
        class Str { text }
        class u8[] { []: u8 }
        root static:accounts -> Account#1
        Account#1 { owner -> Str#1, next -> Account#2 }
        Account#2
        Str#1 (22 elements)
        u8[]#1 (6 elements)
    "#]]
    .assert_eq(&folder.read("out.heap"));
}

#[test]
fn no_format_has_a_secret() {
    let folder = Folder::new("redact-formats");
    folder.write("bank.heap", HEAP);
    for file in ["out.heap", "out.hhs", "out.heapsnapshot"] {
        let output = run_in(&folder.0, &format!("convert bank.heap {file} --redact"));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let bytes = std::fs::read(folder.0.join(file)).unwrap();
        let has = |what: &[u8]| bytes.windows(what.len()).any(|it| it == what);
        assert!(!has(b"SECRET") && !has(b"ann@"), "{file}");
        assert!(
            !has(b"77123456789") && !has(&77123456789i64.to_le_bytes()),
            "{file}"
        );
        assert!(has(b"redacted: "), "{file}");
        // It is still the same heap.
        let rule = run_in(
            &folder.0,
            &format!("check {file} 'instances(Account) <= 2'"),
        );
        assert_eq!(rule.status.code(), Some(0), "{file} {rule:?}");
    }
    let stdout = run_in(&folder.0, "convert bank.heap - --redact");
    assert!(!String::from_utf8(stdout.stdout).unwrap().contains("SECRET"));
    assert!(
        String::from_utf8(stdout.stderr)
            .unwrap()
            .starts_with("note: redacted: ")
    );
}
