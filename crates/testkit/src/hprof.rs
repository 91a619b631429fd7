//! Writes dumps of JVMs byte by byte, honest ones and others.
//!
//! ```
//! use heaphound_testkit::hprof::{Field, Hprof};
//!
//! let mut dump = Hprof::new("1.0.2", 8);
//! let node = dump.class("shop/Node", 0, &[("next", Field::Object(0))]);
//! dump.segment(|heap| {
//!     heap.classes();
//!     heap.instance(0x100, node, &[Field::Object(0x108)]);
//!     heap.instance(0x108, node, &[Field::Object(0)]);
//!     heap.root(0xff, 0x100, &[]);
//! });
//! assert!(dump.finish().starts_with(b"JAVA PROFILE 1.0.2\0"));
//! ```

/// A dump that is being written.
#[derive(Clone, Debug)]
pub struct Hprof {
    bytes: Vec<u8>,
    id_bytes: usize,
    names: Vec<String>,
    classes: Vec<Class>,
}

#[derive(Clone, Debug)]
struct Class {
    id: u64,
    superclass: u64,
    loader: u64,
    fields: Vec<(u64, Field)>,
    statics: Vec<(u64, Field)>,
}

/// A field or an element: its type, and a value of it.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Field {
    Object(u64),
    Boolean(u8),
    Char(u16),
    Float(f32),
    Double(f64),
    Byte(i8),
    Short(i16),
    Int(i32),
    Long(i64),
}

impl Field {
    /// The number of its type.
    pub fn tag(self) -> u8 {
        match self {
            Self::Object(_) => 2,
            Self::Boolean(_) => 4,
            Self::Char(_) => 5,
            Self::Float(_) => 6,
            Self::Double(_) => 7,
            Self::Byte(_) => 8,
            Self::Short(_) => 9,
            Self::Int(_) => 10,
            Self::Long(_) => 11,
        }
    }

    fn put(self, id_bytes: usize, out: &mut Vec<u8>) {
        match self {
            Self::Object(id) => put_id(out, id, id_bytes),
            Self::Boolean(value) => out.push(value),
            Self::Char(value) => out.extend(value.to_be_bytes()),
            Self::Float(value) => out.extend(value.to_be_bytes()),
            Self::Double(value) => out.extend(value.to_be_bytes()),
            Self::Byte(value) => out.extend(value.to_be_bytes()),
            Self::Short(value) => out.extend(value.to_be_bytes()),
            Self::Int(value) => out.extend(value.to_be_bytes()),
            Self::Long(value) => out.extend(value.to_be_bytes()),
        }
    }
}

fn put_id(out: &mut Vec<u8>, id: u64, id_bytes: usize) {
    out.extend(&id.to_be_bytes()[8 - id_bytes..]);
}

impl Hprof {
    /// A dump of that version (`1.0.2`), with ids of `id_bytes` bytes.
    pub fn new(version: &str, id_bytes: usize) -> Self {
        let mut bytes = format!("JAVA PROFILE {version}\0").into_bytes();
        bytes.extend((id_bytes as u32).to_be_bytes());
        bytes.extend(1_700_000_000_000u64.to_be_bytes());
        Self {
            bytes,
            id_bytes,
            names: Vec::new(),
            classes: Vec::new(),
        }
    }

    /// Adds any record.
    pub fn record(&mut self, tag: u8, content: &[u8]) {
        self.bytes.push(tag);
        self.bytes.extend([0; 4]);
        self.bytes.extend((content.len() as u32).to_be_bytes());
        self.bytes.extend(content);
    }

    /// Adds a name, unless it is there. Returns its id.
    pub fn name(&mut self, name: &str) -> u64 {
        let known = self.names.iter().position(|it| it == name);
        let place = known.unwrap_or_else(|| {
            self.names.push(name.into());
            let mut content = Vec::new();
            put_id(
                &mut content,
                0x9000 + self.names.len() as u64 - 1,
                self.id_bytes,
            );
            content.extend(name.as_bytes());
            self.record(0x01, &content);
            self.names.len() - 1
        });
        0x9000 + place as u64
    }

    /// Adds a loaded class as the virtual machine names it (`java/lang/String`, `[I`), with a superclass, or 0, and its own fields.
    /// Returns its id; [`Heap::classes`] writes the rest.
    pub fn class(&mut self, name: &str, superclass: u64, fields: &[(&str, Field)]) -> u64 {
        let name = self.name(name);
        let fields = fields.iter().map(|&(name, of)| (self.name(name), of));
        let fields = fields.collect();
        let id = 0x1000 + 0x10 * self.classes.len() as u64;
        let mut content = (self.classes.len() as u32 + 1).to_be_bytes().to_vec();
        put_id(&mut content, id, self.id_bytes);
        content.extend([0; 4]);
        put_id(&mut content, name, self.id_bytes);
        self.record(0x02, &content);
        self.classes.push(Class {
            id,
            superclass,
            loader: 0,
            fields,
            statics: Vec::new(),
        });
        id
    }

