//! The results of rules.

use heaphound_heap::finding::Finding;

use super::report::{put_findings, tone_of};
use super::{Cell, Document, Names, Part, Table, Tone};
use crate::rules::{Rules, Verdict};

pub(super) fn put(document: &mut Document, rules: &Rules) {
    let findings: Vec<Finding> = rules.findings().cloned().collect();
    let tone = match (rules.is_undecided(), tone_of(&findings)) {
        (true, Tone::Plain) => Tone::Warning,
        (false, Tone::Plain) if rules.failed() == 0 => Tone::Good,
        (_, tone) => tone,
    };
    if rules.count() > 0 || rules.list.is_empty() {
        document.headline(tone, rules.summary());
    }
    put_findings(document, &findings);
    for rule in &rules.list {
        if let Verdict::Told = rule.verdict {
            let section = document.section(&rule.name);
            section.push(Part::Text(rule.message.clone()));
            if !rule.listed.is_empty() {
                section.push(Part::Names(Names {
                    listed: rule.listed.clone(),
                    left_out: rule.left_out as u64,
                }));
            }
            section.notes(&rule.notes);
        }
    }
    if rules.count() > 0 {
        document.section("Rules").push(Part::Table(table(rules)));
    }
    if !rules.notes.is_empty() {
        document.section("Notes").notes(&rules.notes);
    }
}

/// Returns a table of all rules, those that hold included.
fn table(rules: &Rules) -> Table {
    let mut table = Table::new(["rule", "verdict", "place", "remark"]);
    for rule in &rules.list {
        let verdict = match rule.verdict {
            Verdict::NotChecked => "not checked",
            ref verdict => verdict.word(),
        };
        let mut remarks = vec![rule.message.as_str()];
        remarks.extend(rule.notes.iter().map(String::as_str));
        remarks.retain(|it| !it.is_empty());
        let remark = match remarks.is_empty() {
            true => Cell::Empty,
            false => Cell::Text(remarks.join("; ")),
        };
        let verdict = Cell::Text(verdict.into());
        table.row([
            Cell::name(&rule.name),
            verdict,
            Cell::name(&rule.place),
            remark,
        ]);
    }
    let has_remarks = |row: &Vec<Cell>| row.last() != Some(&Cell::Empty);
    if !table.rows.iter().any(has_remarks) {
        table.columns.pop();
        for row in &mut table.rows {
            row.pop();
        }
    }
    table
}
