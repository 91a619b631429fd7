//! An expert system after SPEC JVM98's `_202_jess`, which solves word games: letters stand for digits, such that
//! two words, read as numbers, add up to a third.
//!
//! Rules are read at start and live to the end; they are small. A riddle asserts facts, one for each letter and digit,
//! and joins them pattern by pattern as a Rete network does: a token stands for facts that match the first patterns, and
//! each test of a token with one more fact makes a context, and a value for each operand and result. Nearly all of
//! these die at once, tokens when their riddle is solved. The few survivors are what is in use when
//! a nursery is full.

use heaphound::{Header, Local, Managed, Mutator, OutOfMemory, Ref, RefArray, Slot, Str, Var};

use super::Checksum;
use crate::programs::Random;

/// Rules of the system, one for each sort of riddle.
const RULES: usize = 1_600;
/// Riddles.
const RIDDLES: usize = 220;
/// Letters of a riddle, and of its words.
const LETTERS: usize = 5;
const LENGTH: usize = 2;
/// Solutions that are remembered.
const SOLUTIONS: usize = 64;

#[derive(Managed)]
#[repr(C)]
struct Engine {
    header: Header,
    rules: Ref<RefArray<Rule>>,
    solutions: Ref<RefArray<Str>>,
}

#[derive(Managed)]
#[repr(C)]
struct Rule {
    header: Header,
    name: Ref<Str>,
    patterns: Ref<RefArray<Pattern>>,
    /// The letters of the three words, one word after another.
    words: Ref<RefArray<Value>>,
}

/// Matches facts about one letter.
#[derive(Managed)]
#[repr(C)]
struct Pattern {
    header: Header,
    letter: u64,
    tests: Ref<RefArray<Test>>,
}

#[derive(Managed)]
#[repr(C)]
struct Test {
    header: Header,
    /// Another letter, whose digit must differ, or how many columns must add up.
    operand: u32,
    is_sum: bool,
}

/// A letter stands for a digit, perhaps.
#[derive(Managed)]
#[repr(C)]
struct Fact {
    header: Header,
    letter: u64,
    digit: Ref<Value>,
}

#[derive(Managed)]
#[repr(C)]
struct FactList {
    header: Header,
    fact: Ref<Fact>,
    next: Slot<FactList>,
}

/// Facts that match the first patterns of a rule.
#[derive(Managed)]
#[repr(C)]
struct Token {
    header: Header,
    code: u64,
    fact: Ref<Fact>,
    parent: Slot<Token>,
}

#[derive(Managed)]
#[repr(C)]
struct Memory {
    header: Header,
    count: Var<u64>,
    tokens: Slot<MemoryCell>,
}

#[derive(Managed)]
#[repr(C)]
struct MemoryCell {
    header: Header,
    token: Ref<Token>,
    next: Slot<MemoryCell>,
}

/// In what an expression is evaluated.
#[derive(Managed)]
#[repr(C)]
struct Context {
    header: Header,
    token: Slot<Token>,
    fact: Ref<Fact>,
}

#[derive(Managed)]
#[repr(C)]
struct Value {
    header: Header,
    number: u64,
}

/// A word of the text of a rule.
#[derive(Managed)]
#[repr(C)]
struct Lexeme {
    header: Header,
    text: Ref<Str>,
    next: Slot<Lexeme>,
}

type Made<'a, T> = Result<Local<'a, T>, OutOfMemory>;

/// Reads the rules and solves riddles.
pub(super) fn run(m: &mut Mutator<'_>, scale: usize) -> Result<u64, OutOfMemory> {
    let mut m = m.scope();
    let mut random = Random::new(43);
    let count = (RULES * scale / 100).max(4);
    let rules = m.alloc_refs::<Rule>(count)?;
    let solutions = m.alloc_refs(SOLUTIONS)?;
    let engine = m.alloc(EngineInit { rules, solutions })?;
    m.static_root::<Engine>("engine").set(&m, Some(&m[engine]));
    for number in 0..count {
        let mut m = m.scope();
        let rule = compile(&mut m, &make_up(&mut random, number))?;
        m[rules][number].set(Some(&m[rule]));
    }
    let mut checksum = Checksum::default();
    for riddle in 0..(RIDDLES * scale / 100).max(2) {
        let mut m = m.scope();
        let rule = m.local(m[rules][random.index(count)].get().expect("read"));
        let solved = solve(&mut m, rule)?;
        checksum.add(m[solved].count.get());
        if let Some(cell) = m[solved].tokens.get() {
            let code = cell.token.get().code;
            checksum.add(code);
            let text = format!("{}: {code:05}", &**m[rule].name.get());
            let text = m.alloc_str(&text)?;
            m[engine].solutions.get()[riddle % SOLUTIONS].set(Some(&m[text]));
        }
    }
    Ok(checksum.value())
}

