//! Functions and methods: PHALANX's primitives and probes by their names.

use heaphound_heap::Value;
use heaphound_heap::root::{Part, RootKind};

use super::kinds::Kinds;
use super::{Checker, Term};
use crate::diagnostic::Diagnostic;
use crate::resolved::{
    ClassSet, Compare, CompareBy, CompareOp, Constant, Formula, Operand, Path, Probe, Set, Source,
    Start, Thread,
};
use crate::syntax::{Expr, ExprKind, HostName, Name, Span};

/// All functions, with how many arguments they take.
const FUNCTIONS: [(&str, usize, usize); 20] = [
    ("running", 0, 0),
    ("current_thread", 0, 0),
    ("stack", 1, 1),
    ("roots", 1, 1),
    ("reach", 0, 2),
    ("pred", 1, 1),
    ("dom", 2, 2),
    ("is_heap", 1, 1),
    ("is_shared", 1, 1),
    ("is_reachable", 2, 2),
    ("is_disjoint", 2, 2),
    ("is_unique_owner", 1, 1),
    ("reach_through", 3, 3),
    ("is_object_owned", 2, 2),
    ("is_thread_owned", 1, 1),
    ("is_thread_stack_owned", 1, 1),
    ("is_thread_object_owned", 1, 1),
    ("thread_reach", 1, 2),
    ("thread_stack_reach", 1, 2),
    ("thread_object_reach", 1, 2),
];

/// All methods, with how many arguments they take.
const METHODS: [(&str, usize, usize); 8] = [
    ("has", 1, 1),
    ("size", 0, 0),
    ("is_empty", 0, 0),
    ("union", 1, 1),
    ("intersection", 1, 1),
    ("difference", 1, 1),
    ("insert", 1, 1),
    ("is_alive", 0, 0),
];

