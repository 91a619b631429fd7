//! A compiler that takes a module through four passes. Each adds something to every function, so
//! that the module grows until it is written. Modules are of different sizes.

use heaphound::{Bytes, Local, Mutator, RefArray, Slot};

use super::*;

class!(Function {
    body: Slot<Instruction>, graph: Slot<Block>, liveness: Slot<Bytes>, code: Slot<Bytes>
});
class!(Instruction { opcode: u64, next: Slot<Instruction> });
class!(Block { number: u64, first: Slot<Instruction>, next: Slot<Block> });

/// Functions of a module at most, and those that a pass gets done in a round.
const FUNCTIONS: usize = 240;
const DONE: usize = 20;
const PASSES: usize = 4;
/// Lines that are traced in a round.
const LINES: usize = 140;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(118), Outcome::default());
    let module = m.static_root::<RefArray<Function>>("module");
    let mut rounds = 0;
    while rounds < work.rounds {
        let mut m = m.scope();
        let count = (FUNCTIONS / 4 + random.index(FUNCTIONS * 3 / 4)) * work.scale;
        let functions = m.alloc_refs::<Function>(count).expect("room");
        module.set(&m, Some(&m[functions]));
        for at in 0..PASSES * count {
            let (pass, at) = (at / count, at % count);
            outcome.note(apply(&mut m.scope(), functions, pass, at, &mut random));
            if at % (DONE * work.scale) == 0 {
                write_lines(&mut m, LINES * work.scale, &mut outcome);
                rounds += 1;
                each(&mut m);
            }
        }
        module.clear(&m);
    }
    outcome
}

/// Does a pass for a function. Returns the size of what it made.
fn apply(
    m: &mut Mutator<'_>,
    functions: Local<'_, RefArray<Function>>,
    pass: usize,
    at: usize,
    random: &mut Random,
) -> u64 {
    if pass == 0 {
        return parse(m, functions, at, random);
    }
    let function = m.local(m[functions][at].get().expect("parsed"));
    let length = m[function].length();
    let room = length.next_multiple_of(32) as usize;
    match pass {
        1 => {
            for number in 0..1 + length / 5 {
                let first = m[function].body.get().map(|it| m.local(it));
                let next = m[function].graph.get().map(|it| m.local(it));
                let block = m
                    .alloc(BlockInit {
                        number,
                        first,
                        next,
                    })
                    .expect("room");
                m[function].graph.set(Some(&m[block]));
            }
        }
        2 => {
            let sets = m.alloc_bytes(&vec![0; 8 * room]).expect("room");
            m[function].liveness.set(Some(&m[sets]));
        }
        _ => {
            let code = m.alloc_bytes(&vec![0x90; 4 * room]);
            m[function].code.set(Some(&m[code.expect("room")]));
        }
    }
    length
}

fn parse(
    m: &mut Mutator<'_>,
    functions: Local<'_, RefArray<Function>>,
    at: usize,
    random: &mut Random,
) -> u64 {
    let length = 4 + random.skewed(60);
    let mut body = None;
    for _ in 0..length {
        let (opcode, next) = (random.below(200), body);
        body = Some(m.alloc(InstructionInit { opcode, next }).expect("room"));
    }
    let function = m.alloc(FunctionInit {
        body,
        graph: None,
        liveness: None,
        code: None,
    });
    m[functions][at].set(Some(&m[function.expect("room")]));
    length
}

impl Function {
    fn length(&self) -> u64 {
        let instructions = std::iter::successors(self.body.get(), |it| it.next.get());
        instructions.count() as u64
    }
}
