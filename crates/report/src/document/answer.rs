//! The answer to a question.

use heaphound_heap::finding::Finding;

use super::report::tone_of;
use super::{Document, Names, Part, Tone};
use crate::answer::{Answer, Kind, Verdict};

pub(super) fn put(document: &mut Document, answer: &Answer, finding: Option<&Finding>) {
    let mut question = vec![answer.question.clone()];
    question.extend(answer.arguments.iter().cloned());
    document.fact("question", question.join(" "));
    if let Some(asker) = &answer.asker {
        document.fact("asked by", asker);
    }
    let (text, tone) = match &answer.verdict {
        Verdict::Truth { yes, .. } => {
            let word = if *yes { "yes" } else { "no" };
            let tone = match finding {
                Some(finding) => tone_of([finding]),
                None => Tone::Good,
            };
            (format!("{word}: {}", answer.message), tone)
        }
        _ => (answer.message.clone(), tone_of(finding)),
    };
    document.headline(tone, text);
    if let Verdict::Set { members, .. } = &answer.verdict
        && members.of != Kind::Paths
    {
        let listed = members.listed.iter().map(|it| it.to_string());
        let names = Names {
            listed: listed.collect(),
            left_out: members.left_out() as u64,
        };
        document.section("Members").push(Part::Names(names));
    }
    if let Some(finding) = finding {
        let section = document.section("Findings");
        section.push(Part::Findings(vec![finding.clone()]));
    } else if !answer.evidence.is_empty() {
        let section = document.section("Paths");
        section.push(Part::Evidence(answer.evidence.clone()));
    }
    if !answer.notes.is_empty() {
        document.section("Notes").notes(&answer.notes);
    }
}
