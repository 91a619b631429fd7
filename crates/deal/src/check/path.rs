//! Paths: variables and the fields behind them.

use heaphound_heap::class::Elements;
use heaphound_heap::{ClassInfo, FieldKind, RootKind};

use super::kinds::Kinds;
use super::{Bound, Checker, Class, Term};
use crate::diagnostic::Diagnostic;
use crate::resolved::{
    ClassSet, Constant, Dereference, Field, FieldId, FieldPlace, Host, HostId, HostSource, ITEMS,
    Operand, Path, Start, Step, is_vector,
};
use crate::syntax::{Expr, ExprKind, HostName, Name, Span};

impl Checker<'_> {
    /// A logic variable, what the file binds, or a host variable: whether there is one of
    /// that name.
    pub(super) fn is_bound(&self, name: &str) -> bool {
        self.variables.iter().any(|(it, _)| it == name)
            || self.lets.contains_key(name)
            || self.scope.hosts.iter().any(|(it, _)| it == name)
            || self.scope.value(name).is_some()
            || self.sets.contains_key(name)
            || self.scope.sets.iter().any(|(it, _)| it == name)
    }

    /// Whether a name stands for a set, and nothing nearer has that name.
    pub(super) fn is_set(&self, name: &str) -> bool {
        let is_near = |(it, _): &(String, _)| it == name;
        let is_set = self.sets.contains_key(name)
            || !self.lets.contains_key(name) && self.scope.sets.iter().any(|(it, _)| it == name);
        is_set && !self.variables.iter().any(is_near)
    }

    /// The value that a name stands for, if nothing nearer has that name.
    pub(super) fn bound_value(&self, name: &str) -> Option<Constant> {
        let is_near = |(it, _): &(String, _)| it == name;
        match self.variables.iter().any(is_near) || self.lets.contains_key(name) {
            true => None,
            false => self.scope.value(name).cloned(),
        }
    }

    /// What a name stands for.
    pub(super) fn name(&mut self, name: &str, span: Span) -> Option<(Path, Kinds)> {
        let variable = self.variables.iter().rev().find(|(it, _)| it == name);
        if let Some(&(_, id)) = variable {
            let classes = self.quantifiers[id.0 as usize].classes.clone();
            let kinds = match classes.is_empty() {
                true => Kinds::unknown(),
                false => Kinds::objects(classes),
            };
            let path = Path {
                span,
                start: Start::Variable(id),
                steps: Vec::new(),
            };
            return Some((path, kinds));
        }
        if let Some(bound) = self.lets.get(name) {
            let Bound {
                path,
                kinds,
                unknown,
            } = bound.clone()?;
            self.unknown.extend(unknown);
            if let Start::Host(host) = path.start {
                self.hosts.push(host);
            }
            return Some((Path { span, ..path }, kinds));
        }
        let host = self.scope.hosts.iter().find(|(it, _)| it == name);
        let Some((_, class)) = host else {
            if !name.is_empty() {
                let message = format!("`{name}` is not bound");
                let variables = self.variables.iter().map(|(it, _)| it);
                let hosts = self.scope.hosts.iter().map(|(it, _)| it);
                let values = self.scope.values.iter().map(|(it, _)| it);
                let known = variables.chain(self.lets.keys()).chain(hosts).chain(values);
                let diagnostic =
                    Diagnostic::new(span, message).meant(name, known.map(String::as_str));
                self.report(diagnostic);
            }
            return None;
        };
        let classes = match class {
            Some(class) => self.with_subclasses(&[*class], false),
            None => ClassSet::all(),
        };
        let null = true;
        let kinds = Kinds::objects(classes);
        let start = self.host(HostSource::Variable(name.into()), span);
        Some((start, Kinds { null, ..kinds }))
    }

    /// A root or an object by its name in reports.
    pub(super) fn host_name(&mut self, name: &HostName, span: Span) -> Option<(Path, Kinds)> {
        let kinds = match name {
            HostName::Root { .. } => Kinds::objects(ClassSet::all()),
            HostName::Object { class, .. } => {
                let text = class.clone();
                match self.class(&Name { span, text }, true) {
                    Class::Known(_, classes) => Kinds::objects(classes),
                    Class::Unknown => Kinds::unknown(),
                    Class::Wrong => return None,
                }
            }
        };
        let path = self.host(HostSource::Named(name.clone()), span);
        Some((path, kinds))
    }

    /// The path that is an object from outside.
    pub(super) fn host(&mut self, source: HostSource, span: Span) -> Path {
        let hosts = &mut self.resolved.hosts;
        let known = hosts.iter().position(|it| it.source == source);
        let id = known.unwrap_or(hosts.len());
        if known.is_none() {
            hosts.push(Host {
                span,
                source,
                may_be_gone: true,
            });
        }
        hosts[id].may_be_gone &= self.asserts_death;
        self.hosts.push(HostId(id as u32));
        Path {
            span,
            start: Start::Host(HostId(id as u32)),
            steps: Vec::new(),
        }
    }

    /// `of.field`
    pub(super) fn field(&mut self, of: &Expr, field: &Name, span: Span) -> Option<(Path, Kinds)> {
        let (path, kinds) = self.path(of)?;
        self.step_to_field(path, kinds, field, span)
    }

    fn step_to_field(
        &mut self,
        mut path: Path,
        kinds: Kinds,
        field: &Name,
        span: Span,
    ) -> Option<(Path, Kinds)> {
        if field.text.is_empty() || kinds.unknown {
            return None;
        }
        if !kinds.is_object() {
            let what = kinds.describe(self.scope.classes);
            let message = format!("this is {what} and has no fields");
            self.wrong(path.span, message);
            return None;
        }
        let id = self.field_id(&field.text);
        let places = &self.resolved.fields[id.0 as usize].places;
        let mut found = Kinds::none();
        let mut any = false;
        for class in self.scope.classes {
            let place = places.get(class.id.0 as usize - 1).copied().flatten();
            match place.filter(|_| kinds.classes.contains(class.id)) {
                Some(FieldPlace::Field(index)) => {
                    found.add_field(class.fields[index as usize].kind)
                }
                Some(FieldPlace::Length) => found.number = true,
                None => continue,
            }
            any = true;
        }
        if !any && self.optional_fields.contains(&field.text) {
            // No object has it. It could be a slot as well as a number.
            found.add_field(FieldKind::Opt);
            found.number = true;
        } else if !any {
            self.no_field(&kinds, field);
            return None;
        }
        path.steps.push(Step::Field(id));
        path.span = span;
        Some((path, found))
    }

    fn no_field(&mut self, kinds: &Kinds, field: &Name) {
        let classes = self.scope.classes;
        let here = classes.iter().filter(|it| kinds.classes.contains(it.id));
        let named: Vec<&str> = here.clone().map(|it| it.name.as_str()).collect();
        let message = match (kinds.classes.is_all(), named.as_slice()) {
            (true, _) => format!("no class has a field `{}`", field.text),
            (_, [one]) => format!("`{one}` has no field `{}`", field.text),
            _ => {
                let name = kinds.top(classes).map_or("?", |it| &it.name);
                let field = &field.text;
                format!("neither `{name}` nor a subclass has a field `{field}`")
            }
        };
        let fields = here.clone().flat_map(|it| &it.fields);
        let is_array = here.clone().any(|it| it.elements.is_some());
        let length = is_array.then_some("length");
        let known = fields.map(|it| it.name.as_str()).chain(length);
        let diagnostic = Diagnostic::new(field.span, message).meant(&field.text, known);
        self.report(diagnostic);
    }

    /// The number of a field's name.
    fn field_id(&mut self, name: &str) -> FieldId {
        let fields = &mut self.resolved.fields;
        let known = fields.iter().position(|it| it.name == name);
        let id = known.unwrap_or(fields.len());
        if known.is_none() {
            let places = self.scope.classes.iter().map(|class| {
                let index = class.fields.iter().position(|it| it.name == name);
                let is_length = name == "length" && class.elements.is_some();
                match index {
                    Some(index) => Some(FieldPlace::Field(index as u32)),
                    None => is_length.then_some(FieldPlace::Length),
                }
            });
            fields.push(Field {
                name: name.into(),
                places: places.collect(),
            });
        }
        FieldId(id as u32)
    }

    /// The elements of an inline array and the parts of plain data are fields of their own, `cells[0]` and `position.x`: of
    /// an expression that is one, the object, the field and where the expression is without what follows the field. A field that has the
    /// shorter name, in whatever class, comes first.
    fn inline<'e>(&self, expr: &'e Expr) -> Option<(&'e Expr, Name, Span)> {
        let has = |name: &str| {
            let mut classes = self.scope.classes.iter();
            classes.any(|class| class.field(name).is_some())
        };
        let mut behind = String::new();
        let mut at = expr;
        loop {
            match &at.kind {
                ExprKind::Element(of, index) => {
                    behind = format!("[{index}]{behind}");
                    at = of;
                }
                ExprKind::Field(of, field) => {
                    let text = format!("{}{behind}", field.text);
                    if !behind.is_empty() && has(&text) && !has(&field.text) {
                        let span = field.span;
                        return Some((of, Name { span, text }, at.span));
                    }
                    behind = format!(".{text}");
                    at = of;
                }
                _ => return None,
            }
        }
    }

    /// `of[index]`
    pub(super) fn element(&mut self, of: &Expr, index: u64, span: Span) -> Option<(Path, Kinds)> {
        let (mut path, kinds) = self.path(of)?;
        if kinds.unknown {
            return None;
        }
        // A managed vector's elements are those of its array.
        let classes = self.scope.classes;
        let mut here = classes.iter().filter(|it| kinds.classes.contains(it.id));
        let vectors = here.any(is_vector).then_some(Elements::Refs);
        if vectors.is_some() {
            self.resolved.items = Some(self.field_id(ITEMS));
        }
        let here = classes.iter().filter(|it| kinds.classes.contains(it.id));
        let mut arrays = here.filter_map(|it| it.elements).chain(vectors).peekable();
        if arrays.peek().is_none() {
            let what = kinds.describe(self.scope.classes);
            self.wrong(of.span, format!("this is {what}, not an array"));
            return None;
        }
        let mut found = Kinds::none();
        arrays.for_each(|elements| found.add_elements(elements));
        path.steps.push(Step::Element(index));
        path.span = span;
        Some((path, found))
    }

    /// The static root that an expression names with all its dots: one that there is, or the static field of a class that
    /// there is, which is null then. Of a heap whose statics have dots, it is also one of a class that is not there.
    fn dotted_static(&self, expr: &Expr) -> Option<HostName> {
        let statics = self.scope.statics.as_ref()?;
        let mut fields = Vec::new();
        let mut first = expr;
        while let ExprKind::Field(of, field) = &first.kind {
            fields.push(field.text.as_str());
            first = of;
        }
        let ExprKind::Host(HostName::Root { kind, name, index }) = &first.kind else {
            return None;
        };
        if *kind != RootKind::Static {
            return None;
        }
        let mut names = vec![name.clone()];
        for field in fields.into_iter().rev() {
            names.push(format!("{}.{field}", names[names.len() - 1]));
        }
        let is_class = |name: &String| self.scope.classes.iter().any(|it| it.name == *name);
        let known = names.iter().rposition(|it| statics.contains(it.as_str()));
        let of_class = || Some(names[..names.len() - 1].iter().rposition(is_class)? + 1);
        let have_dots = || statics.iter().any(|it| it.contains('.'));
        let of_none = || have_dots().then_some(names.len() - 1);
        let length = known.or_else(of_class).or_else(of_none)?;
        // What is shorter than the expression is found when its own turn comes.
        (length + 1 == names.len()).then(|| HostName::Root {
            kind: *kind,
            name: names.swap_remove(length),
            index: *index,
        })
    }

    /// An expression that must be a path.
    pub(super) fn path(&mut self, expr: &Expr) -> Option<(Path, Kinds)> {
        if let Some((of, field, span)) = self.inline(expr) {
            return self.field(of, &field, span);
        }
        match &expr.kind {
            ExprKind::Name(name) if self.bound_value(name).is_none() && !self.is_set(name) => {
                self.name(name, expr.span)
            }
            ExprKind::Host(name) => self.host_name(name, expr.span),
            ExprKind::Field(of, field) => match self.dotted_static(expr) {
                Some(name) => self.host_name(&name, expr.span),
                None => self.field(of, field, expr.span),
            },
            ExprKind::Element(of, index) => self.element(of, *index, expr.span),
            _ => match self.term(expr) {
                Term::Value(Operand::Path(path), kinds) => Some((path, kinds)),
                Term::Wrong => None,
                other => {
                    let what = other.describe(self.scope.classes);
                    let diagnostic = Diagnostic::new(
                        expr.span,
                        format!("an object is needed here, and this is {what}"),
                    );
                    self.report(diagnostic);
                    None
                }
            },
        }
    }

    /// An expression that must be an object. One from outside must not be null: nobody means to
    /// ask what null reaches.
    pub(super) fn object(&mut self, expr: &Expr) -> Option<Path> {
        let path = self.reference(expr)?;
        self.not_null(&path);
        Some(path)
    }

    /// Notes that something from outside must not be null.
    pub(super) fn not_null(&mut self, path: &Path) {
        let is_known = |it: &Path| (it.start, &it.steps) == (path.start, &path.steps);
        if matches!(path.start, Start::Host(_)) && !self.objects.iter().any(is_known) {
            self.objects.push(path.clone());
        }
    }

    /// An expression that must be an object or null.
    pub(super) fn reference(&mut self, expr: &Expr) -> Option<Path> {
        let (path, kinds) = self.path(expr)?;
        if !kinds.is_object() {
            let what = kinds.describe(self.scope.classes);
            let message = format!("an object is needed here, and this is {what}");
            self.wrong(expr.span, message);
            return None;
        }
        self.dereferenced(&path);
        Some(path)
    }

    /// Notes which parts of a path must lead to an object.
    pub(super) fn dereferenced(&mut self, path: &Path) {
        let own = match path.start {
            Start::Variable(id) => Some(id),
            _ => None,
        };
        for (taken, &step) in path.steps.iter().enumerate() {
            let always = match path.start {
                Start::Variable(id) if taken == 0 => self.can_all_read(id.0 as usize, step),
                _ => false,
            };
            if always {
                continue;
            }
            let part = Path {
                steps: path.steps[..taken].to_vec(),
                ..path.clone()
            };
            let dereference = Dereference { path: part, step };
            let list = match own {
                Some(id) => &mut self.quantifiers[id.0 as usize].dereferences,
                None => &mut self.dereferences,
            };
            if !list.contains(&dereference) {
                list.push(dereference);
            }
        }
    }

    /// Whether all objects of a quantifier's range have what a step goes to, and can read it: a reference may
    /// have been cut.
    fn can_all_read(&self, quantifier: usize, step: Step) -> bool {
        let Step::Field(id) = step else {
            return false;
        };
        let range = &self.quantifiers[quantifier].classes;
        let places = &self.resolved.fields[id.0 as usize].places;
        let mut classes = self.scope.classes.iter();
        let can_read = |class: &ClassInfo| match places[class.id.0 as usize - 1] {
            Some(FieldPlace::Field(index)) => !class.fields[index as usize].kind.is_slot(),
            Some(FieldPlace::Length) => true,
            None => false,
        };
        !range.is_all() && classes.all(|it| !range.contains(it.id) || can_read(it))
    }
}
