//! `heaphound lab`: the papers' experiments on our heap.

use heaphound_lab::{EXPERIMENTS, Options, find};
use heaphound_report::Report;

use crate::names::nearest;
use crate::output;
use crate::problem::Problem;

/// Runs the papers' experiments on our heap and prints their figures beside ours.
///
/// Without a name, lists the experiments. Ratios are taken in one run, interleaved,
/// medians. Run it on a machine that does nothing else.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound lab                    what there is
  heaphound lab probes --quick     under a minute
  heaphound lab probes --json      for a script")]
pub struct Args {
    /// The experiment; all of them if this is `all`.
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Keep it under a minute: smaller heaps, fewer rounds.
    #[arg(long)]
    quick: bool,

    /// Do a piece of work whose instructions an experiment counts.
    #[arg(long, hide = true)]
    count: Option<String>,

    /// How often.
    #[arg(long, hide = true, default_value_t = 1)]
    times: usize,
}

pub fn run(args: &Args, as_json: bool, quiet: bool) -> Result<Report, Problem> {
    if let Some(what) = &args.count {
        return match heaphound_lab::count(what, args.times) {
            true => Ok(Report::Document(String::new())),
            false => Err(Problem(format!("nobody counts `{what}`"))),
        };
    }
    let Some(name) = &args.name else {
        return Ok(Report::Document(list(as_json)));
    };
    let experiments: Vec<_> = match name.as_str() {
        "all" => EXPERIMENTS.iter().collect(),
        name => find(name).into_iter().collect(),
    };
    if experiments.is_empty() {
        let names = EXPERIMENTS.iter().map(|it| (it.name, it.name.into()));
        let reason = format!("no experiment is called `{name}`");
        return Err(Problem::with_suggestions(reason, &nearest(name, names)));
    }
    let options = Options { quick: args.quick };
    let mut reports = Vec::new();
    for experiment in experiments {
        let mut tell = |what: &str| {
            if !quiet {
                output::tell(&format!("{}: {what} …", experiment.name));
            }
        };
        let report = (experiment.run)(&options, &mut tell);
        let failed = |error| Problem(format!("experiment `{}`: {error}", experiment.name));
        reports.push(report.map_err(failed)?);
    }
    let text = match (as_json, &reports[..]) {
        (true, [report]) => report.to_json() + "\n",
        (true, reports) => {
            let all: Vec<String> = reports.iter().map(|report| report.to_json()).collect();
            format!("[{}]\n", all.join(",\n"))
        }
        (false, reports) => {
            let all: Vec<String> = reports.iter().map(|report| report.to_string()).collect();
            all.join("\n")
        }
    };
    Ok(Report::Document(text))
}

fn list(as_json: bool) -> String {
    let name = |it: &heaphound_lab::Experiment| format!("{:?}", it.name);
    match as_json {
        true => {
            let names: Vec<String> = EXPERIMENTS.iter().map(name).collect();
            format!("{{\"experiments\": [{}]}}\n", names.join(", "))
        }
        false => EXPERIMENTS
            .iter()
            .map(|it| format!("{:<12} {}\n", it.name, it.about))
            .collect(),
    }
}
