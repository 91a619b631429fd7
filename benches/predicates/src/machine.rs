//! Predicates as machine code, made by Cranelift.
//!
//! The code is made for objects of class `NODE` that refer to objects of class `NODE`: it has their
//! offsets as constants, and compares the class of whatever it reads behind a reference before it
//! does. Of an object where that fails the interpreter is asked.

use std::sync::Arc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, InstBuilder, MemFlagsData, Signature, Value,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, default_libcall_names};

use crate::closures::{Batch, Truths};
use crate::heap::{CLASS_BITS, Formula, Heap, LANES, NODE, Path};

/// What a function is for, and how it treats null and `&&`.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// One object of any class; branches.
    Object,
    /// 64 objects of class `NODE`; branches.
    Branches,
    /// 64 objects of class `NODE`; branches on the class alone, as the closures for 64 do.
    Selects,
}

pub struct Code<'a> {
    module: Option<JITModule>,
    code: *const u8,
    asked: Asked<'a>,
}

/// What the interpreter is asked about.
#[derive(Clone, Copy)]
struct Asked<'a> {
    heap: &'a Heap,
    formula: &'a Formula,
}

extern "C" fn interpret(asked: &Asked<'_>, x: u32) -> u64 {
    asked.formula.holds(asked.heap, x) as u64
}

type OfObject = extern "C" fn(*const u8, u32, &Asked<'_>) -> u64;
type OfBatch = extern "C" fn(*const u8, &[u32; LANES], &Asked<'_>, &mut Truths);

/// This machine.
pub fn native() -> Arc<dyn TargetIsa> {
    let mut flags = settings::builder();
    for (name, value) in [("opt_level", "speed"), ("enable_verifier", "false")] {
        flags.set(name, value).expect("a setting");
    }
    let isa = cranelift_native::builder().expect("a machine that Cranelift knows");
    isa.finish(settings::Flags::new(flags)).expect("an ISA")
}

impl<'a> Code<'a> {
    pub fn new(isa: &Arc<dyn TargetIsa>, heap: &'a Heap, formula: &'a Formula, kind: Kind) -> Self {
        let builder = JITBuilder::with_isa(isa.clone(), default_libcall_names());
        let mut module = JITModule::new(builder);
        let signature = |params: &[_], returns: &[_]| {
            let mut signature: Signature = module.make_signature();
            signature
                .params
                .extend(params.iter().copied().map(AbiParam::new));
            signature
                .returns
                .extend(returns.iter().copied().map(AbiParam::new));
            signature
        };
        let fallback = signature(&[I64, I32], &[I64]);
        let signature = match kind {
            Kind::Object => signature(&[I64, I32, I64], &[I64]),
            _ => signature(&[I64; 4], &[]),
        };
        let id = module.declare_function("test", Linkage::Local, &signature);
        let id = id.expect("a new name");
        let mut context = module.make_context();
        context.func.signature = signature;
        let mut builders = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut context.func, &mut builders);
        let fallback = b.import_signature(fallback);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let params = b.block_params(entry).to_vec();
        let (base, asked) = (params[0], params[2]);
        let (slow, done) = (b.create_block(), b.create_block());
        b.set_cold_block(slow);
        let mut emit = Emit {
            b,
            heap,
            base,
            slow,
            done,
        };

        // What a batch goes round: where to read the next object, and the bits so far.
        let around = (kind != Kind::Object).then(|| {
            let b = &mut emit.b;
            let start = b.create_block();
            let zero = b.ins().iconst(I64, 0);
            b.ins()
                .jump(start, &[params[1], zero, zero].map(BlockArg::from));
            b.switch_to_block(start);
            (start, [I64; 3].map(|ty| b.append_block_param(start, ty)))
        });
        let x = match around {
            Some((_, [cursor, ..])) => emit.b.ins().load(I32, MemFlagsData::trusted(), cursor, 0),
            None => params[1],
        };
        if kind == Kind::Object {
            emit.expect_node(x);
        }
        let (yes, absent) = match kind {
            Kind::Selects => emit.selects(formula, x),
            _ => emit.branches(formula, x),
        };
        emit.finish(yes, absent);

        let Emit { mut b, .. } = emit;
        b.switch_to_block(slow);
        let callee = b.ins().iconst(I64, interpret as *const () as i64);
        let call = b.ins().call_indirect(fallback, callee, &[asked, x]);
        let truth = b.inst_results(call)[0];
        b.ins().jump(done, &[truth.into()]);

        b.switch_to_block(done);
        let truth = b.append_block_param(done, I64);
        match around {
            None => {
                b.ins().return_(&[truth]);
            }
            Some((start, [cursor, yes, absent])) => {
                // Every lane comes in at the top; after 64 of them the first is the lowest.
                let mut shift_in = |bits, by| {
                    let (bits, bit) = (b.ins().ushr_imm_u(bits, 1), b.ins().ushr_imm_u(truth, by));
                    let bit = b.ins().ishl_imm_u(bit, 63);
                    b.ins().bor(bits, bit)
                };
                let (yes, absent) = (shift_in(yes, 0), shift_in(absent, 1));
                let cursor = b.ins().iadd_imm_s(cursor, 4);
                let end = b.ins().iadd_imm_s(params[1], 4 * LANES as i64);
                let more = b.ins().icmp(IntCC::NotEqual, cursor, end);
                let exit = b.create_block();
                b.ins().brif(
                    more,
                    start,
                    &[cursor, yes, absent].map(BlockArg::from),
                    exit,
                    &[],
                );
                b.switch_to_block(exit);
                b.ins().store(MemFlagsData::trusted(), yes, params[3], 0);
                b.ins().store(MemFlagsData::trusted(), absent, params[3], 8);
                b.ins().return_(&[]);
            }
        }
        b.seal_all_blocks();
        b.finalize(module.target_config());
        module.define_function(id, &mut context).expect("code");
        module.finalize_definitions().expect("memory for code");
        Self {
            code: module.get_finalized_function(id),
            module: Some(module),
            asked: Asked { heap, formula },
        }
    }

    /// What a function of [`Kind::Object`] says of an object, as `Truth` has it.
    pub fn object_test(&self) -> impl Fn(u32) -> u64 {
        // SAFETY: the code was made with that signature, and lives as long as `self`.
        let test = unsafe { std::mem::transmute::<*const u8, OfObject>(self.code) };
        let Asked { heap, .. } = self.asked;
        move |x| test(heap.base(), x, &self.asked)
    }

    /// What a function of another kind says of a batch.
    pub fn batch_test(&self) -> impl Fn(&Batch<'_>) -> Truths {
        // SAFETY: as above.
        let test = unsafe { std::mem::transmute::<*const u8, OfBatch>(self.code) };
        let Asked { heap, .. } = self.asked;
        move |batch| {
            let mut truths = Truths::default();
            test(heap.base(), batch.objects, &self.asked, &mut truths);
            truths
        }
    }
}

impl Drop for Code<'_> {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: nobody can call the code any more: tests borrow `self`.
            unsafe { module.free_memory() }
        }
    }
}

