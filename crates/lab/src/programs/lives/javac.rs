//! A compiler after SPEC JVM98's `_213_javac`: it compiles the same sources four times over.
//!
//! Each time, all files are scanned and parsed, then all classes are attributed, then code is generated for all
//! of them, as the original does. Trees, symbols, names and code are kept until the last class is done, and
//! are then dropped at once: what survives a nursery lives until the end of the batch, and no longer.
//! Tokens, the text of words, lists that grow while something is parsed, environments, the types
//! of calls and the items of the code generator die at once. Some trees die young as well: operands of what is folded.
//!
//! The language has classes with fields and methods, locals, assignments, calls, `if`, `while` and `return`,
//! and arithmetic on integers. Sources are text, and are made up before the heap is used.

mod sources;

use heaphound::{
    Bytes, Header, Local, Managed, Mutator, OutOfMemory, Ref, RefArray, Slot, Str, Var,
};

use super::Checksum;

/// How often the sources are compiled.
const ITERATIONS: usize = 4;
/// Source files.
const FILES: usize = 42;

/// Compiles everything four times.
pub(super) fn run(m: &mut Mutator<'_>, scale: usize) -> Result<u64, OutOfMemory> {
    let files = (FILES * scale / 100).max(1);
    let sources = sources::make_up(files);
    let mut checksum = Checksum::default();
    for _ in 0..ITERATIONS {
        let mut m = m.scope();
        let mut compiler = Compiler::new(&mut m)?;
        compiler.compile(&mut m, &sources, &mut checksum)?;
        m.static_root::<Batch>("batch").clear(&m);
    }
    Ok(checksum.value())
}

/// All that is compiled together.
#[derive(Managed)]
#[repr(C)]
struct Batch {
    header: Header,
    names: Ref<RefArray<Name>>,
    classes: Slot<ClassTree>,
}

/// A word of the sources, once.
#[derive(Managed)]
#[repr(C)]
struct Name {
    header: Header,
    hash: u64,
    text: Ref<Str>,
    next: Slot<Name>,
}

#[derive(Managed)]
#[repr(C)]
struct Token {
    header: Header,
    kind: u32,
    position: u32,
    value: u64,
    name: Slot<Name>,
}

#[derive(Managed)]
#[repr(C)]
struct ClassTree {
    header: Header,
    name: Ref<Name>,
    scope: Slot<Scope>,
    fields: Slot<RefArray<Statement>>,
    methods: Slot<RefArray<MethodTree>>,
    next: Slot<ClassTree>,
}

#[derive(Managed)]
#[repr(C)]
struct MethodTree {
    header: Header,
    position: u32,
    name: Ref<Name>,
    parameters: Ref<RefArray<Name>>,
    body: Ref<RefArray<Statement>>,
    code: Slot<Bytes>,
}

#[derive(Managed)]
#[repr(C)]
struct Statement {
    header: Header,
    kind: u32,
    position: u32,
    name: Slot<Name>,
    expression: Slot<Expression>,
    body: Slot<RefArray<Statement>>,
    otherwise: Slot<RefArray<Statement>>,
    symbol: Slot<Symbol>,
}

#[derive(Managed)]
#[repr(C)]
struct Expression {
    header: Header,
    kind: u32,
    position: u32,
    value: u64,
    name: Slot<Name>,
    left: Slot<Expression>,
    right: Slot<Expression>,
    symbol: Slot<Symbol>,
}

#[derive(Managed)]
#[repr(C)]
struct Symbol {
    header: Header,
    number: u32,
    uses: Var<u32>,
    name: Ref<Name>,
    next: Slot<Symbol>,
}

#[derive(Managed)]
#[repr(C)]
struct Scope {
    header: Header,
    symbols: Ref<RefArray<Symbol>>,
}

/// Where something is attributed: the locals of a block.
#[derive(Managed)]
#[repr(C)]
struct Environment {
    header: Header,
    depth: u32,
    outer: Slot<Environment>,
    class: Ref<Scope>,
    locals: Slot<Symbol>,
}

/// The types of a call, while a method is looked for.
#[derive(Managed)]
#[repr(C)]
struct CallType {
    header: Header,
    arguments: u64,
    name: Ref<Name>,
    tree: Ref<Expression>,
}

