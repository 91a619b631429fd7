//! Findings that are known: a file that is kept beside the sources of a program.
//!
//! A finding is known by its fingerprint, and fingerprints group: findings with one fingerprint are known
//! together. Only what a run could have found can have vanished: a rule that it did not check has not,
//! nor has what another command found.
//!
//! The file is TOML, sorted, so that a change of it is read as a change of what is known. Comments, reasons
//! and keys of other tools are kept when findings are added.
//!
//! Elsewhere: who reads and writes the file (the command), how a known finding looks (`text`, `json`,
//! `sarif`, `junit`).

use std::collections::{HashMap, HashSet};
use std::fmt;

use heaphound_heap::finding::{Fingerprint, Known};
use serde::Serialize;
use toml_edit::{ArrayOfTables, Document, DocumentMut, Item, Table, value};

use crate::Report;
use crate::rules::Verdict;

/// The version of the format.
const VERSION: i64 = 1;
/// The tables of the file.
const KNOWN: &str = "known";
/// What a new file begins with.
const HEAD: &str = "\
# Findings that are known, by fingerprint. Others make the run fail.
# Give each a reason; comments and reasons are kept when `--update-baseline` adds findings.
version = 1
";

/// The findings that are known.
#[derive(Clone, Debug)]
pub struct Baseline {
    document: DocumentMut,
    entries: Vec<Entry>,
}

/// A finding that is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What it is known by.
    pub fingerprint: Fingerprint,
    /// The command that finds it: `check`.
    pub command: String,
    /// What sort of finding it is, or the rule that does not hold.
    pub kind: String,
    /// What it says.
    pub message: String,
    /// Why it is accepted.
    pub known: Known,
    /// Its line in the file, from 1.
    pub line: usize,
}

/// Why a text is no baseline, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadBaseline {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for BadBaseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}

/// How a report differs from what is known.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Compared {
    /// The file with what is known.
    pub file: String,
    /// Findings that are known.
    pub known: usize,
    /// Findings that are not. Notes are counted, and do not make a run fail.
    pub new: usize,
    /// What is known and was not found.
    pub vanished: Vec<Vanished>,
    /// Whether what has vanished makes a run fail.
    #[serde(skip)]
    pub is_strict: bool,
    /// Findings that were added to the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<usize>,
    /// Findings that were removed from the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<usize>,
}

/// A finding that is known and was not found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Vanished {
    /// Sixteen hexadecimal digits.
    pub fingerprint: String,
    /// What sort of finding it was.
    pub kind: String,
    /// What it said.
    pub message: String,
    /// Since when it was known.
    pub since: String,
    /// Why it was accepted.
    pub reason: String,
    /// Its line in the file, from 1.
    pub line: usize,
}

impl Default for Baseline {
    fn default() -> Self {
        Self {
            document: HEAD.parse().expect("TOML"),
            entries: Vec::new(),
        }
    }
}

impl Baseline {
    /// Reads a baseline. An empty text is one in which nothing is known.
    ///
    /// # Errors
    /// If the text is no baseline, with the line.
    pub fn parse(text: &str) -> Result<Self, BadBaseline> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let line_at = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
        let document = Document::parse(text).map_err(|error| BadBaseline {
            line: error.span().map_or(1, |span| line_at(span.start)),
            message: error.message().replace('\n', ", "),
        })?;
        let bad = |span: Option<std::ops::Range<usize>>, message: String| BadBaseline {
            line: span.map_or(1, |span| line_at(span.start)),
            message,
        };
        match document.get("version") {
            None => return Err(bad(None, "this is no baseline: it has no `version`".into())),
            Some(item) if item.as_integer() != Some(VERSION) => {
                let message = format!("the version is not known, only {VERSION}");
                return Err(bad(item.span(), message));
            }
            Some(_) => {}
        }
        let mut entries = Vec::new();
        let mut lines = HashMap::new();
        match document.get(KNOWN) {
            None => {}
            Some(Item::ArrayOfTables(tables)) => {
                for table in tables {
                    let line = table.span().map_or(1, |span| line_at(span.start));
                    let entry = entry(table, line, bad)?;
                    if let Some(first) = lines.insert(entry.fingerprint, line) {
                        let message = format!(
                            "fingerprint {} is there twice, first in line {first}",
                            entry.fingerprint
                        );
                        return Err(BadBaseline { line, message });
                    }
                    entries.push(entry);
                }
            }
            Some(item) => {
                let message = format!("`{KNOWN}` should be tables, as in `[[{KNOWN}]]`");
                return Err(bad(item.span(), message));
            }
        }
        Ok(Self {
            document: document.into_mut(),
            entries,
        })
    }

    /// Returns what is known, in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Marks the findings of a report that are known. `file` is where this was read.
    pub fn compare(&self, file: &str, command: &str, report: &mut Report) -> Compared {
        let known: HashMap<Fingerprint, &Known> = self
            .entries
            .iter()
            .map(|it| (it.fingerprint, &it.known))
            .collect();
        let mut compared = Compared {
            file: file.into(),
            ..Compared::default()
        };
        let mut found = HashSet::new();
        for finding in report.findings_mut() {
            let fingerprint = finding.fingerprint();
            found.insert(fingerprint);
            finding.known = known.get(&fingerprint).copied().cloned();
            match finding.known {
                Some(_) => compared.known += 1,
                None => compared.new += 1,
            }
        }
        let looked_for = LookedFor::by(report);
        let vanished = self.entries.iter().filter(|it| {
            it.command == command
                && !found.contains(&it.fingerprint)
                && looked_for.has(it.fingerprint)
        });
        compared.vanished = vanished.map(Vanished::from).collect();
        compared
    }

    /// Adds the findings of a report that are not known. Returns how many.
    pub fn add(&mut self, command: &str, report: &Report, known: &Known) -> usize {
        let mut added = 0;
        for finding in report.findings() {
            let fingerprint = finding.fingerprint();
            if self.entries.iter().any(|it| it.fingerprint == fingerprint) {
                continue;
            }
            self.insert(Entry {
                fingerprint,
                command: command.into(),
                kind: finding.kind.clone(),
                message: finding.message.clone(),
                known: known.clone(),
                line: 0,
            });
            added += 1;
        }
        added
    }

    /// Removes what has vanished. Returns how much that was.
    pub fn remove(&mut self, vanished: &[Vanished]) -> usize {
        let gone = |it: &Entry| {
            let fingerprint = it.fingerprint.to_string();
            vanished.iter().any(|it| it.fingerprint == fingerprint)
        };
        let before = self.entries.len();
        for at in (0..before).rev() {
            if gone(&self.entries[at]) {
                self.entries.remove(at);
                self.tables().remove(at);
            }
        }
        before - self.entries.len()
    }

    /// Returns the text of the file.
    pub fn text(&self) -> String {
        self.document.to_string()
    }

    /// Puts an entry before the first one that comes after it in order. Somebody may have sorted the file
    /// otherwise; then what is there stays where it is.
    fn insert(&mut self, entry: Entry) {
        let order = |it: &Entry| (it.command.clone(), it.kind.clone(), it.fingerprint);
        let wanted = order(&entry);
        let after = self.entries.iter().position(|it| order(it) > wanted);
        let at = after.unwrap_or(self.entries.len());
        let mut table = Table::new();
        table.insert("fingerprint", value(entry.fingerprint.to_string()));
        table.insert("command", value(&entry.command));
        table.insert("kind", value(&entry.kind));
        table.insert("message", value(&entry.message));
        table.insert("since", value(&entry.known.since));
        table.insert("reason", value(&entry.known.reason));
        table.decor_mut().set_prefix("\n");
        self.tables().insert(at, table);
        self.entries.insert(at, entry);
    }

    fn tables(&mut self) -> &mut ArrayOfTables {
        let tables = self.document.entry(KNOWN);
        let tables = tables.or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        tables.as_array_of_tables_mut().expect("checked when read")
    }
}

