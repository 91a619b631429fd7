//! Findings as SARIF 2.1.0, for those who collect the results of analysers.
//!
//! A path is there twice: as a graph with a traversal, which is what it is, and as a code flow, which is what
//! viewers show. What is known is marked with its baseline state and a suppression, and is not left out. What
//! has vanished is a notification and not a result that is absent: services that do not know of baselines would
//! show it as found.
//!
//! Each location names a file, for some services refuse others: the rule's, or the heap's where there is no rule.

use heaphound_heap::finding::{self as heap, Evidence, Finding, Severity, Shows};
use serde::Serialize;

use crate::rules::Verdict;
use crate::{About, Report};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// As many of the objects that a finding is about are listed.
const MOST_OBJECTS: usize = 20;

/// Returns the findings of a command as SARIF. `heap` is the file that they are about.
pub fn report(about: &About<'_>, report: &Report) -> String {
    let mut run = Run::new(about.command, about.heap);
    for note in about.notes {
        run.notify("note", note, None, None);
    }
    match report.rules() {
        Some(rules) => {
            for rule in &rules.list {
                let place = Place::of(&rule.place);
                match &rule.verdict {
                    Verdict::Told => {}
                    Verdict::Holds => {
                        run.rule(&rule.name, None);
                    }
                    Verdict::Fails(finding) => run.finding(&rule.name, finding, report),
                    Verdict::NotChecked => {
                        let index = run.rule(&rule.name, None);
                        let mut message =
                            format!("`{}` was not checked: {}", rule.name, rule.message);
                        for note in &rule.notes {
                            message += &format!("\n{note}");
                        }
                        run.notify("error", &message, Some((index, &rule.name)), place);
                    }
                }
            }
            run.invocations[0].execution_successful = !rules.is_undecided();
            for note in &rules.notes {
                run.notify("note", note, None, None);
            }
        }
        None => {
            for finding in report.findings() {
                run.finding(&finding.kind, finding, report);
            }
        }
    }
    if let Some(baseline) = report.baseline() {
        for gone in &baseline.vanished {
            let place = Place {
                file: baseline.file.clone(),
                line: gone.line,
                column: 1,
            };
            let level = match baseline.is_strict {
                true => "error",
                false => "note",
            };
            run.notify(level, &gone.to_string(), None, Some(place));
        }
    }
    print(run)
}

/// Returns the error of a command that could not do its job, as SARIF.
pub fn error(about: &About<'_>, message: &str) -> String {
    let mut run = Run::new(about.command, about.heap);
    run.invocations[0].execution_successful = false;
    run.notify("error", message, None, None);
    print(run)
}

fn print(run: Run) -> String {
    let log = Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [run],
    };
    let mut text = serde_json::to_string_pretty(&log).expect("strings and numbers only");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    /// Distinguishes the results of several commands that are collected together.
    automation_details: Id,
    invocations: [Invocation; 1],
    artifacts: [Artifact; 1],
    results: Vec<ResultJson>,
    /// Columns of our places are characters.
    column_kind: &'static str,
    /// The heap, where a location needs a file.
    #[serde(skip)]
    heap: ArtifactLocation,
}

impl Run {
    fn new(command: &str, heap: &str) -> Self {
        let heap = ArtifactLocation { uri: uri(heap) };
        Self {
            tool: Tool {
                driver: Driver {
                    name: "heaphound",
                    semantic_version: env!("CARGO_PKG_VERSION"),
                    rules: Vec::new(),
                },
            },
            automation_details: Id {
                id: format!("heaphound/{command}/"),
            },
            invocations: [Invocation {
                execution_successful: true,
                tool_execution_notifications: Vec::new(),
            }],
            artifacts: [Artifact {
                location: heap.clone(),
                roles: ["analysisTarget"],
            }],
            results: Vec::new(),
            column_kind: "unicodeCodePoints",
            heap,
        }
    }

    /// Returns the place of a rule in the list. A statement without a name is known by its text, and may be
    /// there twice.
    fn rule(&mut self, id: &str, level: Option<&'static str>) -> usize {
        let rules = &mut self.tool.driver.rules;
        let known = rules.iter().position(|it| it.id == id);
        let index = known.unwrap_or_else(|| {
            rules.push(Rule {
                id: id.into(),
                default_configuration: None,
            });
            rules.len() - 1
        });
        if let Some(level) = level {
            rules[index].default_configuration = Some(Configuration { level });
        }
        index
    }

    fn notify(
        &mut self,
        level: &'static str,
        message: &str,
        rule: Option<(usize, &str)>,
        place: Option<Place>,
    ) {
        let locations = place.map(|it| Location {
            physical_location: self.physical(Some(it)),
            logical_locations: Vec::new(),
            message: None,
        });
        let associated_rule = rule.map(|(index, id)| Reference {
            id: id.into(),
            index,
        });
        let notification = Notification {
            level,
            message: Message::new(message),
            associated_rule,
            locations: locations.into_iter().collect(),
        };
        let invocation = &mut self.invocations[0];
        invocation.tool_execution_notifications.push(notification);
    }

