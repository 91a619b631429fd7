//! Writing a heap as a heap snapshot, which Chrome's tools and memlab open.
//!
//! Everything stands where V8 puts it, for their readers look for it there: all parts in V8's order, the numbers of nodes and
//! edges in the head, the root as the first node and with the id 1. What came from a snapshot is written as it was: functions,
//! code, V8's own objects, the pairs of weak maps, the groups of roots. Other heaps have groups of their own, which our reader
//! understands (`roots.rs`), and their statics are globals beside.
//!
//! Plain data has no place in a snapshot, but for the text of strings.

use std::collections::BTreeMap;
use std::io::{self, Write};

use foldhash::{HashMap, HashSet};
use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::{HeapView, Place, Strength, live_objects};
use heaphound_heap::{ClassInfo, FieldKind, Root, RootKind};

use super::build::{CAPTION, NAMES};
use super::classes::{DETACHED, DETACHED_PREFIX, SYSTEM};
use super::pairs::PAIR;
use super::roots::{FINALIZERS, GC_ROOTS, HANDLES, OTHER_HANDLES, STACK_OF, STACKS, STATICS};
use super::roots::{THREAD, THREAD_OBJECTS};
use crate::Progress;

/// The head, as Node 20 writes it.
const META: &str = r#"{"node_fields":["type","name","id","self_size","edge_count","trace_node_id","detachedness"],"node_types":[["hidden","array","string","object","code","closure","regexp","number","native","synthetic","concatenated string","sliced string","symbol","bigint","object shape","wasm object"],"string","number","number","number","number","number"],"edge_fields":["type","name_or_index","to_node"],"edge_types":[["context","element","property","internal","hidden","shortcut","weak"],"string_or_number","node"],"trace_function_info_fields":["function_id","name","script_name","script_id","line","column"],"trace_node_fields":["id","function_info_index","count","size","children"],"sample_fields":["timestamp_us","last_assigned_id"],"location_fields":["object_index","script_id","line","column"]}"#;

const NODE_FIELDS: u64 = 7;
/// The name of a node whose name is not known. Which strings those are is said beside.
const UNKNOWN: &str = "(not known)";
/// Ids above this are not exact in JavaScript.
const MOST_ID: u64 = 1 << 53;
/// How many nodes are written between two calls of `progress`.
const STEP: u32 = 1 << 16;

/// The kinds of nodes that are written, by their places in the head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Node {
    Hidden = 0,
    Array = 1,
    String = 2,
    Object = 3,
    Code = 4,
    Closure = 5,
    RegExp = 6,
    Number = 7,
    Native = 8,
    Synthetic = 9,
    ConsString = 10,
    SlicedString = 11,
    Symbol = 12,
    BigInt = 13,
}

/// The kinds of edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edge {
    Element = 1,
    Property = 2,
    Internal = 3,
    Shortcut = 5,
    Weak = 6,
}

/// What V8 calls the slots that are its own. A program's are properties.
const INTERNAL: [&str; 24] = [
    "bound_function",
    "buffer",
    "code",
    "constructor_or_back_pointer",
    "context",
    "data",
    "descriptors",
    "elements",
    "extension",
    "feedback_cell",
    "initial_map",
    "map",
    "native_context",
    "outer_scope_info",
    "previous",
    "properties",
    "prototype_or_initial_map",
    "resource",
    "scope_info",
    "shared",
    "symbol",
    "table",
    "value",
    "wrapped",
];

/// Writes a heap as a heap snapshot. `progress` is told how many objects are written, and of how many.
///
/// # Errors
/// If it cannot be written.
pub fn write_v8(heap: &Snapshot, mut out: impl Write, progress: Progress<'_>) -> io::Result<()> {
    let writer = Writer::new(heap);
    writer.write(&mut out, progress)
}

