//! Rules about the live heap, checked by the collector as it marks.
//!
//! The language is that of `docs/deal.md`. A [`Rules`] is a text with what its host variables
//! stand for; [`deal!`](crate::deal!) makes one whose syntax is checked at compile time. Its rules
//! can be checked
//! - at each full collection, from now on: [`Rules::register`];
//! - here and now, with a collection: [`Rules::check`];
//! - here, when a collection is roughly due anyway: [`Rules::check_when_due`], with a throttle up
//!   to every time.
//!
//! In each case the traversal that checks assertions of DeAL is the marking of the collection. GC
//! assertions and expressions are checked on the same stopped heap. Queries are answered by
//! [`Rules::query`].

mod want;

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heaphound_deal::bind::{Binder, Bindings};
use heaphound_deal::check::{Scope, compile_rules};
use heaphound_deal::datum::Datum;
use heaphound_deal::diagnostic::Diagnostics;
use heaphound_deal::evaluate::{Evaluation, Judged, evaluate_all};
use heaphound_deal::parse::parse;
use heaphound_deal::plan::{Explain, Plans};
use heaphound_deal::resolved::{Constant, FieldPlace, Resolved, Rule, Statement, Step};
use heaphound_deal::verdict::{Answer, Verdict, rule_name};
use heaphound_gc::{
    Check, Counted, Found, Heap, Listener, MarkedHeap, Mutator, Needs, Object, ObjectId, Reaction,
    Registration, Root, StoppedHeap, Subject, Weak,
};
use heaphound_heap::finding::{Finding, Named};
use heaphound_heap::{ClassInfo, FieldKind, Value};

/// A text about a heap, and what its host variables stand for.
///
/// ```
/// use heaphound::{Rules, Header, Heap, Managed, Slot, deal};
///
/// #[derive(Managed)]
/// #[repr(C)]
/// struct Node { header: Header, next: Slot<Node>, prev: Slot<Node> }
///
/// let heap = Heap::builder().build()?;
/// let mut m = heap.attach("main")?;
/// let first = m.alloc(NodeInit { next: None, prev: None })?;
/// let second = m.alloc(NodeInit { next: None, prev: Some(first) })?;
/// m[first].next.set(Some(&m[second]));
///
/// let mut links = Rules::new("assertion(forall Node x: reach[d](x) -> x.next.prev == x)")
///     .bind(&m, "d", first);
/// assert!(links.check(&mut m)?.is_empty());
/// m[second].prev.clear();
/// let findings = links.check(&mut m)?;
/// assert_eq!(findings[0].objects.len(), 1);
///
/// // The same, with its syntax checked by the compiler.
/// let mut links = deal!(m, "forall Node x: reach[d](x) -> x.next.prev == x", d = first);
/// assert_eq!(links.check(&mut m)?[0].message, findings[0].message);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Rules {
    name: String,
    text: String,
    /// Where in the program it was made.
    place: &'static Location<'static>,
    hosts: Vec<(String, Bound)>,
    values: Vec<(String, Constant)>,
    compiled: Option<Compiled>,
    /// How often it could have been checked.
    calls: u64,
    /// Whether formulas are interpreted rather than compiled.
    interpret: bool,
}

/// A text as it is understood.
struct Compiled {
    /// The classes that there were.
    classes: Arc<[ClassInfo]>,
    /// What must hold.
    rules: Resolved,
    /// What only asks: queries, and expressions that are values or sets.
    questions: Resolved,
    /// All of it.
    whole: Resolved,
}

/// What a text without a name is called.
const UNNAMED: &str = "assertion";

/// What a host variable stands for.
enum Bound {
    Null,
    Strong(Root<Object>),
    Weak(Weak<Object>),
}

/// When rules are checked where they stand.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum When {
    /// When this share of what may be allocated until the next full collection has been: 0 is
    /// every time, 1 only when one is due.
    Due(f64),
    /// Every n-th time.
    Every(u64),
}

impl Default for When {
    /// When a collection is roughly due.
    fn default() -> Self {
        Self::Due(0.9)
    }
}

/// Why rules were not checked.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RulesError {
    /// Something is wrong with the text: each thing with its place.
    Text(Diagnostics),
    /// The text has no rule that could be checked: it only asks, which is for [`Rules::query`].
    NoRule,
    /// The text has no query, and no expression that is a value or a set.
    NoQuery,
    /// A query has no answer: why.
    Unanswered(String),
}