/// Makes up the text of a rule. Each letter occurs.
fn make_up(random: &mut Random, number: usize) -> String {
    let mut letters: Vec<usize> = (0..3 * LENGTH).map(|at| at % LETTERS).collect();
    for at in (1..letters.len()).rev() {
        letters.swap(at, random.index(at + 1));
    }
    let words: Vec<String> = letters.iter().map(|it| it.to_string()).collect();
    format!("riddle{number} {}", words.join(" "))
}

/// Makes a rule of its text.
fn compile<'a>(m: &mut Mutator<'a>, text: &str) -> Made<'a, Rule> {
    m.scoped(|m| {
        let mut lexemes = None;
        for word in text.rsplit(' ') {
            let text = m.alloc_str(word)?;
            let next = lexemes;
            lexemes = Some(m.alloc(LexemeInit { text, next })?);
        }
        let lexemes = lexemes.expect("it has words");
        let name = m.local(m[lexemes].text.get());
        let words = m.alloc_refs::<Value>(3 * LENGTH)?;
        let lexeme = m.local(&m[lexemes]);
        for at in 0..3 * LENGTH {
            m.set_local(lexeme, m[lexeme].next.get().expect("as many as letters"));
            let number = m[lexeme].text.get().parse().expect("a number");
            let value = m.alloc(ValueInit { number })?;
            m[words][at].set(Some(&m[value]));
        }
        let letters: Vec<usize> = m[words]
            .iter()
            .map(|it| it.get().expect("set").number as usize)
            .collect();
        // Letters are bound column by column, from the right, so that sums are tested early.
        let mut order = Vec::new();
        for column in 0..LENGTH {
            for word in 0..3 {
                let letter = letters[word * LENGTH + LENGTH - 1 - column];
                if !order.contains(&letter) {
                    order.push(letter);
                }
            }
        }
        let patterns = m.alloc_refs::<Pattern>(order.len())?;
        let mut columns_before = 0;
        for (at, &letter) in order.iter().enumerate() {
            let mut m = m.scope();
            let is_bound = |column: &usize| {
                let mut words = (0..3).map(|word| letters[word * LENGTH + LENGTH - column]);
                words.all(|it| order[..=at].contains(&it))
            };
            let columns = (1..=LENGTH).take_while(is_bound).count();
            let sums = columns_before + 1..=columns;
            let tests = m.alloc_refs::<Test>(at + sums.clone().count())?;
            for (place, &other) in order[..at].iter().enumerate() {
                let mut m = m.scope();
                let test = m.alloc(TestInit {
                    operand: other as u32,
                    is_sum: false,
                })?;
                m[tests][place].set(Some(&m[test]));
            }
            for (place, columns) in sums.enumerate() {
                let mut m = m.scope();
                let test = m.alloc(TestInit {
                    operand: columns as u32,
                    is_sum: true,
                })?;
                m[tests][at + place].set(Some(&m[test]));
            }
            columns_before = columns;
            let pattern = m.alloc(PatternInit {
                letter: letter as u64,
                tests,
            })?;
            m[patterns][at].set(Some(&m[pattern]));
        }
        m.alloc(RuleInit {
            name,
            patterns,
            words,
        })
    })
}

/// Returns the tokens that match all patterns.
fn solve<'a>(m: &mut Mutator<'a>, rule: Local<'_, Rule>) -> Made<'a, Memory> {
    m.scoped(|m| {
        let mut matched: Option<Local<'_, Memory>> = None;
        let patterns = m.local(m[rule].patterns.get());
        for at in 0..m[patterns].len() {
            let pattern = m.local(m[patterns][at].get().expect("compiled"));
            let facts = assert_facts(m, pattern)?;
            let joined = m.alloc(MemoryInit {
                count: 0,
                tokens: None,
            })?;
            match matched {
                None => join(m, rule, pattern, None, facts, joined)?,
                Some(memory) => {
                    let mut cell = m[memory].tokens.get().map(|it| m.local(it));
                    while let Some(one) = cell {
                        let mut m = m.scope();
                        let token = m.local(m[one].token.get());
                        join(&mut m, rule, pattern, Some(token), facts, joined)?;
                        let next = m[one].next.get();
                        next.inspect(|it| m.set_local(one, *it));
                        cell = next.map(|_| one);
                    }
                }
            }
            matched = Some(joined);
        }
        Ok(matched.expect("rules have patterns"))
    })
}

