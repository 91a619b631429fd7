//! Files: bindings, rules, statements.

use std::rc::Rc;

use heaphound_heap::FieldKind;
use heaphound_heap::assertion::Slots;

use super::kinds::Kinds;
use super::{Bound, Checker, Class, NamedSet, Term};
use crate::diagnostic::Diagnostic;
use crate::functions::snake_case;
use crate::resolved::{
    self, ClassTarget, Formula, GcAssertion, Operand, Program, Query, Rule, Select, Statement,
    Target,
};
use crate::syntax::{
    self, Constant, Expr, ExprKind, File, Fold, GcAssertionKind, Item, Limit, Name, QuantifierKind,
    Severity,
};

/// How many sets a set with a name has in it: names in it stand for others.
const MOST_PARTS: usize = 256;

impl Checker<'_> {
    pub(super) fn file(&mut self, file: &File) {
        for item in &file.items {
            if let Item::Optional(it) = item {
                let names = it.names.iter().map(|it| it.text.clone());
                match it.are_fields {
                    true => self.optional_fields.extend(names),
                    false => self.optional.extend(names),
                }
            }
        }
        for item in &file.items {
            match item {
                Item::Let(it) => self.binding(it),
                Item::Optional(_) => {}
                Item::Rule(it) => self.rule(it),
                Item::Statement(it) => {
                    let statement = self.statement(it);
                    let program = self.program(statement);
                    self.resolved.rules.push(Rule {
                        span: it.span(),
                        name: None,
                        severity: Severity::default(),
                        message: None,
                        program,
                    });
                }
            }
        }
    }

    fn binding(&mut self, binding: &syntax::Let) {
        let name = &binding.name;
        if self.is_bound(&name.text) {
            let message = format!("`{}` is already bound", name.text);
            self.wrong(name.span, message);
        }
        if self.is_set_like(&binding.value) {
            return self.set_binding(binding);
        }
        let value = match &binding.value.kind {
            ExprKind::Constant(_) => {
                let message = "a host variable is an object, not a constant";
                self.wrong(binding.value.span, message);
                None
            }
            _ => self.path(&binding.value),
        };
        let value = value.filter(|(_, kinds): &(_, Kinds)| {
            let is_object = kinds.is_object();
            if !is_object {
                let what = kinds.describe(self.scope.classes);
                let message = format!("a host variable is an object, and this is {what}");
                let diagnostic = Diagnostic::new(binding.value.span, message);
                self.diagnostics.push(diagnostic);
            }
            is_object
        });
        // What it mentions occurs where the name does.
        let unknown = std::mem::take(&mut self.unknown);
        self.hosts.clear();
        let bound = value.map(|(path, kinds)| Bound {
            path,
            kinds,
            unknown,
        });
        self.lets.insert(name.text.clone(), bound);
    }

    /// Whether an expression is a set, as far as its form shows.
    pub(super) fn is_set_like(&self, expr: &Expr) -> bool {
        use syntax::BinaryOp::{Difference, Intersection, Union};
        match &expr.kind {
            ExprKind::Set(_) | ExprKind::Method(..) | ExprKind::Quantifier(_) => true,
            ExprKind::Call(name, _) => snake_case(&name.text) != "current_thread",
            ExprKind::Binary(Union | Intersection | Difference, ..) => true,
            ExprKind::Name(name) => self.is_set(name),
            _ => false,
        }
    }

    /// Gives a name to a set. It is resolved here to tell what is wrong with it, and again wherever
    /// its name stands.
    fn set_binding(&mut self, binding: &syntax::Let) {
        let before = std::mem::take(&mut self.set_parts);
        let set = self.set(&binding.value);
        let parts = 1 + std::mem::replace(&mut self.set_parts, before);
        let is_small = parts <= MOST_PARTS;
        if !is_small {
            let message = "too many sets are in this one";
            self.wrong(binding.value.span, message);
        }
        // What it mentions occurs where the name does.
        self.program(None);
        let value = Rc::new(binding.value.clone());
        let named = set.filter(|_| is_small).map(|_| NamedSet { value, parts });
        self.sets.insert(binding.name.text.clone(), named);
    }

    fn rule(&mut self, rule: &syntax::Rule) {
        let name = &rule.name;
        if self.rule_names.contains_key(&name.text) {
            let message = format!("there is a rule `{}` already", name.text);
            self.wrong(name.span, message);
        }
        self.rule_names.insert(name.text.clone(), name.span);
        let statement = self.statement(&rule.statement);
        let span = rule.statement.span();
        let statement = match statement {
            Some(Statement::Query(_)) => {
                let message = "a query finds objects, and a rule must hold or not";
                let hint = "count them: (num_of Node x: …) == 0";
                self.report(Diagnostic::new(span, message).hint(hint));
                None
            }
            Some(Statement::Value(value)) => {
                let term = Term::Value(value, self.last_kinds.clone());
                self.as_formula(term, span).map(Statement::Formula)
            }
            Some(Statement::Set(set)) => {
                self.as_formula(Term::Set(set), span);
                None
            }
            other => other,
        };
        let program = self.program(statement);
        self.resolved.rules.push(Rule {
            span: rule.span,
            name: Some(name.text.clone()),
            severity: rule.severity.unwrap_or_default(),
            message: rule.message.as_ref().map(|it| it.text.clone()),
            program,
        });
    }

    /// Gathers what a statement numbered, and starts anew. A statement that was not understood was
    /// reported, or speaks of a class that the heap does not know.
    fn program(&mut self, statement: Option<Statement>) -> Program {
        let relations = std::mem::take(&mut self.relations);
        let quantifiers = std::mem::take(&mut self.quantifiers);
        let dereferences = std::mem::take(&mut self.dereferences);
        let objects = std::mem::take(&mut self.objects);
        let mut hosts = std::mem::take(&mut self.hosts);
        hosts.sort_unstable();
        hosts.dedup();
        let mut labels = std::mem::take(&mut self.labels);
        labels.sort_unstable();
        labels.dedup();
        Program {
            statement: statement.unwrap_or(Statement::Formula(Formula::Constant(true))),
            relations,
            quantifiers,
            dereferences,
            objects,
            hosts,
            labels,
            unknown: std::mem::take(&mut self.unknown),
        }
    }

    fn statement(&mut self, statement: &syntax::Statement) -> Option<Statement> {
        match statement {
            syntax::Statement::Assertion(it) => {
                self.assertion = Some(it.kind);
                let formula = self.formula(&it.formula);
                self.assertion = None;
                self.all_quantified(&it.formula);
                Some(Statement::Assertion(it.kind, formula?))
            }
            syntax::Statement::Gc(it) => self.gc(&it.kind),
            syntax::Statement::Query(it) => self.query(it).map(Statement::Query),
            syntax::Statement::Expr(it) => match self.term(it) {
                Term::Formula(formula) => Some(Statement::Formula(formula)),
                // A field that is true or false is asked like anything else that is.
                Term::Value(value, kinds) if kinds.is_truth() => {
                    let term = Term::Value(value, kinds);
                    self.as_formula(term, it.span).map(Statement::Formula)
                }
                Term::Value(value, kinds) => {
                    self.last_kinds = kinds;
                    Some(Statement::Value(value))
                }
                Term::Set(set) => Some(Statement::Set(set)),
                Term::Wrong => None,
            },
        }
    }

    /// What an assertion says outside its quantifiers is how they are joined.
    fn all_quantified(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Binary(op, left, right) if !op.compares() => {
                self.all_quantified(left);
                self.all_quantified(right);
            }
            ExprKind::Not(of) => self.all_quantified(of),
            ExprKind::Binary(..)
            | ExprKind::Name(_)
            | ExprKind::Host(_)
            | ExprKind::Field(..)
            | ExprKind::Element(..)
            | ExprKind::Constant(_)
            | ExprKind::InstanceOf(..)
            | ExprKind::HasLabel(..) => {
                let message = "an assertion speaks of all objects or of some";
                let hint = "write `forall Node x: …` or `exists Node x: …`";
                self.report(Diagnostic::new(expr.span, message).hint(hint));
            }
            // Reported where they were met, if they are wrong here.
            _ => (),
        }
    }

    fn query(&mut self, query: &syntax::Query) -> Option<Query> {
        let kind = QuantifierKind::SetOf;
        let (class, member) = self.ranged(query.class.as_ref(), &query.variable);
        let found = self.quantify(kind, query.span, class, &query.variable);
        let body = self.both(member.as_ref(), query.body.as_ref());
        let body = body.unwrap_or(Some(Formula::Constant(true)));
        let select = match &query.select {
            syntax::Select::Objects => Some(Select::Objects),
            syntax::Select::Count(_) => Some(Select::Count),
            syntax::Select::Values(values) => {
                let values = values.iter().map(|it| self.selected(it));
                let values: Vec<_> = values.collect();
                let values = values.into_iter().map(|it| Some(it?.0));
                values.collect::<Option<Vec<_>>>().map(Select::Values)
            }
            syntax::Select::Fold(_, fold, of) => self.folded(*fold, of),
        };
        self.variables.pop();
        let own = &mut self.quantifiers[found.0 as usize];
        own.dereferences.sort_by_key(|it| it.path.steps.len());
        // Of no object nothing is asked.
        let nothing = own.classes.is_empty();
        let select = match &query.select {
            syntax::Select::Fold(_, fold, _) if nothing => {
                let null = Operand::Constant(resolved::Constant::Null);
                select.or(Some(Select::Fold(*fold, null)))
            }
            _ if nothing => select.or(Some(Select::Objects)),
            _ => select,
        };
        own.body = match body {
            None if nothing => Formula::Constant(true),
            body => body?,
        };
        Some(Query {
            found,
            select: select?,
            limit: query.limit,
        })
    }

    fn folded(&mut self, fold: Fold, of: &Expr) -> Option<Select> {
        let (operand, kinds) = self.selected(of)?;
        self.folds(fold, &kinds, of.span)?;
        Some(Select::Fold(fold, operand))
    }

    /// Something that a query tells of an object.
    fn selected(&mut self, expr: &Expr) -> Option<(Operand, Kinds)> {
        match self.term(expr) {
            Term::Value(Operand::Count(_) | Operand::Size(_) | Operand::Fold(..), _) => {
                let message = "a query selects what its objects hold, and this is not held";
                let hint = "ask for it in the query's body, or in an expression";
                self.report(Diagnostic::new(expr.span, message).hint(hint));
                None
            }
            Term::Value(value, kinds) => Some((value, kinds)),
            Term::Wrong => None,
            other => {
                let what = other.describe(self.scope.classes);
                let message = format!("a query selects values, and this is {what}");
                self.wrong(expr.span, message);
                None
            }
        }
    }

    /// A GC assertion. An empty class breaks none.
    fn gc(&mut self, kind: &GcAssertionKind) -> Option<Statement> {
        let assertion = match kind {
            GcAssertionKind::Instances(target, limit) => {
                let class = self.class_target(target);
                let limit = self.limit(limit, false)?;
                class?.map(|it| GcAssertion::Instances(it, limit))
            }
            GcAssertionKind::Volume(target, limit) => {
                let class = self.class_target(target);
                let limit = self.limit(limit, true)?;
                class?.map(|it| GcAssertion::Volume(it, limit))
            }
            GcAssertionKind::Unshared(target, slots) => {
                let target = self.target(target, false);
                self.check_slots(slots);
                let slots = slots.iter().map(|it| it.text.clone()).collect();
                target?.map(|it| GcAssertion::Unshared(it, slots))
            }
            GcAssertionKind::Dead(target) => {
                self.asserts_death = matches!(target.what.kind, ExprKind::Host(_));
                let target = self.target(target, true);
                self.asserts_death = false;
                target?.map(GcAssertion::Dead)
            }
            GcAssertionKind::OwnedBy(owner, ownee) => {
                let (owner, ownee) = (self.target(owner, false), self.target(ownee, false));
                match (owner?, ownee?) {
                    (Some(owner), Some(ownee)) => Some(GcAssertion::OwnedBy(owner, ownee)),
                    // What is owned has no owner, and must not live.
                    (None, Some(ownee)) => Some(GcAssertion::Dead(ownee)),
                    (_, None) => None,
                }
            }
        };
        let holds = Statement::Formula(Formula::Constant(true));
        Some(assertion.map_or(holds, Statement::Gc))
    }

    /// Reports slots that no class has.
    fn check_slots(&mut self, slots: &[Name]) {
        let classes = self.scope.classes;
        let fields = || classes.iter().flat_map(|it| &it.fields);
        let is_slot = |name: &str| {
            fields().any(|it| it.name == name && !matches!(it.kind, FieldKind::Plain(_)))
        };
        // An inline array's elements are fields of their own; all of them count.
        let is_inline = |name: &str| is_slot(&format!("{name}[0]"));
        for slot in slots {
            let is_element = slot.text == Slots::ELEMENTS;
            let is_known = is_element || is_slot(&slot.text) || is_inline(&slot.text);
            if !slot.text.is_empty() && !is_known {
                let message = format!("no class has a slot `{}`", slot.text);
                let known = fields().map(|it| it.name.as_str());
                let diagnostic = Diagnostic::new(slot.span, message);
                self.report(diagnostic.meant(&slot.text, known));
            }
        }
    }

    /// A class that a GC assertion is about; `Some(None)` if the heap does not know it.
    fn class_target(&mut self, target: &syntax::Target) -> Option<Option<ClassTarget>> {
        let span = target.what.span;
        let Some(text) = target.what.as_class() else {
            if target.what.kind != ExprKind::Wrong {
                self.wrong(span, "the name of a class is needed here");
            }
            return None;
        };
        match self.class(&Name { span, text }, target.only) {
            Class::Known(class, classes) => Some(Some(ClassTarget {
                class,
                classes,
                subclasses: !target.only,
            })),
            Class::Unknown => Some(None),
            Class::Wrong => None,
        }
    }

    /// A host variable before a class of the same name; `Some(None)` if it is a class that the heap
    /// does not know.
    fn target(&mut self, target: &syntax::Target, may_be_null: bool) -> Option<Option<Target>> {
        let mut first = &target.what;
        while let ExprKind::Field(of, _) | ExprKind::Element(of, _) = &first.kind {
            first = of;
        }
        let is_object = match &first.kind {
            ExprKind::Name(name) => self.is_bound(name),
            ExprKind::Constant(Constant::Text(_)) => false,
            _ => true,
        };
        if is_object {
            if target.only {
                self.wrong(target.span, "`only` is for classes, and this is an object");
            }
            let object = match may_be_null {
                true => self.reference(&target.what),
                false => self.object(&target.what),
            };
            return object.map(|it| Some(Target::Object(it)));
        }
        if let Some(text) = target.what.as_class()
            && self.classes_named(&text).is_empty()
        {
            let message = format!("`{text}` is neither a host variable nor a class");
            let classes = self.scope.classes.iter().map(|it| it.name.as_str());
            let hosts = self.scope.hosts.iter().map(|(it, _)| it.as_str());
            let lets = self.lets.keys().map(String::as_str);
            let known = classes.chain(hosts).chain(lets);
            let diagnostic = Diagnostic::new(target.what.span, message).meant(&text, known);
            self.is_unknown(&text, diagnostic);
            return Some(None);
        }
        let class = self.class_target(target)?;
        Some(class.map(Target::Class))
    }

    fn limit(&mut self, limit: &Limit, is_volume: bool) -> Option<u64> {
        let value = match &limit.value.kind {
            ExprKind::Constant(Constant::Integer(value)) => u64::try_from(*value).ok(),
            ExprKind::Constant(Constant::Size(count, unit)) if is_volume => {
                count.checked_mul(unit.bytes())
            }
            ExprKind::Wrong => return None,
            _ => None,
        };
        // Fewer than none cannot be.
        let most = match limit.strict {
            true => value.and_then(|it| it.checked_sub(1)),
            false => value,
        };
        if most.is_none() {
            let message = match is_volume {
                true => "a limit of bytes is needed here, such as `10 MiB`",
                false => "a limit is a number of objects",
            };
            self.wrong(limit.value.span, message);
        }
        most
    }
}
