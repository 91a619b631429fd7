//! GC assertions of rule files, on any view: counts, sharing, ownership and death of what is
//! reachable.
//!
//! They mean what those that a program states mean (`docs/assertions.md`), and are described in the
//! same words: [`heaphound_heap::assertion`] decides both. Here a rule is resolved to what it is
//! about on the view, and what came of it becomes a verdict.
//!
//! What no root reaches breaks nothing, and owns nothing.

use heaphound_heap::ClassId;
use heaphound_heap::assertion::{
    self, Assertion, Described, Description, Limit, Outcome, Slots, Stated, describe_by,
    describe_class,
};
use heaphound_heap::fields::Readable;
use heaphound_heap::finding::Finding;

use crate::datum::Datum;
use crate::resolved::{ClassTarget, GcAssertion, Rule, Start, Statement, Target};
use crate::traverse::Setting;
use crate::verdict::{MOST_SHOWN, NULL, Unchecked, Verdict, finding_of};

/// Checks the GC assertions that some rules state: a verdict for each, in their order. `text` is
/// what the rules were made of.
pub fn judge<V: Readable>(
    setting: &Setting<'_, V>,
    rules: &[&Rule],
    text: &str,
) -> Vec<Verdict<V::Object>> {
    let outcomes = outcomes(setting, rules).into_iter();
    let verdicts = rules.iter().zip(outcomes).map(|(rule, outcome)| {
        let mut finding = finding_of(rule, text);
        match outcome {
            Err(why) => return Verdict::NotChecked(why),
            Ok(Outcome::Holds) => return Verdict::Holds,
            Ok(Outcome::Exceeded(excess)) => {
                add(&mut finding, describe_class(setting.view, &excess));
            }
            Ok(Outcome::Violated { count, violations }) => {
                let slots = match &rule.program.statement {
                    Statement::Gc(GcAssertion::Unshared(_, slots)) => slots.as_slice(),
                    _ => &[],
                };
                let slots = Slots::of(slots.iter().cloned());
                let described = describe_by(setting.view, violations, &slots).into_iter();
                let described = described.filter_map(|(_, it)| match it {
                    Described::In(it) => Some(*it),
                    Described::As(_) => None,
                });
                let shown: Vec<Description> = described.take(MOST_SHOWN).collect();
                let more = count - shown.len();
                shown.into_iter().for_each(|it| add(&mut finding, it));
                if more > 0 {
                    finding.notes.push(format!("{more} more are not shown"));
                }
            }
        }
        Verdict::Fails(Box::new(finding))
    });
    verdicts.collect()
}

/// What came of the GC assertions that some rules state, or why that cannot be said. All are
/// decided together.
pub fn outcomes<V: Readable>(
    setting: &Setting<'_, V>,
    rules: &[&Rule],
) -> Vec<Result<Outcome<V::Object>, Unchecked>> {
    let asked: Vec<_> = rules.iter().map(|rule| asked(setting, rule)).collect();
    let assertions: Vec<_> = asked.iter().flatten().cloned().collect();
    let outcomes = assertion::violations(setting.view, &assertions, setting.threads);
    let mut outcomes = outcomes.into_iter();
    let mut next = || outcomes.next().expect("one for each assertion");
    asked.into_iter().map(|it| it.map(|_| next())).collect()
}

/// What a rule asserts about the view, or why that cannot be said.
fn asked<V: Readable>(
    setting: &Setting<'_, V>,
    rule: &Rule,
) -> Result<Assertion<V::Object>, Unchecked> {
    let Statement::Gc(stated) = &rule.program.statement else {
        return Err("it is no GC assertion".into());
    };
    let ground = setting.ground();
    let targets = match stated {
        GcAssertion::Instances(..) | GcAssertion::Volume(..) => [None, None],
        GcAssertion::Unshared(it, _) | GcAssertion::Dead(it) => [Some(it), None],
        GcAssertion::OwnedBy(owner, ownee) => [Some(owner), Some(ownee)],
    };
    let asks =
        |target: &&Target| matches!(target, Target::Object(path) if path.start == Start::Asker);
    if setting.asker.is_none() && targets.iter().flatten().any(asks) {
        return Err(Unchecked {
            reason: "it is about the asking thread, and no thread with an object asks".into(),
            nobody_asks: true,
        });
    }
    if ground.why_not(&rule.program).is_some() {
        return Err(NULL.into());
    }
    let instances = |class: &ClassTarget| -> Vec<ClassId> {
        let all = setting.view.classes().iter().map(|it| it.id);
        all.filter(|&it| class.classes.contains(it)).collect()
    };
    // Null is no object.
    let target = |target: &Target| match target {
        Target::Class(class) => assertion::Target::Instances(instances(class)),
        Target::Object(path) => assertion::Target::Objects(match ground.walk(path, None) {
            Datum::Object(object) => vec![object],
            _ => Vec::new(),
        }),
    };
    let limited = |class: &ClassTarget, limit| Assertion::Limited {
        limit,
        class: class.class,
        counted: instances(class),
    };
    Ok(match stated {
        GcAssertion::Instances(class, most) => limited(class, Limit::Instances(*most)),
        GcAssertion::Volume(class, most) => limited(class, Limit::Volume(*most)),
        GcAssertion::Unshared(it, slots) => {
            Assertion::Unshared(target(it), Slots::of(slots.iter().cloned()))
        }
        GcAssertion::Dead(it) => Assertion::Dead(target(it)),
        GcAssertion::OwnedBy(owner, ownee) => Assertion::OwnedBy {
            owners: target(owner),
            ownees: target(ownee),
        },
    })
}

/// Adds what is said of violations to the finding about a rule.
fn add(finding: &mut Finding, description: Description) {
    let told = description.finding(&Stated::default());
    finding.class = finding.class.take().or(told.class);
    finding.objects.extend(told.objects);
    finding.evidence.extend(told.evidence);
    finding.notes.push(told.message);
    finding.notes.extend(told.notes);
}
