//! Reports for programs: one JSON document, described by `docs/findings.schema.json`.
//!
//! The structs here are the format. They are their own, so that the heap's can change
//! without it. A field that is added keeps [`SCHEMA_VERSION`]; one that goes or changes its
//! meaning raises it.

use heaphound_heap::RootKind;
use heaphound_heap::finding as heap;
use serde::{Serialize, Serializer};

use crate::answer::{Answer, Members, Verdict};
use crate::rules::{Rule, Rules};
use crate::{
    About, Compared, Diff, Dominators, Growth, Info, Report, Shapes, Suspects, Waste, Written,
};

/// The version of the format.
pub const SCHEMA_VERSION: u32 = 1;

/// Returns a report of a command as JSON.
pub fn report(about: &About<'_>, report: &Report) -> String {
    let (report, baseline) = match report {
        Report::Compared { report, baseline } => (&**report, Some(baseline)),
        report => (report, None),
    };
    let body = match report {
        Report::Answer { answer, .. } => Body::Answer(AnswerJson::from(answer)),
        Report::Info(info) => Body::Info(info),
        Report::Written(written) => Body::Written(written),
        Report::Rules(rules) => Body::Rules(RulesJson::from(rules)),
        Report::Growth { growth, .. } => Body::Growth(growth),
        Report::Shapes { shapes, .. } => Body::Shapes(shapes),
        Report::Dominators(tree) => Body::Dominators(tree),
        Report::Suspects { suspects, .. } => Body::Suspects(suspects),
        Report::Diff(diff) => Body::Diff(diff),
        Report::Waste(waste) => Body::Waste(waste),
        Report::Explanation { subject, text } => {
            Body::Answer(AnswerJson::explanation(subject, text))
        }
        Report::Formatted { .. } | Report::Bytes(_) | Report::Compared { .. } => Body::Empty {},
        Report::Summary { json, .. } => return with_notes(json, about.notes),
    };
    let mut document = Document::new(about, body, report.findings());
    document.baseline = baseline;
    print(&document)
}

/// Returns the error of a command that could not do its job, as JSON.
pub fn error(about: &About<'_>, message: &str) -> String {
    let body = Body::Error(ErrorJson { message });
    print(&Document::new(about, body, Vec::new()))
}

/// Puts remarks into a document that is an object.
fn with_notes(json: &str, notes: &[String]) -> String {
    match json.strip_prefix('{') {
        Some(rest) if !notes.is_empty() => {
            let notes = serde_json::to_string(notes).expect("strings only");
            format!("{{\n  \"notes\": {notes},{rest}")
        }
        _ => json.into(),
    }
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
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    #[serde(flatten)]
    body: Body<'a>,
    findings: Vec<FindingJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<&'a Compared>,
}

/// A field named after what it holds.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Body<'a> {
    Answer(AnswerJson<'a>),
    Info(&'a Info),
    Written(&'a Written),
    Rules(RulesJson<'a>),
    Growth(&'a Growth),
    Shapes(&'a Shapes),
    Dominators(&'a Dominators),
    Suspects(&'a Suspects),
    Diff(&'a Diff),
    Waste(&'a Waste),
    Error(ErrorJson<'a>),
    #[serde(untagged)]
    Empty {},
}

impl<'a> Document<'a> {
    fn new(about: &About<'a>, body: Body<'a>, findings: Vec<&'a heap::Finding>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            heaphound_version: env!("CARGO_PKG_VERSION"),
            command: about.command,
            heap: about.heap,
            notes: about.notes,
            body,
            findings: findings.into_iter().map(FindingJson::from).collect(),
            baseline: None,
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

impl<'a> AnswerJson<'a> {
    fn explanation(subject: &'a String, text: &'a str) -> Self {
        let text = text.trim_end();
        Self {
            question: "explain",
            arguments: std::slice::from_ref(subject),
            asker: None,
            yes: None,
            members: None,
            value: Some(text),
            expected: None,
            as_expected: true,
            message: text,
            evidence: Vec::new(),
            notes: &[],
        }
    }
}

#[derive(Serialize)]
struct RulesJson<'a> {
    count: usize,
    failed: usize,
    not_checked: usize,
    list: Vec<RuleJson<'a>>,
    notes: &'a [String],
}

impl<'a> From<&'a Rules> for RulesJson<'a> {
    fn from(rules: &'a Rules) -> Self {
        Self {
            count: rules.count(),
            failed: rules.failed(),
            not_checked: rules.not_checked(),
            list: rules.list.iter().map(RuleJson::from).collect(),
            notes: &rules.notes,
        }
    }
}

#[derive(Serialize)]
struct RuleJson<'a> {
    name: &'a str,
    place: &'a str,
    verdict: &'static str,
    message: &'a str,
    listed: &'a [String],
    left_out: usize,
    notes: &'a [String],
}

impl<'a> From<&'a Rule> for RuleJson<'a> {
    fn from(rule: &'a Rule) -> Self {
        Self {
            name: &rule.name,
            place: &rule.place,
            verdict: rule.verdict.word(),
            message: &rule.message,
            listed: &rule.listed,
            left_out: rule.left_out,
            notes: &rule.notes,
        }
    }
}

#[derive(Serialize)]
struct MembersJson<'a> {
    of: &'static str,
    count: usize,
    listed: Vec<&'a str>,
    left_out: usize,
}

impl<'a> From<&'a Members> for MembersJson<'a> {
    fn from(members: &'a Members) -> Self {
        Self {
            of: members.of.word(),
            count: members.count,
            listed: members.listed.iter().map(|it| it.name.as_str()).collect(),
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
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<KnownJson<'a>>,
}

#[derive(Serialize)]
struct KnownJson<'a> {
    since: &'a str,
    reason: &'a str,
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
            known: finding.known.as_ref().map(|it| KnownJson {
                since: &it.since,
                reason: &it.reason,
            }),
        }
    }
}

#[derive(Serialize)]
struct ObjectJson<'a> {
    name: &'a str,
    class: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    caption: Option<&'a str>,
}

impl<'a> From<&'a heap::Named> for ObjectJson<'a> {
    fn from(object: &'a heap::Named) -> Self {
        Self {
            name: &object.name,
            class: &object.class,
            caption: object.caption.as_deref(),
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

/// Serializes a path that a report has, if it has one.
pub(crate) fn path<S: Serializer>(path: &Option<heap::Path>, to: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(PathJson::from).serialize(to)
}

#[derive(Serialize)]
struct PathJson<'a> {
    /// None if the path starts at an object.
    root: Option<RootJson<'a>>,
    first: ObjectJson<'a>,
    hops: Vec<HopJson<'a>>,
    /// Of a very long path.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<LeftOutJson>,
}

/// Hops that are not listed.
#[derive(Serialize)]
struct LeftOutJson {
    after: usize,
    hops: usize,
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
            left_out: path.left_out.map(|it| LeftOutJson {
                after: it.after,
                hops: it.hops,
            }),
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

/// Returns the word for a kind of root, as in the names of roots.
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
