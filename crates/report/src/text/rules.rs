//! The results of rules as text: what fails and what was not checked, then how many.

use heaphound_heap::finding::Severity;

use super::page::Page;
use super::{BOLD, DIM, PLAIN, put_finding, put_notes, style_of};
use crate::rules::{Rule, Rules, Verdict};

pub fn put(page: &mut Page, rules: &Rules) {
    for rule in &rules.list {
        match &rule.verdict {
            Verdict::Fails(finding) => put_finding(page, finding),
            Verdict::Holds if rules.verbose || !rule.notes.is_empty() => {
                page.put(BOLD, "holds");
                page.put(PLAIN, &format!(": {}", rule.name));
                page.end();
                put_notes(page, &rule.notes);
            }
            Verdict::Holds => {}
            Verdict::NotChecked => {
                page.put(style_of(Severity::Error), "not checked");
                page.put(PLAIN, &format!(": {}: {}", rule.name, rule.message));
                page.end();
                put_notes(page, &rule.notes);
            }
            Verdict::Told => put_answer(page, rule),
        }
    }
    put_notes(page, &rules.notes);
    // Questions alone need no count of rules.
    if rules.count() > 0 || rules.list.is_empty() {
        page.put(BOLD, &rules.summary());
        page.end();
    }
}

fn put_answer(page: &mut Page, rule: &Rule) {
    page.put(PLAIN, &format!("{}: ", rule.name));
    page.put(BOLD, &rule.message);
    page.end();
    for line in &rule.listed {
        page.put(PLAIN, &format!("  {line}"));
        page.end();
    }
    if rule.left_out > 0 {
        page.put(DIM, &format!("  … and {} more", rule.left_out));
        page.end();
    }
    put_notes(page, &rule.notes);
}
