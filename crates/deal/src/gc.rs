//! GC assertions of rule files, on any view: counts, sharing, ownership and death of what is
//! reachable.
//!
//! They mean what those that a program states mean (`docs/assertions.md`), and are told in the
//! same way: with the path to what ought not to be there, two paths to what is shared, and
//! surplus instances grouped by the way they are held. After Aftandilian and Guyer, *GC
//! Assertions* (PLDI 2009).
//!
//! What no root reaches breaks nothing, and owns nothing.

use std::collections::HashMap;

use heaphound_heap::RootKind;
use heaphound_heap::fields::Readable;
use heaphound_heap::finding::{Evidence, Finding, group};
use heaphound_heap::path::{Reached, Search, Trail, named};
use heaphound_heap::root::RootSet;
use heaphound_heap::trace::{Filter, Phase, Visitor, Visits};
use heaphound_heap::view::Place;

use crate::datum::Datum;
use crate::resolved::{ClassSet, ClassTarget, GcAssertion, Path, Rule, Start, Statement, Target};
use crate::traverse::Setting;
use crate::verdict::{Judge, MOST_SHOWN, NULL, Verdict, finding_of};

/// Paths are looked for to as many instances.
const MOST_PATHS: usize = 1_000;

/// What breaks a GC assertion: all instances, if they are too many or too large. In order; none
/// if the rule states no GC assertion.
pub fn culprits<V: Readable>(setting: &Setting<'_, V>, rule: &Rule) -> Option<Vec<V::Object>> {
    let Statement::Gc(assertion) = &rule.program.statement else {
        return None;
    };
    let check = Check::new(setting, "");
    check.why_not(rule).is_none().then(|| {
        let broken = check.broken(assertion);
        broken.culprits
    })
}

/// Checks the GC assertion that a rule states. `text` is what the rule was made of.
pub fn judge<V: Readable>(setting: &Setting<'_, V>, rule: &Rule, text: &str) -> Verdict<V::Object> {
    let Statement::Gc(assertion) = &rule.program.statement else {
        return Verdict::NotChecked("it is no GC assertion".into());
    };
    let check = Check::new(setting, text);
    if let Some(reason) = check.why_not(rule) {
        return Verdict::NotChecked(reason);
    }
    let broken = check.broken(assertion);
    if broken.culprits.is_empty() {
        return Verdict::Holds;
    }
    let mut finding = finding_of(rule, text);
    check.describe(&mut finding, assertion, &broken);
    Verdict::Fails(Box::new(finding))
}

/// What breaks an assertion.
struct Broken<O> {
    /// In order.
    culprits: Vec<O>,
    /// How many there are, or how many bytes they take.
    amount: u64,
    /// How many references lead to each, where that is asked.
    references: HashMap<O, u32>,
    /// Whether an owner lives.
    owner_lives: bool,
}

struct Check<'j, 'a, V: Readable> {
    judge: Judge<'j, 'a, V>,
    view: &'a V,
}

impl<'j, 'a, V: Readable> Check<'j, 'a, V> {
    fn new(setting: &'j Setting<'a, V>, text: &'j str) -> Self {
        Self {
            judge: Judge::new(setting, text),
            view: setting.view,
        }
    }

    /// Why there is no answer, whatever the heap is like.
    fn why_not(&self, rule: &Rule) -> Option<String> {
        let Statement::Gc(assertion) = &rule.program.statement else {
            return None;
        };
        let targets = match assertion {
            GcAssertion::Instances(..) | GcAssertion::Volume(..) => [None, None],
            GcAssertion::Unshared(it) | GcAssertion::Dead(it) => [Some(it), None],
            GcAssertion::OwnedBy(owner, ownee) => [Some(owner), Some(ownee)],
        };
        let asks =
            |target: &&Target| matches!(target, Target::Object(path) if path.start == Start::Asker);
        if self.judge.setting.asker.is_none() && targets.iter().flatten().any(asks) {
            return Some("it is about the asking thread, and no thread with an object asks".into());
        }
        let dereferences = &rule.program.dereferences;
        let ground = &self.judge.ground;
        (!ground.can_dereference(dereferences, None)).then(|| NULL.into())
    }