/// As the message: what `main` returns is printed so.
impl fmt::Debug for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(diagnostics) => diagnostics.fmt(f),
            Self::NoRule => f.write_str("the text has no rule that could be checked"),
            Self::NoQuery => f.write_str("the text has no query that could be answered"),
            Self::Unanswered(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for RulesError {}

impl Rules {
    /// An assertion, or a file of rules. Findings name the place of this call.
    #[track_caller]
    pub fn new(text: impl Into<String>) -> Self {
        Self::named(UNNAMED, text)
    }

    /// A text of that name, for diagnostics. Findings name the line of the rule, and the place of
    /// this call.
    #[track_caller]
    pub fn named(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            place: Location::caller(),
            hosts: Vec::new(),
            values: Vec::new(),
            compiled: None,
            calls: 0,
            interpret: false,
        }
    }

    /// Binds a host variable, whose object is kept alive for as long as this lives. One that was
    /// bound before is bound anew.
    ///
    /// # Panics
    /// If the object belongs to another heap or mutator.
    #[track_caller]
    #[must_use]
    pub fn bind(self, m: &Mutator<'_>, name: &str, object: impl Subject) -> Self {
        let bound = m.handle(object).map_or(Bound::Null, Bound::Strong);
        self.bind_host(name, bound)
    }

    /// Binds a host variable weakly: when its object has died, rules that are registered are no
    /// longer checked; where they are checked on demand, the variable is null from then on.
    ///
    /// # Panics
    /// If the object belongs to another heap or mutator.
    #[track_caller]
    #[must_use]
    pub fn bind_weak(self, m: &Mutator<'_>, name: &str, object: impl Subject) -> Self {
        let bound = m.weak_handle(object).map_or(Bound::Null, Bound::Weak);
        self.bind_host(name, bound)
    }

    /// Binds a host variable to a value: wherever it stands, the value might stand. See
    /// [`constant`](heaphound_deal::check::constant).
    #[must_use]
    pub fn bind_value(mut self, name: &str, value: Constant) -> Self {
        self.unbind(name);
        self.values.push((name.into(), value));
        self
    }

    fn bind_host(mut self, name: &str, bound: Bound) -> Self {
        self.unbind(name);
        self.hosts.push((name.into(), bound));
        self
    }

    /// What is bound last counts.
    fn unbind(&mut self, name: &str) {
        self.hosts.retain(|(it, _)| it != name);
        self.values.retain(|(it, _)| it != name);
        self.compiled = None;
    }

    /// Interprets formulas instead of compiling them: the slow twin, for comparison.
    #[doc(hidden)]
    #[must_use]
    pub fn interpreted(mut self) -> Self {
        self.interpret = true;
        self
    }

    /// Checks all rules now, in a full collection. Returns what does not hold.
    ///
    /// # Errors
    /// If something is wrong with the text, or it has no rules.
    pub fn check(&mut self, m: &mut Mutator<'_>) -> Result<Vec<Finding>, RulesError> {
        self.compile_rules(m)?;
        Ok(m.inspect_and_collect(|view| self.evaluate(view)))
    }

    /// Checks all rules if it is time to. Returns `None` if it is not. The full collection at which they are checked takes
    /// the place of the next that would come of itself.
    ///
    /// # Errors
    /// As [`Rules::check`].
    pub fn check_when_due(
        &mut self,
        m: &mut Mutator<'_>,
        when: When,
    ) -> Result<Option<Vec<Finding>>, RulesError> {
        let due = match when {
            When::Due(share) => m.is_collection_due(share),
            When::Every(times) => self.calls % times.max(1) == times.max(1) - 1,
        };
        self.calls += 1;
        match due {
            true => {
                self.compile_rules(m)?;
                Ok(Some(m.inspect_when_due(|view| self.evaluate(view))))
            }
            false => Ok(None),
        }
    }

    /// Checks all rules at each full collection from now on, until what this returns is dropped.
    /// What does not hold is logged, unless there is another reaction, and counted
    /// ([`Heap::findings`]).
    ///
    /// # Errors
    /// As [`Rules::check`].
    pub fn register(
        mut self,
        heap: &Heap,
        m: &mut Mutator<'_>,
        reaction: Option<Reaction>,
    ) -> Result<Registration, RulesError> {
        self.compile_rules(m)?;
        Ok(RuleBook::of(heap).register(self, reaction.unwrap_or_default()))
    }

    /// Answers all queries of the text now, and whatever else of it asks for a value or a set,
    /// in its order. The world stands still meanwhile; nothing is collected.
    ///
    /// ```
    /// use heaphound::deal::datum::Datum;
    /// use heaphound::deal::verdict::Answer;
    /// use heaphound::{Header, Heap, Managed, Slot, view::Value, deal};
    ///
    /// #[derive(Managed)]
    /// #[repr(C)]
    /// struct Node { header: Header, data: u32, next: Slot<Node> }
    ///
    /// let heap = Heap::builder().build()?;
    /// let mut m = heap.attach("main")?;
    /// let last = m.alloc(NodeInit { data: 7, next: None })?;
    /// let first = m.alloc(NodeInit { data: 3, next: Some(last) })?;
    ///
    /// let mut data = deal!(
    ///     m,
    ///     "query Node x: reach[d](x) select sum(x.data); query Node x select x.data limit 1",
    ///     d = first,
    /// );
    /// let answers = data.query(&mut m)?;
    /// assert_eq!(answers[0], Answer::Value(Datum::Plain(Value::Unsigned(10))));
    /// let Answer::Rows(rows, all) = &answers[1] else { panic!() };
    /// assert_eq!((rows.len(), rows[0].1.as_slice(), *all), (1, &["7".to_string()][..], 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If something is wrong with the text, it asks nothing, or something has no answer.
    pub fn query(&mut self, m: &mut Mutator<'_>) -> Result<Vec<Answer<Named>>, RulesError> {
        if self.compile(m)?.questions.rules.is_empty() {
            return Err(RulesError::NoQuery);
        }
        m.inspect(|view| {
            let understood = self.understand(view);
            let ready = understood.and_then(|()| self.ready(view, Part::Questions));
            let ready = ready.map_err(RulesError::Unanswered)?;
            let answers = ready.names().zip(ready.evaluation(view).run());
            let answers = answers.map(|(name, judged)| match judged.verdict {
                Verdict::Found(answer) => Ok(answer.named(view)),
                Verdict::NotChecked(why) => {
                    let why = format!("`{name}` was not answered: {why}");
                    Err(RulesError::Unanswered(why))
                }
                // A field that is true or false here and something else elsewhere.
                Verdict::Holds => Ok(Answer::Value(Datum::Plain(Value::Bool(true)))),
                Verdict::Fails(_) => Ok(Answer::Value(Datum::Plain(Value::Bool(false)))),
            });
            answers.collect()
        })
    }

    /// How the text is evaluated.
    ///
    /// # Errors
    /// If something is wrong with it, or it speaks of classes that the heap does not know.
    pub fn explain(&mut self, m: &mut Mutator<'_>) -> Result<String, RulesError> {
        self.compile(m)?;
        let resolved = &self.compiled.as_ref().expect("it was just compiled").whole;
        if !resolved.unknown.is_empty() {
            let unknown = Diagnostics::new(&self.name, &self.text, resolved.unknown.clone());
            return Err(RulesError::Text(unknown));
        }
        let plans = &Plans::new(resolved);
        let explain = Explain {
            text: &self.text,
            resolved,
            plans,
        };
        Ok(explain.to_string())
    }

    /// Compiles the text, and says so if nothing in it can be checked.
    fn compile_rules(&mut self, m: &mut Mutator<'_>) -> Result<(), RulesError> {
        match self.compile(m)?.rules.rules.is_empty() {
            true => Err(RulesError::NoRule),
            false => Ok(()),
        }
    }

    /// Compiles the text against the classes that there are, unless that was done.
    fn compile(&mut self, m: &mut Mutator<'_>) -> Result<&Compiled, RulesError> {
        self.compile_for(m.shared_classes())
    }

    /// Compiles the text, unless it was understood against just these classes: it may have been
    /// another heap's, and a heap gets more of them.
    fn compile_for(&mut self, classes: Arc<[ClassInfo]>) -> Result<&Compiled, RulesError> {
        let is_same = |it: &Compiled| Arc::ptr_eq(&it.classes, &classes) || it.classes == classes;
        let known = self.compiled.take().filter(is_same);
        let compiled = match known {
            Some(compiled) => compiled,
            None => self.compiled_for(classes)?,
        };
        Ok(self.compiled.insert(compiled))
    }

    fn compiled_for(&self, classes: Arc<[ClassInfo]>) -> Result<Compiled, RulesError> {
        let mut scope = Scope::new(&classes);
        for (name, _) in &self.hosts {
            scope = scope.bind(name, None);
        }
        for (name, value) in &self.values {
            scope = scope.bind_value(name, value.clone());
        }
        let whole = compile_rules(&self.name, &self.text, &scope).map_err(RulesError::Text)?;
        let only = |wanted: fn(&Rule) -> bool| Resolved {
            rules: whole
                .rules
                .iter()
                .filter(|it| wanted(it))
                .cloned()
                .collect(),
            ..whole.clone()
        };
        Ok(Compiled {
            rules: only(|it| !is_question(it)),
            questions: only(is_question),
            whole,
            classes,
        })
    }

    /// What findings call the text: by its name, or else by what it says, that one is told from
    /// another.
    fn title(&self) -> String {
        match self.name.as_str() {
            UNNAMED => in_one_line(&self.text),
            name => name.into(),
        }
    }

    /// A finding that the text was not checked.
    fn not_checked(&self, why: &str) -> Finding {
        not_checked(&self.title(), self.place.to_string(), why)
    }

    /// The weak host variable whose object is gone.
    fn orphan<S>(&self, view: &StoppedHeap<'_, S>) -> Option<&str> {
        let gone = self.hosts.iter().find(|(_, bound)| match bound {
            Bound::Weak(handle) => view.held_weakly(handle).is_none(),
            _ => false,
        });
        gone.map(|(name, _)| name.as_str())
    }

    /// What does not hold, or was not checked.
    fn evaluate(&mut self, view: &StoppedHeap<'_>) -> Vec<Finding> {
        let understood = self.understand(view);
        let ready = match understood.and_then(|()| self.ready(view, Part::Rules)) {
            Ok(ready) => ready,
            Err(why) => return vec![self.not_checked(&why)],
        };
        let judged = ready.evaluation(view).run();
        ready.findings(judged)
    }

    /// Compiles the text for a heap. The error says why that cannot be done.
    fn understand(&mut self, view: &StoppedHeap<'_>) -> Result<(), String> {
        let compiled = self.compile_for(view.shared_classes());
        compiled.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Binds the variables of a part of the text to objects of the heap that it was compiled for. The error says
    /// why that cannot be done.
    fn ready<'d, 'v>(
        &'d self,
        view: &StoppedHeap<'v>,
        part: Part,
    ) -> Result<Ready<'d, 'v>, String> {
        let compiled = self.compiled.as_ref().expect("it was just compiled");
        let resolved = match part {
            Part::Rules => &compiled.rules,
            Part::Questions => &compiled.questions,
        };
        let mut binder = Binder::of(view).ask_as(view.asker());
        let mut weak = false;
        for (name, bound) in &self.hosts {
            let object = match bound {
                Bound::Null => None,
                Bound::Strong(handle) => {
                    let missing = || format!("what `{name}` stands for is not in this heap");
                    Some(view.held(handle).ok_or_else(missing)?)
                }
                Bound::Weak(handle) => {
                    weak = true;
                    view.held_weakly(handle)
                }
            };
            binder = binder.variable(name, object);
        }
        Ok(Ready {
            bindings: binder.bind_present(resolved),
            // What only a weak handle or slot holds may be dead.
            sources_live: !weak && !has_weak_sources(resolved, &compiled.classes),
            resolved,
            name: &self.name,
            text: &self.text,
            place: self.place,
            interpret: self.interpret,
            was_pruned: view.was_pruned(),
        })
    }
}

/// The two parts of a text.
#[derive(Clone, Copy)]
enum Part {
    /// What must hold.
    Rules,
    /// What only asks.
    Questions,
}

/// A part of a text that can be evaluated on a heap.
struct Ready<'d, 'v> {
    resolved: &'d Resolved,
    name: &'d str,
    text: &'d str,
    place: &'static Location<'static>,
    bindings: Bindings<ObjectId<'v>>,
    sources_live: bool,
    interpret: bool,
    /// Whether references of the heap were cut.
    was_pruned: bool,
}

/// What a rule that fails may be due to.
const PRUNED: &str = "leak pruning has cut references of this heap: no path leads through them, and objects of which \
                      the rule reads one are left out";

/// Why a rule is not checked that fails for want of something, as an `exists` without a witness does.
const PRUNED_AWAY: &str =
    "it fails for want of something, which may be among what leak pruning has cut off";

impl<'v> Ready<'_, 'v> {
    fn evaluation<'a>(&'a self, view: &'a StoppedHeap<'v>) -> Evaluation<'a, StoppedHeap<'v>> {
        let mut evaluation = Evaluation::new(view, self.resolved, self.text, &self.bindings)
            .threads(view.collector_threads())
            .interpreted(self.interpret)
            .sources_live(self.sources_live);
        for label in &self.resolved.labels {
            evaluation = evaluation.label(label, view.labelled(label));
        }
        if let Some(asker) = view.asker() {
            let asked = evaluation.ask_as(asker);
            evaluation = asked.expect("it is one of the threads");
        }
        evaluation
    }

    /// Returns what each rule is known by.
    fn names(&self) -> impl Iterator<Item = String> {
        let rules = self.resolved.rules.iter();
        rules.map(|rule| rule_name(rule, self.text))
    }

    /// Returns where a rule stands: in the program, and in a text that has a name.
    fn place_of(&self, rule: &Rule) -> String {
        let before = self.text.get(..rule.span.start).unwrap_or_default();
        let line = 1 + before.matches('\n').count();
        match self.name {
            UNNAMED => self.place.to_string(),
            name => format!("{name}:{line} ({})", self.place),
        }
    }

    /// Returns what does not hold, or was not checked.
    fn findings(&self, judged: Vec<Judged<ObjectId<'v>>>) -> Vec<Finding> {
        let rules = self.names().zip(&self.resolved.rules);
        let findings = rules.zip(judged).filter_map(|((name, rule), judged)| {
            let place = self.place_of(rule);
            let shows_nothing = |it: &Finding| it.objects.is_empty() && it.evidence.is_empty();
            let mut finding = match judged.verdict {
                Verdict::Fails(finding)
                    if self.was_pruned
                        && (shows_nothing(&finding) || want::may_want(&rule.program)) =>
                {
                    not_checked(&name, place, PRUNED_AWAY)
                }
                Verdict::Fails(mut finding) => {
                    finding.kind = name;
                    finding.place = Some(place);
                    if self.was_pruned {
                        finding.notes.push(PRUNED.into());
                    }
                    *finding
                }
                Verdict::NotChecked(why) => not_checked(&name, place, &why.reason),
                Verdict::Holds | Verdict::Found(_) => return None,
            };
            finding.notes.extend(judged.notes);
            Some(finding)
        });
        findings.collect()
    }
}