struct Writer<'h> {
    heap: &'h Snapshot,
    strings: Strings,
    /// By class.
    classes: Vec<ClassAs>,
    /// The root, and groups of roots.
    groups: Vec<Group>,
    /// The node of each object; none for a pair that is written as edges.
    node_of: Vec<u32>,
    ids: Ids,
    /// The edges of pairs: from, name and to, in order.
    pair_edges: Vec<(u32, u32, u32)>,
    /// By object, the string that names its node, where its class does not tell.
    names: HashMap<u32, u32>,
    /// By class, the string that names nodes whose text or name is not known.
    unknown: BTreeMap<usize, u32>,
}

/// How the objects of a class are written.
struct ClassAs {
    node: Node,
    name: u32,
    is_detached: bool,
    /// The field that becomes the node's name, and no edge.
    caption: Option<u32>,
    fields: Vec<(Edge, u32)>,
}

/// A synthetic node, and its edges.
struct Group {
    name: u32,
    edges: Vec<(Edge, u32, Target)>,
}

#[derive(Clone, Copy)]
enum Target {
    Group(u32),
    Object(u32),
}

const NO_NODE: u32 = u32::MAX;

/// The ids of nodes.
enum Ids {
    /// The objects have the numbers of their names.
    Numbers,
    /// They are counted from here.
    From(u64),
}

/// Strings by their text, and in order.
#[derive(Default)]
struct Strings {
    by_text: HashMap<Box<[u8]>, u32>,
    list: Vec<Box<[u8]>>,
}

impl Strings {
    fn add(&mut self, text: &str) -> u32 {
        if let Some(&at) = self.by_text.get(text.as_bytes()) {
            return at;
        }
        let at = self.list.len() as u32;
        self.list.push(text.as_bytes().into());
        self.by_text.insert(text.as_bytes().into(), at);
        at
    }

    /// A string that is no other, whatever its text.
    fn add_own(&mut self, text: &str) -> u32 {
        self.list.push(text.as_bytes().into());
        self.list.len() as u32 - 1
    }
}

impl<'h> Writer<'h> {
    fn new(heap: &'h Snapshot) -> Self {
        let mut writer = Self {
            heap,
            strings: Strings::default(),
            classes: Vec::new(),
            groups: Vec::new(),
            node_of: Vec::new(),
            ids: Ids::Numbers,
            pair_edges: Vec::new(),
            names: HashMap::default(),
            unknown: BTreeMap::new(),
        };
        writer.strings.add("");
        writer.plan_classes();
        writer.plan_groups();
        let folded = writer.folded_pairs();
        let groups = writer.groups.len() as u32;
        let mut next = groups;
        let node = |object: ObjectId| match folded.contains_key(&object.0) {
            true => NO_NODE,
            false => {
                next += 1;
                next - 1
            }
        };
        writer.node_of = heap.objects().map(node).collect();
        writer.plan_ids();
        writer.plan_pairs(&folded);
        writer.plan_names();
        writer
    }

