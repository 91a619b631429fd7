//! A parser of log files, which interns the words of each line so that they can be compared. Some
//! words are numbers of requests, which never come back and should not be interned.

use heaphound::{Local, Mutator, Ref, RefArray, Slot, Str, Var};

use super::*;

class!(Interner { count: Var<u64>, buckets: Ref<RefArray<Symbol>> });
class!(Symbol { hash: u64, text: Ref<Str>, next: Slot<Symbol> });
class!(Line { request: Slot<Str>, words: Ref<RefArray<Symbol>> });

/// Words of a line, and how many different ones there are.
const WORDS: usize = 8;
const VOCABULARY: u64 = 1_000;
/// Lines that are read in a round, and those that are remembered.
const LINES: usize = 60;
const REMEMBERED: usize = 500;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(104), Outcome::default());
    let buckets = m.alloc_refs::<Symbol>(256).expect("room");
    let interner = m.alloc(InternerInit { count: 0, buckets }).expect("room");
    m.static_root::<Interner>("interner")
        .set(&m, Some(&m[interner]));
    let remembered = m.alloc_refs::<Line>(REMEMBERED * work.scale).expect("room");
    let mut at = 0;
    for _ in 0..work.rounds {
        for _ in 0..LINES * work.scale {
            let mut m = m.scope();
            let words = m.alloc_refs::<Symbol>(WORDS).expect("room");
            for place in 0..WORDS - 1 {
                let word = random.skewed(VOCABULARY * work.scale as u64);
                let mut m = m.scope();
                let text = m.alloc_str(&format!("word{word}")).expect("room");
                let symbol = intern(&mut m, interner, text);
                m[words][place].set(Some(&m[symbol]));
            }
            let mut request = None;
            if random.below(4) == 0 {
                let number = format!("request-{:012x}", random.below(1 << 40));
                let text = m.alloc_str(&number).expect("room");
                match work.leak {
                    true => {
                        let symbol = intern(&mut m, interner, text);
                        m[words][WORDS - 1].set(Some(&m[symbol]));
                    }
                    false => request = Some(text),
                }
            }
            let line = m.alloc(LineInit { request, words }).expect("room");
            m[remembered][at].set(Some(&m[line]));
            at = (at + 1) % (REMEMBERED * work.scale);
        }
        outcome.note(m[interner].count.get());
        each(&mut m);
    }
    outcome
}

/// Returns the only symbol of a text.
fn intern<'a>(
    m: &mut Mutator<'a>,
    interner: Local<'_, Interner>,
    text: Local<'_, Str>,
) -> Local<'a, Symbol> {
    let bytes = m[text].bytes();
    let hash = bytes.fold(14_695_981_039_346_656_037_u64, |hash, byte| {
        (hash ^ byte as u64).wrapping_mul(1_099_511_628_211)
    });
    let mut symbol = m[interner].bucket(hash).get();
    while let Some(it) = symbol {
        if it.hash == hash && **it.text.get() == *m[text] {
            return m.local(it);
        }
        symbol = it.next.get();
    }
    m.scoped(|m| {
        if m[interner].count.get() as usize > m[interner].buckets.get().len() {
            grow(m, interner);
        }
        let text = m.local(&m[text]);
        let next = m[interner].bucket(hash).get().map(|it| m.local(it));
        let symbol = m.alloc(SymbolInit { hash, text, next })?;
        m[interner].bucket(hash).set(Some(&m[symbol]));
        m[interner].count.set(m[interner].count.get() + 1);
        Ok::<_, heaphound::OutOfMemory>(symbol)
    })
    .expect("room")
}

fn grow(m: &mut Mutator<'_>, interner: Local<'_, Interner>) {
    let old = m.local(m[interner].buckets.get());
    let more = m.alloc_refs::<Symbol>(m[old].len() * 2).expect("room");
    m[interner].buckets.set(&m[more]);
    for bucket in m[old].iter() {
        let mut symbol = bucket.get();
        while let Some(moved) = symbol {
            symbol = moved.next.get();
            let bucket = m[interner].bucket(moved.hash);
            moved.next.set(bucket.get());
            bucket.set(Some(moved));
        }
    }
}

impl Interner {
    fn bucket(&self, hash: u64) -> &Slot<Symbol> {
        let buckets = self.buckets.get();
        &buckets[hash as usize % buckets.len()]
    }
}
