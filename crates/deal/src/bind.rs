//! Objects from outside: what the host variables and names of a text stand for.
//!
//! A variable is bound by whoever evaluates. A name (`static:list`, `thread:main[2]`,
//! `Node#17`) is looked up on the heap, and one that fits nothing is a diagnostic where it
//! stands.

use std::collections::BTreeSet;

use heaphound_heap::root::{Part, RootSet};
use heaphound_heap::spelling::{is_same_class, object_name};
use heaphound_heap::view::{HeapView, live_objects};
use heaphound_heap::{Root, RootKind};

use crate::diagnostic::{Diagnostic, nearest};
use crate::resolved::{HostId, HostSource, Resolved};
use crate::syntax::{HostName, Span};

/// What the hosts of a text stand for on one view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bindings<O> {
    /// By [`HostId`]; none is null.
    objects: Vec<Option<O>>,
    /// Why a host is not bound, by [`HostId`].
    missing: Vec<Option<Missing>>,
    asker: Option<O>,
}

/// Why a host is not bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// What is wrong, where the host stands first.
    pub diagnostic: Diagnostic,
    /// Whether the heap has nothing of that name.
    pub is_gone: bool,
}

impl<O: Copy> Bindings<O> {
    /// What a host stands for; none is null.
    pub fn get(&self, host: HostId) -> Option<O> {
        self.objects.get(host.0 as usize).copied().flatten()
    }

    /// Why a host stands for nothing; none if it is bound, though it be null.
    pub fn missing(&self, host: HostId) -> Option<&Missing> {
        self.missing.get(host.0 as usize)?.as_ref()
    }

    /// The thread object of the asking thread. None if nobody asks, or it has none.
    pub fn asker(&self) -> Option<O> {
        self.asker
    }
}

/// Finds an object by its class and number.
type Find<'f, O> = Box<dyn Fn(&str, u64) -> Option<O> + 'f>;

/// Binds hosts to the objects of a view.
///
/// ```
/// use heaphound_deal::bind::Binder;
/// use heaphound_deal::check::{Scope, compile};
/// # use heaphound_heap::{Root, RootKind};
/// # use heaphound_heap::snapshot::SnapshotBuilder;
/// # use heaphound_heap::view::HeapView;
/// # let mut builder = SnapshotBuilder::default();
/// # let class = builder.add_class("Node", None, &["next"]);
/// # let node = builder.add_object(class, 16);
/// # builder.add_root(Root::new(RootKind::Static, "list"), node);
/// # let heap = builder.finish().unwrap();
/// let scope = Scope::new(heap.classes()).bind("d", None);
/// let text = "reach(d).has(static:list)";
/// let resolved = compile("expression", text, &scope).unwrap();
/// let bindings = Binder::of(&heap).variable("d", Some(node)).bind(&resolved);
/// assert_eq!(bindings.unwrap().get(heaphound_deal::resolved::HostId(1)), Some(node));
/// ```
pub struct Binder<'f, V: HeapView> {
    view: &'f V,
    variables: Vec<(String, Option<V::Object>)>,
    asker: Option<String>,
    find: Option<Find<'f, V::Object>>,
}

/// How many names are compared with one that does not fit.
const MOST_COMPARED: usize = 10_000;

impl<'f, V: HeapView> Binder<'f, V> {
    /// Names of a view; no variables, nobody asks, and objects have no names.
    pub fn of(view: &'f V) -> Self {
        Self {
            view,
            variables: Vec::new(),
            asker: None,
            find: None,
        }
    }

    /// With a variable; none is null.
    #[must_use]
    pub fn variable(mut self, name: &str, object: Option<V::Object>) -> Self {
        self.variables.push((name.into(), object));
        self
    }

    /// With a thread that asks.
    #[must_use]
    pub fn ask_as(mut self, thread: Option<&str>) -> Self {
        self.asker = thread.map(Into::into);
        self
    }

    /// With a way to find `Node#17`, given the whole name of the class: a snapshot's `find`.
    #[must_use]
    pub fn objects(mut self, find: impl Fn(&str, u64) -> Option<V::Object> + 'f) -> Self {
        self.find = Some(Box::new(find));
        self
    }

    /// With `Node#17` found among all live objects by the name that the view gives them:
    /// right on any view, and slow.
    #[must_use]
    pub fn live_objects(self) -> Self {
        let view = self.view;
        self.objects(move |class, number| {
            let name = object_name(class, number);
            let mut live = live_objects(view).into_iter();
            live.find(|object| view.name_of(*object) == name)
        })
    }

    /// Binds all hosts of a text, or says which it cannot.
    ///
    /// # Errors
    /// For each variable that nobody binds and each name that fits nothing, or too much.
    pub fn bind(&self, resolved: &Resolved) -> Result<Bindings<V::Object>, Vec<Diagnostic>> {
        let bindings = self.bind_present(resolved);
        let hosts = resolved.hosts.iter().zip(&bindings.missing);
        let wrong = hosts.filter_map(|(host, missing)| match missing {
            Some(missing) if missing.is_gone && host.may_be_gone => None,
            missing => missing.as_ref().map(|it| it.diagnostic.clone()),
        });
        let wrong: Vec<Diagnostic> = wrong.collect();
        match wrong.is_empty() {
            true => Ok(bindings),
            false => Err(wrong),
        }
    }

