use heaphound_report::document::Part;

use super::*;

/// How many times the iterations of the plain run a test waits for.
const TIMES: u64 = 5;

fn program(id: &str) -> &'static Leaking {
    let mut all = LEAKING.iter();
    all.find(|it| it.id == id).expect("one of them")
}

fn base(program: &Leaking) -> Run {
    live(program, Plan::new(Size::Small, None, u64::MAX))
}

fn pruned(program: &Leaking, cap: u64) -> Run {
    let ours = Some(PruningPolicy::Patient);
    live(program, Plan::new(Size::Small, ours, cap))
}

#[test]
fn all_but_the_mesh_die_of_their_leak_and_none_without_it() {
    for program in LEAKING {
        let leaks = program.id != "delaunay";
        let base = base(program);
        let end = match leaks {
            true => End::Died(Death::OutOfMemory),
            false => End::Finished,
        };
        assert_eq!(base.end, end, "{}", program.name);
        let repaired = Plan {
            leak: false,
            ..Plan::new(Size::Small, None, base.iterations * 2)
        };
        let end = live(program, repaired).end;
        assert!(!matches!(end, End::Died(_)), "{}: {end:?}", program.name);
    }
}

#[test]
fn what_is_dead_is_pruned_and_the_program_goes_on() {
    for id in [
        "eclipsediff",
        "listleak",
        "swapleak",
        "eclipsecp",
        "mysql",
        "jbbmod",
    ] {
        let program = program(id);
        let cap = base(program).iterations * TIMES;
        let ours = pruned(program, cap);
        assert_eq!(ours.end, End::Capped, "{id}: {}", ours.show());
        assert!(!ours.pruned.is_empty(), "{id}");
    }
}

#[test]
fn what_is_partly_live_lives_longer() {
    for id in ["specjbb2000", "mckoi"] {
        let program = program(id);
        let base = base(program).iterations;
        let ours = pruned(program, base * 100);
        assert!(matches!(ours.end, End::Died(_)), "{id}");
        let factor = ours.iterations as f64 / base as f64;
        assert!(factor > 1.4, "{id}: {factor}");
    }
}

#[test]
fn what_is_live_or_short_is_not_helped_nor_harmed() {
    for id in ["dualleak", "delaunay"] {
        let program = program(id);
        let base = base(program).iterations;
        let ours = pruned(program, base * 2).iterations;
        assert!(ours.abs_diff(base) <= 1, "{id}: {base}, {ours}");
    }
}

/// Mckoi is left out: it has threads.
#[test]
fn one_collector_thread_and_three_choose_the_same() {
    for program in LEAKING.iter().filter(|it| it.id != "mckoi") {
        let cap = base(program).iterations * 2;
        let [one, three] = [1, 3].map(|collector_threads| {
            let plan = Plan::new(Size::Small, Some(PruningPolicy::Patient), cap);
            live(
                program,
                Plan {
                    collector_threads,
                    ..plan
                },
            )
        });
        assert_eq!(one.iterations, three.iterations, "{}", program.name);
        assert_eq!(one.end, three.end, "{}", program.name);
        assert_eq!(one.pruned, three.pruned, "{}", program.name);
    }
}

#[test]
fn the_plot_has_three_lines() {
    let figure = figure::draw(Size::Small);
    let ends = figure.chart.lines.iter();
    let ends: Vec<_> = ends.map(|it| (it.name.as_str(), it.breaks_off)).collect();
    assert_eq!(
        ends,
        [("leak", true), ("leak, pruned", false), ("repaired", false)]
    );
    assert!(figure.chart.lines.iter().all(|it| it.points.len() > 10));
    let svg = heaphound_report::html::chart_svg(&figure.chart);
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    let [_, receipts] = figure.sections();
    let Part::Table(table) = &receipts.parts[0] else {
        panic!("{receipts:?}")
    };
    assert!(!table.rows.is_empty());
}

/// Of the programs whose dead data is dead, none reads what was pruned, whatever the policy chooses among what is stale by
/// margin; and the report says so.
#[test]
fn what_is_dead_is_never_missed() {
    let dead = LEAKING.iter().filter(|it| it.dead_is_dead);
    let mut pruned_any = 0;
    for program in dead {
        let cap = base(program).iterations * TIMES;
        for policy in [PruningPolicy::Patient, PruningPolicy::DataStructures] {
            let run = live(program, Plan::new(Size::Small, Some(policy), cap));
            assert!(
                !run.is_false(),
                "{}, {policy:?}: {}",
                program.name,
                run.show()
            );
            pruned_any += !run.pruned.is_empty() as usize;
        }
    }
    assert!(pruned_any >= 8, "{pruned_any}");
}

#[test]
fn the_report_counts_what_was_missed() {
    let mut report = Report::new("prune");
    let program = program("listleak");
    let life = Life::of(program, Size::Small, 3, &mut |_| {});
    let mut falses = Falses::default();
    falses.add(&life);
    falses.tell(&mut report);
    let row = |report: &Report| {
        let mut rows = report.rows.iter();
        rows.find(|it| it.id == "prune.false").map(|it| it.measured)
    };
    assert_eq!(row(&report), Some(0.0));
    // One that does miss something counts.
    let missed = Life {
        ours: Run {
            end: End::Died(Death::PrunedThenUsed),
            ..life.ours
        },
        ..life
    };
    let mut report = Report::new("prune");
    falses.add(&missed);
    falses.tell(&mut report);
    assert_eq!(row(&report), Some(1.0));
    assert!(report.to_json().contains("prune.false"));
}