/// Where the code generator has a value.
#[derive(Managed)]
#[repr(C)]
struct Item {
    header: Header,
    place: u32,
    value: u32,
    symbol: Slot<Symbol>,
}

/// A list while it grows.
#[derive(Managed)]
#[repr(C)]
struct ListBuffer<T: Managed> {
    header: Header,
    count: Var<u64>,
    last: Slot<Cons<T>>,
}

#[derive(Managed)]
#[repr(C)]
struct Cons<T: Managed> {
    header: Header,
    head: Ref<T>,
    before: Slot<Cons<T>>,
}

// Kinds of tokens; others are characters.
const END: u32 = 0;
const WORD: u32 = 1;
const NUMBER: u32 = 2;
// It is an operator, and so no other kind of expression.
const EQUAL: u32 = 4;
// Kinds of expressions; others are operators, by their tokens.
const LITERAL: u32 = 1;
const IDENT: u32 = 2;
const CALL: u32 = 3;
// Kinds of statements.
const DEFINE: u32 = 1;
const ASSIGN: u32 = 2;
const IF: u32 = 3;
const WHILE: u32 = 4;
const RETURN: u32 = 5;

/// Chains of the table of names, and of the table of a class's members.
const CHAINS: usize = 1024;
const MEMBERS: usize = 32;

struct Compiler<'s> {
    batch: Local<'s, Batch>,
    /// The next one.
    token: Local<'s, Token>,
    scanner: Scanner<'s>,
    code: Vec<u8>,
    next_symbol: u32,
}

/// Where it is in a source.
#[derive(Default)]
struct Scanner<'s> {
    text: &'s [u8],
    at: usize,
}

type Made<'a, T> = Result<Local<'a, T>, OutOfMemory>;

impl<'s> Compiler<'s> {
    fn new(m: &mut Mutator<'s>) -> Result<Self, OutOfMemory> {
        let names = m.alloc_refs(CHAINS)?;
        let batch = m.alloc(BatchInit {
            names,
            classes: None,
        })?;
        m.static_root::<Batch>("batch").set(m, Some(&m[batch]));
        let token = m.alloc(TokenInit {
            kind: END,
            position: 0,
            value: 0,
            name: None,
        })?;
        Ok(Self {
            batch,
            token,
            scanner: Scanner::default(),
            code: Vec::new(),
            next_symbol: 0,
        })
    }

    fn compile(
        &mut self,
        m: &mut Mutator<'_>,
        sources: &'s [String],
        checksum: &mut Checksum,
    ) -> Result<(), OutOfMemory> {
        for source in sources {
            self.scanner = Scanner {
                text: source.as_bytes(),
                at: 0,
            };
            self.advance(m)?;
            while m[self.token].kind != END {
                let mut m = m.scope();
                let class = self.class(&mut m)?;
                m[class].next.set(m[self.batch].classes.get());
                m[self.batch].classes.set(Some(&m[class]));
            }
        }
        self.for_each_class(m, |it, m, class| it.attribute_class(m, class))?;
        self.for_each_class(m, |it, m, class| {
            let done = it.generate_class(m, class)?;
            checksum.add(done);
            Ok(())
        })
    }

    fn for_each_class(
        &mut self,
        m: &mut Mutator<'_>,
        mut f: impl FnMut(&mut Self, &mut Mutator<'_>, Local<'_, ClassTree>) -> Result<(), OutOfMemory>,
    ) -> Result<(), OutOfMemory> {
        let mut m = m.scope();
        let Some(first) = m[self.batch].classes.get() else {
            return Ok(());
        };
        let class = m.local(first);
        loop {
            f(self, &mut m.scope(), class)?;
            match m[class].next.get() {
                Some(next) => m.set_local(class, next),
                None => return Ok(()),
            }
        }
    }

    // Scanning.

