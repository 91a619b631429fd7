//! A heap as Parquet: objects, edges, classes and roots, a file each.
//!
//! Rows are gathered into row groups, so that memory is bounded whatever the size of the heap. The contents of strings
//! and plain data are not exported. `docs/export.md` shows the columns and what can be asked of them.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

use heaphound_analysis::dominator::Dominators;
use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::Snapshot;
use heaphound_heap::view::{HeapView, Place, Strength};
use heaphound_heap::{ClassInfo, FieldKind, PlainKind};
use heaphound_report::json::root_kind;
use heaphound_snapshot::{Progress, replace_file};
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// Rows of a row group.
const GROUP: usize = 1 << 17;

const OBJECTS: &str = "message objects {
    required int64 id; required int64 class; required int64 number; required int64 bytes;
    optional int64 length; optional int64 retained_bytes; optional int64 dominator;
}";
const EDGES: &str = "message edges {
    required int64 from; required int64 to; optional binary slot (UTF8); optional int64 index;
    required binary strength (UTF8);
}";
const CLASSES: &str = "message classes {
    required int64 id; required binary name (UTF8); optional int64 superclass;
    required boolean is_interface; optional binary elements (UTF8);
    required group fields (LIST) { repeated group list { required group element {
        required binary name (UTF8); required binary kind (UTF8);
    } } }
}";
const ROOTS: &str = "message roots {
    required binary kind (UTF8); required binary name (UTF8); optional binary scope (UTF8);
    required int64 index; required int64 object;
}";

/// The files, in the order in which they are written.
pub const FILES: [&str; 4] = [
    "classes.parquet",
    "roots.parquet",
    "objects.parquet",
    "edges.parquet",
];

/// Writes the tables of a heap into a folder. `name` is the file that the heap was read from. Returns the bytes of
/// all files.
pub fn write(
    heap: &Snapshot,
    dominators: Option<&Dominators>,
    name: &str,
    folder: &Path,
    progress: Progress<'_>,
) -> io::Result<u64> {
    let total = heap.len() as u64 * 2;
    let mut bytes = 0;
    let mut file = |at: usize, schema: &str, fill: &mut dyn FnMut(&mut Table<'_>) -> Result<()>| {
        bytes += replace_file(folder.join(FILES[at]), |file| {
            let mut table = Table::new(file, schema, name, heap.notes()).map_err(failed)?;
            fill(&mut table).map_err(failed)?;
            table.close().map_err(failed)?;
            Ok(file.metadata()?.len())
        })?;
        Ok::<(), io::Error>(())
    };
    file(0, CLASSES, &mut |table| classes(heap, table))?;
    file(1, ROOTS, &mut |table| roots(heap, table))?;
    file(2, OBJECTS, &mut |table| {
        objects(heap, dominators, table, &mut |done| progress(done, total))
    })?;
    let half = heap.len() as u64;
    file(3, EDGES, &mut |table| {
        edges(heap, table, &mut |done| progress(half + done, total))
    })?;
    Ok(bytes)
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

fn objects(
    heap: &Snapshot,
    dominators: Option<&Dominators>,
    table: &mut Table<'_>,
    done: &mut dyn FnMut(u64),
) -> Result<()> {
    for object in heap.objects() {
        let reached = dominators.filter(|it| it.is_reached(object));
        table.number(0, object.0.into());
        table.number(1, heap.class_of(object).0.into());
        table.number(2, heap.number_of(object) as i64);
        table.number(3, heap.bytes_of(object) as i64);
        table.maybe_number(4, heap.length_of(object).map(|it| it as i64));
        table.maybe_number(5, reached.map(|it| it.retained_bytes(object) as i64));
        let dominator = reached.and_then(|it| it.dominator(object));
        table.maybe_number(6, dominator.map(|it| it.0.into()));
        if table.end_row()? {
            done(object.0.into());
        }
    }
    Ok(())
}

fn edges(heap: &Snapshot, table: &mut Table<'_>, done: &mut dyn FnMut(u64)) -> Result<()> {
    let shared = |text: &str| ByteArray::from(text);
    let slots: Vec<Vec<ByteArray>> = heap
        .classes()
        .iter()
        .map(|it| it.fields.iter().map(|it| shared(&it.name)).collect())
        .collect();
    let [strong, weak, dependent] = ["strong", "weak", "dependent"].map(shared);
    for object in heap.objects() {
        let slots = &slots[heap.class_of(object).0 as usize - 1];
        let mut result = Ok(());
        heap.for_each_edge(object, |place, strength, to| {
            if result.is_err() {
                return;
            }
            table.number(0, object.0.into());
            table.number(1, to.0.into());
            let (slot, index) = match place {
                Place::Field(field) => (Some(slots[field as usize].clone()), None),
                Place::Element(index) => (None, Some(index.into())),
            };
            table.maybe_text(2, slot);
            table.maybe_number(3, index);
            table.text(
                4,
                match strength {
                    Strength::Strong => strong.clone(),
                    Strength::Weak => weak.clone(),
                    Strength::Dependent => dependent.clone(),
                },
            );
            match table.end_row() {
                Ok(true) => done(object.0.into()),
                Ok(false) => {}
                Err(error) => result = Err(error),
            }
        });
        result?;
    }
    Ok(())
}

fn classes(heap: &Snapshot, table: &mut Table<'_>) -> Result<()> {
    for class in heap.classes() {
        let ClassInfo { id, name, .. } = class;
        table.number(0, id.0.into());
        table.text(1, name.as_str().into());
        table.maybe_number(2, class.superclass.map(|it| it.0.into()));
        table.truth(3, class.is_interface);
        let elements = class.elements.map(|it| match it {
            Elements::Refs => "references",
            Elements::Text => "text",
            Elements::Plain(kind) => kind_name(kind),
        });
        table.maybe_text(4, elements.map(ByteArray::from));
        table.list(5, class.fields.iter().map(|it| it.name.as_str().into()));
        table.list(6, class.fields.iter().map(|it| field_kind(it.kind).into()));
        table.end_row()?;
    }
    Ok(())
}

fn roots(heap: &Snapshot, table: &mut Table<'_>) -> Result<()> {
    for (root, object) in heap.roots() {
        table.text(0, root_kind(root.kind).into());
        table.text(1, root.name.as_str().into());
        table.maybe_text(2, root.scope.as_deref().map(ByteArray::from));
        table.number(3, root.index.into());
        table.number(4, object.0.into());
        table.end_row()?;
    }
    Ok(())
}

fn field_kind(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Ref | FieldKind::Opt => "strong",
        FieldKind::Weak => "weak",
        FieldKind::Dependent => "dependent",
        FieldKind::Owned => "owned",
        FieldKind::Plain(kind) => kind_name(kind),
    }
}