struct Emit<'b, 'h> {
    b: FunctionBuilder<'b>,
    heap: &'h Heap,
    base: Value,
    /// Asks the interpreter.
    slow: Block,
    /// Takes what is said of an object, as `Truth` has it.
    done: Block,
}

/// What a path leads to, and as a byte each, whether it is there and whether a dereference failed.
struct Followed {
    value: Value,
    there: Value,
    absent: Value,
}

impl Emit<'_, '_> {
    fn at(&mut self, object: Value) -> Value {
        let granule = self.b.ins().uextend(I64, object);
        let offset = self.b.ins().ishl_imm_u(granule, 3);
        self.b.ins().iadd(self.base, offset)
    }

    fn load(&mut self, field: usize, object: Value) -> Value {
        let place = self.heap.places[field][NODE as usize];
        let ty = if place.is_slot() { I32 } else { I64 };
        let at = self.at(object);
        let flags = MemFlagsData::trusted().with_readonly();
        self.b.ins().load(ty, flags, at, place.offset() as i32)
    }

    fn refers(&mut self, held: Value) -> Value {
        let less = self.b.ins().iadd_imm_s(held, -1);
        let reach = i64::from(self.heap.reach);
        self.b
            .ins()
            .icmp_imm_u(IntCC::UnsignedLessThan, less, reach)
    }

