//! A small Lisp with closures: numbers, symbols, pairs, `quote`, `if`, `define`, `lambda`, and some functions.
//!
//! It shows a runtime on the heap: values of several classes as `Object`, interned symbols, environments that closures
//! keep alive, and a recursive evaluator whose every call has a scope of its own.
//!
//! Checks: what an evaluation allocates is dead when it ends, unless it was defined; environments form no ring.

use heaphound::collections::{InternMut, Interner};
use heaphound::{
    Heap, Local, Managed, Mutator, Object, OutOfMemory, Ref, Rules, Slot, Str, managed,
    match_class, testing,
};

#[managed]
struct Number {
    value: i64,
}

/// A symbol is the one object of its name.
#[managed]
struct Symbol {
    #[managed(caption)]
    name: Ref<Str>,
}

#[managed]
struct Pair {
    first: Slot<Object>,
    rest: Slot<Object>,
}

#[managed]
struct Closure {
    parameters: Slot<Object>,
    body: Slot<Object>,
    environment: Ref<Environment>,
}

#[managed]
struct Builtin {
    code: u8,
}

/// The values of names, the innermost first.
#[managed]
struct Environment {
    names: Slot<Binding>,
    outer: Slot<Environment>,
}

#[managed]
struct Binding {
    name: Ref<Str>,
    value: Slot<Object>,
    next: Slot<Binding>,
}

/// What cannot be evaluated.
#[derive(Debug)]
#[allow(dead_code)] // What is in it is only shown.
pub enum Trouble {
    /// Out of memory.
    Memory(OutOfMemory),
    /// A name without a value.
    Unknown(String),
    /// What is called is no function.
    NoFunction,
    /// An argument is no number.
    NoNumber,
    /// A form that is not understood.
    Syntax,
}

impl From<OutOfMemory> for Trouble {
    fn from(error: OutOfMemory) -> Self {
        Self::Memory(error)
    }
}

/// `None` is the empty list.
type Value<'s> = Option<Local<'s, Object>>;

const BUILTINS: [&str; 8] = ["+", "-", "*", "<", "=", "cons", "first", "rest"];

/// A Lisp: the names that are in use, and the outermost environment.
#[derive(Clone, Copy)]
pub struct Lisp<'s> {
    symbols: Local<'s, Interner>,
    globals: Local<'s, Environment>,
}

impl<'s> Lisp<'s> {
    /// A Lisp with the functions that are built in.
    pub fn new(m: &mut Mutator<'s>) -> Result<Self, Trouble> {
        let symbols = Interner::new(m)?;
        let globals = m.alloc(EnvironmentInit {
            names: None,
            outer: None,
        })?;
        let lisp = Self { symbols, globals };
        for (code, name) in BUILTINS.iter().enumerate() {
            let mut m = m.scope();
            let builtin = m.alloc(BuiltinInit { code: code as u8 })?;
            let builtin = builtin.upcast(&m);
            let name = symbols.intern(&mut m, name)?;
            define(&mut m, globals, name, Some(builtin))?;
        }
        Ok(lisp)
    }

    /// Evaluates a text, expression by expression. Returns the last value, as text.
    pub fn run(&self, m: &mut Mutator<'_>, text: &str) -> Result<String, Trouble> {
        let mut tokens = tokens(text).into_iter().peekable();
        let mut shown = String::new();
        while tokens.peek().is_some() {
            let mut m = m.scope();
            let expression = self.read(&mut m, &mut tokens)?;
            let value = eval(&mut m, expression, self.globals)?;
            shown = show(value.map(|it| &m[it]));
        }
        Ok(shown)
    }

    fn read<'a>(
        &self,
        m: &mut Mutator<'a>,
        tokens: &mut std::iter::Peekable<std::vec::IntoIter<String>>,
    ) -> Result<Value<'a>, Trouble> {
        let token = tokens.next().ok_or(Trouble::Syntax)?;
        if token == "(" {
            let mut items = Vec::new();
            while tokens.peek().ok_or(Trouble::Syntax)? != ")" {
                items.push(self.read(m, tokens)?);
            }
            tokens.next();
            return list(m, &items);
        }
        if let Ok(value) = token.parse() {
            return Ok(Some(m.alloc(NumberInit { value })?.upcast(m)));
        }
        let name = self.symbols.intern(m, &token)?;
        Ok(Some(m.alloc(SymbolInit { name })?.upcast(m)))
    }
}

