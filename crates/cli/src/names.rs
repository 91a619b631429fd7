//! Finds the objects, roots and threads that the command line names.
//!
//! [`HELP`] lists the forms of names. The error for an unknown name suggests similar names.

use std::collections::{BTreeSet, HashSet};

use heaphound_heap::class::with_subclasses;
use heaphound_heap::nearest;
use heaphound_heap::probe::ProbeError;
use heaphound_heap::quotes::unquote;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::spelling::{classes_named, object_name, root_name};
use heaphound_heap::view::HeapView;
use heaphound_heap::{ClassId, Root};
use heaphound_report::json::root_kind;

use crate::problem::Problem;

/// The names of a heap.
pub struct Names<'h> {
    heap: &'h Snapshot,
}

/// The object that a name stands for.
pub struct Target<'h> {
    pub object: ObjectId,
    /// The root, if the name is a root's.
    pub root: Option<&'h Root>,
}

/// The part of `heaphound --help` about names.
pub const HELP: &str = "\
Names:
  Node#17             an object, as reports name it
  \"Map<K, V>\"#3       the same, in quotes
  Config              the only instance of a class; its package may be left out
  Node@1234, @1234    an object of a heap snapshot, as Chrome's tools name it
  static:cache        what a root refers to; also thread:main[2], thread-object:main,
                      handle:src/main.rs:7:5[0]; of a dump: static:shop.Till.open
  0x7f3a10            the object at an address, in a dump";

/// How many names an error lists.
const FEW: usize = 5;
/// How many names an error suggests.
const MOST_SUGGESTIONS: usize = 3;
/// How many roots are compared with a name that does not fit.
const MOST_COMPARED: usize = 10_000;

impl<'h> Names<'h> {
    pub fn of(heap: &'h Snapshot) -> Self {
        Self { heap }
    }

    /// Returns the object of that name.
    pub fn object(&self, name: &str) -> Result<ObjectId, Problem> {
        self.target(name).map(|target| target.object)
    }

