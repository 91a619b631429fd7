//! Functions and methods: PHALANX's primitives and probes by their names.

use heaphound_heap::Value;
use heaphound_heap::root::{Part, RootKind};

use super::kinds::Kinds;
use super::{Checker, Term};
use crate::diagnostic::Diagnostic;
use crate::functions::{FUNCTIONS, Function, METHODS, snake_case};
use crate::resolved::{
    ClassSet, Compare, CompareBy, CompareOp, Constant, Formula, Operand, Path, Probe, Set, Source,
    Start, Thread,
};
use crate::syntax::{Expr, ExprKind, HostName, Name, Span};

/// What is no function, but looks like one where it is misspelt.
const STATEMENTS: [&str; 8] = [
    "assertion",
    "assertDisjoint",
    "unsafeAssert",
    "instances",
    "volume",
    "unshared",
    "owned_by",
    "dead",
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
            "unique" => probe(Probe::IsUnique(object(self, 0)?)),
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
                let is_last = self.is_set_like(&arguments[2]) && !self.is_set_like(&arguments[1]);
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
        known: &'static [Function],
        what: &str,
    ) -> Option<&'static str> {
        let wanted = snake_case(&name.text);
        let Some(found) = known.iter().find(|it| it.name == wanted) else {
            if name.text.is_empty() {
                return None;
            }
            let message = format!("there is no {what} `{}`", name.text);
            let diagnostic = Diagnostic::new(name.span, message);
            let diagnostic = match wanted.as_str() {
                "instances" | "volume" | "unshared" | "owned_by" | "dead" => {
                    diagnostic.hint("a GC assertion is a rule of its own, not part of one")
                }
                "assert" => diagnostic.hint("did you mean `assertion`?"),
                _ => {
                    let statements = STATEMENTS.iter().filter(|_| what == "function");
                    let known = known.iter().map(|it| it.name).chain(statements.copied());
                    diagnostic.meant(&wanted, known)
                }
            };
            self.report(diagnostic);
            return None;
        };
        let Function { least, most, .. } = *found;
        if (least..=most).contains(&given) {
            return Some(found.name);
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
                self.not_null(&path);
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
