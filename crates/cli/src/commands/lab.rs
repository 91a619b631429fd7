//! `heaphound lab`: runs the papers' experiments on our heap.

use std::path::Path;

use heaphound_lab::{EXPERIMENTS, Experiment, Options, find};
use heaphound_report::Report;

use crate::names::nearest;
use crate::problem::Problem;
use crate::progress::Progress;

/// Run the papers' experiments on our heap and print their figures beside ours.
///
/// Without a name, lists the experiments. An experiment compares variants in one run, in turn, and
/// gives ratios of medians. Run it on a machine that does nothing else.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound lab                    list the experiments
  heaphound lab probes --quick     take less than a minute
  heaphound lab probes --json      print figures for a script")]
pub struct Args {
    /// The experiment; `all` runs all of them.
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Take less than a minute, with smaller heaps and fewer rounds.
    #[arg(long)]
    quick: bool,

    /// Do a piece of work whose instructions another process counts.
    #[arg(long, hide = true)]
    count: Option<String>,

    /// How often to do it.
    #[arg(long, hide = true, default_value_t = 1)]
    times: usize,
}

impl Args {
    /// Returns no file: the experiments make their own heaps.
    pub fn heap(&self) -> &Path {
        Path::new("")
    }
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    if let Some(what) = &args.count {
        let (text, json) = Default::default();
        return match heaphound_lab::count(what, args.times) {
            true => Ok(Report::Document { text, json }),
            false => Err(Problem::new(format!("nobody counts `{what}`"))),
        };
    }
    let Some(name) = &args.name else {
        return Ok(list());
    };
    let experiments: Vec<_> = match name.as_str() {
        "all" => EXPERIMENTS.iter().collect(),
        name => find(name).into_iter().collect(),
    };
    if experiments.is_empty() {
        let names = EXPERIMENTS.iter().map(|it| (it.name, it.name.into()));
        let reason = format!("no experiment is called `{name}`");
        return Err(Problem::new(reason).suggest(&nearest(name, names)));
    }
    let options = Options { quick: args.quick };
    let mut texts = Vec::new();
    let mut documents = Vec::new();
    for experiment in experiments {
        let mut say = |what: &str| progress.say(&format!("{}: {what} …", experiment.name));
        let report = (experiment.run)(&options, &mut say);
        let failed = |error| Problem::new(format!("experiment `{}`: {error}", experiment.name));
        let report = report.map_err(failed)?;
        texts.push(report.to_string());
        documents.push(report.to_json());
    }
    Ok(Report::Document {
        text: texts.join("\n"),
        json: match &documents[..] {
            [document] => format!("{document}\n"),
            documents => format!("[{}]\n", documents.join(",\n")),
        },
    })
}

fn list() -> Report {
    let line = |it: &Experiment| format!("{:<12} {}\n", it.name, it.about);
    let name = |it: &Experiment| format!("{:?}", it.name);
    let names: Vec<String> = EXPERIMENTS.iter().map(name).collect();
    Report::Document {
        text: EXPERIMENTS.iter().map(line).collect(),
        json: format!("{{\"experiments\": [{}]}}\n", names.join(", ")),
    }
}