/// Whether a rule only asks.
fn is_question(rule: &Rule) -> bool {
    use Statement::{Query, Set, Value};
    matches!(rule.program.statement, Query(_) | Value(_) | Set(_))
}

/// Whether a source or an exclusion of a relation lies behind a slot that may hold it weakly.
fn has_weak_sources(resolved: &Resolved, classes: &[ClassInfo]) -> bool {
    let relations = resolved.rules.iter().flat_map(|it| &it.program.relations);
    let parts = relations.flat_map(|it| &it.parts);
    let paths = parts.flat_map(|it| it.source.iter().chain(&it.exclusions));
    let is_weak = |step: &Step| match step {
        Step::Element(_) => false,
        Step::Field(field) => {
            let places = &resolved.fields[field.0 as usize].places;
            places.iter().zip(classes).any(|(place, class)| {
                let Some(FieldPlace::Field(index)) = place else {
                    return false;
                };
                let kind = class.fields[*index as usize].kind;
                matches!(kind, FieldKind::Weak | FieldKind::Dependent)
            })
        }
    };
    paths.flat_map(|path| &path.steps).any(is_weak)
}

/// All rules that are checked at each full collection of a heap. They are one check, whoever
/// registered them, so that they share traversals.
#[derive(Default)]
struct RuleBook {
    rules: Mutex<AllRules>,
}

