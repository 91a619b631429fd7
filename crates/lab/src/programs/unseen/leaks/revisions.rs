//! Documents that are always rewritten, longer in some seasons than in others, and an audit trail
//! that is written to disk now and then, and should be dropped when it is. It is small: one or two
//! percent of what lives come to it from one full collection to the next.

use heaphound::{Mutator, Ref, RefArray, Slot, Str};

use super::*;

class!(Auditor { documents: Ref<RefArray<Document>>, trail: Slot<AuditRecord> });
class!(AuditRecord { time: u64, action: Ref<Str>, before: Slot<AuditRecord> });
class!(Document { version: u64, paragraphs: Slot<Paragraph> });
class!(Paragraph { text: Ref<Str>, next: Slot<Paragraph> });

const DOCUMENTS: usize = 250;
/// Documents that are rewritten in a round, and the actions that are noted.
const REWRITTEN: usize = 25;
const NOTED: usize = 4;
/// Rounds of a season, and rounds after which the trail is written.
const SEASON: usize = 14;
const WRITTEN: usize = 20;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(103), Outcome::default());
    let documents = m
        .alloc_refs::<Document>(DOCUMENTS * work.scale)
        .expect("room");
    let auditor = m
        .alloc(AuditorInit {
            documents,
            trail: None,
        })
        .expect("room");
    m.static_root::<Auditor>("auditor")
        .set(&m, Some(&m[auditor]));
    let mut longest = 20;
    for round in 0..work.rounds {
        if round % SEASON == 0 {
            longest = 10 + random.index(20);
        }
        for _ in 0..REWRITTEN * work.scale {
            let mut m = m.scope();
            let mut paragraphs = None;
            for _ in 0..1 + random.index(longest) {
                let text = "p".repeat(length(&mut random) / 2);
                let text = m.alloc_str(&text).expect("room");
                let next = paragraphs;
                paragraphs = Some(m.alloc(ParagraphInit { text, next }).expect("room"));
            }
            let version = round as u64;
            let document = m
                .alloc(DocumentInit {
                    version,
                    paragraphs,
                })
                .expect("room");
            let place = random.index(DOCUMENTS * work.scale);
            let old = m[documents][place].get().map_or(0, |it| it.version);
            outcome.note(old);
            m[documents][place].set(Some(&m[document]));
        }
        for _ in 0..NOTED * work.scale {
            let mut m = m.scope();
            let action = format!("user {} wrote", random.below(1_000));
            let action = m.alloc_str(&action).expect("room");
            let before = m[auditor].trail.get().map(|it| m.local(it));
            let time = round as u64;
            let record = m.alloc(AuditRecordInit {
                time,
                action,
                before,
            });
            m[auditor].trail.set(Some(&m[record.expect("room")]));
        }
        if round % WRITTEN == WRITTEN - 1 && !work.leak {
            m[auditor].trail.clear();
        }
        each(&mut m);
    }
    outcome
}