    /// Decides how the objects of each class are written.
    fn plan_classes(&mut self) {
        let heap = self.heap;
        let classes = heap.classes();
        let id_of = |name: &str| classes.iter().find(|it| it.is_interface && it.name == name);
        let (detached, system) = (id_of(DETACHED), id_of(SYSTEM));
        let implements = |class: &ClassInfo, it: Option<&ClassInfo>| {
            it.is_some_and(|it| class.interfaces.contains(&it.id))
        };
        for class in classes {
            let above = class.superclass.map(|it| heap.class(it));
            let above = above.filter(|above| {
                let name = class.name.strip_prefix(DETACHED_PREFIX);
                detached.is_some() && name == Some(&above.name)
            });
            let (is_detached, shown) = (above.is_some(), above.unwrap_or(class));
            // Only what came from V8 has its interfaces; names mean nothing else elsewhere.
            let from_v8 = system.is_some();
            let (node, has_name) = match shown.name.as_str() {
                "(concatenated string)" if from_v8 => (Node::ConsString, false),
                "(sliced string)" if from_v8 => (Node::SlicedString, false),
                _ if class.elements == Some(Elements::Text) => (Node::String, false),
                name if is_detached => (Node::Native, name.starts_with('<')),
                _ if !from_v8 => (Node::Object, false),
                "Function" => (Node::Closure, true),
                "RegExp" => (Node::RegExp, true),
                "(compiled code)" => (Node::Code, true),
                "(array)" => (Node::Array, true),
                "(symbol)" => (Node::Symbol, true),
                "(bigint)" => (Node::BigInt, true),
                "(number)" => (Node::Number, false),
                NAMES => (Node::Synthetic, false),
                name if name.starts_with('<') => (Node::Native, true),
                _ if implements(class, system) => (Node::Hidden, false),
                _ => (Node::Object, false),
            };
            let caption = class.caption.filter(|&at| {
                let field = &class.fields[at as usize];
                has_name && field.name == CAPTION && field.kind == FieldKind::Weak
            });
            let name = match node {
                _ if has_name && node != Node::Native => 0,
                Node::Number => self.strings.add("heap number"),
                _ => self.strings.add(&shown.name),
            };
            let is_own = matches!(node, Node::Hidden | Node::Array | Node::Code | Node::String);
            let mut fields = Vec::new();
            for field in &class.fields {
                let edge = match field.kind {
                    // V8 makes it up, as a property.
                    FieldKind::Weak if from_v8 && field.name == "__proto__" => Edge::Property,
                    FieldKind::Weak | FieldKind::Dependent => Edge::Weak,
                    _ if from_v8 && (is_own || INTERNAL.contains(&field.name.as_str())) => {
                        Edge::Internal
                    }
                    _ => Edge::Property,
                };
                fields.push((edge, self.strings.add(&field.name)));
            }
            self.classes.push(ClassAs {
                node,
                name,
                is_detached,
                caption,
                fields,
            });
        }
    }

    /// Decides which synthetic nodes there are, and what they lead to.
    fn plan_groups(&mut self) {
        self.groups.push(Group {
            name: 0,
            edges: Vec::new(),
        });
        let gc_roots = self.group(GC_ROOTS);
        self.groups[0]
            .edges
            .push((Edge::Element, 1, Target::Group(gc_roots)));
        for (root, object) in self.heap.roots() {
            self.plan_root(root, object.0);
        }
        for group in 2..self.groups.len() as u32 {
            let edges = &mut self.groups[gc_roots as usize].edges;
            edges.push((Edge::Element, group - 1, Target::Group(group)));
        }
    }

    /// The group of that name.
    fn group(&mut self, name: &str) -> u32 {
        let name = self.strings.add(name);
        if let Some(at) = self.groups.iter().skip(1).position(|it| it.name == name) {
            return at as u32 + 1;
        }
        let edges = Vec::new();
        self.groups.push(Group { name, edges });
        self.groups.len() as u32 - 1
    }

    fn plan_root(&mut self, root: &Root, object: u32) {
        let to = Target::Object(object);
        let class = self.heap.class(self.heap.class_of(ObjectId(object)));
        // In V8's own snapshots, these have the names of their classes.
        let from_v8 = self
            .heap
            .classes()
            .iter()
            .any(|it| it.is_interface && it.name == SYSTEM);
        let is_named_so = from_v8 && root.name == class.name && root.index == 0;
        let as_global = root.kind == RootKind::Static;
        let as_other = root.kind == RootKind::Other && is_named_so;
        if as_global || as_other {
            let next = self.groups[0].edges.len() as u32 + 1;
            let edge = match as_global {
                true => (Edge::Shortcut, self.strings.add(&next.to_string()), to),
                false => (Edge::Element, next, to),
            };
            self.groups[0].edges.push(edge);
            if is_named_so {
                return;
            }
        }
        let scope = root.scope.as_deref();
        let of_thread = format!("{STACK_OF}{})", root.name);
        let (group, label) = match root.kind {
            RootKind::Static => (STATICS, Some(root.name.as_str())),
            RootKind::ThreadObject => (THREAD_OBJECTS, Some(root.name.as_str())),
            RootKind::ThreadStack => match scope.filter(|it| STACKS.contains(it)) {
                Some(group) if root.name == THREAD => (group, None),
                _ => (of_thread.as_str(), scope),
            },
            RootKind::Handle if HANDLES.contains(&root.name.as_str()) => {
                (root.name.as_str(), scope)
            }
            RootKind::Handle => (OTHER_HANDLES, Some(root.name.as_str())),
            RootKind::Finalizer => (FINALIZERS, Some(root.name.as_str())),
            RootKind::Other => (root.name.as_str(), scope),
        };
        let group = self.group(group) as usize;
        let label = match label {
            Some(label) => self.strings.add(label),
            None => self
                .strings
                .add(&(self.groups[group].edges.len() + 1).to_string()),
        };
        self.groups[group].edges.push((Edge::Internal, label, to));
    }