fn tokens(text: &str) -> Vec<String> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    spaced.split_whitespace().map(String::from).collect()
}

fn list<'a>(m: &mut Mutator<'a>, items: &[Value<'_>]) -> Result<Value<'a>, Trouble> {
    let mut rest = None;
    for item in items.iter().rev() {
        let first = item.map(|it| m.local(it));
        rest = Some(m.alloc(PairInit { first, rest })?.upcast(m));
    }
    Ok(rest)
}

fn define(
    m: &mut Mutator<'_>,
    environment: Local<'_, Environment>,
    name: Local<'_, Str>,
    value: Value<'_>,
) -> Result<(), Trouble> {
    let mut m = m.scope();
    let (name, value) = (m.local(name), value.map(|it| m.local(it)));
    let next = m[environment].names.get().map(|it| m.local(it));
    let binding = m.alloc(BindingInit { name, value, next })?;
    m[environment].names.set(binding);
    Ok(())
}

/// The binding of a name, in an environment or outside of it. Names are interned, so that they are compared by identity.
fn lookup<'m>(mut environment: Option<&'m Environment>, name: &Str) -> Option<&'m Binding> {
    while let Some(here) = environment {
        let mut binding = here.names.get();
        while let Some(it) = binding {
            if it.name.get().ptr_eq(name) {
                return Some(it);
            }
            binding = it.next.get();
        }
        environment = here.outer.get();
    }
    None
}

/// The items of a list.
fn items<'a>(m: &Mutator<'a>, list: Value<'_>) -> Vec<Value<'a>> {
    let mut all = Vec::new();
    let mut at = list.map(|it| &m[it]);
    while let Some(pair) = at.and_then(|it| it.downcast::<Pair>()) {
        all.push(pair.first.get().map(|it| m.local(it)));
        at = pair.rest.get();
    }
    all
}

/// Evaluates an expression. Of all locals that this takes, one is left.
fn eval<'a>(
    m: &mut Mutator<'a>,
    expression: Value<'_>,
    environment: Local<'_, Environment>,
) -> Result<Value<'a>, Trouble> {
    let Some(expression) = expression else {
        return Ok(None);
    };
    if let Some(symbol) = m[expression].downcast::<Symbol>() {
        let name = symbol.name.get();
        let binding = lookup(Some(&m[environment]), name);
        let binding = binding.ok_or_else(|| Trouble::Unknown(name.to_string()))?;
        return Ok(binding.value.get().map(|it| m.local(it)));
    }
    if m[expression].downcast::<Pair>().is_none() {
        return Ok(Some(m.local(expression)));
    }
    m.scoped_with(|m| {
        let parts = items(m, Some(expression));
        let value = match (special(m, parts[0]).as_deref(), &parts[1..]) {
            (Some("quote"), [it]) => *it,
            (Some("if"), [condition, then, otherwise]) => {
                let chosen = match eval(m, *condition, environment)? {
                    Some(_) => then,
                    None => otherwise,
                };
                eval(m, *chosen, environment)?
            }
            (Some("define"), [name, value]) => {
                let value = eval(m, *value, environment)?;
                let name = name.and_then(|it| m[it].downcast::<Symbol>());
                let name = m.local(name.ok_or(Trouble::Syntax)?.name.get());
                define(m, environment, name, value)?;
                value
            }
            (Some("lambda"), [parameters, body]) => {
                let environment = m.local(environment);
                let closure = m.alloc(ClosureInit {
                    parameters: *parameters,
                    body: *body,
                    environment,
                })?;
                Some(closure.upcast(m))
            }
            _ => {
                let function = eval(m, parts[0], environment)?.ok_or(Trouble::NoFunction)?;
                let mut arguments = Vec::new();
                for part in &parts[1..] {
                    arguments.push(eval(m, *part, environment)?);
                }
                apply(m, function, &arguments)?
            }
        };
        Ok(heaphound::keep(value))
    })
}

/// The name of a special form.
fn special(m: &Mutator<'_>, first: Value<'_>) -> Option<String> {
    let symbol = m[first?].downcast::<Symbol>()?;
    let name = &**symbol.name.get();
    ["quote", "if", "define", "lambda"]
        .contains(&name)
        .then(|| name.into())
}

