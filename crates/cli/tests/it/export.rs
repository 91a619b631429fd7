//! Heaps as Parquet: what is written is read back, by the library and by DuckDB.

use expect_test::expect;

use crate::folder::Folder;
#[cfg(feature = "parquet")]
use crate::run_in;

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_how_to_get_it() {
    let folder = Folder::new("export-off");
    folder.check(
        "export web.heap --parquet out",
        expect![[r#"
            error: this heaphound was built without Parquet, which takes as long to build as all the rest
              build one that has it: cargo build --release --features parquet
            exit code 2
        "#]],
    );
}

/// All rows of a table, a line each.
#[cfg(feature = "parquet")]
fn rows(folder: &Folder, file: &str) -> Vec<String> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let file = std::fs::File::open(folder.0.join(file)).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|it| it.unwrap().to_string()).collect()
}

#[cfg(feature = "parquet")]
#[test]
fn tables_have_all_of_a_small_heap() {
    let folder = Folder::new("export");
    let heap = "\
        interface Closeable\n\
        class Node { next ->, key -weak->, value: i32 }\n\
        class Leaf : Node, Closeable {}\n\
        class Node[] { [] -> }\n\
        root static:list -> Node#1\n\
        root thread:main[2] @ \"main.rs:1\" -> Node[]#1\n\
        Node#1 { next -> Leaf#1, key -weak-> Node#2, value = 5 }\n\
        Leaf#1 (64 bytes)\n\
        Node#2\n\
        Node[]#1 [ null, Leaf#1 ]\n";
    folder.write("list.heap", heap);
    folder.check(
        "export list.heap --parquet out --retained",
        expect![[r#"
            wrote out (parquet, 5726 bytes): 4 objects, 3 edges
        "#]],
    );
    let files = ["classes", "roots", "objects", "edges"];
    let told: String = files
        .iter()
        .flat_map(|it| {
            let rows = rows(&folder, &format!("out/{it}.parquet"));
            std::iter::once(format!("{it}\n")).chain(rows.into_iter().map(|it| format!("  {it}\n")))
        })
        .collect();
    expect![[r#"
        classes
          {id: 1, name: "Closeable", superclass: null, is_interface: true, elements: null, fields: []}
          {id: 2, name: "Node", superclass: null, is_interface: false, elements: null, fields: [{name: "next", kind: "strong"}, {name: "key", kind: "weak"}, {name: "value", kind: "i32"}]}
          {id: 3, name: "Leaf", superclass: 2, is_interface: false, elements: null, fields: [{name: "next", kind: "strong"}, {name: "key", kind: "weak"}, {name: "value", kind: "i32"}]}
          {id: 4, name: "Node[]", superclass: null, is_interface: false, elements: "references", fields: []}
        roots
          {kind: "static", name: "list", scope: null, index: 0, object: 0}
          {kind: "thread", name: "main", scope: "main.rs:1", index: 2, object: 3}
        objects
          {id: 0, class: 2, number: 1, bytes: 24, length: null, retained_bytes: 24, dominator: null}
          {id: 1, class: 3, number: 1, bytes: 64, length: null, retained_bytes: 64, dominator: null}
          {id: 2, class: 2, number: 2, bytes: 24, length: null, retained_bytes: null, dominator: null}
          {id: 3, class: 4, number: 1, bytes: 24, length: 2, retained_bytes: 24, dominator: null}
        edges
          {from: 0, to: 1, slot: "next", index: null, strength: "strong"}
          {from: 0, to: 2, slot: "key", index: null, strength: "weak"}
          {from: 3, to: 1, slot: null, index: 1, strength: "strong"}
    "#]].assert_eq(&told);
}

#[cfg(feature = "parquet")]
#[test]
fn many_rows_take_several_groups_and_none_is_lost() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let folder = Folder::new("export-large");
    let count = 300_000;
    let nodes = (1..count).map(|i| format!("Node#{i}.next -> Node#{}\n", i + 1));
    folder.write(
        "list.heap",
        nodes.collect::<String>() + "root static:list -> Node#1\n",
    );
    assert_eq!(
        run_in(&folder.0, "export list.heap --parquet out")
            .status
            .code(),
        Some(0)
    );
    for (file, rows) in [("objects", count), ("edges", count - 1)] {
        let file = std::fs::File::open(folder.0.join(format!("out/{file}.parquet"))).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), rows);
        assert_eq!(reader.metadata().num_row_groups(), 3);
        let mut last = -1;
        for row in reader.get_row_iter(None).unwrap() {
            let first = match row.unwrap().get_column_iter().next().unwrap().1 {
                parquet::record::Field::Long(id) => *id,
                other => panic!("{other}"),
            };
            assert_eq!(first, last + 1);
            last = first;
        }
    }
}

/// The query of `docs/export.md`, by the engine that people have.
#[cfg(feature = "parquet")]
#[test]
fn duckdb_reads_the_tables() {
    let python = std::env::var("HEAPHOUND_PYTHON").unwrap_or_else(|_| "python3".into());
    let has_duckdb = std::process::Command::new(&python)
        .args(["-c", "import duckdb"])
        .output();
    if !has_duckdb.is_ok_and(|it| it.status.success()) {
        eprintln!(
            "skipped: {python} has no duckdb (pip install duckdb; HEAPHOUND_PYTHON names a Python that has it)"
        );
        return;
    }
    let folder = Folder::new("export-duckdb");
    for file in ["orders-1.heap", "orders-3.heap"] {
        let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/heaps")
            .join(file);
        std::fs::copy(from, folder.0.join(file)).unwrap();
        let line = format!(
            "export {file} --parquet fleet/{} --retained",
            file.trim_end_matches(".heap")
        );
        assert_eq!(run_in(&folder.0, &line).status.code(), Some(0));
    }
    let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/export.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let query = guide
        .split("```sql\n")
        .nth(1)
        .and_then(|it| it.split("```").next())
        .unwrap();
    let wanted = guide
        .split("```text\n")
        .nth(1)
        .and_then(|it| it.split("```").next())
        .unwrap();
    folder.write("query.sql", query);
    let script = "import duckdb; print(duckdb.sql(open('query.sql').read()), end='')";
    let output = std::process::Command::new(&python)
        .args(["-c", script])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let found = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        found.trim_end(),
        wanted.trim_end(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