    /// The pairs that one object alone holds, each with that object: they become edges again.
    fn folded_pairs(&self) -> HashMap<u32, u32> {
        let heap = self.heap;
        let class = heap.classes().iter().find(|it| {
            let kinds: Vec<FieldKind> = it.fields.iter().map(|it| it.kind).collect();
            it.name == PAIR && kinds == [FieldKind::Weak, FieldKind::Dependent]
        });
        let Some(class) = class.map(|it| it.id) else {
            return HashMap::default();
        };
        let mut holders: HashMap<u32, u32> = HashMap::default();
        for object in heap.objects() {
            heap.for_each_edge(object, |place, _, to| {
                if heap.class_of(to) != class {
                    return;
                }
                let is_new = !holders.contains_key(&to.0);
                let holds = is_new && matches!(place, Place::Element(_));
                holders.insert(to.0, if holds { object.0 } else { NO_NODE });
            });
        }
        for (_, object) in heap.roots() {
            holders.remove(&object.0);
        }
        // A pair that holds a pair is an object.
        holders.retain(|_, holder| *holder != NO_NODE && heap.class_of(ObjectId(*holder)) != class);
        holders
    }

    fn plan_ids(&mut self) {
        let first = self.groups.len() as u64 * 2 + 1;
        let mut numbers: Vec<u64> = self.heap.numbers().to_vec();
        numbers.sort_unstable();
        let is_own = numbers.windows(2).all(|two| two[0] != two[1]);
        let fits = |&it: &u64| it >= first && it < MOST_ID;
        self.ids = match !numbers.is_empty() && is_own && numbers.iter().all(fits) {
            true => Ids::Numbers,
            false => Ids::From(first),
        };
    }

    fn id_of(&self, object: u32) -> u64 {
        match self.ids {
            Ids::Numbers => self.heap.number_of(ObjectId(object)),
            Ids::From(first) => first + 2 * object as u64,
        }
    }

    /// Finds the edges of pairs: from the table and from the key to the value.
    fn plan_pairs(&mut self, folded: &HashMap<u32, u32>) {
        let heap = self.heap;
        let has_dependent = |class: &ClassInfo| {
            let mut fields = class.fields.iter();
            fields.any(|it| it.kind == FieldKind::Dependent)
        };
        let dependent: Vec<bool> = heap.classes().iter().map(has_dependent).collect();
        if !dependent.contains(&true) {
            return;
        }
        // Also what only waits for its finalizer: its group is one of roots there. Rarely asked for.
        let mut live: Option<HashSet<ObjectId>> = None;
        for object in heap.objects() {
            if !dependent[heap.class_of(object).0 as usize - 1] {
                continue;
            }
            let table = folded.get(&object.0).copied().unwrap_or(object.0);
            let (mut keys, mut values) = (Vec::new(), Vec::new());
            heap.for_each_edge(object, |_, strength, to| match strength {
                Strength::Weak => keys.push(to.0),
                Strength::Dependent => values.push(to.0),
                Strength::Strong => {}
            });
            // Several keys must live together, which V8 has no words for: the first stands for them if they do, and
            // nothing is told if they do not.
            let mut lives = |key: &u32| {
                let live = live.get_or_insert_with(|| live_objects(heap).into_iter().collect());
                live.contains(&ObjectId(*key))
            };
            let Some(&key) = keys.first() else { continue };
            if keys.len() > 1 && !keys.iter().all(&mut lives) {
                continue;
            }
            for value in values {
                let name = |object: u32| &heap.class(heap.class_of(ObjectId(object))).name;
                let text = format!(
                    "{} / part of key ({} @{}) -> value ({} @{}) pair in WeakMap (table @{})",
                    self.pair_edges.len() + 1,
                    name(key),
                    self.id_of(key),
                    name(value),
                    self.id_of(value),
                    self.id_of(table),
                );
                let text = self.strings.add(&text);
                self.pair_edges.push((table, text, value));
                self.pair_edges.push((key, text, value));
            }
        }
        self.pair_edges.sort_unstable();
    }