    fn broken(&self, assertion: &GcAssertion) -> Broken<V::Object> {
        let mut broken = Broken {
            culprits: Vec::new(),
            amount: 0,
            references: HashMap::new(),
            owner_lives: false,
        };
        match assertion {
            GcAssertion::Instances(class, most) => {
                let all = self.instances(&class.classes);
                broken.amount = all.len() as u64;
                if broken.amount > *most {
                    broken.culprits = all;
                }
            }
            GcAssertion::Volume(class, most) => {
                let all = self.instances(&class.classes);
                let bytes = all.iter().map(|&it| self.view.bytes_of(it) as u64);
                broken.amount = bytes.sum();
                if broken.amount > *most {
                    broken.culprits = all;
                }
            }
            GcAssertion::Dead(target) => broken.culprits = self.live(target),
            GcAssertion::Unshared(target) => {
                let asked = match target {
                    Target::Class(class) => Asked::Class(&class.classes),
                    Target::Object(path) => match self.object(path) {
                        Some(object) => Asked::Object(object),
                        None => return broken,
                    },
                };
                broken.references = self.references(asked);
                broken.references.retain(|_, count| *count > 1);
                broken.culprits = broken.references.keys().copied().collect();
                broken.culprits.sort_unstable();
            }
            GcAssertion::OwnedBy(owner, ownee) => {
                let owners = self.live(owner);
                broken.owner_lives = !owners.is_empty();
                let owned = self.trace(owners, || All(Vec::new()));
                let mut owned: Vec<V::Object> = owned.into_iter().flat_map(|it| it.0).collect();
                owned.sort_unstable();
                broken.culprits = self.live(ownee);
                let is_free = |it: &V::Object| owned.binary_search(it).is_err();
                broken.culprits.retain(is_free);
            }
        }
        broken
    }

    /// The live objects among those that are meant, in order.
    fn live(&self, target: &Target) -> Vec<V::Object> {
        match target {
            Target::Class(class) => self.instances(&class.classes),
            Target::Object(path) => {
                let object = self.object(path);
                let visitors = object.map(|object| {
                    let visitor = || Meets { object, met: false };
                    self.trace(self.roots(), visitor)
                });
                let lives = visitors.is_some_and(|all| all.iter().any(|it| it.met));
                object.filter(|_| lives).into_iter().collect()
            }
        }
    }

    /// The live objects of some classes, in order.
    fn instances(&self, classes: &ClassSet) -> Vec<V::Object> {
        let found = self.trace(self.roots(), || All(Vec::new()));
        let found = found.into_iter().flat_map(|it| it.0);
        let is_one = |it: &V::Object| classes.has(self.view.class_of(*it));
        let mut found: Vec<V::Object> = found.filter(is_one).collect();
        found.sort_unstable();
        found
    }

    fn object(&self, path: &Path) -> Option<V::Object> {
        match self.judge.ground.walk(path, None) {
            Datum::Object(object) => Some(object),
            _ => None,
        }
    }

    fn roots(&self) -> Vec<V::Object> {
        let mut roots = Vec::new();
        self.view
            .for_each_root_target(RootSet::All, |object| roots.push(object));
        roots
    }

    /// How many statics, and slots of live objects that retain, refer to each.
    fn references(&self, asked: Asked<'_, V::Object>) -> HashMap<V::Object, u32> {
        let is_asked = |object: V::Object| match asked {
            Asked::Object(one) => one == object,
            Asked::Class(classes) => classes.has(self.view.class_of(object)),
        };
        let mut all: HashMap<V::Object, u32> = HashMap::new();
        let entered = self.trace(self.roots(), || All(Vec::new()));
        for object in entered.into_iter().flat_map(|it| it.0) {
            self.view.for_each_strong_edge(object, |_, to| {
                if is_asked(to) {
                    *all.entry(to).or_default() += 1;
                }
            });
        }
        self.view.for_each_root(|root, object| {
            if root.kind == RootKind::Static && is_asked(object) {
                *all.entry(object).or_default() += 1;
            }
        });
        all
    }

