//! Findings: something true and notable about a heap, in words that outlive it.
//!
//! A finding holds names, not objects, so that it can be kept, compared and reported when
//! the program runs again or the snapshot is gone. How it looks on paper is another
//! crate's business.

use std::collections::BTreeMap;
use std::fmt;

use crate::root::{Root, RootKind};
use crate::shorten::{Piece, shorten};
use crate::spelling::field_name;

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Probably not meant.
    Warning,
    /// Not what the programmer said.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// An object as a report names it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Named {
    /// `Node#17`
    pub name: String,
    /// `Node`
    pub class: String,
    /// What tells it from others of its class for a person, where that is known:
    /// `title="preferences"`.
    pub caption: Option<String>,
}

impl Named {
    /// An object without a caption.
    pub fn new(name: impl Into<String>, class: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            class: class.into(),
            caption: None,
        }
    }
}

impl fmt::Display for Named {
    /// `Node#17`, `Window#2 (title="preferences")`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.caption {
            None => f.write_str(&self.name),
            Some(caption) => write!(f, "{} ({caption})", self.name),
        }
    }
}

/// A way through the heap: from a root, or from an object if `root` is none.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Path {
    /// Where it starts.
    pub root: Option<Root>,
    /// The first object.
    pub first: Named,
    /// How it goes on.
    pub hops: Vec<Hop>,
    /// What `hops` does not list, if the path is very long.
    pub left_out: Option<LeftOut>,
}

/// Hops in the middle of a very long path that are not listed: it takes memory and time to name
/// them, and nobody reads them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LeftOut {
    /// How many hops are listed before them.
    pub after: usize,
    /// How many there are.
    pub hops: usize,
}

/// As many hops are left out, or a multiple of it. All numbers up to [`LONGEST_PERIOD`] divide
/// it, so that a part that repeats goes on in step behind them.
const LEFT_OUT_STEP: usize = 840;

impl LeftOut {
    /// What is left out of a path with that number of hops.
    pub fn of(hops: usize) -> Option<Self> {
        let after = LEFT_OUT_STEP / 2;
        let spare = hops.checked_sub(2 * after)?;
        let left_out = spare - spare % LEFT_OUT_STEP;
        (left_out > 0).then_some(Self {
            after,
            hops: left_out,
        })
    }
}

/// A step of a path: through a slot of the object before to the next.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Hop {
    /// `next`; empty for an element of an array.
    pub slot: String,
    /// Which element.
    pub index: Option<u32>,
    /// Where it leads.
    pub to: Named,
}

impl Path {
    /// A path with all its hops.
    pub fn new(root: Option<Root>, first: Named, hops: Vec<Hop>) -> Self {
        Self {
            root,
            first,
            hops,
            left_out: None,
        }
    }

    /// The object that the path leads to.
    pub fn last(&self) -> &Named {
        self.hops.last().map_or(&self.first, |hop| &hop.to)
    }

    /// How many hops it has, listed or not.
    pub fn length(&self) -> usize {
        self.hops.len() + self.left_out.map_or(0, |it| it.hops)
    }
}

impl fmt::Display for Hop {
    /// The slot as it follows its object: `.next`, `[3]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "[{index}]"),
            // All elements of an array, or any.
            None if self.slot == "[*]" => f.write_str(".[*]"),
            None => write!(f, ".{}", field_name(&self.slot)),
        }
    }
}

impl fmt::Display for Path {
    /// On one line. Parts that repeat are counted, and the middle of a long path is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(root) = &self.root {
            write!(f, "{root} → ")?;
        }
        write!(f, "{}", self.first)?;
        for piece in shorten(self) {
            match piece {
                Piece::Hop(hop) => write!(f, " {hop} → {}", hop.to)?,
                piece => write!(f, " ({piece})")?,
            }
        }
        Ok(())
    }
}

/// A path with what it shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// What the path shows.
    pub shows: Shows,
    /// The way.
    pub path: Path,
}