    /// Finds the names of nodes that their classes do not tell.
    fn plan_names(&mut self) {
        let heap = self.heap;
        for object in heap.objects() {
            let class = heap.class_of(object).0 as usize - 1;
            let of_class = &self.classes[class];
            let (text, is_there) = match (of_class.node, of_class.caption) {
                (Node::String, _) => (heap.text_of(object), true),
                (_, Some(field)) => {
                    let name = heap.slot(object, field as usize);
                    let is_cut = heap.is_cut(object, Place::Field(field));
                    (
                        name.and_then(|it| heap.text_of(it)),
                        name.is_some() || is_cut,
                    )
                }
                _ => (None, false),
            };
            let name = match text {
                Some(text) => self.strings.add(&text),
                None if is_there => {
                    // An element is of a class by its name.
                    let told = match of_class.node {
                        Node::Native => {
                            String::from_utf8_lossy(&self.strings.list[of_class.name as usize])
                        }
                        _ => UNKNOWN.into(),
                    };
                    let told = told.into_owned();
                    let strings = &mut self.strings;
                    let unknown = self.unknown.entry(class);
                    *unknown.or_insert_with(|| strings.add_own(&told))
                }
                None => continue,
            };
            self.names.insert(object.0, name);
        }
    }

    /// Calls `f` with the edges of an object: kind, name or index, and node.
    fn for_each_edge(&self, object: u32, mut f: impl FnMut(Edge, u64, u32)) {
        let heap = self.heap;
        let class = &self.classes[heap.class_of(ObjectId(object)).0 as usize - 1];
        heap.for_each_edge(ObjectId(object), |place, _, to| {
            let node = self.node_of[to.0 as usize];
            if node == NO_NODE {
                return;
            }
            match place {
                Place::Field(at) if class.caption == Some(at) => {}
                Place::Field(at) => {
                    let (kind, name) = class.fields[at as usize];
                    f(kind, name as u64, node);
                }
                Place::Element(at) => f(Edge::Element, at as u64, node),
            }
        });
        let first = self.pair_edges.partition_point(|it| it.0 < object);
        let own = self.pair_edges[first..].iter();
        for &(_, name, to) in own.take_while(|it| it.0 == object) {
            let node = self.node_of[to as usize];
            if node != NO_NODE {
                f(Edge::Internal, name as u64, node);
            }
        }
    }

    /// Whether a class extends another, for which V8 has no words but where nodes are detached.
    fn extends(&self) -> bool {
        let mut classes = self.heap.classes().iter();
        classes.any(|it| it.superclass.is_some() && !it.name.starts_with(DETACHED_PREFIX))
    }

