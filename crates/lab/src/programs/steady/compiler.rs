//! A compiler: each file is parsed into a tree, resolved in nested scopes, and becomes code that
//! is written out. What stays are names, which are interned, the interfaces of the files compiled
//! so far, up to a number of them, and the messages of the last file.

use heaphound::{Header, Local, Managed, Mutator, Ref, RefArray, Slot, Str, Var};

use super::{Each, Work};
use crate::programs::table::HashTable;
use crate::programs::{Outcome, Random};

#[derive(Managed)]
#[repr(C)]
struct Compiler {
    header: Header,
    names: Ref<HashTable>,
    interfaces: Ref<RefArray<Interface>>,
    file: Slot<Syntax>,
    scope: Slot<Scope>,
}

#[derive(Managed)]
#[repr(C)]
struct Name {
    header: Header,
    text: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Interface {
    header: Header,
    path: Ref<Str>,
    exports: Ref<RefArray<Name>>,
}

#[derive(Managed)]
#[repr(C)]
struct Syntax {
    header: Header,
    kind: u64,
    name: Slot<Name>,
    symbol: Slot<Symbol>,
    children: Slot<RefArray<Syntax>>,
}

#[derive(Managed)]
#[repr(C)]
struct Scope {
    header: Header,
    outer: Slot<Scope>,
    symbols: Slot<Symbol>,
}

#[derive(Managed)]
#[repr(C)]
struct Symbol {
    header: Header,
    used: Var<u64>,
    name: Ref<Name>,
    next: Slot<Symbol>,
}

#[derive(Managed)]
#[repr(C)]
struct Instruction {
    header: Header,
    code: u64,
    next: Slot<Instruction>,
}

/// Words that programmers use.
const WORDS: u64 = 900;
/// Interfaces that are kept.
const INTERFACES: usize = 24;
/// The size of a file, in nodes of its tree, more or less.
const NODES: u64 = 500;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let names = HashTable::new(&mut m);
    let interfaces = m.alloc_refs(INTERFACES).expect("room");
    let compiler = m.alloc(CompilerInit {
        names,
        interfaces,
        file: None,
        scope: None,
    });
    let compiler = compiler.expect("room");
    m.static_root::<Compiler>("compiler")
        .set(&m, Some(&m[compiler]));
    let mut build = Build {
        compiler,
        scale: work.scale as u64,
        random: Random::new(21),
        outcome: Outcome::default(),
    };
    for file in 0..work.rounds {
        build.compile(&mut m.scope(), file);
        each(&mut m);
    }
    build.outcome
}

struct Build<'a> {
    compiler: Local<'a, Compiler>,
    scale: u64,
    random: Random,
    outcome: Outcome,
}