    /// Returns the object that a name stands for, and its root if it is a root's name.
    pub fn target(&self, name: &str) -> Result<Target<'h>, Problem> {
        if name.is_empty() {
            return Err(Problem::new("a name is empty"));
        }
        if name == "null" {
            return Err(ProbeError::Null.into());
        }
        let object = |object| Target { object, root: None };
        if let Some(address) = address(name)
            && !self.heap.addresses().is_empty()
        {
            let found = self.heap.addresses().find(address).map(ObjectId);
            let none = || Problem::new(format!("there is no object at {address:#x}"));
            return found.map(object).ok_or_else(none);
        }
        // As reports print it, whatever roots are called.
        if let (class, Some(number)) = split(name)
            && object_name(class, number) == name
            && let Some(found) = self.heap.find(class, number)
        {
            return Ok(object(found));
        }
        if let Some((class, number)) = split_quoted(name) {
            return self.instance(name, &class, number).map(object);
        }
        if let Some(root) = self.root(name)? {
            return Ok(root);
        }
        if let Some(found) = self.by_id(name) {
            return Ok(object(found));
        }
        let (class, number) = split(name);
        let class = match self.classes(class) {
            Named::None => class,
            Named::One(_, class) => class,
            // The number may tell which of them is meant.
            Named::Several(classes) => {
                let find = |number| {
                    classes
                        .iter()
                        .filter_map(move |it| self.heap.find(it, number))
                };
                let found: Vec<ObjectId> = number.into_iter().flat_map(find).collect();
                return match found.as_slice() {
                    [found] => Ok(object(*found)),
                    _ => Err(several(name, &classes)),
                };
            }
        };
        self.instance(name, class, number).map(object)
    }

    /// Returns the classes that a name stands for.
    fn classes(&self, name: &str) -> Named<'h> {
        let classes = classes_named(self.heap.classes(), name);
        let names = classes.iter().map(|it| self.heap.class(*it).name.as_str());
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        names.dedup();
        match names.as_slice() {
            [] => Named::None,
            [one] => Named::One(classes, one),
            _ => Named::Several(names),
        }
    }

    /// Returns all instances of a class and its subclasses, if the name is that of a class; else the
    /// object of that name.
    pub fn instances(&self, name: &str) -> Result<Vec<ObjectId>, Problem> {
        let name = &plain(name);
        let classes = match self.classes(name) {
            Named::None => return self.object(name).map(|it| vec![it]),
            Named::One(classes, _) => classes,
            Named::Several(classes) => return Err(several(name, &classes)),
        };
        let mut wanted = vec![false; self.heap.classes().len()];
        for class in with_subclasses(self.heap.classes(), &classes) {
            wanted[class.0 as usize - 1] = true;
        }
        let objects = self.heap.objects();
        let instances = objects.filter(|it| wanted[self.heap.class_of(*it).0 as usize - 1]);
        let instances: Vec<ObjectId> = instances.collect();
        match instances.is_empty() {
            true => Err(Problem::new(format!("there is no instance of `{name}`"))),
            false => Ok(instances),
        }
    }

    /// Returns the object that Chrome's tools call so: `Node@1234`, `@1234`. Their ids are the numbers of our names.
    fn by_id(&self, name: &str) -> Option<ObjectId> {
        let (class, id) = name.rsplit_once('@')?;
        let id: u64 = id.parse().ok()?;
        let class = plain(class);
        if !class.is_empty() {
            return self.heap.find(&class, id);
        }
        let mut of_number = self.heap.objects();
        let mut of_number = of_number
            .by_ref()
            .filter(|it| self.heap.number_of(*it) == id);
        of_number.next().filter(|_| of_number.next().is_none())
    }

    /// Returns the objects of lists of names. In a list, names are separated by commas.
    pub fn list(&self, lists: &[String]) -> Result<Vec<ObjectId>, Problem> {
        let mut objects = Vec::new();
        for list in lists {
            let mut rest = list.as_str();
            while !rest.is_empty() {
                // The name of a class may contain commas, too. The shortest name that fits counts.
                let ends = rest.match_indices(',').map(|(at, _)| at);
                let ends = ends.filter(|&at| at >= quoted_bytes(rest));
                let mut ends = ends.chain([rest.len()]);
                let fits = ends.find_map(|end| {
                    let object = self.object(rest[..end].trim()).ok()?;
                    Some((object, end))
                });
                let Some((object, end)) = fits else {
                    let first = rest.split(',').next().unwrap_or(rest);
                    let whole = if quoted_bytes(rest) > 0 { rest } else { first };
                    return Err(match self.object(whole.trim()) {
                        Err(problem) => problem,
                        Ok(_) => unreachable!("it would have fitted"),
                    });
                };
                objects.push(object);
                let Some(next) = rest[end..].strip_prefix(',') else {
                    break;
                };
                rest = next.trim_start();
                if rest.is_empty() || rest.starts_with(',') {
                    let reason = format!("`{list}` has a comma with no name behind it");
                    return Err(Problem::new(reason));
                }
            }
        }
        Ok(objects)
    }

    /// Returns the thread of that name, if there is one. `thread:` in front of it is optional, and
    /// so are quotes.
    pub fn find_thread(&self, name: &str) -> Option<&'h str> {
        let threads = self.heap.threads();
        let short = name.strip_prefix("thread:").unwrap_or(name);
        let fits = |wanted: &str| threads.iter().find(|thread| *thread == wanted);
        // Quotes that reports print go before those of a strange name.
        let found = fits(&plain(short))
            .or_else(|| fits(name))
            .or_else(|| fits(short));
        found.map(String::as_str)
    }

    /// Returns the thread of that name, as [`Names::find_thread`] does, or what is wrong with it.
    pub fn thread(&self, name: &str) -> Result<&'h str, Problem> {
        if let Some(thread) = self.find_thread(name) {
            return Ok(thread);
        }
        let threads = self.heap.threads();
        let short = name.strip_prefix("thread:").unwrap_or(name);
        let short = &plain(short);
        let shown = |thread: &String| root_name(thread).into_owned();
        let error = ProbeError::UnknownThread(root_name(short).into()).to_string();
        let near = nearest(short, threads.iter().map(|it| (it.as_str(), shown(it))));
        match near.is_empty() && threads.is_empty() {
            true => Err(Problem::new(error).hint("the heap has no threads")),
            false if near.is_empty() => {
                let some: Vec<String> = threads.iter().take(FEW).map(shown).collect();
                let more = and_more(threads.len());
                let some = some.join(", ");
                Err(Problem::new(error).hint(format!("there are {some}{more}")))
            }
            false => Err(Problem::new(error).suggest(&near)),
        }
    }

    /// Returns what a root refers to, if the name is a root's. The name needs no index if there is
    /// only one root of that name.
    fn root(&self, name: &str) -> Result<Option<Target<'h>>, Problem> {
        let Some((kind, short)) = name.split_once(':') else {
            return Ok(None);
        };
        let of_kind = |root: &Root| root_kind(root.kind) == kind;
        let roots = || self.heap.roots().iter().filter(|(root, _)| of_kind(root));
        let mut fits: Vec<_> = roots()
            .filter(|(root, _)| root.short() == name || root.to_string() == name)
            .collect();
        if fits.is_empty() {
            fits = roots().filter(|(root, _)| root.name == short).collect();
        }
        // As heap text writes it: `static:"open orders"`.
        if fits.is_empty()
            && let Some((quoted, rest)) = unquote(short)
        {
            let plain = format!("{kind}:{}{rest}", root_name(&quoted));
            fits = roots()
                .filter(|(root, _)| match rest {
                    "" => root.name == quoted,
                    _ => root.short() == plain,
                })
                .collect();
        }
        let objects: BTreeSet<ObjectId> = fits.iter().map(|(_, object)| *object).collect();
        match (fits.first(), objects.len()) {
            (None, _) => Ok(None),
            (Some((root, object)), 1) => Ok(Some(Target {
                object: *object,
                root: Some(root),
            })),
            (Some(_), several) => {
                let shown = fits.iter().take(FEW).map(|(root, object)| {
                    let object = self.heap.name_of(*object);
                    format!("\n  {root} → {object}")
                });
                let shown: String = shown.collect();
                let more = and_more(fits.len());
                Err(Problem::new(format!(
                    "`{name}` stands for {several} objects; which one?{shown}{more}"
                )))
            }
        }
    }

    /// Returns an object by its class and number, or the only object of a class.
    fn instance(&self, name: &str, class: &str, number: Option<u64>) -> Result<ObjectId, Problem> {
        if let Some(object) = number.and_then(|number| self.heap.find(class, number)) {
            return Ok(object);
        }
        let of_class =
            |object: &ObjectId| self.heap.class(self.heap.class_of(*object)).name == class;
        let instances: Vec<ObjectId> = match self.has_class(class) {
            true => self.heap.objects().filter(of_class).collect(),
            false => Vec::new(),
        };
        let some = |objects: &[ObjectId]| {
            let few = objects.iter().take(FEW);
            let names: Vec<String> = few.map(|object| self.heap.name_of(*object)).collect();
            format!("{}{}", names.join(", "), and_more(objects.len()))
        };
        match (number, instances.as_slice()) {
            (_, []) if self.has_class(class) => Err(Problem::new(format!(
                "there is no object `{name}`: class `{class}` has no instances"
            ))),
            (_, []) => Err(self.unknown(name)),
            (None, [object]) => Ok(*object),
            (None, several) => {
                let count = several.len();
                let reason = format!("class `{class}` has {count} instances; which one?");
                Err(Problem::new(reason).hint(some(several)))
            }
            (Some(number), _) => {
                let mut near = instances.clone();
                near.sort_by_key(|object| self.heap.number_of(*object).abs_diff(number));
                let reason = format!("there is no object `{name}`");
                Err(Problem::new(reason).hint(format!("the nearest: {}", some(&near))))
            }
        }
    }

    fn has_class(&self, name: &str) -> bool {
        self.heap.classes().iter().any(|class| class.name == name)
    }

    /// Returns the error for a name that is neither an object's nor a root's.
    fn unknown(&self, name: &str) -> Problem {
        if self.heap.is_empty() {
            return Problem::new(format!("there is no `{name}`: the heap has no objects"));
        }
        let (class, number) = split(name);
        let has_number = |it: &ObjectId| Some(self.heap.number_of(*it)) == number;
        let of_number = self.heap.objects().filter(has_number);
        let of_number: HashSet<&str> = of_number
            .map(|it| self.heap.class(self.heap.class_of(it)).name.as_str())
            .collect();
        let classes = self.heap.classes().iter().map(|it| {
            let numbered = number.filter(|_| of_number.contains(it.name.as_str()));
            let full = match numbered {
                Some(number) => object_name(&it.name, number),
                None => class_name(&it.name),
            };
            (it.name.as_str(), full)
        });
        let root_names: Vec<String> = self
            .heap
            .roots()
            .iter()
            .take(MOST_COMPARED)
            .map(|(root, _)| root.short())
            .collect();
        let roots = root_names.iter().map(|it| (it.as_str(), it.clone()));
        let reason = match is_like_a_root(name) {
            true => format!("there is no root `{name}`"),
            false => format!("there is no object and no root `{name}`"),
        };
        Problem::new(reason).suggest(&nearest(class, classes.chain(roots)))
    }
}

