//! An expert system that reasons about measurements as they come in: facts match patterns, rules
//! whose patterns have all matched fire and assert new facts. What a conclusion was drawn from
//! should be retracted with it. Each match binds variables for all that waits, so that most of what is
//! allocated is soon forgotten, and little of it stays (jess kept 45 KB of 64 MB).

use heaphound::{Header, Local, Managed, Mutator, Ref, RefArray, Slot, Str, Var};

use super::{Each, Work};
use crate::programs::{Outcome, Random};

/// Facts in the order in which they were asserted, latest first, and the network that matches them.
#[derive(Managed)]
#[repr(C)]
struct WorkingMemory {
    header: Header,
    facts: Slot<Fact>,
    count: Var<u64>,
    network: Ref<RefArray<PatternNode>>,
}

#[derive(Managed)]
#[repr(C)]
struct Fact {
    header: Header,
    id: u64,
    kind: u64,
    subject: u64,
    used: Var<u64>,
    value: Ref<Str>,
    before: Slot<Fact>,
    next: Slot<Fact>,
}

/// Matches facts of one kind; joins them with facts of the next kind about the same subject.
#[derive(Managed)]
#[repr(C)]
struct PatternNode {
    header: Header,
    kind: u64,
    tokens: Slot<Token>,
    waiting: Var<u64>,
}

/// A fact that has matched a pattern, and waits for others.
#[derive(Managed)]
#[repr(C)]
struct Token {
    header: Header,
    fact: Ref<Fact>,
    next: Slot<Token>,
}

/// What a variable of a rule is bound to while a pattern is tried.
#[derive(Managed)]
#[repr(C)]
struct Binding {
    header: Header,
    variable: u64,
    subject: u64,
    before: Slot<Binding>,
}

/// Kinds of facts: measured, checked, explained, concluded.
const KINDS: u64 = 4;
/// What is measured in a round.
const MEASURED: usize = 25;
/// Subjects that measurements are about.
const SUBJECTS: u64 = 40;
/// Tokens that wait in a pattern.
const WAITING: u64 = 60;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let network = m.alloc_refs::<PatternNode>(KINDS as usize).expect("room");
    for kind in 0..KINDS {
        let mut m = m.scope();
        let node = m.alloc(PatternNodeInit {
            kind,
            tokens: None,
            waiting: 0,
        });
        let node = node.expect("room");
        m[network][kind as usize].set(Some(&m[node]));
    }
    let memory = m.alloc(WorkingMemoryInit {
        facts: None,
        count: 0,
        network,
    });
    let memory = memory.expect("room");
    m.static_root::<WorkingMemory>("memory")
        .set(&m, Some(&m[memory]));
    let mut engine = Engine {
        memory,
        random: Random::new(3),
        scale: work.scale as u64,
        leak: work.leak,
        next: 0,
        outcome: Outcome::default(),
    };
    // A round takes as long as the square of the scale.
    for _ in 0..work.rounds / (work.scale / 4).max(1) {
        for _ in 0..MEASURED * work.scale {
            let subject = engine.random.below(SUBJECTS * work.scale as u64);
            engine.assert(&mut m.scope(), 0, subject);
        }
        each(&mut m);
    }
    engine.outcome
}

struct Engine<'a> {
    memory: Local<'a, WorkingMemory>,
    random: Random,
    scale: u64,
    leak: bool,
    next: u64,
    outcome: Outcome,
}

impl Engine<'_> {
    /// Asserts a fact, and whatever follows from it.
    fn assert(&mut self, m: &mut Mutator<'_>, kind: u64, subject: u64) {
        let value = format!("fact {kind} of {subject}: {}", self.random.below(1_000));
        let value = m.alloc_str(&value).expect("room");
        let next = m[self.memory].facts.get().map(|fact| m.local(fact));
        let fact = m.alloc(FactInit {
            id: self.next,
            kind,
            subject,
            used: 0,
            value,
            before: None,
            next,
        });
        let fact = fact.expect("room");
        self.next += 1;
        if let Some(next) = m[fact].next.get() {
            next.before.set(Some(&m[fact]));
        }
        let memory = &m[self.memory];
        memory.facts.set(Some(&m[fact]));
        memory.count.set(memory.count.get() + 1);
        if self.fires(m, fact) && kind + 1 < KINDS {
            self.assert(m, kind + 1, subject);
        }
    }

    /// Returns whether a fact and one of its kind that waits, about the same subject, make a
    /// rule fire.
    fn fires(&mut self, m: &mut Mutator<'_>, fact: Local<'_, Fact>) -> bool {
        let kind = m[fact].kind as usize;
        let node = m[self.memory].network.get()[kind].get();
        let node = m.local(node.expect("all are there"));
        let subject = m[fact].subject;
        self.bind(&mut m.scope(), node, subject);
        let mut slot = &m[node].tokens;
        while let Some(token) = slot.get() {
            let other = token.fact.get();
            if other.subject == m[fact].subject {
                slot.set(token.next.get());
                m[node].waiting.set(m[node].waiting.get() - 1);
                self.outcome.note(other.id);
                other.used.set(m[fact].id);
                self.retract(m, other);
                self.retract(m, &m[fact]);
                return true;
            }
            slot = &token.next;
        }
        let next = m[node].tokens.get().map(|token| m.local(token));
        let fact = m.local(&m[fact]);
        let token = m.alloc(TokenInit { fact, next }).expect("room");
        let node = &m[node];
        node.tokens.set(Some(&m[token]));
        node.waiting.set(node.waiting.get() + 1);
        if node.waiting.get() > WAITING * self.scale {
            self.expire(m, node);
        }
        false
    }

    /// Binds the variables of a rule, once for each token that is tried.
    fn bind(&mut self, m: &mut Mutator<'_>, node: Local<'_, PatternNode>, subject: u64) {
        let mut before: Option<Local<'_, Binding>> = None;
        for variable in 0..m[node].waiting.get() {
            let init = BindingInit {
                variable,
                subject,
                before,
            };
            before = Some(m.alloc(init).expect("room"));
        }
        self.outcome
            .note(before.map_or(0, |it| m[it].variable ^ m[it].subject));
    }

    /// What has waited longest does so in vain.
    fn expire(&self, m: &Mutator<'_>, node: &PatternNode) {
        let mut slot = &node.tokens;
        while let Some(token) = slot.get() {
            if token.next.is_null() {
                slot.clear();
                node.waiting.set(node.waiting.get() - 1);
                self.retract(m, token.fact.get());
                return;
            }
            slot = &token.next;
        }
    }

    fn retract(&self, m: &Mutator<'_>, fact: &Fact) {
        if self.leak {
            return;
        }
        let memory = &m[self.memory];
        let (before, next) = (fact.before.get(), fact.next.get());
        match before {
            Some(before) => before.next.set(next),
            None => memory.facts.set(next),
        }
        if let Some(next) = next {
            next.before.set(before);
        }
        // Another fact may still wait that is retracted next.
        fact.before.clear();
        fact.next.clear();
        memory.count.set(memory.count.get() - 1);
    }
}