    fn advance(&mut self, m: &mut Mutator<'_>) -> Result<(), OutOfMemory> {
        let mut m = m.scope();
        let Scanner { text, at } = &mut self.scanner;
        while text.get(*at).is_some_and(u8::is_ascii_whitespace) {
            *at += 1;
        }
        let start = *at;
        let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        while text.get(*at).is_some_and(word) {
            *at += 1;
        }
        let position = start as u32;
        let (kind, value, name) = match &text[start..*at] {
            [] if start == text.len() => (END, 0, None),
            [] if text[start..].starts_with(b"==") => {
                *at += 2;
                (EQUAL, 0, None)
            }
            [] => {
                *at += 1;
                (text[start] as u32, 0, None)
            }
            digits if digits[0].is_ascii_digit() => {
                // As text first, as the original has it.
                let text = std::str::from_utf8(digits).expect("ASCII");
                let text = m.alloc_str(text)?;
                let value = m[text].parse().expect("few digits");
                (NUMBER, value, None)
            }
            word => {
                let text = std::str::from_utf8(word).expect("ASCII");
                let text = m.alloc_str(text)?;
                let name = self.name(&mut m, text)?;
                (WORD, 0, Some(name))
            }
        };
        let token = m.alloc(TokenInit {
            kind,
            position,
            value,
            name,
        })?;
        m.set_local(self.token, &m[token]);
        Ok(())
    }