/// What a path of a finding shows. Displayed, it is the label before the path; it may be empty.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Shows {
    /// How the object that the finding is about is reached.
    Way,
    /// One of many objects. Another one would prove as much, so that it does not count in the
    /// fingerprint.
    Example,
    /// How this number of objects are held, each in its own place.
    Group(usize),
    /// The same of some of many objects. It does not count in the fingerprint.
    Sample(usize),
    /// How something is held that retains much. A static that it starts from counts in the fingerprint.
    Held,
    /// The way to what grows. A static that it starts from counts in the fingerprint: two structures of
    /// the same classes are two causes.
    Growth,
    /// What this text says: `thread:worker-1 reaches it`.
    Text(String),
}

impl fmt::Display for Shows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Way => Ok(()),
            Self::Example => f.write_str("for example"),
            Self::Group(count) | Self::Sample(count) => write!(f, "{count} held like this"),
            Self::Held => f.write_str("it is held through"),
            Self::Growth => f.write_str("it grows through"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Evidence {
    /// How an object is reached.
    pub fn way(path: Path) -> Self {
        let shows = Shows::Way;
        Self { shows, path }
    }

    /// A path to one of many objects, which proves nothing that another would not.
    pub fn example(path: Path) -> Self {
        let shows = Shows::Example;
        Self { shows, path }
    }

    /// How a number of objects are held.
    pub fn group(count: usize, path: Path) -> Self {
        let shows = Shows::Group(count);
        Self { shows, path }
    }

    /// How some of many objects are held: about that number of them.
    pub fn sample(count: usize, path: Path) -> Self {
        let shows = Shows::Sample(count);
        Self { shows, path }
    }

    /// How something is held that retains much.
    pub fn held(path: Path) -> Self {
        let shows = Shows::Held;
        Self { shows, path }
    }

    /// The way to what grows.
    pub fn growth(path: Path) -> Self {
        let shows = Shows::Growth;
        Self { shows, path }
    }

    /// Returns a path that shows what a text says. Without a text, it is a way.
    pub fn labelled(text: impl Into<String>, path: Path) -> Self {
        let text = text.into();
        let shows = match text.is_empty() {
            true => Shows::Way,
            false => Shows::Text(text),
        };
        Self { shows, path }
    }
}

/// What a person would know a finding by, from run to run: a hash of its kind, of the class that
/// it is about, and of its paths as classes and slots. Indices do not count, nor how often a part of a path
/// repeats. Roots do not either, but what a stack slot holds is told from what others do, and a static
/// through which something grows, or is held that retains much, from others. Where there
/// is no class, object or path, its message counts. Examples do not count. That a rule does not hold
/// is known by the rule alone: what breaks it, and how much does, may be another thing each time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Fingerprint(pub u64);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Something true and notable about a heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What sort of finding it is: `shared`, `not-dominated`.
    pub kind: String,
    /// How bad it is.
    pub severity: Severity,
    /// What is the matter, in a sentence.
    pub message: String,
    /// The rule that does not hold, if that is the matter: its name, or its text if it has none.
    pub rule: Option<String>,
    /// The class that it is about, if it is about a class as a whole.
    pub class: Option<String>,
    /// The objects that it is about.
    pub objects: Vec<Named>,
    /// The paths that prove it.
    pub evidence: Vec<Evidence>,
    /// Where in the program it was asked or asserted.
    pub place: Option<String>,
    /// The collection that found it, if one did.
    pub collection: Option<u64>,
    /// What was left out, if anything was.
    pub notes: Vec<String>,
    /// That somebody has accepted it, if so. It is as true as before.
    pub known: Option<Known>,
}

/// Why a finding that is known is no reason to fail. Whoever compares findings with a list of known ones
/// says so.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Known {
    /// The day since which it is known, as `2026-01-31`; empty if that was not written down.
    pub since: String,
    /// Why it is accepted; empty if that was not written down.
    pub reason: String,
}

impl fmt::Display for Known {
    /// `since 2026-01-31: the cache is bounded in the next release`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.since.as_str() {
            "" => f.write_str("nobody wrote since when")?,
            since => write!(f, "since {since}")?,
        }
        match self.reason.as_str() {
            "" => f.write_str(", without a reason"),
            reason => write!(f, ": {reason}"),
        }
    }
}