/// Asserts that a letter may be any digit.
fn assert_facts<'a>(m: &mut Mutator<'a>, pattern: Local<'_, Pattern>) -> Made<'a, FactList> {
    let mut facts: Option<Local<'a, FactList>> = None;
    for number in (0..10).rev() {
        let digit = m.alloc(ValueInit { number })?;
        let letter = m[pattern].letter;
        let fact = m.alloc(FactInit { letter, digit })?;
        facts = Some(m.alloc(FactListInit { fact, next: facts })?);
    }
    Ok(facts.expect("ten"))
}

/// Joins a token with all facts that pass the tests of a pattern.
fn join(
    m: &mut Mutator<'_>,
    rule: Local<'_, Rule>,
    pattern: Local<'_, Pattern>,
    token: Option<Local<'_, Token>>,
    facts: Local<'_, FactList>,
    joined: Local<'_, Memory>,
) -> Result<(), OutOfMemory> {
    let mut list = Some(&m[facts]).map(|it| m.local(it));
    while let Some(one) = list {
        let mut m = m.scope();
        let fact = m.local(m[one].fact.get());
        let parent = token.map(|it| m.local(&m[it]));
        let context = m.alloc(ContextInit {
            token: parent,
            fact,
        })?;
        if passes(&mut m, rule, pattern, context)? {
            let code = parent.map_or(0, |it| m[it].code);
            let code = code * 10 + m[fact].digit.get().number;
            let token = m.alloc(TokenInit { code, fact, parent })?;
            let next = m[joined].tokens.get().map(|it| m.local(it));
            let cell = m.alloc(MemoryCellInit { token, next })?;
            m[joined].tokens.set(Some(&m[cell]));
            m[joined].count.set(m[joined].count.get() + 1);
        }
        let next = m[one].next.get();
        next.inspect(|it| m.set_local(one, *it));
        list = next.map(|_| one);
    }
    Ok(())
}

fn passes(
    m: &mut Mutator<'_>,
    rule: Local<'_, Rule>,
    pattern: Local<'_, Pattern>,
    context: Local<'_, Context>,
) -> Result<bool, OutOfMemory> {
    let tests = m.local(m[pattern].tests.get());
    for at in 0..m[tests].len() {
        let mut m = m.scope();
        let Test {
            operand, is_sum, ..
        } = *m[tests][at].get().expect("compiled");
        let passes = match is_sum {
            true => sums_up(&mut m, rule, context, operand as usize)?,
            false => {
                let number = m[context].digit_of(operand as u64);
                let other = m.alloc(ValueInit { number })?;
                m[other].number != m[context].fact.get().digit.get().number
            }
        };
        if !passes {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the last columns of the first two words add up to those of the third.
fn sums_up(
    m: &mut Mutator<'_>,
    rule: Local<'_, Rule>,
    context: Local<'_, Context>,
    columns: usize,
) -> Result<bool, OutOfMemory> {
    let mut sum = m.alloc(ValueInit { number: 0 })?;
    for word in 0..3 {
        let mut value = m.alloc(ValueInit { number: 0 })?;
        for at in LENGTH - columns..LENGTH {
            let letter = m[rule].words.get()[word * LENGTH + at].get();
            let digit = m[context].digit_of(letter.expect("compiled").number);
            let number = m[value].number * 10 + digit;
            value = m.alloc(ValueInit { number })?;
        }
        let (sum_so_far, value) = (m[sum].number, m[value].number);
        if word == 2 {
            return Ok(sum_so_far % 10u64.pow(columns as u32) == value);
        }
        let number = sum_so_far + value;
        sum = m.alloc(ValueInit { number })?;
    }
    unreachable!("there are three words")
}

impl Context {
    /// Returns the digit that a letter is bound to.
    fn digit_of(&self, letter: u64) -> u64 {
        let mut fact = self.fact.get();
        let mut token = self.token.get();
        while fact.letter != letter {
            let one = token.expect("letters of tests are bound");
            fact = one.fact.get();
            token = one.parent.get();
        }
        fact.digit.get().number
    }
}