    /// Gives a class a static field.
    pub fn set_static(&mut self, class: u64, name: &str, value: Field) {
        let name = self.name(name);
        self.class_mut(class).statics.push((name, value));
    }

    /// Says which object loaded a class.
    pub fn set_loader(&mut self, class: u64, loader: u64) {
        self.class_mut(class).loader = loader;
    }

    fn class_mut(&mut self, class: u64) -> &mut Class {
        let mut classes = self.classes.iter_mut();
        classes
            .find(|it| it.id == class)
            .expect("the class is there")
    }

    /// Adds a stack trace of a thread: methods of classes (by their numbers from 1), with files and lines. Returns nothing; its number
    /// is given.
    pub fn trace(&mut self, number: u32, thread: u32, frames: &[(&str, u32, &str, i32)]) {
        let mut ids = Vec::new();
        for (nth, &(method, class, file, line)) in frames.iter().enumerate() {
            let id = 0x5000 + 0x100 * number as u64 + nth as u64;
            let names = [self.name(method), self.name("()V"), self.name(file)];
            let mut content = Vec::new();
            put_id(&mut content, id, self.id_bytes);
            for name in names {
                put_id(&mut content, name, self.id_bytes);
            }
            content.extend(class.to_be_bytes());
            content.extend(line.to_be_bytes());
            self.record(0x04, &content);
            ids.push(id);
        }
        let mut content = Vec::new();
        for number in [number, thread, ids.len() as u32] {
            content.extend(number.to_be_bytes());
        }
        for id in ids {
            put_id(&mut content, id, self.id_bytes);
        }
        self.record(0x05, &content);
    }

    /// Adds a segment of the heap.
    pub fn segment(&mut self, write: impl FnOnce(&mut Heap<'_>)) {
        self.heap(0x1c, write);
    }

    /// Adds a heap: 0x0c all in one record, 0x1c a segment.
    pub fn heap(&mut self, tag: u8, write: impl FnOnce(&mut Heap<'_>)) {
        let mut heap = Heap {
            dump: self,
            bytes: Vec::new(),
        };
        write(&mut heap);
        let bytes = heap.bytes;
        self.record(tag, &bytes);
    }

    /// Adds the record that ends segments.
    pub fn end(&mut self) {
        self.record(0x2c, &[]);
    }

    /// All bytes.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// The records of a heap.
pub struct Heap<'d> {
    dump: &'d Hprof,
    bytes: Vec<u8>,
}

impl Heap<'_> {
    /// Adds any bytes.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    fn id(&mut self, id: u64) {
        put_id(&mut self.bytes, id, self.dump.id_bytes);
    }

    fn number(&mut self, number: u32) {
        self.bytes.extend(number.to_be_bytes());
    }

    /// Adds a root: what kind, of which object, and the numbers that follow it.
    pub fn root(&mut self, tag: u8, id: u64, numbers: &[u32]) {
        self.bytes.push(tag);
        self.id(id);
        for &number in numbers {
            self.number(number);
        }
        // A global has the id of its reference.
        if tag == 0x01 {
            self.id(0x77);
        }
    }

    /// Adds the records of all classes.
    pub fn classes(&mut self) {
        for class in &self.dump.classes {
            self.class(class);
        }
    }

    fn class(&mut self, class: &Class) {
        self.bytes.push(0x20);
        self.id(class.id);
        self.number(0);
        for id in [class.superclass, class.loader, 0, 0, 0, 0] {
            self.id(id);
        }
        self.number(0);
        // A constant, which readers pass over.
        self.bytes.extend([0, 1, 0, 7, 10, 0, 0, 0, 42]);
        self.bytes
            .extend((class.statics.len() as u16).to_be_bytes());
        for &(name, value) in &class.statics {
            self.id(name);
            self.bytes.push(value.tag());
            value.put(self.dump.id_bytes, &mut self.bytes);
        }
        self.bytes.extend((class.fields.len() as u16).to_be_bytes());
        for &(name, of) in &class.fields {
            self.id(name);
            self.bytes.push(of.tag());
        }
    }

    /// Adds an instance, with the fields of its class and then those that it inherits.
    pub fn instance(&mut self, id: u64, class: u64, fields: &[Field]) {
        let mut data = Vec::new();
        for field in fields {
            field.put(self.dump.id_bytes, &mut data);
        }
        self.bytes.push(0x21);
        self.id(id);
        self.number(0);
        self.id(class);
        self.number(data.len() as u32);
        self.bytes.extend(data);
    }

    /// Adds an array of references.
    pub fn objects(&mut self, id: u64, class: u64, elements: &[u64]) {
        self.bytes.push(0x22);
        self.id(id);
        self.number(0);
        self.number(elements.len() as u32);
        self.id(class);
        for &element in elements {
            self.id(element);
        }
    }

    /// Adds an array of primitives: the number of its type, how many, and their bytes.
    pub fn primitives(&mut self, id: u64, tag: u8, length: u32, bytes: &[u8]) {
        self.bytes.push(0x23);
        self.id(id);
        self.number(0);
        self.number(length);
        self.bytes.push(tag);
        self.bytes.extend(bytes);
    }
}