/// Reads an entry.
fn entry(
    table: &Table,
    line: usize,
    bad: impl Fn(Option<std::ops::Range<usize>>, String) -> BadBaseline,
) -> Result<Entry, BadBaseline> {
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(item) => match item.as_str() {
            Some(text) => Ok(Some(text)),
            None => Err(bad(item.span(), format!("`{key}` should be a text"))),
        },
    };
    let optional = |key: &str| Ok(text(key)?.unwrap_or_default().to_string());
    let Some(digits) = text("fingerprint")? else {
        let message = "a known finding has no `fingerprint`".into();
        return Err(BadBaseline { line, message });
    };
    let is_digit = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
    let fingerprint = match digits.len() == 16 && digits.bytes().all(is_digit) {
        true => u64::from_str_radix(digits, 16).expect("sixteen digits"),
        false => {
            let span = table.get("fingerprint").and_then(Item::span);
            let digits = digits.escape_debug();
            let message = format!("`{digits}` is no fingerprint: sixteen digits, 0-9 and a-f");
            return Err(bad(span, message));
        }
    };
    Ok(Entry {
        fingerprint: Fingerprint(fingerprint),
        command: optional("command")?,
        kind: optional("kind")?,
        message: optional("message")?,
        known: Known {
            since: optional("since")?,
            reason: optional("reason")?,
        },
        line,
    })
}

impl From<&Entry> for Vanished {
    fn from(entry: &Entry) -> Self {
        Self {
            fingerprint: entry.fingerprint.to_string(),
            kind: entry.kind.clone(),
            message: entry.message.clone(),
            since: entry.known.since.clone(),
            reason: entry.known.reason.clone(),
            line: entry.line,
        }
    }
}

/// What a run would have found if it were there.
enum LookedFor {
    /// All that its command finds.
    All,
    /// That these rules do not hold.
    Rules(HashSet<Fingerprint>),
    Nothing,
}

impl LookedFor {
    fn by(report: &Report) -> Self {
        match report {
            Report::Rules(rules) => {
                let held = rules.list.iter().filter(|it| it.verdict == Verdict::Holds);
                Self::Rules(held.map(|it| it.fingerprint).collect())
            }
            // Without a profile nothing is compared.
            Report::Shapes { shapes, .. } if shapes.tested.is_none() => Self::Nothing,
            _ => Self::All,
        }
    }

    fn has(&self, fingerprint: Fingerprint) -> bool {
        match self {
            Self::All => true,
            Self::Rules(rules) => rules.contains(&fingerprint),
            Self::Nothing => false,
        }
    }
}

impl fmt::Display for Vanished {
    /// What has vanished, with its line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            message,
            fingerprint,
            line,
            ..
        } = self;
        write!(
            f,
            "known, and not found in this heap: [{kind}] {message} (line {line}, fingerprint {fingerprint})"
        )
    }
}

impl Compared {
    /// Returns whether what has vanished is a reason to fail.
    pub fn fails(&self) -> bool {
        self.is_strict && !self.vanished.is_empty()
    }
}