    fn trace<W: Visitor<V::Object>>(
        &self,
        starts: Vec<V::Object>,
        visitor: impl Fn() -> W,
    ) -> Vec<W> {
        let mut visits = self.view.visits();
        visits.reserve(1);
        let phase = Phase {
            starts,
            filter: Filter::Follow,
            mark: visits.fresh(),
        };
        let threads = self.judge.setting.threads.max(1);
        let visitors = (0..threads).map(|_| visitor()).collect();
        self.view.trace(&mut visits, &phase, visitors).1
    }
}

/// Which objects are asked about.
#[derive(Clone, Copy)]
enum Asked<'c, O> {
    Object(O),
    Class(&'c ClassSet),
}

// Findings.
impl<V: Readable> Check<'_, '_, V> {
    fn describe(&self, finding: &mut Finding, assertion: &GcAssertion, broken: &Broken<V::Object>) {
        if let GcAssertion::Instances(class, _) | GcAssertion::Volume(class, _) = assertion {
            finding.class = Some(self.view.class(class.class).name.clone());
        }
        let count = broken.culprits.len();
        let amount = broken.amount;
        let objects = |one: &str, many: &str| match count {
            1 => format!("1 object {one}"),
            count => format!("{count} objects {many}"),
        };
        finding.notes.push(match assertion {
            GcAssertion::Instances(class, most) => {
                let class = self.name(class);
                format!("{amount} instances of {class} live, and {most} may")
            }
            GcAssertion::Volume(class, most) => {
                let class = self.name(class);
                format!("instances of {class} take {amount} bytes, and may take {most}")
            }
            GcAssertion::Dead(_) => objects("is reachable", "are reachable"),
            GcAssertion::Unshared(_) => objects("is shared", "are shared"),
            GcAssertion::OwnedBy(..) if broken.owner_lives => objects(
                "is reachable, but not through its owner",
                "are reachable, but not through their owner",
            ),
            GcAssertion::OwnedBy(..) => {
                objects("has outlived its owner", "have outlived their owner")
            }
        });
        match assertion {
            GcAssertion::Instances(..) | GcAssertion::Volume(..) => {
                self.describe_instances(finding, &broken.culprits);
            }
            GcAssertion::Unshared(_) => self.describe_shared(finding, broken),
            GcAssertion::Dead(_) | GcAssertion::OwnedBy(..) => {
                let mut visits = self.view.visits();
                let everywhere = Search::everywhere();
                let ways = Reached::new(self.view, &mut visits, &everywhere, &broken.culprits);
                for object in self.nearest(finding, &ways, &broken.culprits) {
                    let trail = ways.trail(object);
                    let evidence = trail.map(|trail| self.evidence("", &trail));
                    finding.evidence.extend(evidence);
                }
            }
        }
    }

    fn name(&self, class: &ClassTarget) -> String {
        let name = &self.view.class(class.class).name;
        let below = self.view.classes().iter();
        let below = below.filter(|it| it.name != *name && class.classes.has(it.id));
        match below.count() {
            0 => name.clone(),
            _ => format!("{name} and its subclasses"),
        }
    }

    /// The first few, by how near they are to a root; the finding names them.
    fn nearest(
        &self,
        finding: &mut Finding,
        ways: &Reached<'_, V>,
        objects: &[V::Object],
    ) -> Vec<V::Object> {
        let mut order: Vec<(u32, V::Object)> = objects
            .iter()
            .map(|&object| (ways.order(object).unwrap_or(u32::MAX), object))
            .collect();
        order.sort_unstable();
        order.truncate(MOST_SHOWN);
        let shown: Vec<V::Object> = order.into_iter().map(|(_, object)| object).collect();
        let names = shown.iter().map(|&object| named(self.view, object));
        finding.objects.extend(names);
        if objects.len() > shown.len() {
            let more = objects.len() - shown.len();
            finding.notes.push(format!("{more} more are not shown"));
        }
        shown
    }