impl Finding {
    /// A finding with no object, path or place yet.
    pub fn new(kind: impl Into<String>, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            severity,
            message: message.into(),
            rule: None,
            class: None,
            objects: Vec::new(),
            evidence: Vec::new(),
            place: None,
            collection: None,
            notes: Vec::new(),
            known: None,
        }
    }

    /// Whether it says that something is wrong that nobody has accepted. A note does not.
    pub fn is_failure(&self) -> bool {
        self.severity > Severity::Note && self.known.is_none()
    }

    /// What it is known by from run to run.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hash = Fnv::new();
        if let Some(rule) = &self.rule {
            hash.text("rule");
            hash.text(rule);
            return Fingerprint(hash.0);
        }
        hash.text(&self.kind);
        if let Some(class) = &self.class {
            hash.text("class");
            hash.class(class);
        }
        let counts = |it: &&Evidence| !matches!(it.shows, Shows::Example | Shows::Sample(_));
        let evidence = || self.evidence.iter().filter(counts);
        if evidence().next().is_none() {
            self.objects.iter().for_each(|it| hash.class(&it.class));
            if self.objects.is_empty() && self.class.is_none() {
                hash.text(&self.message);
            }
        }
        for Evidence { shows, path } in evidence() {
            let by_root = matches!(shows, Shows::Growth | Shows::Held);
            let root = path.root.as_ref().filter(|_| by_root);
            if let Some(root) = root.filter(|it| it.kind == RootKind::Static) {
                hash.text(&root.name);
            }
            hash.path(path);
        }
        Fingerprint(hash.0)
    }
}

impl fmt::Display for Finding {
    /// The finding in plain text, without colours.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]", self.severity, self.message, self.kind)?;
        for Evidence { shows, path } in &self.evidence {
            match shows {
                Shows::Way => write!(f, "\n  {path}")?,
                shows => write!(f, "\n  {shows}: {path}")?,
            }
        }
        for note in &self.notes {
            write!(f, "\n  note: {note}")?;
        }
        if let Some(place) = &self.place {
            write!(f, "\n  at {place}")?;
        }
        Ok(())
    }
}

