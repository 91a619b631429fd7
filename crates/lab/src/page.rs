//! What experiments found, as a page for a browser.

use heaphound_report::document::{Cell, Document, Part, Table, Tone};

use crate::report::{Better, Report};

/// Returns what experiments found as a document.
pub fn document(reports: &[Report]) -> Document {
    let title = match reports {
        [report] => report.experiment.to_string(),
        _ => "all experiments".into(),
    };
    let mut document = Document::new(title, "heaphound lab");
    let rows = || reports.iter().flat_map(|it| &it.rows);
    let compared = rows().filter(|it| it.paper.is_some()).count();
    let reached = rows().filter(|it| it.is_reached() == Some(true)).count();
    if compared > 0 {
        let text = format!("{reached} of {compared} figures are as good as the paper's");
        document.headline(Tone::Plain, text);
    }
    for report in reports {
        let prefix = match reports {
            [_] => String::new(),
            _ => format!("{}: ", report.experiment),
        };
        let section = document.section(format!("{prefix}figures beside the paper's"));
        section.push(Part::Table(figures(report)));
        for it in &report.sections {
            let mut it = it.clone();
            it.title = format!("{prefix}{}", it.title);
            document.sections.push(it);
        }
        if !report.notes.is_empty() {
            let section = document.section(format!("{prefix}what must be known to read them"));
            for note in &report.notes {
                section.push(match note.contains('\n') {
                    true => Part::Code(note.clone()),
                    false => Part::Note(note.clone()),
                });
            }
        }
    }
    document
}

fn figures(report: &Report) -> Table {
    let titles = [
        "figure",
        "paper",
        "ours",
        "unit",
        "better is",
        "as good as the paper's",
    ];
    let mut table = Table::new(titles);
    for row in &report.rows {
        let figure = |it: f64| Cell::Figure(it.to_string(), it);
        table.row([
            Cell::name(&row.id),
            row.paper.map_or(Cell::Empty, figure),
            figure(row.measured),
            Cell::Text(row.unit.into()),
            Cell::Text(match row.better {
                Better::Lower => "lower".into(),
                Better::Higher => "higher".into(),
            }),
            Cell::Text(match row.is_reached() {
                None => String::new(),
                Some(true) => "yes".into(),
                Some(false) => "no".into(),
            }),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run with a leak that is pruned, on a heap that samples: all that a page about a run can have.
    #[cfg(feature = "barrier")]
    #[test]
    fn a_run_is_a_page() {
        use std::sync::Arc;

        use heaphound::{Heap, Pruning, Reaction, Sampling, report};

        use crate::programs::Size;
        use crate::programs::leaking::{LEAKING, Work};

        let program = LEAKING.iter().find(|it| it.id == "eclipsediff").unwrap();
        let heap_bytes = program.heap_bytes(Size::Small);
        let heap = Heap::builder()
            .max_bytes(heap_bytes)
            .initial_bytes(heap_bytes / 16)
            .sampling(Sampling::every(64))
            .summaries(1)
            .pruning(Pruning::new())
            .pruning_reaction(Reaction::Call(Arc::new(|_| {})))
            .build()
            .unwrap();
        let work = Work {
            heap: &heap,
            heap_bytes,
            leak: true,
            seed: 1,
        };
        let mut rounds = 0;
        let mut m = heap.attach("main").unwrap();
        let _ = program.run(&mut m, &work, &mut || {
            rounds += 1;
            rounds < 2_000
        });
        assert!(!heap.pruned().is_empty(), "{rounds}");
        let page = report::html(&heap, "EclipseDiff");
        for title in [
            "Findings",
            "How full the heap was",
            "Classes",
            "Survival by site",
            "Pruning receipts",
            "Collections, the last first",
        ] {
            assert!(page.contains(&format!("<h2>{title}</h2>")), "{title}");
        }
        assert!(page.contains("averted"), "{page}");
    }

    #[test]
    fn a_page_has_figures_and_says_which_are_reached() {
        let mut report = Report::new("x");
        report.lower("x.low", Some(2.0), 1.0, "%");
        report.higher("x.high", Some(2.0), 1.0, "×");
        report.higher("x.<new>", None, 1.0, "×");
        report.note("one line");
        report.note("a table\nof two lines");
        let html = heaphound_report::html::document(&document(&[report]));
        assert!(html.contains("1 of 2 figures are as good"), "{html}");
        assert!(html.contains("x.&lt;new&gt;") && !html.contains("x.<new>"));
        assert!(html.contains("<pre>a table\nof two lines</pre>"), "{html}");
    }
}
