//! Recursive structures and summary graphs of heaps in files.

use std::fs;
use std::path::PathBuf;

use expect_test::expect;

use heaphound_testkit::schema;

use crate::folder::Folder;
use crate::{check, run_in, told};

#[test]
fn structures_are_told_with_their_degrees() {
    check(
        "shapes orders-5.heap",
        expect![[r#"
        orders-5.heap
          structures           look like  objects  bytes  of the heap
          Entry               hash chain       23    368       24.9 %
          Link        singly linked list        4     64        4.3 %

          degrees  in=0  in=1  in=2  in>2  out=0  out=1  out=2  out>2
          Entry      20     3     0     0     20      3      0      0
          Link        2     2     0     0      2      2      0      0
    "#]],
    );
    check(
        "shapes web.heap",
        expect![[r#"
        web.heap
          structures           look like  objects  bytes  of the heap
          Task        singly linked list        3     48       16.2 %

          degrees  in=0  in=1  in=2  in>2  out=0  out=1  out=2  out>2
          Task        1     2     0     0      1      2      0      0
    "#]],
    );
    check(
        "shapes names.heap",
        expect![[r#"
        names.heap
          structures  look like  objects  bytes  of the heap
          none
    "#]],
    );
}

/// A directory with lists of different lengths, and one whose tail refers into it.
fn lists(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("heaphound-{name}-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let list = |nodes: usize, tail: &str| {
        let edges = (1..nodes).map(|i| format!("Node#{i}.next -> Node#{}\n", i + 1));
        let edges: String = edges.collect();
        format!("root static:list -> List#1\nList#1.head -> Node#1\n{edges}{tail}")
    };
    for nodes in [20, 30, 45, 70] {
        let path = directory.join(format!("list-{nodes}.heap"));
        fs::write(path, list(nodes, "")).unwrap();
    }
    let broken = list(50, "Node#50.next -> Node#17\n");
    fs::write(directory.join("broken.heap"), broken).unwrap();
    directory
}

#[test]
fn what_was_learnt_of_correct_heaps_is_tested() {
    let directory = lists("shapes");
    let check = |line: &str, expect: expect_test::Expect| {
        expect.assert_eq(&told(&run_in(&directory, line)));
    };
    check(
        "shapes list-20.heap --test lists.json",
        expect![[r#"
        error: there is no profile lists.json
          learn one from correct runs with `--learn lists.json`
        exit code 2
    "#]],
    );
    check(
        "shapes list-20.heap --learn lists.json",
        expect![[r#"
            list-20.heap
              structures           look like  objects  bytes  of the heap
              Node        singly linked list       20    320       95.2 %

              degrees  in=0  in=1  in=2  in>2  out=0  out=1  out=2  out>2
              Node        1    19     0     0      1     19      0      0

            wrote lists.json: 1 kind of structure
        "#]],
    );
    for nodes in [30, 45] {
        let line = format!("shapes list-{nodes}.heap --learn lists.json");
        assert_eq!(run_in(&directory, &line).status.code(), Some(0));
    }
    check(
        "shapes list-70.heap --test lists.json",
        expect![[r#"
            list-70.heap
              structures           look like  objects  bytes  of the heap
              Node        singly linked list       70  1,120       98.6 %

              degrees  in=0  in=1  in=2  in>2  out=0  out=1  out=2  out>2
              Node        1    69     0     0      1     69      0      0

            compared with lists.json: 1 kind of structure
        "#]],
    );
    check(
        "shapes broken.heap --test lists.json",
        expect![[r#"
            broken.heap
              structures  look like  objects  bytes  of the heap
              Node            other       50    800       98.0 %

              degrees  in=0  in=1  in=2  in>2  out=0  out=1  out=2  out>2
              Node        1    48     1     0      0     50      0      0

            compared with lists.json: 1 kind of structure
            warning[shape]: Node no longer looks like a singly linked list, as it did
              objects: Node, Node.next
              for example:
                static:list → List#1
                  .head → Node#1
                  .next → Node#2
                  … .next → Node, 14 times more
                  .next → Node#17
              note: in=2: expected 0 objects, found 1
              note: out=0: expected 1 object, found 0
              note: expected .next + in=0 = instances, found .next = 50, in=0 = 1, instances = 50: 1 more
              note: not true of each: to .next + to List.head = all
              fingerprint: 5b2e2e50d09a2680
            exit code 1
        "#]],
    );
    let json = run_in(&directory, "shapes broken.heap --test lists.json --json");
    schema::check(&String::from_utf8(json.stdout).unwrap());
    // A person may decide that something need not hold.
    let path = directory.join("lists.json");
    let profile = fs::read_to_string(&path).unwrap();
    let mut edited: serde_json::Value = serde_json::from_str(&profile).unwrap();
    edited["backbones"]["Node"]["degrees"] = serde_json::json!({});
    edited["backbones"]["Node"]["relations"]["hold"] = serde_json::json!([]);
    edited["backbones"]["Node"]["matches"]["hold"] = serde_json::json!([]);
    fs::write(&path, edited.to_string()).unwrap();
    let again = run_in(&directory, "shapes broken.heap --test lists.json");
    assert_eq!(again.status.code(), Some(0));
    fs::write(directory.join("bad.json"), "{ \"schema_version\": 3 }").unwrap();
    check(
        "shapes list-20.heap --test bad.json",
        expect![[r#"
        error: bad.json is not a profile: missing field `backbones` at line 1 column 23
        exit code 2
    "#]],
    );
    let newer = profile.replace("\"schema_version\": 3", "\"schema_version\": 9");
    fs::write(directory.join("newer.json"), newer).unwrap();
    check(
        "shapes list-20.heap --learn newer.json",
        expect![[r#"
        error: newer.json is not a profile: profiles of version 9 are not known here
        exit code 2
    "#]],
    );
    let misspelt = profile.replacen("\"to .next\": 1", "\"to .nxt\": 1", 1);
    fs::write(directory.join("misspelt.json"), misspelt).unwrap();
    check(
        "shapes list-20.heap --test misspelt.json",
        expect![[r#"
            error: misspelt.json is not a profile: Node: `to .nxt` was never counted at line 93
            exit code 2
        "#]],
    );
    // Also in what relations were learnt from, wherever that is.
    for (right, wrong, why) in [
        ("\".next\": 19", "\".nxt\": 19", "`.nxt` was never counted"),
        (
            "\"to .next\": ",
            "\"to .nxt\": ",
            "`to .nxt` was never counted",
        ),
        (
            "\"instances\": 20",
            "\"instances\": 21",
            "does not hold of its own `basis`",
        ),
    ] {
        let basis = profile.rfind(right).expect("a point has it");
        let misspelt = profile[..basis].to_string() + &profile[basis..].replacen(right, wrong, 1);
        fs::write(directory.join("misspelt.json"), misspelt).unwrap();
        let output = run_in(&directory, "shapes list-20.heap --test misspelt.json");
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        let said = told(&output);
        assert!(said.contains(why), "{wrong}: {said}");
    }
    check(
        "shapes list-20.heap --learn no/where.json",
        expect![[r#"
        error: cannot write no/where.json: No such file or directory (os error 2)
        exit code 2
    "#]],
    );
    fs::remove_dir_all(&directory).unwrap();
}

/// What was counted is listed, so that a name is known to be wrong though nothing is said about it.
#[test]
fn a_misspelt_slot_that_no_relation_is_about_is_refused() {
    let here = Folder::new("misspelt");
    let node = |at: usize, nodes: usize| {
        let any = at * at * 7 % nodes;
        format!(
            "Node#{at} {{ next -> Node#{}, any -> Node#{any} }}\n",
            at + 1
        )
    };
    for (nodes, rare) in [(20, 3), (33, 11), (46, 5)] {
        let mut text = String::from("root static:list -> Node#0\n");
        text.extend((0..nodes).map(|at| node(at, nodes)));
        text.extend((0..rare).map(|at| format!("Node#{}.rare -> Node#0\n", at * 4 % nodes)));
        here.write("it.heap", text);
        let learnt = here.sh("$H shapes it.heap --learn it.json");
        assert!(learnt.status.success(), "{}", told(&learnt));
    }
    let profile: serde_json::Value = serde_json::from_str(&here.read("it.json")).unwrap();
    let relations = &profile["backbones"]["Node"]["relations"];
    assert!(!relations["hold"].to_string().contains(".rare"));
    let mut misspelt = profile.clone();
    let point = &mut misspelt["backbones"]["Node"]["relations"]["basis"][0];
    let counts = point.as_object_mut().unwrap();
    let count = counts.remove(".rare").unwrap();
    counts.insert(".rrae".into(), count);
    here.write("it.json", misspelt.to_string());
    let said = told(&here.sh("$H shapes it.heap --test it.json"));
    assert!(said.contains("`.rrae` was never counted"), "{said}");
    // A profile that was written before there was such a list is read, and gets one.
    let mut older = profile.clone();
    for part in ["relations", "matches"] {
        let part = older["backbones"]["Node"][part].as_object_mut().unwrap();
        part.remove("counted").unwrap();
    }
    here.write("it.json", older.to_string());
    let learnt = here.sh("$H shapes it.heap --learn it.json");
    assert!(learnt.status.success(), "{}", told(&learnt));
    // Nothing new was learnt; what was known is kept.
    let again: serde_json::Value = serde_json::from_str(&here.read("it.json")).unwrap();
    let hold = |of: &serde_json::Value| of["backbones"]["Node"]["relations"]["hold"].clone();
    assert_eq!(hold(&again), hold(&profile));
}

/// What never ends is read to a limit, whatever it is to be.
#[cfg(target_os = "linux")]
#[test]
fn a_device_is_no_profile() {
    let directory = lists("device");
    for device in ["/dev/full", "/dev/zero"] {
        for how in ["--learn", "--test"] {
            let line = format!("shapes list-20.heap {how} {device}");
            let why = match how {
                "--learn" => format!("{device} is no file that can be learnt into"),
                _ => format!("cannot read {device}: it has more than 67108864 bytes"),
            };
            let told = told(&run_in(&directory, &line));
            assert_eq!(told, format!("error: {why}\nexit code 2\n"));
        }
    }
    fs::remove_dir_all(&directory).unwrap();
}

#[cfg(unix)]
#[test]
fn a_profile_behind_a_link_is_written_where_it_is() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = lists("linked");
    let (behind, link) = (directory.join("behind.json"), directory.join("link.json"));
    // Somebody else's, whose name comes near.
    fs::write(directory.join("link.json.new"), "mine").unwrap();
    let learn = |nodes: usize, profile: &str| {
        let line = format!("shapes list-{nodes}.heap --learn {profile}");
        assert_eq!(run_in(&directory, &line).status.code(), Some(0));
    };
    learn(20, "behind.json");
    fs::set_permissions(&behind, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("behind.json", &link).unwrap();
    learn(30, "link.json");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let mode = fs::metadata(&behind).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(&behind).unwrap();
    assert!(text.contains("\"measures\": 2"), "{text}");
    let other = fs::read_to_string(directory.join("link.json.new")).unwrap();
    assert_eq!(other, "mine");
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn structures_that_are_gone_are_told() {
    let directory = lists("gone");
    assert!(
        run_in(&directory, "shapes list-20.heap --learn lists.json")
            .status
            .success()
    );
    // All links are lost, so that nodes are no structure any more.
    let nodes: String = (1..30)
        .map(|i| format!("Node[]#1[{i}] -> Node#{i}\n"))
        .collect();
    let heap = format!("root static:all -> Node[]#1\n{nodes}");
    fs::write(directory.join("gone.heap"), heap).unwrap();
    let told = told(&run_in(&directory, "shapes gone.heap --test lists.json"));
    assert!(
        told.contains("compared with lists.json: 0 kinds of structures\n  not in the heap: Node\n"),
        "{told}"
    );
    let json = run_in(&directory, "shapes gone.heap --test lists.json --json");
    schema::check(&String::from_utf8(json.stdout).unwrap());
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn summaries_are_drawn_in_three_forms() {
    check(
        "summary orders-1.heap",
        expect![[r#"
        digraph "points-from" {
          node [shape=box];
          n1 [label="OrderSystem\n1 objects, 24 bytes"];
          n2 [label="HashTable\n1 objects, 16 bytes"];
          n3 [label="Queue\n2 objects, 32 bytes"];
          n4 [label="Entry[]\n1 objects, 80 bytes"];
          n5 [label="Entry\n7 objects, 112 bytes"];
          n6 [label="Person\n4 objects, 128 bytes"];
          n7 [label="Company\n3 objects, 192 bytes"];
          n8 [label="Link\n4 objects, 64 bytes"];
          n2 -> n1 [label="1 references, 16 bytes"];
          n3 -> n1 [label="2 references, 32 bytes"];
          n4 -> n2 [label="1 references, 80 bytes"];
          n5 -> n4 [label="6 references, 96 bytes"];
          n5 -> n5 [label="1 references, 16 bytes"];
          n6 -> n5 [label="4 references, 128 bytes"];
          n6 -> n8 [label="1 references, 32 bytes"];
          n7 -> n5 [label="3 references, 192 bytes"];
          n7 -> n8 [label="3 references, 192 bytes"];
          n8 -> n3 [label="2 references, 32 bytes"];
          n8 -> n8 [label="2 references, 32 bytes"];
        }
    "#]],
    );
    check(
        "summary list.heap --graph field-wise --format graphml",
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <graphml xmlns="http://graphml.graphdrawing.org/xmlns">
          <key id="class" for="node" attr.name="class" attr.type="string"/>
          <key id="objects" for="node" attr.name="objects" attr.type="long"/>
          <key id="roots" for="node" attr.name="roots" attr.type="long"/>
          <key id="volume_bytes" for="all" attr.name="volume_bytes" attr.type="long"/>
          <key id="in_0" for="node" attr.name="in_0" attr.type="long"/>
          <key id="in_1" for="node" attr.name="in_1" attr.type="long"/>
          <key id="in_2" for="node" attr.name="in_2" attr.type="long"/>
          <key id="in_more" for="node" attr.name="in_more" attr.type="long"/>
          <key id="out_0" for="node" attr.name="out_0" attr.type="long"/>
          <key id="out_1" for="node" attr.name="out_1" attr.type="long"/>
          <key id="out_2" for="node" attr.name="out_2" attr.type="long"/>
          <key id="out_more" for="node" attr.name="out_more" attr.type="long"/>
          <key id="slot" for="edge" attr.name="slot" attr.type="string"/>
          <key id="references" for="edge" attr.name="references" attr.type="long"/>
          <graph id="field-wise" edgedefault="directed">
            <node id="n1"><data key="class">List</data><data key="objects">1</data><data key="roots">1</data><data key="volume_bytes">16</data></node>
            <node id="n2"><data key="class">Searcher</data><data key="objects">2</data><data key="roots">2</data><data key="volume_bytes">16</data></node>
            <node id="n3"><data key="class">Node</data><data key="objects">4</data><data key="roots">1</data><data key="volume_bytes">128</data><data key="in_0">2</data><data key="in_1">1</data><data key="in_2">1</data><data key="in_more">0</data><data key="out_0">1</data><data key="out_1">3</data><data key="out_2">0</data><data key="out_more">0</data></node>
            <node id="n4"><data key="class">Str</data><data key="objects">1</data><data key="roots">0</data><data key="volume_bytes">24</data></node>
            <edge source="n1" target="n3"><data key="slot">head</data><data key="references">1</data><data key="volume_bytes">32</data></edge>
            <edge source="n3" target="n3"><data key="slot">next</data><data key="references">2</data><data key="volume_bytes">64</data></edge>
            <edge source="n3" target="n3"><data key="slot">prev</data><data key="references">1</data><data key="volume_bytes">32</data></edge>
            <edge source="n3" target="n4"><data key="slot">name</data><data key="references">1</data><data key="volume_bytes">24</data></edge>
          </graph>
        </graphml>
    "#]],
    );
    check(
        "summary list.heap --graph field-wise --json",
        expect![[r#"
        {
          "schema_version": 1,
          "graph": "field-wise",
          "classes": [
            {
              "id": 1,
              "class": "List",
              "objects": 1,
              "volume_bytes": 16,
              "roots": 1
            },
            {
              "id": 2,
              "class": "Searcher",
              "objects": 2,
              "volume_bytes": 16,
              "roots": 2
            },
            {
              "id": 3,
              "class": "Node",
              "objects": 4,
              "volume_bytes": 128,
              "roots": 1,
              "incoming": [
                2,
                1,
                1,
                0
              ],
              "outgoing": [
                1,
                3,
                0,
                0
              ]
            },
            {
              "id": 4,
              "class": "Str",
              "objects": 1,
              "volume_bytes": 24,
              "roots": 0
            }
          ],
          "edges": [
            {
              "source": 1,
              "target": 3,
              "slot": "head",
              "references": 1,
              "volume_bytes": 32
            },
            {
              "source": 3,
              "target": 3,
              "slot": "next",
              "references": 2,
              "volume_bytes": 64
            },
            {
              "source": 3,
              "target": 3,
              "slot": "prev",
              "references": 1,
              "volume_bytes": 32
            },
            {
              "source": 3,
              "target": 4,
              "slot": "name",
              "references": 1,
              "volume_bytes": 24
            }
          ]
        }
    "#]],
    );
}

#[test]
fn slots_of_any_name_are_learnt_and_tested() {
    let folder = Folder::new("odd-slots");
    for slot in ["", " ", ".", "a.b"] {
        let mut heap = format!("class N {{ \"{slot}\" -> }}\nroot static:a -> N#1\n");
        for n in 1..20 {
            heap.push_str(&format!("N#{n}.\"{slot}\" -> N#{}\n", n + 1));
        }
        folder.write("list.heap", heap);
        let output = folder.sh("rm -f p.json; $H shapes list.heap --learn p.json");
        assert_eq!(output.status.code(), Some(0), "{slot:?}: {}", told(&output));
        let output = folder.sh("$H shapes list.heap --test p.json");
        assert_eq!(output.status.code(), Some(0), "{slot:?}: {}", told(&output));
    }
}

/// A chain of objects, one of which has so many keys more, each of which leads to another object.
fn keyed(chain: usize, keys: usize) -> String {
    let mut text = String::from("root static:all -> Object#1\n");
    for at in 1..chain {
        text += &format!("Object#{at}.next -> Object#{}\n", at + 1);
    }
    for key in 0..keys {
        text += &format!("Object#1.key{key} -> Object#{}\n", chain + 1 + key);
        text += &format!("Object#{}.back -> Object#1\n", chain + 1 + key);
    }
    text
}

#[test]
fn an_object_with_thousands_of_keys_is_a_dictionary() {
    let folder = Folder::new("dictionary");
    let run = |line: &str| told(&run_in(&folder.0, line));
    for (at, (chain, keys)) in [(20, 3_000), (33, 3_100), (47, 3_200), (60, 3_300)]
        .into_iter()
        .enumerate()
    {
        folder.write(&format!("{at}.heap"), keyed(chain, keys));
    }
    let shown = run("shapes 0.heap");
    assert!(
        shown.contains("Object has 3,002 slots and is taken for a dictionary"),
        "{shown}"
    );
    for at in 0..3 {
        run(&format!("shapes {at}.heap --learn p.json"));
    }
    let profile = folder.read("p.json");
    assert!(!profile.contains("key17"), "keys are data, and not learnt");
    assert!(profile.len() < 20_000, "{} bytes", profile.len());
    let tested = run("shapes 3.heap --test p.json");
    assert!(
        tested.contains("compared with p.json: 1 kind of structure"),
        "{tested}"
    );
    let json = run_in(&folder.0, "shapes 0.heap --json");
    schema::check(&String::from_utf8(json.stdout).unwrap());
    // As many slots as a class of a program has are told apart.
    folder.write("few.heap", keyed(20, 30));
    let few = run("shapes few.heap --json");
    assert!(
        !few.contains("dictionary") && few.contains("key17"),
        "{few}"
    );
}