    fn physical(&self, place: Option<Place>) -> PhysicalLocation {
        match place {
            Some(place) => PhysicalLocation {
                artifact_location: ArtifactLocation {
                    uri: uri(&place.file),
                },
                region: Some(Region {
                    start_line: place.line,
                    start_column: place.column,
                }),
            },
            None => PhysicalLocation {
                artifact_location: self.heap.clone(),
                region: None,
            },
        }
    }

    fn finding(&mut self, rule: &str, finding: &Finding, report: &Report) {
        let level = match finding.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let rule_index = self.rule(rule, Some(level));
        let place = || finding.place.as_deref().and_then(Place::of);
        let mut objects: Vec<LogicalLocation> = Vec::new();
        for object in finding.objects.iter().take(MOST_OBJECTS) {
            let object = LogicalLocation::object(object);
            // The standard wants a set. Captions, which may differ, are not in it.
            if !objects.contains(&object) {
                objects.push(object);
            }
        }
        let location = Location {
            physical_location: self.physical(place()),
            logical_locations: objects,
            message: None,
        };
        let mut flows = Vec::new();
        let (mut graphs, mut traversals) = (Vec::new(), Vec::new());
        for (nth, evidence) in finding.evidence.iter().enumerate() {
            let steps = Steps::of(nth, evidence);
            graphs.push(steps.graph(evidence));
            traversals.push(steps.traversal(evidence));
            flows.push(steps.flow(evidence, || self.physical(place())));
        }
        let suppressions = finding.known.iter().map(|known| Suppression {
            kind: "external",
            status: "accepted",
            justification: known.to_string(),
        });
        self.results.push(ResultJson {
            rule_id: rule.into(),
            rule_index,
            kind: "fail",
            level,
            message: Message::new(&words(finding)),
            locations: [location],
            partial_fingerprints: Fingerprints {
                heaphound: finding.fingerprint().to_string(),
            },
            code_flows: flows,
            graphs,
            graph_traversals: traversals,
            baseline_state: report.baseline().map(|_| match finding.known {
                Some(_) => "unchanged",
                None => "new",
            }),
            suppressions: report.baseline().map(|_| suppressions.collect()),
        });
    }
}

/// Returns what a finding says, with its paths: some viewers show nothing else.
fn words(finding: &Finding) -> String {
    let mut words = finding.message.clone();
    for Evidence { shows, path } in &finding.evidence {
        match shows {
            Shows::Way => words.push_str(&format!("\n  {path}")),
            shows => words.push_str(&format!("\n  {shows}: {path}")),
        }
    }
    for note in &finding.notes {
        words.push_str(&format!("\n  note: {note}"));
    }
    words
}

/// A path as objects, and how each is reached from the one before.
struct Steps<'a> {
    /// Which path of the finding it is. It is in the ids, for no two graphs of a result may be equal.
    nth: usize,
    /// The first one is the root, if there is one.
    objects: Vec<Stop<'a>>,
}

struct Stop<'a> {
    /// The slot that leads here, from the object before.
    slot: String,
    name: String,
    object: Option<&'a heap::Named>,
}

impl<'a> Steps<'a> {
    fn of(nth: usize, evidence: &'a Evidence) -> Self {
        let path = &evidence.path;
        let mut objects = Vec::new();
        if let Some(root) = &path.root {
            objects.push(Stop {
                slot: String::new(),
                name: root.to_string(),
                object: None,
            });
        }
        objects.push(Stop {
            slot: String::new(),
            name: path.first.to_string(),
            object: Some(&path.first),
        });
        for (at, hop) in path.hops.iter().enumerate() {
            let slot = match path.left_out.filter(|it| it.after == at) {
                Some(left_out) => format!("… {} hops are not listed, then {hop}", left_out.hops),
                None => hop.to_string(),
            };
            objects.push(Stop {
                slot,
                name: hop.to.to_string(),
                object: Some(&hop.to),
            });
        }
        Self { nth, objects }
    }

    fn graph(&self, evidence: &Evidence) -> Graph {
        let nodes = self.objects.iter().enumerate().map(|(at, stop)| Node {
            id: self.node(at),
            label: Message::new(&stop.name),
        });
        let edges = self.objects.iter().enumerate().skip(1);
        let edges = edges.map(|(at, stop)| Edge {
            id: self.edge(at),
            source_node_id: self.node(at - 1),
            target_node_id: self.node(at),
            label: (!stop.slot.is_empty()).then(|| Message::new(&stop.slot)),
        });
        Graph {
            description: Message::label(evidence),
            nodes: nodes.collect(),
            edges: edges.collect(),
        }
    }