    fn evidence(&self, label: &str, trail: &Trail<V::Object>) -> Evidence {
        Evidence::labelled(label, trail.describe(self.view))
    }

    /// Instances that are held in the same way are one group.
    fn describe_instances(&self, finding: &mut Finding, instances: &[V::Object]) {
        let some = &instances[..instances.len().min(MOST_PATHS)];
        let mut visits = self.view.visits();
        let ways = Reached::new(self.view, &mut visits, &Search::everywhere(), some);
        let names = some.iter().take(MOST_SHOWN);
        finding
            .objects
            .extend(names.map(|&object| named(self.view, object)));
        let trails = some.iter().filter_map(|&object| ways.trail(object));
        let groups = group(trails.map(|trail| trail.describe(self.view)).collect());
        if groups.len() > MOST_SHOWN {
            let more = groups.len() - MOST_SHOWN;
            finding
                .notes
                .push(format!("{more} more ways lead to instances"));
        }
        if some.len() < instances.len() {
            let count = some.len();
            finding
                .notes
                .push(format!("paths were looked for to {count} of them"));
        }
        let shown = groups.into_iter().take(MOST_SHOWN);
        finding
            .evidence
            .extend(shown.map(|(count, path)| Evidence::group(count, path)));
    }

    /// Each with two paths that end in different references.
    fn describe_shared(&self, finding: &mut Finding, broken: &Broken<V::Object>) {
        let mut visits = self.view.visits();
        let everywhere = Search::everywhere();
        let ways = Reached::new(self.view, &mut visits, &everywhere, &broken.culprits);
        let shown = self.nearest(finding, &ways, &broken.culprits);
        let entered = self.trace(self.roots(), || All(Vec::new()));
        let mut slots: Vec<(V::Object, Place, V::Object)> = Vec::new();
        for from in entered.into_iter().flat_map(|it| it.0) {
            self.view.for_each_strong_edge(from, |place, to| {
                if shown.contains(&to) {
                    slots.push((from, place, to));
                }
            });
        }
        let holders: Vec<V::Object> = slots.iter().map(|(from, ..)| *from).collect();
        let ways = Reached::new(self.view, &mut visits, &everywhere, &holders);
        slots.sort_by_key(|&(from, place, _)| (ways.order(from), place));
        for &object in &shown {
            let mut trails: Vec<Trail<V::Object>> = Vec::new();
            self.view.for_each_root(|root, to| {
                if root.kind == RootKind::Static && to == object {
                    trails.push(Trail {
                        root: Some(root.clone()),
                        objects: vec![object],
                        places: Vec::new(),
                    });
                }
            });
            for &(from, place, _) in slots.iter().filter(|it| it.2 == object).take(2) {
                trails.extend(ways.trail(from).map(|mut trail| {
                    trail.objects.push(object);
                    trail.places.push(place);
                    trail
                }));
            }
            let name = self.view.name_of(object);
            let count = broken.references[&object];
            let label = format!("{count} references lead to {name}");
            let labels = [label, "and another".into()];
            let both = trails.iter().zip(&labels);
            let both = both.map(|(trail, label)| self.evidence(label, trail));
            finding.evidence.extend(both);
        }
    }
}

/// All objects that are entered.
struct All<O>(Vec<O>);

impl<O: Send> Visitor<O> for All<O> {
    type Tag = ();

    fn object(&mut self, object: O) {
        self.0.push(object);
    }
}

/// Whether an object is entered.
struct Meets<O> {
    object: O,
    met: bool,
}

impl<O: Copy + Eq + Send> Visitor<O> for Meets<O> {
    type Tag = ();
    const STOPS: bool = true;

    fn object(&mut self, object: O) {
        self.met |= object == self.object;
    }

    fn is_done(&self) -> bool {
        self.met
    }
}