    fn write(&self, out: &mut impl Write, progress: Progress<'_>) -> io::Result<()> {
        let written = || (0u32..).zip(&self.node_of).filter(|it| *it.1 != NO_NODE);
        let written = || written().map(|(object, _)| object);
        let all = self.node_of.len() as u64 * 2;
        let mut nodes = self.groups.len();
        let mut edges: usize = self.groups.iter().map(|it| it.edges.len()).sum();
        for object in written() {
            nodes += 1;
            self.for_each_edge(object, |_, _, _| edges += 1);
        }
        write!(
            out,
            "{{\"snapshot\":{{\"meta\":{META},\"node_count\":{nodes},\"edge_count\":{edges},\"trace_function_count\":0"
        )?;
        // Others read over what follows.
        let mut lacks = self.heap.lacks();
        lacks.superclasses |= self.extends();
        let lacks: Vec<String> = lacks.words().map(|it| format!("\"{it}\"")).collect();
        let unknown: Vec<String> = self.unknown.values().map(u32::to_string).collect();
        for (key, list) in [("lacks", lacks), ("unknown", unknown)] {
            if !list.is_empty() {
                write!(out, ",\"heaphound_{key}\":[{}]", list.join(","))?;
            }
        }
        if !self.heap.notes().is_empty() {
            let mut notes = Vec::new();
            for note in self.heap.notes() {
                notes.push(if notes.is_empty() { b'[' } else { b',' });
                push_string(&mut notes, note.as_bytes());
            }
            out.write_all(b",\"heaphound_notes\":")?;
            out.write_all(&notes)?;
            out.write_all(b"]")?;
        }
        out.write_all(b"},\n\"nodes\":[")?;
        for (at, group) in self.groups.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let (kind, id) = (Node::Synthetic as u8, 2 * at + 1);
            let (name, edges) = (group.name, group.edges.len());
            writeln!(out, "{comma}{kind},{name},{id},0,{edges},0,0")?;
        }
        for object in written() {
            self.write_node(object, out)?;
            if object.is_multiple_of(STEP) {
                progress(object as u64, all);
            }
        }
        out.write_all(b"],\n\"edges\":[")?;
        let mut comma = "";
        for group in &self.groups {
            for &(kind, name, to) in &group.edges {
                let to = match to {
                    Target::Group(group) => group,
                    Target::Object(object) => self.node_of[object as usize],
                };
                let to = to as u64 * NODE_FIELDS;
                writeln!(out, "{comma}{},{name},{to}", kind as u8)?;
                comma = ",";
            }
        }
        let mut line = Vec::new();
        for object in written() {
            line.clear();
            self.for_each_edge(object, |kind, name, to| {
                line.extend_from_slice(comma.as_bytes());
                comma = ",";
                line.push(b'0' + kind as u8);
                line.push(b',');
                push_number(&mut line, name);
                line.push(b',');
                push_number(&mut line, to as u64 * NODE_FIELDS);
                line.push(b'\n');
            });
            out.write_all(&line)?;
            if object.is_multiple_of(STEP) {
                progress(all / 2 + object as u64, all);
            }
        }
        out.write_all(
            b"],\n\"trace_function_infos\":[],\n\"trace_tree\":[],\n\"samples\":[],\n\"locations\":[],\n\"strings\":[",
        )?;
        for (at, text) in self.strings.list.iter().enumerate() {
            line.clear();
            if at > 0 {
                line.extend_from_slice(b",\n");
            }
            push_string(&mut line, text);
            out.write_all(&line)?;
        }
        out.write_all(b"]}\n")?;
        progress(all, all);
        Ok(())
    }

    fn write_node(&self, object: u32, out: &mut impl Write) -> io::Result<()> {
        let id = ObjectId(object);
        let class = &self.classes[self.heap.class_of(id).0 as usize - 1];
        let name = self.names.get(&object).copied().unwrap_or(class.name);
        let mut edges = 0u64;
        self.for_each_edge(object, |_, _, _| edges += 1);
        let mut line = vec![b','];
        let detached = if class.is_detached { 2 } else { 0 };
        let row = [
            class.node as u64,
            name as u64,
            self.id_of(object),
            self.heap.bytes_of(id) as u64,
            edges,
            0,
            detached,
        ];
        for (at, number) in row.into_iter().enumerate() {
            if at > 0 {
                line.push(b',');
            }
            push_number(&mut line, number);
        }
        line.push(b'\n');
        out.write_all(&line)
    }
}

fn push_number(line: &mut Vec<u8>, mut number: u64) {
    let start = line.len();
    loop {
        line.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    line[start..].reverse();
}

/// Writes a string as V8 does: in ASCII.
fn push_string(line: &mut Vec<u8>, text: &[u8]) {
    line.push(b'"');
    for c in String::from_utf8_lossy(text).chars() {
        match c {
            '"' => line.extend_from_slice(b"\\\""),
            '\\' => line.extend_from_slice(b"\\\\"),
            '\n' => line.extend_from_slice(b"\\n"),
            ' '..='~' => line.push(c as u8),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    line.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
    line.push(b'"');
}