/// Paths that go the same way, by classes and slots, as one of them and how many there are;
/// most first.
pub fn group(paths: Vec<Path>) -> Vec<(usize, Path)> {
    let mut groups: BTreeMap<Fingerprint, (usize, Path)> = BTreeMap::new();
    for path in paths {
        let mut hash = Fnv::new();
        hash.path(&path);
        let found = groups.entry(Fingerprint(hash.0));
        found.and_modify(|it| it.0 += 1).or_insert((1, path));
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    groups
}

/// The longest repeating part of a path that is recognised as such.
pub(crate) const LONGEST_PERIOD: usize = 8;

/// The same steps with each run of equal parts, short ones first, reduced to one.
fn collapse<T: PartialEq>(mut steps: Vec<T>) -> Vec<T> {
    for period in 1..=LONGEST_PERIOD {
        let mut kept: Vec<T> = Vec::with_capacity(steps.len());
        for step in steps {
            kept.push(step);
            if let Some(start) = kept.len().checked_sub(2 * period)
                && kept[start..start + period] == kept[start + period..]
            {
                kept.truncate(start + period);
            }
        }
        steps = kept;
    }
    steps
}

/// FNV-1a: short, and the same on every machine and in every version.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn path(&mut self, path: &Path) {
        self.text("path");
        let on_stack = |root: &Root| root.kind == RootKind::ThreadStack;
        if path.hops.is_empty() && path.root.as_ref().is_some_and(on_stack) {
            self.text("stack");
        }
        let mut from = &path.first;
        let mut steps: Vec<(&str, &str)> = Vec::new();
        for hop in &path.hops {
            steps.push((&from.class, &hop.slot));
            from = &hop.to;
        }
        steps.push((&from.class, ""));
        for (class, slot) in collapse(steps) {
            self.class(class);
            self.text(slot);
        }
    }

    /// The name of a class, without what differs from run to run: a JVM adds an address to the names of lambdas and other
    /// hidden classes, `Shop$$Lambda$14/0x0000000800c03000`.
    fn class(&mut self, name: &str) {
        let is_address = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_hexdigit());
        match name.rsplit_once("/0x") {
            Some((name, address)) if is_address(address) => self.text(name),
            _ => self.text(name),
        }
    }

    fn text(&mut self, text: &str) {
        // The end counts, so that "ab" "c" is not "a" "bc".
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(class: &str, number: usize) -> Named {
        Named::new(format!("{class}#{number}"), class)
    }

    #[test]
    fn the_address_of_a_hidden_class_does_not_count() {
        let held = |class: &str| Finding {
            objects: vec![named(class, 1)],
            ..Finding::new("group", Severity::Note, "some")
        };
        let print = |class: &str| held(class).fingerprint();
        let first = print("Shop$$Lambda$14/0x0000000800c03000");
        assert_eq!(first, print("Shop$$Lambda$14/0x00007f9ed8001c00"));
        assert_ne!(first, print("Shop$$Lambda$15/0x0000000800c03000"));
        assert_ne!(print("Shop/0x"), print("Shop/0y"));
    }

    fn list(nodes: usize, first: usize) -> Finding {
        let hop = |i| Hop {
            slot: "next".into(),
            index: None,
            to: named("Node", i),
        };
        let mut finding = Finding::new("shared", Severity::Warning, "");
        finding.objects = vec![named("Node", nodes)];
        finding.evidence = vec![Evidence::way(Path::new(
            Some(Root::new(RootKind::Static, "list")),
            named("Node", first),
            (first + 1..first + nodes).map(hop).collect(),
        ))];
        finding
    }

    /// The same without what is left out of it.
    fn cut(mut finding: Finding) -> Finding {
        let path = &mut finding.evidence[0].path;
        path.left_out = LeftOut::of(path.hops.len());
        if let Some(LeftOut { after, hops }) = path.left_out {
            path.hops.drain(after..after + hops);
        }
        finding
    }

    #[test]
    fn what_is_left_out_of_a_path_does_not_change_its_fingerprint() {
        for nodes in [2, 840, 1_679, 1_680, 1_681, 1_682, 5_000, 5_007] {
            let whole = list(nodes, 1);
            for period in 1..=LONGEST_PERIOD {
                let mut whole = whole.clone();
                for (i, hop) in whole.evidence[0].path.hops.iter_mut().enumerate() {
                    hop.slot = format!("slot{}", i % period);
                }
                let cut = cut(whole.clone());
                assert_eq!(cut.fingerprint(), whole.fingerprint());
                let path = &cut.evidence[0].path;
                assert_eq!(path.length(), nodes - 1);
                assert!(path.hops.len() < 1_680);
                assert!(cut.to_string().len() < 2_000, "{cut}");
            }
        }
    }

    #[test]
    fn a_fingerprint_does_not_depend_on_how_long_a_list_is() {
        let known = list(3, 1).fingerprint();
        assert_eq!(list(30, 5).fingerprint(), known);
        let mut other = list(3, 1);
        other.evidence[0].path.hops[0].slot = "prev".into();
        assert_ne!(other.fingerprint(), known);
        let mut other = list(3, 1);
        other.kind = "dead".into();
        assert_ne!(other.fingerprint(), known);
        let mut other = list(3, 1);
        other.class = Some("Node".into());
        assert_ne!(other.fingerprint(), known);
    }

    #[test]
    fn a_rule_is_known_by_itself_whatever_breaks_it() {
        let broken = |rule: &str, nodes| Finding {
            rule: Some(rule.into()),
            ..list(nodes, 1)
        };
        let known = broken("links", 3).fingerprint();
        let mut other = broken("links", 2);
        other.objects.push(named("Tree", 9));
        other.evidence.clear();
        other.message = "other words".into();
        other.kind = "another kind".into();
        other.class = Some("Node".into());
        assert_eq!(other.fingerprint(), known);
        assert_ne!(broken("lists", 3).fingerprint(), known);
        assert_ne!(list(3, 1).fingerprint(), known);
    }

    #[test]
    fn repeated_parts_are_reduced_to_one() {
        let check = |text: &str, expect: &str| {
            let kept: String = collapse(text.chars().collect()).into_iter().collect();
            assert_eq!(kept, expect);
        };
        check("", "");
        check("abc", "abc");
        check("aaab", "ab");
        check("xababab", "xab");
        check("abcabcabcd", "abcd");
        check("abab", "ab");
    }
}
