//! What an experiment found, as a table and as JSON.

use std::fmt;

use heaphound_report::document::Section;
use serde::Serialize;

/// Which way a figure should go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// One figure.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// What it is known by in documents.
    pub id: String,
    /// What the paper says, if it does.
    pub paper: Option<f64>,
    /// What we measured.
    pub measured: f64,
    /// In what.
    pub unit: &'static str,
    /// Which way it should go.
    pub better: Better,
}

impl Row {
    /// Returns whether the figure is as good as the paper's, if that has one.
    pub fn is_reached(&self) -> Option<bool> {
        self.paper.map(|paper| match self.better {
            Better::Lower => self.measured <= paper,
            Better::Higher => self.measured >= paper,
        })
    }

    /// Returns how many times as much it is as the paper's, if that says anything: not below zero, nor beside zero.
    pub fn ratio(&self) -> Option<f64> {
        let paper = self.paper.filter(|it| *it != 0.0)?;
        Some(self.measured / paper).filter(|it| *it >= 0.0)
    }
}

/// What an experiment found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Its name.
    pub experiment: &'static str,
    /// The figures.
    pub rows: Vec<Row>,
    /// What must be known to read them.
    pub notes: Vec<String>,
    /// Pictures and tables for a page.
    #[serde(skip)]
    pub sections: Vec<Section>,
}

impl Report {
    /// An empty report.
    pub fn new(experiment: &'static str) -> Self {
        Self {
            experiment,
            rows: Vec::new(),
            notes: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// Adds a figure that should be low.
    pub fn lower(&mut self, id: &str, paper: Option<f64>, measured: f64, unit: &'static str) {
        self.add(id, paper, measured, unit, Better::Lower);
    }

    /// Adds a figure that should be high.
    pub fn higher(&mut self, id: &str, paper: Option<f64>, measured: f64, unit: &'static str) {
        self.add(id, paper, measured, unit, Better::Higher);
    }

    fn add(
        &mut self,
        id: &str,
        paper: Option<f64>,
        measured: f64,
        unit: &'static str,
        better: Better,
    ) {
        // Four digits are more than any of these is known to.
        let scale = 10f64.powi(3 - measured.abs().max(1e-9).log10().floor() as i32);
        self.rows.push(Row {
            id: id.into(),
            paper,
            measured: (measured * scale).round() / scale,
            unit,
            better,
        });
    }

    /// Adds a note.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Returns the report as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and text")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.id.len()).max().unwrap_or(0);
        writeln!(
            f,
            "{:width$}  {:>10}  {:>10}  unit",
            "", "paper", "measured"
        )?;
        for row in &self.rows {
            let paper = row.paper.map_or("–".to_string(), |paper| paper.to_string());
            let better = match row.better {
                Better::Lower => "lower is better",
                Better::Higher => "higher is better",
            };
            let Row {
                id, measured, unit, ..
            } = row;
            writeln!(
                f,
                "{id:width$}  {paper:>10}  {measured:>10}  {unit} ({better})"
            )?;
        }
        for note in &self.notes {
            writeln!(f, "\n* {note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_agreed_form() {
        let mut report = Report::new("x");
        report.lower("x.a", None, 1.23456, "×");
        report.higher("x.b", Some(2.0), 123456.0, "objects");
        report.note("n");
        let value: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
        assert_eq!(
            value,
            serde_json::json!({
                "experiment": "x",
                "rows": [
                    {"id": "x.a", "paper": null, "measured": 1.235, "unit": "×", "better": "lower"},
                    {"id": "x.b", "paper": 2.0, "measured": 123500.0, "unit": "objects",
                     "better": "higher"},
                ],
                "notes": ["n"],
            })
        );
    }
}
