//! Classes and host variables that a text must be about, where there is no heap to ask: so
//! that it can be explained.
//!
//! Whatever is named exists. A class has every field that the text reads, and nobody knows
//! of which kind, so that there are several classes of its name: in one all fields are slots, in
//! others numbers, characters, truth values. What the text says of a field then fits one of
//! them.

use std::collections::BTreeSet;

use heaphound_heap::class::Elements;
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind};

use crate::check::Scope;
use crate::parse::parse;
use crate::syntax::{
    BinaryOp, Expr, ExprKind, File, GcAssertionKind, HostName, Item, Name, Select, Statement,
    Target,
};

/// What a text is about.
#[derive(Clone, Debug)]
pub struct Inferred {
    classes: Vec<ClassInfo>,
    hosts: Vec<String>,
}

impl Inferred {
    /// What a text can refer to.
    pub fn scope(&self) -> Scope<'_> {
        let scope = Scope::new(&self.classes);
        let hosts = self.hosts.iter();
        hosts.fold(scope, |scope, host| scope.bind(host, None))
    }
}

impl From<&str> for Inferred {
    /// ```
    /// use heaphound_deal::check::compile;
    /// use heaphound_deal::infer::Inferred;
    /// let text = "assertion(forall Node x: reach[d](x) -> x.data > 3 && x.next.prev == x)";
    /// assert!(compile("heap.deal", text, &Inferred::from(text).scope()).is_ok());
    /// ```
    fn from(text: &str) -> Self {
        let mut names = Names::default();
        names.file(&parse(text).file);
        let hosts = names.free.difference(&names.bound).cloned().collect();
        let mut classes = Vec::new();
        // Something must be in the heap for `Object x` to have fields.
        names.classes.insert("Object".into());
        for name in &names.classes {
            for kind in 0..5 {
                classes.push(class(name, kind, &names.fields, classes.len() as u32 + 1));
            }
        }
        Self { classes, hosts }
    }
}

/// A class all of whose fields are of one kind.
fn class(name: &str, kind: usize, fields: &BTreeSet<String>, id: u32) -> ClassInfo {
    let (kind, elements) = match kind {
        0 => (FieldKind::Opt, Elements::Refs),
        1 => (
            FieldKind::Plain(PlainKind::I64),
            Elements::Plain(PlainKind::I64),
        ),
        2 => (
            FieldKind::Plain(PlainKind::Bool),
            Elements::Plain(PlainKind::Bool),
        ),
        3 => (
            FieldKind::Plain(PlainKind::Char),
            Elements::Plain(PlainKind::Char),
        ),
        _ => (FieldKind::Opt, Elements::Text),
    };
    let field = |name: &String| FieldInfo {
        name: name.clone(),
        offset: 0,
        kind,
    };
    ClassInfo {
        id: ClassId(id),
        name: name.into(),
        superclass: None,
        interfaces: Vec::new(),
        is_interface: false,
        fields: fields.iter().map(field).collect(),
        elements: Some(elements),
        caption: None,
    }
}

/// The names of a text.
#[derive(Default)]
struct Names {
    classes: BTreeSet<String>,
    fields: BTreeSet<String>,
    /// Names that stand where variables stand.
    free: BTreeSet<String>,
    /// Logic variables, and what the text binds itself.
    bound: BTreeSet<String>,
}

impl Names {
    fn file(&mut self, file: &File) {
        for item in &file.items {
            match item {
                Item::Let(it) => {
                    self.bound.insert(it.name.text.clone());
                    self.expr(&it.value);
                }
                // Only what rules say of a class matters.
                Item::Optional(_) => {}
                Item::Rule(it) => self.statement(&it.statement),
                Item::Statement(it) => self.statement(it),
            }
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Assertion(it) => self.expr(&it.formula),
            Statement::Expr(it) => self.expr(it),
            Statement::Gc(it) => match &it.kind {
                GcAssertionKind::Instances(target, _) | GcAssertionKind::Volume(target, _) => {
                    self.classes.extend(target.what.as_class());
                }
                GcAssertionKind::Unshared(target, slots) => {
                    self.target(target);
                    self.fields.extend(slots.iter().map(|it| it.text.clone()));
                }
                GcAssertionKind::Dead(target) => self.target(target),
                GcAssertionKind::OwnedBy(owner, ownee) => {
                    self.target(owner);
                    self.target(ownee);
                }
            },
            Statement::Query(it) => {
                self.quantified(it.class.as_ref(), &it.variable);
                it.body.iter().for_each(|it| self.expr(it));
                match &it.select {
                    Select::Values(values) => values.iter().for_each(|it| self.expr(it)),
                    Select::Fold(_, _, of) => self.expr(of),
                    Select::Objects | Select::Count(_) => {}
                }
            }
        }
    }

    /// A class, unless the text has bound it before: classes are what such rules are mostly
    /// about.
    fn target(&mut self, target: &Target) {
        let class = target.what.as_class();
        match class.filter(|it| !self.bound.contains(it)) {
            Some(class) => {
                self.classes.insert(class);
            }
            None => self.expr(&target.what),
        }
    }

    fn quantified(&mut self, class: Option<&Name>, variable: &Name) {
        self.classes.extend(class.map(|it| it.text.clone()));
        self.bound.insert(variable.text.clone());
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Name(name) => {
                self.free.insert(name.clone());
            }
            ExprKind::Host(HostName::Object { class, .. }) => {
                self.classes.insert(class.clone());
            }
            ExprKind::Field(of, field) => {
                self.fields.insert(field.text.clone());
                self.expr(of);
            }
            ExprKind::Element(of, _) | ExprKind::Not(of) | ExprKind::HasLabel(of, _) => {
                self.expr(of);
            }
            ExprKind::Binary(BinaryOp::In, of, set) => {
                match &set.kind {
                    // A class, unless the text has bound it before.
                    ExprKind::Name(class) if !self.bound.contains(class) => {
                        self.classes.insert(class.clone());
                    }
                    _ => self.expr(set),
                }
                self.expr(of);
            }
            ExprKind::Binary(_, left, right) => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::InstanceOf(of, class) => {
                self.classes.insert(class.text.clone());
                self.expr(of);
            }
            ExprKind::Reach(relation, of) => {
                for part in &relation.parts {
                    part.source.iter().for_each(|it| self.expr(it));
                    part.exclusions.iter().for_each(|it| self.expr(it));
                }
                self.expr(of);
            }
            ExprKind::Quantifier(it) => {
                self.quantified(it.class.as_ref(), &it.variable);
                it.range.iter().for_each(|it| self.expr(it));
                self.expr(&it.body);
            }
            ExprKind::Set(all) | ExprKind::Call(_, all) => {
                all.iter().for_each(|it| self.expr(it));
            }
            ExprKind::Method(of, _, all) => {
                self.expr(of);
                all.iter().for_each(|it| self.expr(it));
            }
            ExprKind::Host(HostName::Root { .. }) | ExprKind::Constant(_) | ExprKind::Wrong => {}
        }
    }
}
