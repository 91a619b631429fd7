//! Growth over snapshots: what is found, the table, what cannot be asked; and the same as the
//! live detector says.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use expect_test::expect;
use heaphound::{Growth, PlainData, Reaction};
use heaphound_lab::programs::growing::GROWING;
use heaphound_lab::programs::{Size, builder};
use serde_json::Value;

use crate::{check, run_in};

const DAYS: &str = "orders-1.heap orders-2.heap orders-3.heap orders-4.heap orders-5.heap";

#[test]
fn what_grows_is_told_with_what_holds_it() {
    check(
        &format!("grow {DAYS}"),
        expect![[r#"
            warning[growth]: Person grows: 20 objects, 640 bytes, 512 more in 4 steps over 4 snapshots
              objects: Person
              it grows through:
                static:system → OrderSystem
                  .allOrders → HashTable
                  .entries → Entry[]
                  .[*] → Entry
                  .order → Person
              for example:
                static:system → OrderSystem#1
                  .allOrders → HashTable#1
                  .entries → Entry[]#1
                  [1] → Entry#1
                  .order → Person#18
              note: with it grow Entry (+256 bytes)
              fingerprint: 39747f524033e88f
            1 structure grows in 5 snapshots: from 648 to 1,480 live bytes
              close: Entry[] grew from 80 to 144 bytes (+80 %), but it has grown 1 time over 4 intervals, and 3 over 3 are needed
            exit code 1
        "#]],
    );
}

#[test]
fn two_snapshots_can_be_compared_class_by_class() {
    check(
        &format!("grow {DAYS} --table --from 2 --to 4 --limit 3 --threshold 100000"),
        expect![[r#"
            orders-2.heap → orders-4.heap
              classes  bytes  then  more  objects  then  more
              Person     256   512  +256        8    16    +8
              Entry      208   320  +112       13    20    +7
              Link        96    80   -16        6     5    -1
              … and 1 more

            nothing grows in 5 snapshots: from 648 to 1,480 live bytes
              close: Person grew from 128 to 640 bytes (+400 %), but its rank is 400, and the threshold is 100000
              close: Entry grew from 112 to 368 bytes (+229 %), but its rank is 290, and the threshold is 100000
              close: Entry[] grew from 80 to 144 bytes (+80 %), but it has grown 1 time over 4 intervals, and 3 over 3 are needed
        "#]],
    );
}

#[test]
fn slope_ranking_asks_for_the_share_of_the_growth() {
    check(
        &format!("grow {DAYS} --ranking slope --window 2"),
        expect![[r#"
            warning[growth]: Person grows: 20 objects, 640 bytes, 512 more in 4 steps over 4 snapshots
              objects: Person
              it grows through:
                static:system → OrderSystem
                  .allOrders → HashTable
                  .entries → Entry[]
                  .[*] → Entry
                  .order → Person
              for example:
                static:system → OrderSystem#1
                  .allOrders → HashTable#1
                  .entries → Entry[]#1
                  [1] → Entry#1
                  .order → Person#18
              note: with it grow Entry (+256 bytes)
              fingerprint: 39747f524033e88f
            1 structure grows in 5 snapshots: from 648 to 1,480 live bytes
              close: Entry[] grew from 80 to 144 bytes (+80 %), but it has grown 1 time over 1 interval, and 3 over 3 are needed
            exit code 1
        "#]],
    );
}

#[test]
fn three_snapshots_are_the_least() {
    check(
        "grow orders-1.heap orders-2.heap",
        expect![[r#"
            error: growth is seen in 3 snapshots or more, and there are only 2
              `heaphound diff` compares two
            exit code 2
        "#]],
    );
    check(
        "grow orders-1.heap",
        expect![[r#"
            error: growth is seen in 3 snapshots or more, and there is only 1
              `heaphound diff` compares two
            exit code 2
        "#]],
    );
}

#[test]
fn a_threshold_is_a_number() {
    check(
        "grow web.heap web.heap web.heap --threshold nan",
        expect![[r#"
            error: invalid value 'nan' for '--threshold <RANK>': a number is wanted

            For more information, try '--help'.
            exit code 2
        "#]],
    );
}

#[test]
fn a_threshold_may_be_below_0_and_nothing_that_shrinks_is_above_it() {
    check(
        "grow orders-3.heap orders-2.heap orders-1.heap --threshold -1000",
        expect![[r#"
            nothing grows in 3 snapshots: from 1,000 to 648 live bytes
        "#]],
    );
}

#[test]
fn what_does_not_grow_is_not_told() {
    check(
        "grow web.heap web.heap web.heap",
        expect![[r#"
        nothing grows in 3 snapshots: from 296 to 296 live bytes
    "#]],
    );
}

#[test]
fn snapshots_of_different_programs_are_not_compared() {
    check(
        "grow orders-1.heap orders-2.heap web.heap",
        expect![[r#"
        error: orders-2.heap and web.heap are not of the same program: of 8 classes they have 0 in common
        exit code 2
    "#]],
    );
}

#[test]
fn a_table_needs_an_earlier_and_a_later_snapshot() {
    check(
        &format!("grow {DAYS} --table --from 3 --to 3"),
        expect![[r#"
        error: there is no table from snapshot 3 to 3 of 5
          the earlier one comes first
        exit code 2
    "#]],
    );
    check(
        &format!("grow {DAYS} --table --to 6"),
        expect![[r#"
        error: there is no table from snapshot 1 to 6 of 5
          the earlier one comes first
        exit code 2
    "#]],
    );
    check(
        &format!("grow {DAYS} --from 2"),
        expect![[r#"
        error: the following required arguments were not provided:
          --table

        Usage: heaphound grow --table --from <N> <HEAP>...

        For more information, try '--help'.
        exit code 2
    "#]],
    );
}

#[test]
fn five_snapshots_say_what_the_live_detector_says() {
    let directory = std::env::temp_dir().join(format!("heaphound-grow-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let program = GROWING.iter().find(|it| it.name == "orders").unwrap();
    let heap = builder(Size::Small).build().unwrap();
    let quiet = Reaction::Call(Arc::new(|_| {}));
    let watch = Growth::new().register(&heap, Some(quiet));
    let mut m = heap.attach("main").unwrap();
    // Each when twice as much has been done as at the one before, as a heap is collected that
    // may double: arrays that do so then grow every time.
    let (mut round, mut taken) = (0, 0);
    program.run(&mut m, Size::Small, true, &mut |m| {
        round += 1;
        if round == program.rounds >> (4 - taken.min(4)) && taken < 5 {
            taken += 1;
            let path = directory.join(format!("{taken}.hhs"));
            m.write_heap(path, PlainData::Omit).unwrap();
        }
    });
    assert_eq!(taken, 5);
    let live: BTreeSet<String> = heap
        .findings()
        .iter()
        .map(|it| it.finding.fingerprint().to_string())
        .collect();
    // Several classes grow in it, and it has one cause.
    assert!(watch.candidates().len() > 1);
    assert_eq!(live.len(), 1);
    let told = run_in(&directory, "grow 1.hhs 2.hhs 3.hhs 4.hhs 5.hhs --json");
    fs::remove_dir_all(&directory).unwrap();
    assert_eq!(told.status.code(), Some(1));
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let findings = told["findings"].as_array().unwrap();
    let fingerprint = |it: &Value| it["fingerprint"].as_str().unwrap().to_string();
    let from_files: BTreeSet<String> = findings.iter().map(fingerprint).collect();
    assert_eq!(live, from_files, "{told:#}");
    let holder = |it: &&Value| it["evidence"][0]["path"]["first"]["class"] == "OrderSystem";
    assert_eq!(findings.iter().filter(holder).count(), findings.len());
    let slots = |it: &Value| it["evidence"][0]["path"]["hops"][0]["slot"] == "allOrders";
    assert!(findings.iter().all(slots), "{told:#}");
}

/// Returns what `grow` says about snapshots of a program that keeps so many items of 16 bytes in an array.
fn of_items(name: &str, counts: &[usize]) -> String {
    let name = format!("heaphound-grow-{name}-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    fs::create_dir_all(&directory).unwrap();
    let mut line = "grow".to_string();
    for (number, &count) in (1..).zip(counts) {
        let elements: Vec<String> = (1..=count).map(|it| format!("Item#{it}")).collect();
        let mut heap = format!(
            "root static:store -> Store#1\nStore#1 {{ items -> Item[]#1 }}\nItem[]#1 [ {} ]\n",
            elements.join(", ")
        );
        for item in &elements {
            heap += &format!("{item} (16 bytes)\n");
        }
        fs::write(directory.join(format!("{number}.heap")), heap).unwrap();
        line += &format!(" {number}.heap");
    }
    let told = run_in(&directory, &line);
    fs::remove_dir_all(&directory).unwrap();
    String::from_utf8(told.stdout).unwrap()
}

#[test]
fn a_leak_that_begins_late_is_found() {
    let told = of_items("late", &[1000, 1000, 2000, 3000, 4000]);
    let expected = "Item grows: 4,000 objects, 64,000 bytes, 48,000 more in 3 steps";
    assert!(
        told.replace(',', "").contains(&expected.replace(',', "")),
        "{told}"
    );
    assert!(told.contains("\n  objects: Item\n"), "{told}");
}

#[test]
fn a_class_that_was_not_there_at_first_has_grown() {
    let told = of_items("new", &[0, 100, 200, 300]);
    assert!(
        told.contains("Item grows: 300 objects, 4800 bytes, 4800 more in 3 steps"),
        "{told}"
    );
    assert!(told.contains("\n  objects: Item\n"), "{told}");
}

#[test]
fn what_hides_a_growth_is_told_with_its_threshold() {
    let told = of_items("slow", &[10_000, 10_475, 10_950, 11_425, 11_900]);
    let expected = "close: Item grew from 160,000 to 190,400 bytes (+19 %), but its rank is 43, and the threshold is 100";
    assert!(told.contains(expected), "{told}");
    let told = of_items("little", &[1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007]);
    let expected = "close: Item grew from 16,000 to 16,112 bytes (+1 %), but its rank is 3, and the threshold is 100";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn the_growth_of_a_saw_tooth_is_that_between_like_points() {
    let told = of_items("shallow", &[2500, 2250, 3000, 2750, 3500]);
    assert!(
        told.contains("close: Item grew from 40,000 to 56,000 bytes (+40 %), but"),
        "{told}"
    );
    let told = of_items("deep", &[2500, 500, 3000, 500, 3500]);
    assert!(
        told.contains("close: Item grew from 48,000 to 56,000 bytes (+17 %), but"),
        "{told}"
    );
}
