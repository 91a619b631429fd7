//! Messages come into mailboxes and are read, in waves. Some are logged too; the log is a list of
//! chunks and should be cut behind the last few.

use heaphound::{Local, Mutator, Ref, RefArray, Slot, Str, Var};

use super::*;
use crate::programs::queue::Queue;

class!(MailServer { boxes: Ref<RefArray<Queue>>, log: Ref<MessageLog> });
class!(Message { sender: u64, text: Ref<Str> });
class!(MessageLog { newest: Slot<LogChunk> });
class!(LogChunk { used: Var<u64>, messages: Ref<RefArray<Message>>, before: Slot<LogChunk> });

const BOXES: usize = 20;
/// Messages of a round, and of how many one is logged.
const MESSAGES: usize = 150;
const LOGGED: u64 = 20;
/// Messages of a chunk, and the chunks that are to be kept.
const CHUNK: usize = 32;
const KEPT: usize = 4;
/// Rounds of a wave, and the most messages that wait in a mailbox at its top.
const WAVE: usize = 15;
const WAITING: usize = 80;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(106), Outcome::default());
    let boxes = m.alloc_refs::<Queue>(BOXES).expect("room");
    for at in 0..BOXES {
        let mut m = m.scope();
        let mailbox = Queue::new(&mut m);
        m[boxes][at].set(Some(&m[mailbox]));
    }
    let log = m.alloc(MessageLogInit { newest: None }).expect("room");
    let server = m.alloc(MailServerInit { boxes, log }).expect("room");
    m.static_root::<MailServer>("server")
        .set(&m, Some(&m[server]));
    let mut waiting = WAITING;
    for round in 0..work.rounds {
        if round % WAVE == 0 {
            waiting = WAITING / 5 + random.index(WAITING * 4 / 5);
        }
        for _ in 0..MESSAGES * work.scale {
            let mut m = m.scope();
            let sender = random.below(10_000);
            let text = "m".repeat(length(&mut random));
            let text = m.alloc_str(&text).expect("room");
            let message = m.alloc(MessageInit { sender, text }).expect("room");
            let mailbox = m[boxes][random.index(BOXES)].get();
            let mailbox = m.local(mailbox.expect("made"));
            Queue::push(&mut m, mailbox, message);
            if random.below(LOGGED) == 0 {
                append(&mut m, log, message);
            }
            while m[mailbox].len() > waiting * work.scale {
                outcome.note(m[mailbox].pop::<Message>().expect("it waits").sender);
            }
        }
        if !work.leak {
            m[log].cut(KEPT * work.scale);
        }
        each(&mut m);
    }
    outcome
}

fn append(m: &mut Mutator<'_>, log: Local<'_, MessageLog>, message: Local<'_, Message>) {
    let newest = m[log]
        .newest
        .get()
        .filter(|it| it.used.get() < CHUNK as u64);
    let chunk = match newest.map(|it| m.local(it)) {
        Some(chunk) => chunk,
        None => {
            let messages = m.alloc_refs::<Message>(CHUNK).expect("room");
            let before = m[log].newest.get().map(|it| m.local(it));
            let init = LogChunkInit {
                used: 0,
                messages,
                before,
            };
            m.alloc(init).expect("room")
        }
    };
    let used = &m[chunk].used;
    m[chunk].messages.get()[used.get() as usize].set(Some(&m[message]));
    used.set(used.get() + 1);
    m[log].newest.set(Some(&m[chunk]));
}

impl MessageLog {
    /// Drops all chunks but the last few.
    fn cut(&self, kept: usize) {
        let mut chunk = self.newest.get();
        for _ in 1..kept {
            chunk = chunk.and_then(|it| it.before.get());
        }
        if let Some(last) = chunk {
            last.before.clear();
        }
    }
}