#[derive(Default)]
struct AllRules {
    /// Whether the heap knows of the book.
    is_watching: bool,
    last: u64,
    registered: Vec<Registered>,
    /// Those that were dropped since the last full collection.
    gone: Vec<Listener>,
    /// How many traversals the last full collection made for all of them.
    traversals: usize,
}

/// Rules that are checked at each full collection.
struct Registered {
    number: u64,
    deal: Rules,
    listener: Listener,
    retired: bool,
    /// What does not hold at the collection that runs.
    findings: Vec<Finding>,
}

/// Returns how many traversals the last full collection made for all registered rules. For tests.
#[doc(hidden)]
pub fn rule_traversals(heap: &Heap) -> usize {
    RuleBook::of(heap).lock().traversals
}

impl RuleBook {
    /// The book of a heap.
    fn of(heap: &Heap) -> Arc<Self> {
        let book = heap.companion(Self::default);
        if !std::mem::replace(&mut book.lock().is_watching, true) {
            heap.watch(Box::new(BookCheck(book.clone())), None).keep();
        }
        book
    }

    fn lock(&self) -> MutexGuard<'_, AllRules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(self: Arc<Self>, deal: Rules, reaction: Reaction) -> Registration {
        let mut rules = self.lock();
        rules.last += 1;
        let number = rules.last;
        rules.registered.push(Registered {
            number,
            deal,
            listener: Listener::new(reaction),
            retired: false,
            findings: Vec::new(),
        });
        drop(rules);
        let book = Arc::downgrade(&self);
        Registration::new(move || {
            if let Some(book) = book.upgrade() {
                let gone = book.remove(number);
                // What it owns is dropped with nothing locked.
                drop(gone);
            }
        })
    }

    fn remove(&self, number: u64) -> Option<Registered> {
        let mut rules = self.lock();
        let place = rules.registered.iter().position(|it| it.number == number)?;
        let gone = rules.registered.remove(place);
        rules.gone.push(gone.listener.silenced());
        Some(gone)
    }
}