    /// Returns the name with that text.
    fn name<'a>(&self, m: &mut Mutator<'a>, text: Local<'a, Str>) -> Made<'a, Name> {
        let hash = m[text].bytes().fold(0u64, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(byte as u64)
        });
        let chain = &m[self.batch].names.get()[hash as usize % CHAINS];
        let mut name = chain.get();
        while let Some(known) = name {
            if known.hash == hash && **known.text.get() == *m[text] {
                return Ok(m.local(known));
            }
            name = known.next.get();
        }
        let next = chain.get().map(|it| m.local(it));
        let name = m.alloc(NameInit { hash, text, next })?;
        m[self.batch].names.get()[hash as usize % CHAINS].set(Some(&m[name]));
        Ok(name)
    }

    // Parsing.

    fn is(&self, m: &Mutator<'_>, kind: u8) -> bool {
        m[self.token].kind == kind as u32
    }

    fn is_word(&self, m: &Mutator<'_>, word: &str) -> bool {
        let name = m[self.token].name.get();
        name.is_some_and(|name| &**name.text.get() == word)
    }

    fn expect(&mut self, m: &mut Mutator<'_>, kind: u8) -> Result<(), OutOfMemory> {
        assert!(self.is(m, kind), "sources have no errors");
        self.advance(m)
    }

    fn word<'a>(&mut self, m: &mut Mutator<'a>) -> Made<'a, Name> {
        let name = m[self.token].name.get().expect("sources have no errors");
        let name = m.local(name);
        self.advance(m)?;
        Ok(name)
    }

    fn class<'a>(&mut self, m: &mut Mutator<'a>) -> Made<'a, ClassTree> {
        m.scoped(|m| {
            self.advance(m)?;
            let name = self.word(m)?;
            self.expect(m, b'{')?;
            let fields = list(m)?;
            let methods = list(m)?;
            while !self.is(m, b'}') {
                let mut m = m.scope();
                let position = m[self.token].position;
                self.advance(&mut m)?;
                let name = self.word(&mut m)?;
                if self.is(&m, b'(') {
                    let method = self.method(&mut m, name, position)?;
                    append(&mut m, methods, method)?;
                } else {
                    self.expect(&mut m, b'=')?;
                    let value = self.expression(&mut m)?;
                    self.expect(&mut m, b';')?;
                    let field = m.alloc(StatementInit {
                        kind: DEFINE,
                        position,
                        name: Some(name),
                        expression: Some(value),
                        body: None,
                        otherwise: None,
                        symbol: None,
                    })?;
                    append(&mut m, fields, field)?;
                }
            }
            self.advance(m)?;
            let fields = to_array(m, fields)?;
            let methods = to_array(m, methods)?;
            m.alloc(ClassTreeInit {
                name,
                scope: None,
                fields: Some(fields),
                methods: Some(methods),
                next: None,
            })
        })
    }

    fn method<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        name: Local<'a, Name>,
        position: u32,
    ) -> Made<'a, MethodTree> {
        m.scoped(|m| {
            let parameters = list(m)?;
            while !self.is(m, b')') {
                let mut m = m.scope();
                self.advance(&mut m)?;
                self.advance(&mut m)?;
                let name = self.word(&mut m)?;
                append(&mut m, parameters, name)?;
            }
            self.advance(m)?;
            let parameters = to_array(m, parameters)?;
            let body = self.block(m)?;
            let name = m.local(&m[name]);
            m.alloc(MethodTreeInit {
                position,
                name,
                parameters,
                body,
                code: None,
            })
        })
    }

    fn block<'a>(&mut self, m: &mut Mutator<'a>) -> Made<'a, RefArray<Statement>> {
        m.scoped(|m| {
            self.expect(m, b'{')?;
            let statements = list(m)?;
            while !self.is(m, b'}') {
                let mut m = m.scope();
                let statement = self.statement(&mut m)?;
                append(&mut m, statements, statement)?;
            }
            self.advance(m)?;
            to_array(m, statements)
        })
    }

    fn statement<'a>(&mut self, m: &mut Mutator<'a>) -> Made<'a, Statement> {
        m.scoped(|m| {
            let position = m[self.token].position;
            if self.is_word(m, "if") {
                self.advance(m)?;
                let condition = self.condition(m)?;
                let body = self.block(m)?;
                self.advance(m)?;
                let otherwise = self.block(m)?;
                return m.alloc(StatementInit {
                    kind: IF,
                    position,
                    name: None,
                    expression: Some(condition),
                    body: Some(body),
                    otherwise: Some(otherwise),
                    symbol: None,
                });
            }
            if self.is_word(m, "while") {
                self.advance(m)?;
                let condition = self.condition(m)?;
                let body = self.block(m)?;
                return m.alloc(StatementInit {
                    kind: WHILE,
                    position,
                    name: None,
                    expression: Some(condition),
                    body: Some(body),
                    otherwise: None,
                    symbol: None,
                });
            }
            if self.is_word(m, "return") {
                self.advance(m)?;
                let value = self.expression(m)?;
                self.expect(m, b';')?;
                return m.alloc(StatementInit {
                    kind: RETURN,
                    position,
                    name: None,
                    expression: Some(value),
                    body: None,
                    otherwise: None,
                    symbol: None,
                });
            }
            let kind = match self.is_word(m, "int") {
                true => {
                    self.advance(m)?;
                    DEFINE
                }
                false => ASSIGN,
            };
            let name = self.word(m)?;
            self.expect(m, b'=')?;
            let value = self.expression(m)?;
            self.expect(m, b';')?;
            m.alloc(StatementInit {
                kind,
                position,
                name: Some(name),
                expression: Some(value),
                body: None,
                otherwise: None,
                symbol: None,
            })
        })
    }

    fn condition<'a>(&mut self, m: &mut Mutator<'a>) -> Made<'a, Expression> {
        m.scoped(|m| {
            self.expect(m, b'(')?;
            let left = self.expression(m)?;
            let (kind, position) = (m[self.token].kind, m[self.token].position);
            self.advance(m)?;
            let right = self.expression(m)?;
            self.expect(m, b')')?;
            m.alloc(ExpressionInit {
                kind,
                position,
                value: 0,
                name: None,
                left: Some(left),
                right: Some(right),
                symbol: None,
            })
        })
    }

    fn expression<'a>(&mut self, m: &mut Mutator<'a>) -> Made<'a, Expression> {
        m.scoped(|m| {
            let mut left = self.term(m)?;
            while self.is(m, b'+') || self.is(m, b'-') {
                let (kind, position) = (m[self.token].kind, m[self.token].position);
                self.advance(m)?;
                let right = self.term(m)?;
                left = m.alloc(ExpressionInit {
                    kind,
                    position,
                    value: 0,
                    name: None,
                    left: Some(left),
                    right: Some(right),
                    symbol: None,
                })?;
            }
            Ok(left)
        })
    }

    fn term<'a>(&mut self, m: &mut Mutator<'a>) -> Made<'a, Expression> {
        m.scoped(|m| {
            let mut left = self.factor(m)?;
            while self.is(m, b'*') || self.is(m, b'/') {
                let (kind, position) = (m[self.token].kind, m[self.token].position);
                self.advance(m)?;
                let right = self.factor(m)?;
                left = m.alloc(ExpressionInit {
                    kind,
                    position,
                    value: 0,
                    name: None,
                    left: Some(left),
                    right: Some(right),
                    symbol: None,
                })?;
            }
            Ok(left)
        })
    }

    fn factor<'a>(&mut self, m: &mut Mutator<'a>) -> Made<'a, Expression> {
        m.scoped(|m| {
            let Token {
                kind,
                position,
                value,
                ..
            } = m[self.token];
            if kind == NUMBER {
                self.advance(m)?;
                return m.alloc(ExpressionInit {
                    kind: LITERAL,
                    position,
                    value,
                    name: None,
                    left: None,
                    right: None,
                    symbol: None,
                });
            }
            if self.is(m, b'(') {
                self.advance(m)?;
                let inner = self.expression(m)?;
                self.expect(m, b')')?;
                return Ok(inner);
            }
            let name = Some(self.word(m)?);
            if !self.is(m, b'(') {
                return m.alloc(ExpressionInit {
                    kind: IDENT,
                    position,
                    value: 0,
                    name,
                    left: None,
                    right: None,
                    symbol: None,
                });
            }
            self.advance(m)?;
            let left = self.expression(m)?;
            self.expect(m, b',')?;
            let right = self.expression(m)?;
            self.expect(m, b')')?;
            m.alloc(ExpressionInit {
                kind: CALL,
                position,
                value: 2,
                name,
                left: Some(left),
                right: Some(right),
                symbol: None,
            })
        })
    }

    // Attribution.

    fn attribute_class(
        &mut self,
        m: &mut Mutator<'_>,
        class: Local<'_, ClassTree>,
    ) -> Result<(), OutOfMemory> {
        let symbols = m.alloc_refs(MEMBERS)?;
        let scope = m.alloc(ScopeInit { symbols })?;
        m[class].scope.set(Some(&m[scope]));
        let fields = m.local(m[class].fields.get().expect("parsed"));
        let methods = m.local(m[class].methods.get().expect("parsed"));
        for at in 0..m[fields].len() {
            let mut m = m.scope();
            let field = m.local(m[fields][at].get().expect("dense"));
            let name = m.local(m[field].name.get().expect("fields have names"));
            let symbol = self.enter(&mut m, scope, name)?;
            m[field].symbol.set(Some(&m[symbol]));
        }
        for at in 0..m[methods].len() {
            let mut m = m.scope();
            let name = m.local(m[methods][at].get().expect("dense").name.get());
            self.enter(&mut m, scope, name)?;
        }
        let environment = m.alloc(EnvironmentInit {
            depth: 0,
            outer: None,
            class: scope,
            locals: None,
        })?;
        for at in 0..m[fields].len() {
            let mut m = m.scope();
            let field = m.local(m[fields][at].get().expect("dense"));
            self.attribute_value(&mut m, environment, field)?;
        }
        for at in 0..m[methods].len() {
            let mut m = m.scope();
            let method = m.local(m[methods][at].get().expect("dense"));
            let environment = self.nested(&mut m, environment)?;
            let parameters = m.local(m[method].parameters.get());
            for at in 0..m[parameters].len() {
                let mut m = m.scope();
                let name = m.local(m[parameters][at].get().expect("dense"));
                self.declare(&mut m, environment, name)?;
            }
            let body = m.local(m[method].body.get());
            self.attribute_block(&mut m, environment, body)?;
        }
        Ok(())
    }

    fn nested<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        outer: Local<'a, Environment>,
    ) -> Made<'a, Environment> {
        let class = m.local(m[outer].class.get());
        let depth = m[outer].depth + 1;
        m.alloc(EnvironmentInit {
            depth,
            outer: Some(outer),
            class,
            locals: None,
        })
    }

    /// Enters a member of a class.
    fn enter<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        scope: Local<'_, Scope>,
        name: Local<'a, Name>,
    ) -> Made<'a, Symbol> {
        let at = m[name].hash as usize % MEMBERS;
        let next = m[scope].symbols.get()[at].get().map(|it| m.local(it));
        self.next_symbol += 1;
        let symbol = m.alloc(SymbolInit {
            number: self.next_symbol,
            uses: 0,
            name,
            next,
        })?;
        m[scope].symbols.get()[at].set(Some(&m[symbol]));
        Ok(symbol)
    }

    /// Declares a local.
    fn declare<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        environment: Local<'_, Environment>,
        name: Local<'a, Name>,
    ) -> Made<'a, Symbol> {
        let next = m[environment].locals.get().map(|it| m.local(it));
        self.next_symbol += 1;
        let symbol = m.alloc(SymbolInit {
            number: self.next_symbol,
            uses: 0,
            name,
            next,
        })?;
        m[environment].locals.set(Some(&m[symbol]));
        Ok(symbol)
    }

    fn attribute_block<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        outer: Local<'a, Environment>,
        block: Local<'_, RefArray<Statement>>,
    ) -> Result<(), OutOfMemory> {
        let environment = self.nested(m, outer)?;
        for at in 0..m[block].len() {
            let mut m = m.scope();
            let statement = m.local(m[block][at].get().expect("dense"));
            self.attribute_value(&mut m, environment, statement)?;
            if m[statement].kind == DEFINE {
                let name = m.local(m[statement].name.get().expect("parsed"));
                let symbol = self.declare(&mut m, environment, name)?;
                m[statement].symbol.set(Some(&m[symbol]));
            }
            let environment = m.local(&m[environment]);
            if let Some(body) = m[statement].body.get() {
                let body = m.local(body);
                self.attribute_block(&mut m, environment, body)?;
            }
            if let Some(body) = m[statement].otherwise.get() {
                let body = m.local(body);
                self.attribute_block(&mut m, environment, body)?;
            }
        }
        Ok(())
    }

    /// Attributes the expression of a statement, which may be replaced.
    fn attribute_value(
        &mut self,
        m: &mut Mutator<'_>,
        environment: Local<'_, Environment>,
        statement: Local<'_, Statement>,
    ) -> Result<(), OutOfMemory> {
        let tree = m.local(m[statement].expression.get().expect("parsed"));
        let tree = self.attribute(m, environment, tree)?;
        m[statement].expression.set(Some(&m[tree]));
        Ok(())
    }

    /// Returns the tree, or what it was folded to.
    fn attribute<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        environment: Local<'_, Environment>,
        tree: Local<'_, Expression>,
    ) -> Made<'a, Expression> {
        m.scoped(|m| {
            let tree = m.local(&m[tree]);
            let kind = m[tree].kind;
            if kind == LITERAL {
                return Ok(tree);
            }
            if kind == IDENT {
                let symbol = resolve(&m[environment], m[tree].name.get().expect("parsed"));
                m[tree].symbol.set(symbol);
                return Ok(tree);
            }
            let left = m.local(m[tree].left.get().expect("it has two"));
            let left = self.attribute(m, environment, left)?;
            m[tree].left.set(Some(&m[left]));
            let right = m.local(m[tree].right.get().expect("it has two"));
            let right = self.attribute(m, environment, right)?;
            m[tree].right.set(Some(&m[right]));
            if kind == CALL {
                let name = m.local(m[tree].name.get().expect("parsed"));
                let call = m.alloc(CallTypeInit {
                    arguments: 2,
                    name,
                    tree,
                })?;
                let name = m[call].name.get();
                let symbol = member(m[environment].class.get(), name);
                m[call].tree.get().symbol.set(symbol);
                return Ok(tree);
            }
            if m[left].kind == LITERAL && m[right].kind == LITERAL {
                let value = compute(kind, m[left].value, m[right].value);
                let position = m[tree].position;
                return m.alloc(ExpressionInit {
                    kind: LITERAL,
                    position,
                    value,
                    name: None,
                    left: None,
                    right: None,
                    symbol: None,
                });
            }
            Ok(tree)
        })
    }

    // Code.

    fn generate_class(
        &mut self,
        m: &mut Mutator<'_>,
        class: Local<'_, ClassTree>,
    ) -> Result<u64, OutOfMemory> {
        let mut sum = 0u64;
        let methods = m.local(m[class].methods.get().expect("parsed"));
        for at in 0..m[methods].len() {
            let mut m = m.scope();
            let method = m.local(m[methods][at].get().expect("dense"));
            self.code.clear();
            let body = m.local(m[method].body.get());
            self.generate_block(&mut m, body)?;
            let code = m.alloc_bytes(&self.code)?;
            m[method].code.set(Some(&m[code]));
            let add = |sum: u64, byte: &u8| sum.rotate_left(3) ^ *byte as u64;
            sum = self.code.iter().fold(sum, add);
        }
        Ok(sum)
    }

    fn generate_block(
        &mut self,
        m: &mut Mutator<'_>,
        block: Local<'_, RefArray<Statement>>,
    ) -> Result<(), OutOfMemory> {
        for at in 0..m[block].len() {
            let mut m = m.scope();
            let statement = m.local(m[block][at].get().expect("dense"));
            let value = m.local(m[statement].expression.get().expect("parsed"));
            let item = self.generate(&mut m, value)?;
            let start = self.code.len();
            self.code.push(m[statement].kind as u8);
            self.code.push(m[item].place as u8);
            let bodies = [&m[statement].body, &m[statement].otherwise];
            let bodies = bodies.map(|it| it.get().map(|body| m.local(body)));
            for body in bodies.into_iter().flatten() {
                self.generate_block(&mut m.scope(), body)?;
                let length = (self.code.len() - start) as u16;
                self.code.extend(length.to_be_bytes());
            }
        }
        Ok(())
    }

    fn generate<'a>(&mut self, m: &mut Mutator<'a>, tree: Local<'_, Expression>) -> Made<'a, Item> {
        m.scoped(|m| {
            let Expression { kind, value, .. } = m[tree];
            if kind == LITERAL {
                self.code.extend((value as u16).to_be_bytes());
                return m.alloc(ItemInit {
                    place: 0,
                    value: value as u32,
                    symbol: None,
                });
            }
            if kind == IDENT {
                let symbol = m[tree].symbol.get().map(|it| m.local(it));
                let place = symbol.map_or(0, |it| m[it].number);
                self.code.extend((place as u16).to_be_bytes());
                return m.alloc(ItemInit {
                    place,
                    value: 0,
                    symbol,
                });
            }
            let left = m.local(m[tree].left.get().expect("it has two"));
            let left = self.generate(m, left)?;
            let right = m.local(m[tree].right.get().expect("it has two"));
            let right = self.generate(m, right)?;
            self.code.push(kind as u8);
            let uses = m[left].symbol.get().map_or(0, |it| it.uses.get());
            m.alloc(ItemInit {
                place: uses ^ m[left].place ^ m[right].place,
                value: m[left].value.wrapping_add(m[right].value),
                symbol: None,
            })
        })
    }
}