/// What classes a name stands for.
enum Named<'h> {
    None,
    /// Those of one name.
    One(Vec<ClassId>, &'h str),
    /// Those of several names, which are these.
    Several(Vec<&'h str>),
}

fn several(name: &str, classes: &[&str]) -> Problem {
    let some: Vec<String> = classes.iter().take(FEW).map(|it| class_name(it)).collect();
    let hint = format!("{}{}", some.join(" or "), and_more(classes.len()));
    Problem::new(format!("`{name}` can be of several classes")).hint(hint)
}

/// Returns the name of a class as that of its objects begins.
fn class_name(class: &str) -> String {
    let mut name = object_name(class, 0);
    name.truncate(name.len() - "#0".len());
    name
}

fn is_like_a_root(name: &str) -> bool {
    let kinds = [
        "static",
        "thread",
        "thread-object",
        "handle",
        "other",
        "finalizer",
    ];
    name.split_once(':')
        .is_some_and(|(kind, _)| kinds.contains(&kind))
}

/// Returns the address that a name is: `0x7f3a10`.
fn address(name: &str) -> Option<u64> {
    u64::from_str_radix(name.strip_prefix("0x")?, 16).ok()
}

/// Splits a name into a class and a number.
fn split(name: &str) -> (&str, Option<u64>) {
    match name.rsplit_once('#') {
        Some((class, number)) => match number.parse() {
            Ok(number) => (class, Some(number)),
            Err(_) => (name, None),
        },
        None => (name, None),
    }
}

/// Returns a text without its quotes, if all of it stands in them.
fn plain(name: &str) -> String {
    match unquote(name) {
        Some((plain, "")) => plain,
        _ => name.into(),
    }
}

/// Returns where the quotes end that a name begins with, or the name of its root.
fn quoted_bytes(name: &str) -> usize {
    let start = match name.split_once(":\"") {
        Some((kind, _)) if is_like_a_root(name) => kind.len() + 1,
        _ => 0,
    };
    unquote(&name[start..]).map_or(0, |(_, rest)| name.len() - rest.len())
}

/// Splits a name into a class in quotes and a number, if there is one.
fn split_quoted(name: &str) -> Option<(String, Option<u64>)> {
    let (class, rest) = unquote(name)?;
    match rest {
        "" => Some((class, None)),
        rest => Some((class, Some(rest.strip_prefix('#')?.parse().ok()?))),
    }
}

/// Of names, each with what to suggest for it, those that come near; the nearest first.
pub fn nearest<'a>(name: &str, all: impl Iterator<Item = (&'a str, String)>) -> Vec<String> {
    nearest::near(name, all, MOST_SUGGESTIONS)
}

/// Returns ` and 12 more`, if there are more than an error lists.
fn and_more(count: usize) -> String {
    match count.saturating_sub(FEW) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}