    /// Binds the hosts of a text that there are. What is said of others cannot be checked
    /// ([`Bindings::missing`]).
    pub fn bind_present(&self, resolved: &Resolved) -> Bindings<V::Object> {
        let mut objects = Vec::new();
        let mut all_missing = Vec::new();
        for host in &resolved.hosts {
            let found = match &host.source {
                HostSource::Variable(name) => self.bound(name),
                HostSource::Named(HostName::Root { kind, name, index }) => {
                    self.root(*kind, name, *index).map(Some)
                }
                HostSource::Named(HostName::Object { class, number }) => {
                    self.object(class, *number).map(Some)
                }
            };
            let (object, missing) = match found {
                Ok(object) => (object, None),
                Err(unbound) => (None, Some(unbound.at(host.span))),
            };
            objects.push(object);
            all_missing.push(missing);
        }
        let mut asker = None;
        if let Some(thread) = &self.asker {
            let roots = RootSet::Thread(thread, Part::Object);
            self.view
                .for_each_root_target(roots, |object| asker = asker.or(Some(object)));
        }
        Bindings {
            objects,
            missing: all_missing,
            asker,
        }
    }

    fn bound(&self, name: &str) -> Result<Option<V::Object>, Unbound> {
        let found = self.variables.iter().find(|(it, _)| it == name);
        let unbound = || Unbound::new(format!("`{name}` is not bound"));
        found.map(|(_, object)| *object).ok_or_else(unbound)
    }

    /// What a root refers to. The index can be left out where there is only one object.
    fn root(&self, kind: RootKind, name: &str, index: Option<u32>) -> Result<V::Object, Unbound> {
        let mut fits: Vec<(Root, V::Object)> = Vec::new();
        self.view.for_each_root(|root, object| {
            let same_index = index.is_none_or(|index| index == root.index);
            if root.kind == kind && root.name == name && same_index {
                fits.push((root.clone(), object));
            }
        });
        let wanted = Root {
            index: index.unwrap_or(0),
            ..Root::new(kind, name)
        };
        let mut wanted = wanted.to_string();
        if index.is_none() {
            wanted.truncate(wanted.strip_suffix("[0]").unwrap_or(&wanted).len());
        }
        let objects: BTreeSet<V::Object> = fits.iter().map(|(_, object)| *object).collect();
        match (fits.as_slice(), objects.len()) {
            ([(_, object), ..], 1) => Ok(*object),
            ([(first, _), ..], several) => Err(Unbound {
                message: format!("`{wanted}` stands for {several} objects"),
                hint: Some(format!("which one? The first is {first}")),
                is_missing: false,
            }),
            ([], _) => {
                let mut names: Vec<String> = Vec::new();
                self.view.for_each_root(|root, _| {
                    if names.len() < MOST_COMPARED {
                        let name = root.to_string();
                        if index.is_none() && root.index == 0 {
                            let short = name.strip_suffix("[0]").map(Into::into);
                            names.extend(short);
                        }
                        names.push(name);
                    }
                });
                let near = nearest(&wanted, names.iter().map(String::as_str));
                Err(Unbound {
                    message: format!("there is no root `{wanted}`"),
                    hint: near.map(|near| format!("did you mean `{near}`?")),
                    is_missing: true,
                })
            }
        }
    }

    fn object(&self, class: &str, number: u64) -> Result<V::Object, Unbound> {
        let Some(find) = &self.find else {
            let hint = "bind a variable to it".to_string();
            return Err(Unbound {
                message: "objects of this heap are not found by their names".into(),
                hint: Some(hint),
                is_missing: false,
            });
        };
        let classes = self.view.classes().iter();
        let is_short = |name: &str| name.rsplit(['.', ':']).next() == Some(class);
        let is_named = |name: &str| is_same_class(name, class) || is_short(name);
        let named = classes.filter(|it| is_named(&it.name));
        let mut names: Vec<&str> = named.map(|it| it.name.as_str()).collect();
        // The whole name goes before one that is spelt otherwise or without its package.
        names.sort_by_key(|name| *name != class);
        let found = names.into_iter().find_map(|name| find(name, number));
        let missing = || Unbound {
            is_missing: true,
            ..Unbound::new(format!(
                "there is no object `{}`",
                object_name(class, number)
            ))
        };
        found.ok_or_else(missing)
    }
}

/// Why a host is not bound.
struct Unbound {
    message: String,
    hint: Option<String>,
    /// Whether the heap has nothing of that name.
    is_missing: bool,
}

impl Unbound {
    fn at(self, span: Span) -> Missing {
        let diagnostic = Diagnostic::new(span, self.message);
        Missing {
            diagnostic: match self.hint {
                Some(hint) => diagnostic.hint(hint),
                None => diagnostic,
            },
            is_gone: self.is_missing,
        }
    }

    fn new(message: String) -> Self {
        Self {
            message,
            hint: None,
            is_missing: false,
        }
    }
}