    fn node(&self, at: usize) -> String {
        format!("{}.n{at}", self.nth)
    }

    /// The edge that leads to an object.
    fn edge(&self, at: usize) -> String {
        format!("{}.e{at}", self.nth)
    }

    fn traversal(&self, evidence: &Evidence) -> Traversal {
        let edges = (1..self.objects.len()).map(|at| EdgeTraversal {
            edge_id: self.edge(at),
        });
        Traversal {
            result_graph_index: self.nth,
            description: Message::label(evidence),
            edge_traversals: edges.collect(),
        }
    }

    fn flow(&self, evidence: &Evidence, physical: impl Fn() -> PhysicalLocation) -> CodeFlow {
        let locations = self.objects.iter().map(|stop| {
            let text = match stop.slot.as_str() {
                "" => stop.name.clone(),
                slot => format!("{slot} → {}", stop.name),
            };
            let object = stop.object.map(LogicalLocation::object);
            ThreadFlowLocation {
                location: Location {
                    physical_location: physical(),
                    logical_locations: object.into_iter().collect(),
                    message: Some(Message::new(&text)),
                },
            }
        });
        CodeFlow {
            message: Message::label(evidence),
            thread_flows: [ThreadFlow {
                locations: locations.collect(),
            }],
        }
    }
}

/// A place in a file: `heap.deal:5:1`.
struct Place {
    file: String,
    line: usize,
    column: usize,
}

impl Place {
    /// Reads a place. A statement on the command line is in no file.
    fn of(text: &str) -> Option<Self> {
        let mut parts = text.rsplitn(3, ':');
        let column = parts.next()?.parse().ok()?;
        let line = parts.next()?.parse().ok()?;
        let file = parts.next().filter(|it| *it != "statement")?.into();
        Some(Self { file, line, column })
    }
}

/// Returns a path as a URI; one that is relative stays so.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(byte as char);
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_configuration: Option<Configuration>,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
struct Id {
    id: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Notification {
    level: &'static str,
    message: Message,
    #[serde(skip_serializing_if = "Option::is_none")]
    associated_rule: Option<Reference>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    locations: Vec<Location>,
}

#[derive(Serialize)]
struct Reference {
    id: String,
    index: usize,
}

#[derive(Serialize)]
struct Artifact {
    location: ArtifactLocation,
    roles: [&'static str; 1],
}

#[derive(Clone, Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultJson {
    rule_id: String,
    rule_index: usize,
    kind: &'static str,
    level: &'static str,
    message: Message,
    locations: [Location; 1],
    partial_fingerprints: Fingerprints,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    code_flows: Vec<CodeFlow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    graphs: Vec<Graph>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    graph_traversals: Vec<Traversal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_state: Option<&'static str>,
    /// Where a baseline was looked at, an empty list says that this is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    suppressions: Option<Vec<Suppression>>,
}

#[derive(Serialize)]
struct Fingerprints {
    /// The number is raised if the same finding gets another one.
    #[serde(rename = "heaphound/v1")]
    heaphound: String,
}

#[derive(Serialize)]
struct Suppression {
    kind: &'static str,
    status: &'static str,
    justification: String,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

impl Message {
    /// A text as it is: braces would be read as the place of an argument, and brackets with parentheses
    /// behind them as a link.
    fn new(text: &str) -> Self {
        let text = text.replace('{', "{{").replace('}', "}}");
        let text = text.replace("](", "\\](");
        Self { text }
    }

    /// What a path shows, if that is said.
    fn label(evidence: &Evidence) -> Option<Self> {
        let label = evidence.shows.to_string();
        (!label.is_empty()).then(|| Self::new(&label))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<LogicalLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
    start_column: usize,
}

#[derive(PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation {
    name: String,
    fully_qualified_name: String,
    kind: &'static str,
}

impl LogicalLocation {
    fn object(named: &heap::Named) -> Self {
        Self {
            name: named.to_string(),
            fully_qualified_name: named.name.clone(),
            kind: "object",
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CodeFlow {
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
    thread_flows: [ThreadFlow; 1],
}

#[derive(Serialize)]
struct ThreadFlow {
    locations: Vec<ThreadFlowLocation>,
}

#[derive(Serialize)]
struct ThreadFlowLocation {
    location: Location,
}

#[derive(Serialize)]
struct Graph {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<Message>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

#[derive(Serialize)]
struct Node {
    id: String,
    label: Message,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Edge {
    id: String,
    source_node_id: String,
    target_node_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Traversal {
    result_graph_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<Message>,
    edge_traversals: Vec<EdgeTraversal>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EdgeTraversal {
    edge_id: String,
}