fn apply<'a>(
    m: &mut Mutator<'a>,
    function: Local<'_, Object>,
    arguments: &[Value<'a>],
) -> Result<Value<'a>, Trouble> {
    if let Some(closure) = function.downcast::<Closure>(m) {
        let outer = m.local(m[closure].environment.get());
        let inner = m.alloc(EnvironmentInit {
            names: None,
            outer: Some(outer),
        })?;
        let parameters = m[closure].parameters.get().map(|it| m.local(it));
        for (parameter, argument) in items(m, parameters).into_iter().zip(arguments) {
            let name = parameter.and_then(|it| m[it].downcast::<Symbol>());
            let name = m.local(name.ok_or(Trouble::Syntax)?.name.get());
            define(m, inner, name, *argument)?;
        }
        let body = m[closure].body.get().map(|it| m.local(it));
        return eval(m, body, inner);
    }
    let code = m[function].downcast::<Builtin>().map(|it| it.code);
    let code = code.ok_or(Trouble::NoFunction)? as usize;
    let number = |m: &Mutator<'a>, at: usize| {
        let object = arguments.get(at).copied().flatten();
        let number = object.and_then(|it| m[it].downcast::<Number>());
        number.map(|it| it.value).ok_or(Trouble::NoNumber)
    };
    let pair = |at: usize| arguments.get(at).copied().flatten();
    let truth = |m: &mut Mutator<'a>, holds: bool| -> Result<Value<'a>, Trouble> {
        match holds {
            true => Ok(Some(m.alloc(NumberInit { value: 1 })?.upcast(m))),
            false => Ok(None),
        }
    };
    match BUILTINS[code] {
        "cons" => {
            let (first, rest) = (pair(0), pair(1));
            Ok(Some(m.alloc(PairInit { first, rest })?.upcast(m)))
        }
        "first" | "rest" => {
            let object = pair(0).and_then(|it| m[it].downcast::<Pair>());
            let object = object.ok_or(Trouble::Syntax)?;
            let part = match BUILTINS[code] {
                "first" => &object.first,
                _ => &object.rest,
            };
            Ok(part.get().map(|it| m.local(it)))
        }
        operation => {
            let (a, b) = (number(m, 0)?, number(m, 1)?);
            let value = match operation {
                "+" => a + b,
                "-" => a - b,
                "*" => a * b,
                "<" => return truth(m, a < b),
                _ => return truth(m, a == b),
            };
            Ok(Some(m.alloc(NumberInit { value })?.upcast(m)))
        }
    }
}

fn show(value: Option<&Object>) -> String {
    let Some(value) = value else {
        return "()".into();
    };
    match_class!(value, {
        Number => |it| it.value.to_string(),
        Symbol => |it| it.name.get().to_string(),
        Pair => |it| {
            let mut parts = vec![show(it.first.get())];
            let mut rest = it.rest.get();
            while let Some(pair) = rest.and_then(|it| it.downcast::<Pair>()) {
                parts.push(show(pair.first.get()));
                rest = pair.rest.get();
            }
            format!("({})", parts.join(" "))
        },
        _ => "function".into(),
    })
}

#[allow(dead_code)] // Not in the benchmark.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let heap = Heap::builder().build()?;
    let mut m = heap.attach("main")?;
    let trouble = |it: Trouble| format!("{it:?}");
    let lisp = Lisp::new(&mut m).map_err(trouble)?;
    let program = "
        (define fib (lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))
        (define add (lambda (a) (lambda (b) (+ a b))))
        (define map (lambda (f l) (if l (cons (f (first l)) (map f (rest l))) (quote ()))))
        (map (add 10) (quote (1 2 3)))";
    let shown = lisp.run(&mut m, program).map_err(trouble)?;
    assert_eq!(shown, "(11 12 13)");
    let shown = lisp.run(&mut m, "(fib 20)").map_err(trouble)?;
    assert_eq!(shown, "6765");
    assert!(matches!(
        lisp.run(&mut m, "(nothing)"),
        Err(Trouble::Unknown(_))
    ));
    // Environments and numbers of an evaluation are gone when it ends.
    testing::assert_no_leaks(&mut m, |m| {
        lisp.run(m, "(fib 10)").map_err(trouble).unwrap()
    });
    let outside = "assertion(forall Environment x: x.outer != x);";
    assert!(Rules::new(outside).check(&mut m)?.is_empty());
    println!("fib(20) is {shown}");
    Ok(())
}
