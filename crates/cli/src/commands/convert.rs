//! `heaphound convert`: writes a heap in another format.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use heaphound_report::{Report, Written};
use heaphound_snapshot::{Format, write_binary, write_file, write_text, write_v8};

use crate::input;
use crate::output;
use crate::problem::Problem;
use crate::progress::Progress;

/// Write a heap in another format.
///
/// The name of the file OUT decides the format: .heap or .txt for text, .hhs for binary, .heapsnapshot for
/// Chrome's tools; stdout gets text. The format of the file IN is recognised by its content.
///
/// With --redact, the values of plain fields, the elements of plain arrays and the text of strings are
/// left out, so that a heap can be given to others. Names of classes, fields, roots and threads stay.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound convert shop.heap shop.hhs
  heaphound convert shop.hhs shop.dump --to text
  heaphound convert shop.hhs for-support.hhs --redact
  heaphound convert shop.hhs shop.heapsnapshot
  heaphound convert shop.hhs - | less")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    #[arg(value_name = "IN")]
    from: PathBuf,

    /// The file to write; `-` is stdout.
    #[arg(value_name = "OUT")]
    to: PathBuf,

    /// The format to write, if the name of the file does not decide it.
    #[arg(id = "to-format", long = "to", value_name = "FORMAT")]
    format: Option<Form>,

    /// Drop the contents of strings and plain data. The file says so.
    #[arg(long)]
    redact: bool,
}

impl Args {
    pub fn heap(&self) -> &Path {
        &self.from
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    Text,
    Binary,
    /// V8's heap snapshot.
    V8,
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    let format = match args.format {
        Some(Form::Text) => Some(Format::Text),
        Some(Form::Binary) => Some(Format::Binary),
        Some(Form::V8) => Some(Format::V8),
        None if output::is_stdout(&args.to) => Some(Format::Text),
        None => Format::from_path(&args.to),
    };
    let name = args.to.display();
    if let (Some(chosen), Some(told)) = (format, Format::from_path(&args.to))
        && chosen != told
    {
        progress.remark(&format!(
            "the name {name} tells {}, and {} is written",
            word(told),
            word(chosen)
        ));
    }
    let format = format.ok_or_else(|| {
        Problem::new(format!("the name {name} does not tell a format"))
            .hint("use .heap, .txt, .hhs or .heapsnapshot, or `--to text|binary|v8`")
    })?;
    if format == Format::Hprof {
        return Err(Problem::new("dumps of JVMs are read, and not written")
            .hint("use .heap, .txt, .hhs or .heapsnapshot, or `--to text|binary|v8`"));
    }
    let mut heap = input::read_heap(&args.from, progress)?;
    let mut notes = Vec::new();
    if args.redact {
        progress.of("redacting", || heap.redact());
        notes.extend(heap.notes().last().cloned());
    }
    if output::is_stdout(&args.to) {
        let mut bytes = Vec::new();
        let written = progress.of_bytes("writing", |done| match format {
            Format::Text => write_text(&heap, &mut bytes, done),
            Format::V8 => write_v8(&heap, &mut bytes, done),
            _ => write_binary(&heap, &mut bytes, done),
        });
        written.map_err(|error| Problem::cannot_write(&args.to, &error))?;
        notes.iter().for_each(|note| progress.remark(note));
        return Ok(Report::Bytes(bytes));
    }
    let file_bytes = progress
        .of_bytes(&format!("writing {name}"), |done| {
            write_file(&args.to, &heap, format, done)
        })
        .map_err(|error| Problem::cannot_write(&args.to, &error))?;
    Ok(Report::Written(Written {
        file: name.to_string(),
        format: word(format).into(),
        objects: heap.len(),
        edges: heap.edges(),
        file_bytes,
        notes,
    }))
}

fn word(format: Format) -> &'static str {
    match format {
        Format::Text => "text",
        Format::Binary => "binary",
        Format::V8 => "v8",
        Format::Hprof => "a dump of a JVM",
    }
}
