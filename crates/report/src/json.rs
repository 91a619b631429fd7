//! Reports for programs: one JSON document, described by `docs/findings.schema.json`.
//!
//! The structs here are the format. They are their own, so that the heap's can change
//! without it. A field that is added keeps [`SCHEMA_VERSION`]; one that goes or changes its
//! meaning raises it.

use heaphound_heap::RootKind;
use heaphound_heap::finding as heap;
use serde::Serialize;

use crate::answer::{Answer, Members, Verdict};
use crate::{Growth, Info, Report, Rules, Shapes, Written};

/// The version of the format.
pub const SCHEMA_VERSION: u32 = 1;

/// A report as JSON.
pub fn report(report: &Report) -> String {
    print(&Document {
        answer: report.answer.as_ref().map(AnswerJson::from),
        info: report.info.as_ref(),
        written: report.written.as_ref(),
        rules: report.rules.as_ref(),
        growth: report.growth.as_ref(),
        shapes: report.shapes.as_ref(),
        findings: report.findings.iter().map(FindingJson::from).collect(),
        ..Document::new(&report.command, &report.heap)
    })
}

/// What a command says that could not do its job.
pub fn error(command: &str, heap: &str, message: &str) -> String {
    print(&Document {
        error: Some(ErrorJson { message }),
        ..Document::new(command, heap)
    })
}

fn print(document: &Document<'_>) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("strings and numbers only");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    heaphound_version: &'static str,
    command: &'a str,
    heap: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<AnswerJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    info: Option<&'a Info>,
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<&'a Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<&'a Rules>,
    #[serde(skip_serializing_if = "Option::is_none")]
    growth: Option<&'a Growth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shapes: Option<&'a Shapes>,
    findings: Vec<FindingJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorJson<'a>>,
}

impl<'a> Document<'a> {
    fn new(command: &'a str, heap: &'a str) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            heaphound_version: env!("CARGO_PKG_VERSION"),
            command,
            heap,
            answer: None,
            info: None,
            written: None,
            rules: None,
            growth: None,
            shapes: None,
            findings: Vec::new(),
            error: None,
        }
    }
}

#[derive(Serialize)]
struct ErrorJson<'a> {
    message: &'a str,
}

#[derive(Serialize)]
struct AnswerJson<'a> {
    question: &'a str,
    arguments: &'a [String],
    asker: Option<&'a str>,
    /// For a question of yes or no.
    #[serde(skip_serializing_if = "Option::is_none")]
    yes: Option<bool>,
    /// For others.
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<MembersJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    expected: Option<&'static str>,
    as_expected: bool,
    message: &'a str,
    evidence: Vec<EvidenceJson<'a>>,
    notes: &'a [String],
}

impl<'a> From<&'a Answer> for AnswerJson<'a> {
    fn from(answer: &'a Answer) -> Self {
        let (yes, members, expected) = match &answer.verdict {
            Verdict::Truth { yes, expected } => {
                let expected = if *expected { "yes" } else { "no" };
                (Some(*yes), None, Some(expected))
            }
            Verdict::Set { members, expected } => {
                let expected = expected.map(|amount| amount.word());
                (None, Some(MembersJson::from(members)), expected)
            }
            Verdict::Value => (None, None, None),
        };
        Self {
            question: &answer.question,
            arguments: &answer.arguments,
            asker: answer.asker.as_deref(),
            yes,
            members,
            value: (answer.verdict == Verdict::Value).then_some(answer.message.as_str()),
            expected,
            as_expected: answer.verdict.is_expected(),
            message: &answer.message,
            evidence: answer.evidence.iter().map(EvidenceJson::from).collect(),
            notes: &answer.notes,
        }
    }
}

#[derive(Serialize)]
struct MembersJson<'a> {
    of: &'static str,
    count: usize,
    listed: &'a [String],
    left_out: usize,
}

impl<'a> From<&'a Members> for MembersJson<'a> {
    fn from(members: &'a Members) -> Self {
        Self {
            of: members.of.word(),
            count: members.count,
            listed: &members.listed,
            left_out: members.left_out(),
        }
    }
}

#[derive(Serialize)]
struct FindingJson<'a> {
    kind: &'a str,
    severity: String,
    message: &'a str,
    objects: Vec<ObjectJson<'a>>,
    evidence: Vec<EvidenceJson<'a>>,
    place: Option<&'a str>,
    collection: Option<u64>,
    notes: &'a [String],
    /// Sixteen hexadecimal digits: JSON's numbers would lose some.
    fingerprint: String,
}

impl<'a> From<&'a heap::Finding> for FindingJson<'a> {
    fn from(finding: &'a heap::Finding) -> Self {
        Self {
            kind: &finding.kind,
            severity: finding.severity.to_string(),
            message: &finding.message,
            objects: finding.objects.iter().map(ObjectJson::from).collect(),
            evidence: finding.evidence.iter().map(EvidenceJson::from).collect(),
            place: finding.place.as_deref(),
            collection: finding.collection,
            notes: &finding.notes,
            fingerprint: finding.fingerprint().to_string(),
        }
    }
}

#[derive(Serialize)]
struct ObjectJson<'a> {
    name: &'a str,
    class: &'a str,
}

impl<'a> From<&'a heap::Named> for ObjectJson<'a> {
    fn from(object: &'a heap::Named) -> Self {
        Self {
            name: &object.name,
            class: &object.class,
        }
    }
}

#[derive(Serialize)]
struct EvidenceJson<'a> {
    label: String,
    path: PathJson<'a>,
}

impl<'a> From<&'a heap::Evidence> for EvidenceJson<'a> {
    fn from(evidence: &'a heap::Evidence) -> Self {
        Self {
            label: evidence.shows.to_string(),
            path: PathJson::from(&evidence.path),
        }
    }
}

#[derive(Serialize)]
struct PathJson<'a> {
    /// None if the path starts at an object.
    root: Option<RootJson<'a>>,
    first: ObjectJson<'a>,
    hops: Vec<HopJson<'a>>,
}

impl<'a> From<&'a heap::Path> for PathJson<'a> {
    fn from(path: &'a heap::Path) -> Self {
        let hop = |hop: &'a heap::Hop| HopJson {
            slot: hop.index.is_none().then_some(hop.slot.as_str()),
            index: hop.index,
            to: ObjectJson::from(&hop.to),
        };
        Self {
            root: path.root.as_ref().map(|root| RootJson {
                kind: root_kind(root.kind),
                name: &root.name,
                scope: root.scope.as_deref(),
                index: root.index,
            }),
            first: ObjectJson::from(&path.first),
            hops: path.hops.iter().map(hop).collect(),
        }
    }
}

#[derive(Serialize)]
struct RootJson<'a> {
    kind: &'static str,
    name: &'a str,
    scope: Option<&'a str>,
    index: u32,
}

/// A kind of root, as in the name of one.
pub fn root_kind(kind: RootKind) -> &'static str {
    match kind {
        RootKind::Static => "static",
        RootKind::ThreadObject => "thread-object",
        RootKind::ThreadStack => "thread",
        RootKind::Handle => "handle",
        RootKind::Other => "other",
        RootKind::Finalizer => "finalizer",
    }
}

#[derive(Serialize)]
struct HopJson<'a> {
    /// None for an element of an array.
    slot: Option<&'a str>,
    index: Option<u32>,
    to: ObjectJson<'a>,
}
