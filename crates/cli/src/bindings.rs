//! Reads `--bind`, which gives names to objects and values.

use heaphound_deal::bind::Binder;
use heaphound_deal::check::{Scope, constant};
use heaphound_deal::resolved::Constant;
use heaphound_deal::syntax::HostName;
use heaphound_heap::RootKind;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;

use crate::names::Names;
use crate::problem::Problem;

/// The host variables of a text.
pub struct Bindings {
    /// The variables that are objects; `None` is null.
    objects: Vec<(String, Option<ObjectId>)>,
    values: Vec<(String, Constant)>,
    /// The variables that are sets of objects.
    sets: Vec<(String, Vec<ObjectId>)>,
}

impl Bindings {
    /// Reads `d=static:list`, `limit=17`, `name="text"`, `d=null`, `pool={Node#1, Node#2}`.
    pub fn read(given: &[String], names: &Names<'_>) -> Result<Self, Problem> {
        let mut bindings = Self {
            objects: Vec::new(),
            values: Vec::new(),
            sets: Vec::new(),
        };
        for bind in given {
            let Some((name, what)) = bind.split_once('=') else {
                let example = "NAME=OBJECT or NAME=VALUE, as in `--bind d=static:list`";
                return Err(Problem::new(format!("`{bind}` should be {example}")));
            };
            let (name, what) = (name.trim().to_string(), what.trim());
            if name.is_empty() {
                return Err(Problem::new(format!("`{bind}` gives no name")));
            }
            let objects = bindings.objects.iter().map(|(it, _)| it);
            let values = bindings.values.iter().map(|(it, _)| it);
            let sets = bindings.sets.iter().map(|(it, _)| it);
            let mut known = objects.chain(values).chain(sets);
            if known.any(|it| *it == name) {
                return Err(Problem::new(format!("`{name}` is bound twice")));
            }
            if let Some(list) = what.strip_prefix('{') {
                let Some(list) = list.strip_suffix('}') else {
                    let reason = format!("`{what}` is a set, and its brace is not closed");
                    return Err(Problem::new(reason)
                        .hint(format!("as in `--bind '{name}={{Node#1, Node#2}}'`")));
                };
                let objects = names.list(&[list.trim().to_string()])?;
                bindings.sets.push((name, objects));
                continue;
            }
            match constant(what) {
                Some(Constant::Null) => bindings.objects.push((name, None)),
                Some(value) => bindings.values.push((name, value)),
                None => match names.object(what) {
                    Ok(object) => bindings.objects.push((name, Some(object))),
                    // A number for Rust, `nan` and `inf` among them, and none for a field.
                    Err(_) if what.parse::<f64>().is_ok() => {
                        return Err(Problem::new(format!(
                            "`{what}` is no number that a rule can be given: it is not finite, \
                             too large, or not written as DeAL writes numbers"
                        )));
                    }
                    Err(problem) => return Err(problem),
                },
            }
        }
        Ok(bindings)
    }

    /// Returns the names to which a text about a heap can refer.
    pub fn scope<'h>(&self, heap: &'h Snapshot) -> Scope<'h> {
        let statics = heap.roots().iter().map(|(root, _)| root);
        let statics = statics.filter(|root| root.kind == RootKind::Static);
        let mut scope = Scope::new(heap.classes())
            .statics(statics.map(|root| root.name.as_str()))
            .may_be_interfaces(heap.may_be_interfaces())
            .lacks_superclasses(heap.lacks().superclasses);
        for (name, object) in &self.objects {
            scope = scope.bind(name, object.map(|it| heap.class_of(it)));
        }
        for (name, value) in &self.values {
            scope = scope.bind_value(name, value.clone());
        }
        for (name, objects) in &self.sets {
            let named = |object: &ObjectId| HostName::Object {
                class: heap.class(heap.class_of(*object)).name.clone(),
                number: heap.number_of(*object),
            };
            scope = scope.bind_set(name, objects.iter().map(named).collect());
        }
        scope
    }

    /// Returns the objects for which the host variables of a text stand.
    pub fn binder<'h>(&self, heap: &'h Snapshot, asker: Option<&str>) -> Binder<'h, Snapshot> {
        let mut binder = Binder::of(heap)
            .ask_as(asker)
            .objects(|class, number| heap.find(class, number));
        for (name, object) in &self.objects {
            binder = binder.variable(name, *object);
        }
        binder
    }
}