/// Checks the rules of a heap.
struct BookCheck(Arc<RuleBook>);

impl Check for BookCheck {
    fn needs(&mut self) -> Needs {
        let rules = self.0.lock();
        match rules.registered.iter().all(|it| it.retired) {
            true => Needs::nothing(),
            false => Needs::survey(),
        }
    }

    fn before(&mut self, heap: &StoppedHeap<'_>) {
        let rules = &mut *self.0.lock();
        let asked = rules.registered.iter_mut();
        let asked = asked.filter(|it| !it.retired && it.deal.orphan(heap).is_none());
        let (mut ready, mut results) = (Vec::new(), Vec::new());
        for Registered { deal, findings, .. } in asked {
            if let Err(why) = deal.understand(heap) {
                *findings = vec![deal.not_checked(&why)];
                continue;
            }
            let deal: &Rules = deal;
            match deal.ready(heap, Part::Rules) {
                Ok(one) => {
                    ready.push(one);
                    results.push(findings);
                }
                Err(why) => *findings = vec![deal.not_checked(&why)],
            }
        }
        if ready.is_empty() {
            return;
        }
        let evaluations: Vec<_> = ready.iter().map(|it| it.evaluation(heap)).collect();
        let evaluated = evaluate_all(&evaluations);
        rules.traversals = evaluated.traversals;
        for ((ready, findings), judged) in ready.iter().zip(results).zip(evaluated.judged) {
            *findings = ready.findings(judged);
        }
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, _: &Counted<'_>, found: &mut Found<'_>) {
        let mut rules = self.0.lock();
        rules.gone.drain(..).for_each(|it| found.forget(&it));
        for it in &mut rules.registered {
            let findings = std::mem::take(&mut it.findings);
            if it.retired {
                continue;
            }
            found.looked_for(&it.listener);
            match it.deal.orphan(heap) {
                // It may not hold only because its object is dead.
                Some(name) => {
                    found.add_for(&it.listener, it.died(name));
                    it.retired = true;
                }
                None => findings
                    .into_iter()
                    .for_each(|finding| found.add_for(&it.listener, finding)),
            }
        }
    }
}

impl Registered {
    /// A note that what a host variable stood for has died.
    fn died(&self, name: &str) -> Finding {
        let why = format!("what `{name}` stood for has died, and it is no longer checked");
        let mut note = self.deal.not_checked(&why);
        note.severity = heaphound_heap::finding::Severity::Note;
        note
    }
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A finding that something was not checked, which stands at that place.
fn not_checked(name: &str, place: String, why: &str) -> Finding {
    Finding {
        place: Some(place),
        ..Finding::new(
            "not-checked",
            heaphound_heap::finding::Severity::Warning,
            format!("`{name}` was not checked: {why}"),
        )
    }
}

/// Whether a text is well formed, whatever heap it will be about.
///
/// # Errors
/// All that is wrong with it.
pub fn check_syntax(name: &str, text: &str) -> Result<(), Diagnostics> {
    let parsed = parse(text);
    match parsed.diagnostics.is_empty() {
        true => Ok(()),
        false => Err(Diagnostics::new(name, text, parsed.diagnostics)),
    }
}