fn kind_name(kind: PlainKind) -> &'static str {
    match kind {
        PlainKind::Bool => "bool",
        PlainKind::Char => "char",
        PlainKind::U8 => "u8",
        PlainKind::U16 => "u16",
        PlainKind::U32 => "u32",
        PlainKind::U64 => "u64",
        PlainKind::I8 => "i8",
        PlainKind::I16 => "i16",
        PlainKind::I32 => "i32",
        PlainKind::I64 => "i64",
        PlainKind::F32 => "f32",
        PlainKind::F64 => "f64",
        PlainKind::Enum { .. } => "enum",
    }
}

/// A file that is being written, a row group at a time.
struct Table<'f> {
    file: SerializedFileWriter<BufWriter<&'f File>>,
    columns: Vec<Column>,
    rows: usize,
}

/// The values of a column of a row group.
#[derive(Default)]
struct Column {
    numbers: Vec<i64>,
    texts: Vec<ByteArray>,
    truths: Vec<bool>,
    /// For each value that may be missing, whether it is there; for a list, whether it has an element.
    there: Vec<i16>,
    /// For each element of a list, whether it goes on with the one before.
    goes_on: Vec<i16>,
}

impl<'f> Table<'f> {
    fn new(file: &'f File, schema: &str, heap: &str, notes: &[String]) -> Result<Self> {
        let schema = Arc::new(parse_message_type(schema)?);
        let mut told = vec![KeyValue::new("heaphound.heap".into(), heap.to_string())];
        let version = env!("CARGO_PKG_VERSION").to_string();
        told.push(KeyValue::new("heaphound.version".into(), version));
        if !notes.is_empty() {
            told.push(KeyValue::new("heaphound.notes".into(), notes.join("\n")));
        }
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(told))
            .build();
        let out = BufWriter::new(file);
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        let columns = file.schema_descr().num_columns();
        Ok(Self {
            file,
            columns: (0..columns).map(|_| Column::default()).collect(),
            rows: 0,
        })
    }

    fn number(&mut self, column: usize, value: i64) {
        self.columns[column].numbers.push(value);
    }

    fn maybe_number(&mut self, column: usize, value: Option<i64>) {
        let column = &mut self.columns[column];
        column.there.push(value.is_some().into());
        column.numbers.extend(value);
    }

    fn text(&mut self, column: usize, value: ByteArray) {
        self.columns[column].texts.push(value);
    }

    fn maybe_text(&mut self, column: usize, value: Option<ByteArray>) {
        let column = &mut self.columns[column];
        column.there.push(value.is_some().into());
        column.texts.extend(value);
    }

    fn truth(&mut self, column: usize, value: bool) {
        self.columns[column].truths.push(value);
    }

    fn list(&mut self, column: usize, values: impl Iterator<Item = ByteArray>) {
        let column = &mut self.columns[column];
        let before = column.texts.len();
        column.texts.extend(values);
        let count = column.texts.len() - before;
        // A list without elements takes a place, too.
        for nth in 0..count.max(1) {
            column.there.push((count > 0).into());
            column.goes_on.push((nth > 0).into());
        }
    }

    /// Ends a row. Returns whether it was the last one of its group, which is then written.
    fn end_row(&mut self) -> Result<bool> {
        self.rows += 1;
        let is_full = self.rows == GROUP;
        if is_full {
            self.flush()?;
        }
        Ok(is_full)
    }

    fn flush(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let mut out = group.next_column()?.expect("a column of the schema");
            let there = (!column.there.is_empty()).then_some(&column.there[..]);
            let goes_on = (!column.goes_on.is_empty()).then_some(&column.goes_on[..]);
            match out.untyped() {
                parquet::column::writer::ColumnWriter::Int64ColumnWriter(_) => {
                    let out = out.typed::<Int64Type>();
                    out.write_batch(&column.numbers, there, goes_on)?;
                }
                parquet::column::writer::ColumnWriter::BoolColumnWriter(_) => {
                    let out = out.typed::<BoolType>();
                    out.write_batch(&column.truths, there, goes_on)?;
                }
                _ => {
                    let out = out.typed::<ByteArrayType>();
                    out.write_batch(&column.texts, there, goes_on)?;
                }
            }
            out.close()?;
            column.numbers.clear();
            column.texts.clear();
            column.truths.clear();
            column.there.clear();
            column.goes_on.clear();
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    fn close(mut self) -> Result<()> {
        if self.rows > 0 {
            self.flush()?;
        }
        self.file.close()?;
        Ok(())
    }
}
