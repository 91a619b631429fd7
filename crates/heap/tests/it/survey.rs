//! What a survey of a snapshot shows, in order and by class, is what a trace enters.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use heaphound_heap::ClassId;
use heaphound_heap::root::RootSet;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::trace::{self, BATCH, Examiner, Plan, Series, Starts, Step, Traceable, survey};
use heaphound_heap::view::HeapView;
use heaphound_testkit::heaps::any::heaps;
use proptest::prelude::*;

/// Lists what it is shown, of some classes.
#[derive(Default)]
struct Lists {
    odd_classes: bool,
    /// Whether only every third object is of interest.
    thirds: bool,
    shown: Vec<ObjectId>,
}

fn is_third(object: &ObjectId) -> bool {
    object.0.is_multiple_of(3)
}

impl Examiner<ObjectId> for Lists {
    fn wants(&self, class: ClassId) -> bool {
        !self.odd_classes || class.0 % 2 == 1
    }

    fn examine(&mut self, objects: &[ObjectId]) {
        assert!(objects.len() <= BATCH && !objects.is_empty());
        self.shown.extend(objects);
    }

    fn sift(&mut self, objects: &[ObjectId]) -> u64 {
        assert!(objects.len() <= BATCH && !objects.is_empty());
        if !self.thirds {
            return !0;
        }
        let bits = objects.iter().enumerate();
        bits.fold(0, |bits, (lane, it)| bits | u64::from(is_third(it)) << lane)
    }
}

/// What each step of a plan shows, by the twin.
fn by_twin(heap: &Snapshot, plan: &Plan<'_, ObjectId>, odd: bool) -> Vec<BTreeSet<ObjectId>> {
    let mut visits = heap.visits();
    let series = Series::new(&mut visits, plan);
    let step = |step: &Step<'_, ObjectId>| {
        let phase = series.phase(heap, &mut visits, step);
        let mut lists = Lists {
            odd_classes: odd,
            ..Lists::default()
        };
        let traced = survey(heap, &mut visits, &phase, vec![&mut lists]);
        assert_eq!(traced.objects, lists.shown.len());
        lists.shown.into_iter().collect()
    };
    plan.steps.iter().map(step).collect()
}

proptest! {
    #![proptest_config(heaphound_testkit::cases::config(300))]

    #[test]
    fn a_survey_shows_what_a_trace_enters(
        heap in heaps(),
        picks in prop::collection::vec((0..3usize, any::<u32>(), any::<Option<u32>>()), 1..5),
        threads in 1..4usize,
        odd in any::<bool>(),
        thirds in any::<bool>(),
    ) {
        let pick = |number: u32| ObjectId(number % heap.len().max(1) as u32);
        let mut mark = 0;
        let mut steps: Vec<Step<'_, ObjectId>> = Vec::new();
        for (nth, (kind, number, excluded)) in picks.into_iter().enumerate() {
            // Some steps share the mark of the one before.
            mark += usize::from(nth > 0 && number % 3 != 0);
            let starts = match kind {
                0 => Starts::Roots(RootSet::All),
                _ if heap.is_empty() => Starts::Objects(Vec::new()),
                _ => Starts::Objects(vec![pick(number)]),
            };
            let exclude = excluded.filter(|_| !heap.is_empty()).map(pick);
            steps.push(Step { mark, exclude: exclude.into_iter().collect(), starts });
        }
        let plan = Plan { steps };
        let expected = by_twin(&heap, &plan, odd);
        let mut shown = Vec::new();
        let examiner = |_| Lists { odd_classes: odd, thirds, ..Lists::default() };
        let traced = trace::run(&heap, &mut heap.visits(), &plan, threads, examiner, |_, lists| {
            let all: Vec<ObjectId> = lists.into_iter().flat_map(|it| it.shown).collect();
            shown.push(all);
            ControlFlow::Continue(())
        });
        for (step, all) in shown.into_iter().enumerate() {
            prop_assert_eq!(traced[step].objects, all.len());
            let set: BTreeSet<ObjectId> = all.iter().copied().collect();
            prop_assert_eq!(set.len(), all.len(), "each is shown once");
            // What is of no interest may be shown or not.
            let of_interest = |set: &BTreeSet<ObjectId>| -> BTreeSet<ObjectId> {
                set.iter().copied().filter(|it| !thirds || is_third(it)).collect()
            };
            prop_assert_eq!(of_interest(&set), of_interest(&expected[step]));
            prop_assert!(set.is_subset(&expected[step]));
        }
    }
}

/// All objects of a batch are of one class, but for the last ones.
#[test]
fn objects_of_a_class_are_shown_together() {
    // So many objects are sifted first, and so many are not.
    for count in [1000, 100_000] {
        are_shown_together(count);
    }
}

fn are_shown_together(objects: u32) {
    struct Classes<'h>(&'h Snapshot, usize);
    impl Examiner<ObjectId> for Classes<'_> {
        fn wants(&self, _: ClassId) -> bool {
            true
        }
        fn examine(&mut self, objects: &[ObjectId]) {
            let class = self.0.class_of(objects[0]);
            assert!(objects.iter().all(|it| self.0.class_of(*it) == class));
            self.1 += objects.len();
        }
    }
    let mut builder = heaphound_heap::snapshot::SnapshotBuilder::default();
    let classes = [
        builder.add_class("A", None, &["next"]),
        builder.add_class("B", None, &["next"]),
    ];
    for nth in 0..objects {
        builder.add_object(classes[nth as usize % 2], 16);
        if nth + 1 < objects {
            let next = ObjectId(nth + 1);
            builder.add_edge(heaphound_heap::view::Place::Field(0), next);
        }
    }
    let root = heaphound_heap::Root::new(heaphound_heap::RootKind::Static, "list");
    builder.add_root(root, ObjectId(0));
    let heap = builder.finish().unwrap();
    let plan = Plan {
        steps: vec![Step {
            mark: 0,
            exclude: Vec::new(),
            starts: Starts::Roots(RootSet::All),
        }],
    };
    let mut count = 0;
    let examiner = |_| Classes(&heap, 0);
    trace::run(&heap, &mut heap.visits(), &plan, 2, examiner, |_, all| {
        count += all.iter().map(|it| it.1).sum::<usize>();
        ControlFlow::Continue(())
    });
    assert_eq!(count, objects as usize);
}