fn compute(kind: u32, left: u64, right: u64) -> u64 {
    match u8::try_from(kind) {
        Ok(b'+') => left.wrapping_add(right),
        Ok(b'-') => left.wrapping_sub(right),
        Ok(b'*') => left.wrapping_mul(right),
        Ok(b'/') => left.checked_div(right).unwrap_or(0),
        _ => (left < right) as u64,
    }
}

/// Looks a name up: in the blocks around, then in the class.
fn resolve<'m>(environment: &'m Environment, name: &Name) -> Option<&'m Symbol> {
    let mut around = Some(environment);
    while let Some(block) = around {
        let mut symbol = block.locals.get();
        while let Some(known) = symbol {
            if std::ptr::eq(known.name.get(), name) {
                known.uses.set(known.uses.get() + 1);
                return Some(known);
            }
            symbol = known.next.get();
        }
        around = block.outer.get();
    }
    member(environment.class.get(), name)
}

fn member<'m>(scope: &'m Scope, name: &Name) -> Option<&'m Symbol> {
    let mut symbol = scope.symbols.get()[name.hash as usize % MEMBERS].get();
    while let Some(known) = symbol {
        if std::ptr::eq(known.name.get(), name) {
            known.uses.set(known.uses.get() + 1);
            return Some(known);
        }
        symbol = known.next.get();
    }
    None
}

fn list<'a, T: Managed>(m: &mut Mutator<'a>) -> Made<'a, ListBuffer<T>> {
    m.alloc(ListBufferInit {
        count: 0,
        last: None,
    })
}

fn append<'a, T: Managed>(
    m: &mut Mutator<'a>,
    list: Local<'_, ListBuffer<T>>,
    head: Local<'a, T>,
) -> Result<(), OutOfMemory> {
    let before = m[list].last.get().map(|it| m.local(it));
    let cons = m.alloc(ConsInit { head, before })?;
    m[list].last.set(Some(&m[cons]));
    m[list].count.set(m[list].count.get() + 1);
    Ok(())
}

fn to_array<'a, T: Managed>(
    m: &mut Mutator<'a>,
    list: Local<'_, ListBuffer<T>>,
) -> Made<'a, RefArray<T>> {
    let array = m.alloc_refs(m[list].count.get() as usize)?;
    let mut cons = m[list].last.get();
    for slot in m[array].iter().rev() {
        let one = cons.expect("as many as counted");
        slot.set(Some(one.head.get()));
        cons = one.before.get();
    }
    Ok(array)
}