impl Checker<'_> {
    pub(super) fn call(&mut self, name: &Name, arguments: &[Expr]) -> Option<Term> {
        let function = self.known(name, arguments.len(), &FUNCTIONS, "function")?;
        let object = |it: &mut Self, n: usize| it.object(&arguments[n]);
        let probe = |probe| Some(Term::Formula(Formula::Probe(Box::new(probe))));
        match function {
            "running" => Some(Term::Set(Set::Running)),
            "current_thread" => {
                let path = Path {
                    span: name.span,
                    start: Start::Asker,
                    steps: Vec::new(),
                };
                let kinds = Kinds::objects(ClassSet::all());
                Some(Term::Value(Operand::Path(path), kinds))
            }
            "stack" => Some(Term::Set(Set::Stack(self.thread(&arguments[0])?))),
            "roots" => Some(Term::Set(Set::Roots(self.thread(&arguments[0])?))),
            "reach" => match arguments {
                [] => Some(Term::Set(Set::ReachAll)),
                [from, avoid @ ..] => {
                    let from = self.from(from);
                    let avoid = self.avoid(avoid.first());
                    Some(Term::Set(Set::Reach(from?, avoid?)))
                }
            },
            "pred" => Some(Term::Set(Set::Pred(object(self, 0)?))),
            "dom" => {
                let (above, below) = (self.from(&arguments[0]), object(self, 1));
                Some(Term::Formula(Formula::Dom(above?, below?)))
            }
            "is_heap" => probe(Probe::IsHeap(object(self, 0)?)),
            "is_shared" => probe(Probe::IsShared(object(self, 0)?)),
            "is_unique_owner" => probe(Probe::IsUniqueOwner(object(self, 0)?)),
            "is_reachable" => {
                let (a, b) = (object(self, 0), object(self, 1));
                probe(Probe::IsReachable(a?, b?))
            }
            "is_disjoint" => {
                let (a, b) = (object(self, 0), object(self, 1));
                probe(Probe::IsDisjoint(a?, b?))
            }
            "is_object_owned" => {
                let (a, b) = (object(self, 0), object(self, 1));
                probe(Probe::IsObjectOwned(a?, b?))
            }
            "reach_through" => {
                // The paper has the cut last.
                let is_last = matches!(arguments[2].kind, ExprKind::Set(_));
                let (cut, to) = if is_last { (2, 1) } else { (1, 2) };
                let (from, to) = (object(self, 0), object(self, to));
                let cut = self.set(&arguments[cut]);
                probe(Probe::ReachThrough(from?, cut?, to?))
            }
            "is_thread_owned" => probe(Probe::IsThreadOwned(object(self, 0)?, Part::Both)),
            "is_thread_stack_owned" => probe(Probe::IsThreadOwned(object(self, 0)?, Part::Stack)),
            "is_thread_object_owned" => probe(Probe::IsThreadOwned(object(self, 0)?, Part::Object)),
            reach => {
                let part = match reach {
                    "thread_stack_reach" => Part::Stack,
                    "thread_object_reach" => Part::Object,
                    _ => Part::Both,
                };
                let (of, avoid) = (object(self, 0), self.avoid(arguments.get(1)));
                Some(Term::Set(Set::ThreadReach(of?, avoid?, part)))
            }
        }
    }

    pub(super) fn method(
        &mut self,
        of: &Expr,
        name: &Name,
        arguments: &[Expr],
        span: Span,
    ) -> Option<Term> {
        let method = self.known(name, arguments.len(), &METHODS, "method")?;
        if method == "is_alive" {
            let thread = self.object(of)?;
            return Some(Term::Formula(Formula::In(thread, Box::new(Set::Running))));
        }
        let set = self.set(of).map(Box::new);
        let other = |it: &mut Self| it.set(&arguments[0]).map(Box::new);
        match method {
            "has" => {
                let object = self.object(&arguments[0]);
                Some(Term::Formula(Formula::In(object?, set?)))
            }
            "size" => Some(Term::Value(Operand::Size(set?), Kinds::number())),
            "is_empty" => Some(Term::Formula(Formula::Compare(Compare {
                op: CompareOp::Eq,
                by: CompareBy::Plain,
                left: Operand::Size(set?),
                right: Operand::Constant(Constant::Plain(Value::Unsigned(0))),
                span,
            }))),
            "insert" => {
                let object = self.object(&arguments[0]);
                let one = Box::new(Set::Literal(vec![object?]));
                Some(Term::Set(Set::Union(set?, one)))
            }
            "union" => {
                let other = other(self);
                Some(Term::Set(Set::Union(set?, other?)))
            }
            "intersection" => {
                let other = other(self);
                Some(Term::Set(Set::Intersection(set?, other?)))
            }
            _ => {
                let other = other(self);
                Some(Term::Set(Set::Difference(set?, other?)))
            }
        }
    }

    /// A function or method of that name, in snake case or in the papers' camel case.
    fn known(
        &mut self,
        name: &Name,
        given: usize,
        known: &'static [(&'static str, usize, usize)],
        what: &str,
    ) -> Option<&'static str> {
        let mut snake = String::new();
        for c in name.text.chars() {
            if c.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(c.to_ascii_lowercase());
        }
        let wanted = match snake.strip_prefix("get_").unwrap_or(&snake) {
            "contains" => "has",
            wanted => wanted,
        };
        let found = known.iter().find(|(it, ..)| *it == wanted);
        let Some(&(found, least, most)) = found else {
            if name.text.is_empty() {
                return None;
            }
            let message = format!("there is no {what} `{}`", name.text);
            let diagnostic = Diagnostic::new(name.span, message);
            let diagnostic = match wanted {
                "unique" => diagnostic.hint("it changes the heap: call it in the program"),
                "instances" | "volume" | "unshared" | "owned_by" | "dead" => {
                    diagnostic.hint("a GC assertion is a rule of its own, not part of one")
                }
                _ => diagnostic.meant(wanted, known.iter().map(|(it, ..)| *it)),
            };
            self.report(diagnostic);
            return None;
        };
        if (least..=most).contains(&given) {
            return Some(found);
        }
        let takes = match (least, most) {
            (0, 0) => "no arguments".into(),
            (1, 1) => "one argument".into(),
            (least, most) if least == most => format!("{least} arguments"),
            (least, most) => format!("{least} to {most} arguments"),
        };
        let message = format!("`{}` takes {takes}, not {given}", name.text);
        self.wrong(name.span, message);
        None
    }

    /// An object or a set to start at.
    fn from(&mut self, expr: &Expr) -> Option<Source> {
        match self.term(expr) {
            Term::Set(set) => Some(Source::Set(Box::new(set))),
            Term::Value(Operand::Path(path), kinds) if kinds.is_object() => {
                Some(Source::Object(path))
            }
            Term::Wrong => None,
            other => {
                let what = other.describe(self.scope.classes);
                let message = format!("an object or a set is needed here, and this is {what}");
                self.wrong(expr.span, message);
                None
            }
        }
    }

    fn avoid(&mut self, expr: Option<&Expr>) -> Option<Option<Box<Set>>> {
        match expr {
            Some(expr) => Some(Some(Box::new(self.set(expr)?))),
            None => Some(None),
        }
    }

    /// A thread: by its name, or by its thread object.
    fn thread(&mut self, expr: &Expr) -> Option<Thread> {
        match &expr.kind {
            ExprKind::Host(HostName::Root {
                kind: RootKind::ThreadStack,
                name,
                index: None,
            }) => Some(Thread::Named(name.clone())),
            _ => Some(Thread::Object(self.object(expr)?)),
        }
    }
}