    /// Goes on in a new block if the object is of class `NODE`.
    fn expect_node(&mut self, object: Value) {
        let at = self.at(object);
        let flags = MemFlagsData::trusted().with_readonly();
        let header = self.b.ins().load(I32, flags, at, 0);
        let class = self.b.ins().band_imm_u(header, CLASS_BITS as i64);
        let is_node = self
            .b
            .ins()
            .icmp_imm_u(IntCC::Equal, class, i64::from(NODE));
        let next = self.b.create_block();
        self.b.ins().brif(is_node, next, &[], self.slow, &[]);
        self.b.switch_to_block(next);
    }

    /// Goes on in a new block if so, or else says that of the object.
    fn only_if(&mut self, so: Value, or_else: i64) {
        let truth = self.b.ins().iconst(I64, or_else);
        let next = self.b.create_block();
        self.b.ins().brif(so, next, &[], self.done, &[truth.into()]);
        self.b.switch_to_block(next);
    }

    fn finish(&mut self, yes: Value, absent: Value) {
        let yes = self.b.ins().uextend(I64, yes);
        let absent = self.b.ins().uextend(I64, absent);
        let absent = self.b.ins().ishl_imm_u(absent, 1);
        let truth = self.b.ins().bor(yes, absent);
        self.b.ins().jump(self.done, &[truth.into()]);
    }

    fn branches(&mut self, formula: &Formula, x: Value) -> (Value, Value) {
        let (condition, a, b) = match formula {
            Formula::And(a, b) => {
                let (yes, _) = self.branches(a, x);
                self.only_if(yes, 0);
                return self.branches(b, x);
            }
            Formula::Same(a, b) => (IntCC::Equal, a, b),
            Formula::AtMost(a, b) => (IntCC::SignedLessThanOrEqual, a, b),
        };
        let (a, b) = (self.follow_branching(a, x), self.follow_branching(b, x));
        let absent = self.b.ins().iconst(I8, 0);
        (self.b.ins().icmp(condition, a, b), absent)
    }

    fn follow_branching(&mut self, path: &Path, x: Value) -> Value {
        let mut at = x;
        for (number, &field) in path.iter().enumerate() {
            if number > 0 {
                let refers = self.refers(at);
                self.only_if(refers, 2);
                self.expect_node(at);
            }
            at = self.load(field, at);
        }
        at
    }

    fn selects(&mut self, formula: &Formula, x: Value) -> (Value, Value) {
        let (condition, a, b) = match formula {
            Formula::And(a, b) => {
                let (first, failed) = self.selects(a, x);
                let (then, then_failed) = self.selects(b, x);
                let yes = self.b.ins().band(first, then);
                let then_failed = self.b.ins().band(first, then_failed);
                return (yes, self.b.ins().bor(failed, then_failed));
            }
            Formula::Same(a, b) => (IntCC::Equal, a, b),
            Formula::AtMost(a, b) => (IntCC::SignedLessThanOrEqual, a, b),
        };
        let (a, b) = (self.follow_selecting(a, x), self.follow_selecting(b, x));
        let absent = self.b.ins().bor(a.absent, b.absent);
        let compared = self.b.ins().icmp(condition, a.value, b.value);
        let both = self.b.ins().band(a.there, b.there);
        let any = self.b.ins().bor(a.there, b.there);
        let nulls = self.b.ins().bxor_imm_u(any, 1);
        let compared = self.b.ins().band(compared, both);
        let yes = self.b.ins().bor(compared, nulls);
        (self.b.ins().band_not(yes, absent), absent)
    }

    /// Where there is nothing, looks once more into the object that was looked into before.
    fn follow_selecting(&mut self, path: &Path, x: Value) -> Followed {
        let mut at = Followed {
            value: x,
            there: self.b.ins().iconst(I8, 1),
            absent: self.b.ins().iconst(I8, 0),
        };
        for (number, &field) in path.iter().enumerate() {
            if number > 0 {
                let null = self.b.ins().bxor_imm_u(at.there, 1);
                at.absent = self.b.ins().bor(at.absent, null);
                self.expect_node(at.value);
            }
            let held = self.load(field, at.value);
            if !self.heap.places[field][NODE as usize].is_slot() {
                at.value = held;
                at.there = self.b.ins().iconst(I8, 1);
                continue;
            }
            at.there = self.refers(held);
            at.value = self.b.ins().select(at.there, held, at.value);
        }
        at
    }
}