impl Build<'_> {
    fn compile(&mut self, m: &mut Mutator<'_>, file: usize) {
        let nodes = NODES * self.scale / 2 + self.random.below(NODES * self.scale);
        let tree = self.parse(m, nodes);
        m[self.compiler].file.set(Some(&m[tree]));
        m[self.compiler].scope.clear();
        self.resolve(&mut m.scope(), tree);
        let code = self.generate(m, nodes);
        let mut sum = 0u64;
        let mut next = Some(&m[code]);
        while let Some(instruction) = next {
            sum = instruction.code.wrapping_add(sum.rotate_left(3));
            next = instruction.next.get();
        }
        self.outcome.note(sum);
        self.export(m, file);
        m[self.compiler].file.clear();
        m[self.compiler].scope.clear();
    }

    /// Returns a name; most are of few words.
    fn name<'a>(&mut self, m: &mut Mutator<'a>) -> Local<'a, Name> {
        let words = WORDS * self.scale;
        let word = self.random.skewed(words);
        if let Some(name) = m[self.compiler].names.get().get::<Name>(word) {
            return m.local(name);
        }
        m.scoped(|m| {
            let text = m.alloc_str(&format!("name_{word}"))?;
            let name = m.alloc(NameInit { text })?;
            let names = m.local(m[self.compiler].names.get());
            HashTable::insert(m, names, word, name);
            Ok::<_, heaphound::OutOfMemory>(name)
        })
        .expect("room")
    }

    fn parse<'a>(&mut self, m: &mut Mutator<'a>, nodes: u64) -> Local<'a, Syntax> {
        m.scoped(|m| {
            let parts = match nodes {
                0..2 => 0,
                _ => 1 + self.random.below(4.min(nodes - 1)),
            };
            let children = match parts {
                0 => None,
                parts => Some(m.alloc_refs::<Syntax>(parts as usize)?),
            };
            let name = match self.random.below(3) {
                0 => Some(self.name(m)),
                _ => None,
            };
            let node = m.alloc(SyntaxInit {
                kind: self.random.below(30),
                name,
                symbol: None,
                children,
            })?;
            for part in 0..parts {
                let mut m = m.scope();
                let child = self.parse(&mut m, (nodes - 1) / parts);
                m[children.expect("it has parts")][part as usize].set(Some(&m[child]));
            }
            Ok::<_, heaphound::OutOfMemory>(node)
        })
        .expect("room")
    }

    /// Gives names their symbols. Some nodes open a scope.
    fn resolve(&mut self, m: &mut Mutator<'_>, node: Local<'_, Syntax>) {
        let outer = m[self.compiler].scope.get().map(|scope| m.local(scope));
        if m[node].kind < 5 || outer.is_none() {
            let scope = m.alloc(ScopeInit {
                outer: outer.map(|scope| m.local(&m[scope])),
                symbols: None,
            });
            let scope = scope.expect("room");
            m[self.compiler].scope.set(Some(&m[scope]));
        }
        if let Some(name) = m[node].name.get() {
            let name = m.local(name);
            let symbol = self.symbol(m, name);
            m[node].symbol.set(Some(&m[symbol]));
        }
        if let Some(children) = m[node].children.get() {
            let children = m.local(children);
            for place in 0..m[children].len() {
                let mut m = m.scope();
                let child = m.local(m[children][place].get().expect("parsed"));
                self.resolve(&mut m, child);
            }
        }
        m[self.compiler].scope.set(outer.map(|scope| &m[scope]));
    }

    fn symbol<'a>(&mut self, m: &mut Mutator<'a>, name: Local<'_, Name>) -> Local<'a, Symbol> {
        let scope = m.local(m[self.compiler].scope.get().expect("one is open"));
        let mut symbol = m[scope].symbols.get();
        while let Some(known) = symbol {
            if std::ptr::eq(known.name.get(), &m[name]) {
                known.used.set(known.used.get() + 1);
                return m.local(known);
            }
            symbol = known.next.get();
        }
        let next = m[scope].symbols.get().map(|symbol| m.local(symbol));
        let name = m.local(&m[name]);
        let symbol = m.alloc(SymbolInit {
            used: 1,
            name,
            next,
        });
        let symbol = symbol.expect("room");
        m[scope].symbols.set(Some(&m[symbol]));
        symbol
    }

    fn generate<'a>(&mut self, m: &mut Mutator<'a>, count: u64) -> Local<'a, Instruction> {
        let first = m.alloc(InstructionInit {
            code: 0,
            next: None,
        });
        let first = first.expect("room");
        let last = m.local(&m[first]);
        for _ in 0..count {
            let mut m = m.scope();
            let code = self.random.below(1 << 30);
            let made = m.alloc(InstructionInit { code, next: None });
            let made = made.expect("room");
            m[last].next.set(Some(&m[made]));
            m.set_local(last, &m[made]);
        }
        first
    }

    fn export(&mut self, m: &mut Mutator<'_>, file: usize) {
        let count = 1 + self.random.index(30 * self.scale as usize);
        let exports = m.alloc_refs::<Name>(count).expect("room");
        for place in 0..count {
            let mut m = m.scope();
            let name = self.name(&mut m);
            m[exports][place].set(Some(&m[name]));
        }
        let path = m.alloc_str(&format!("src/file_{file}.rs")).expect("room");
        let interface = m.alloc(InterfaceInit { path, exports }).expect("room");
        let interfaces = m[self.compiler].interfaces.get();
        interfaces[file % INTERFACES].set(Some(&m[interface]));
    }
}
