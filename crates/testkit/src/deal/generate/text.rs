//! Statements and formulas.

use heaphound_heap::ClassInfo;
use proptest::collection::vec;
use proptest::prelude::*;

use super::paths::{Wanted, quoted};
use super::{HOSTS, INTERFACES, LABELS, classes};

/// What a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `assertion(…)`, `assertDisjoint(…)` or `unsafeAssert(…)`
    Assertion,
    /// A PHALANX expression that is true or false.
    Formula,
    /// One that is a value.
    Value,
    /// One that is a set.
    Set,
    /// `query …`
    Query,
    /// A rule that is a GC assertion.
    Gc,
}

/// Random texts of that kind, each one statement.
pub fn texts(kind: Kind) -> impl Strategy<Value = String> {
    vec(any::<u16>(), 5..250).prop_map(move |choices| {
        let classes = classes();
        let mut text = Text {
            choices: Choices { choices, at: 0 },
            classes: &classes,
            variables: Vec::new(),
            relations: Vec::new(),
            is_deal: kind == Kind::Assertion,
        };
        text.statement(kind)
    })
}

/// A text that is being written.
pub struct Text<'a> {
    pub choices: Choices,
    pub classes: &'a [ClassInfo],
    /// The logic variables in scope, the innermost last.
    pub variables: Vec<Variable>,
    /// The relations that can be asked.
    relations: Vec<String>,
    /// Whether it may say only what takes one traversal.
    is_deal: bool,
}

/// A logic variable and the classes of what it ranges over.
#[derive(Clone)]
pub struct Variable {
    pub name: String,
    pub classes: Vec<usize>,
}

/// What was drawn; zero when all is used up.
pub struct Choices {
    choices: Vec<u16>,
    at: usize,
}

impl Choices {
    /// A number below another. The smaller what was drawn, the smaller.
    pub fn below(&mut self, bound: usize) -> usize {
        let drawn = self.choices.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        drawn as usize * bound / (u16::MAX as usize + 1)
    }

    /// Once in that number of times; never when all is used up.
    pub fn is_rare(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    fn is_done(&self) -> bool {
        self.at >= self.choices.len()
    }
}

const NAMES: [&str; 4] = ["x", "y", "z", "w"];

impl Text<'_> {
    fn statement(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Assertion => self.assertion(),
            Kind::Formula => {
                self.add_relations(2);
                self.formula(4)
            }
            Kind::Value => match self.choices.below(6) {
                0..=2 => self.count(2),
                3..=4 => format!("({}).size()", self.set(3)),
                _ => self.path(Wanted::Number).text,
            },
            Kind::Set => {
                self.add_relations(1);
                self.set(4)
            }
            Kind::Query => self.query(),
            Kind::Gc => self.gc(),
        }
    }

    fn assertion(&mut self) -> String {
        let kind = ["assertion", "assertDisjoint", "unsafeAssert"][self.choices.below(3)];
        let most = if kind == "assertion" { 1 } else { 3 };
        self.add_relations(most);
        format!("{kind}({})", self.quantified(2))
    }

    /// Quantifiers, joined.
    fn quantified(&mut self, depth: usize) -> String {
        if depth > 0 {
            let next = depth - 1;
            match self.choices.below(9) {
                5 => return format!("!({})", self.quantified(next)),
                6.. => {
                    let op = self.connective();
                    let (left, right) = (self.quantified(next), self.quantified(next));
                    return format!("({left}) {op} ({right})");
                }
                _ => {}
            }
        }
        self.quantifier(["forall", "exists"], 3)
    }

    /// `forall T x: …`
    fn quantifier(&mut self, kinds: [&str; 2], depth: usize) -> String {
        let kind = kinds[self.choices.below(2)];
        let head = self.open();
        let range = match !self.is_deal && self.choices.is_rare(4) {
            true => format!("; {}; ", self.formula(1)),
            false => ": ".into(),
        };
        let mut body = self.formula(depth);
        if !self.relations.is_empty() && self.is_deal && self.choices.below(2) == 1 {
            body = format!("({}) {} ({body})", self.reach_all(), self.connective());
        }
        self.variables.pop();
        format!("{kind} {head}{range}{body}")
    }

    /// A new logic variable, with its class.
    fn open(&mut self) -> String {
        let name = NAMES[self.variables.len()].to_string();
        // Classes with fields come first and more often.
        let nth = match self.choices.below(3) {
            0 => 1,
            1 => self.choices.below(4),
            _ => self.choices.below(self.classes.len() + 2),
        };
        let (head, classes) = match self.classes.get(nth) {
            Some(class) => {
                let below = self.below(nth);
                let class = quoted(class);
                // A class that one package has needs none.
                let class = class.replace("\"pack.Cell\"", "Cell");
                (format!("{class} {name}"), below)
            }
            None => {
                let all = (0..self.classes.len()).collect();
                let any = ["Object ", ""][nth - self.classes.len()];
                (format!("{any}{name}"), all)
            }
        };
        self.variables.push(Variable { name, classes });
        head
    }

    /// A class and its subclasses.
    fn below(&self, class: usize) -> Vec<usize> {
        let is_below = |nth: &usize| self.is_below(*nth, class);
        (0..self.classes.len()).filter(is_below).collect()
    }

    /// Whether a class is another one or below it, by definition.
    fn is_below(&self, class: usize, above: usize) -> bool {
        let mut supertypes = self.classes[class].supertypes();
        class == above || supertypes.any(|it| self.is_below(it.0 as usize - 1, above))
    }

    /// Something that is true or false.
    fn formula(&mut self, depth: usize) -> String {
        if depth == 0 || self.choices.is_done() {
            return self.atom(0);
        }
        let next = depth - 1;
        match self.choices.below(10) {
            0..=3 => self.atom(next),
            4 => format!("!({})", self.formula(next)),
            _ => {
                let op = self.connective();
                let (left, right) = (self.formula(next), self.formula(next));
                format!("({left}) {op} ({right})")
            }
        }
    }

    fn atom(&mut self, depth: usize) -> String {
        // Outside quantifiers a null on the way is the end: few paths are long there.
        if self.variables.is_empty() && !self.choices.is_rare(12) {
            return match self.choices.below(6) {
                0..=2 => format!("({})", self.quantifier(["forall", "exists"], depth.max(1))),
                3 => self.identity(),
                _ => self.probing(depth),
            };
        }
        if !self.is_deal && self.choices.below(3) > 0 {
            return self.probing(depth);
        }
        match self.choices.below(16) {
            0..=4 => self.comparison(),
            5 => self.path(Wanted::Truth).text,
            6 => {
                let object = self.object().text;
                format!("{object} instanceof {}", self.class_name())
            }
            7 => {
                let object = self.object().text;
                match self.choices.below(2) {
                    0 => format!("{object} is {}", LABELS[0]),
                    _ => format!("{object} is \"{}\"", LABELS[1]),
                }
            }
            8 => ["true", "false"][self.choices.below(2)].into(),
            _ => self.reach().unwrap_or_else(|| self.comparison()),
        }
    }

    fn class_name(&mut self) -> String {
        let nth = self.choices.below(self.classes.len() + 1);
        self.classes.get(nth).map_or("Object".into(), quoted)
    }

    // Relations.

    fn add_relations(&mut self, most: usize) {
        let count = (self.choices.below(2 * most + 2)).min(most);
        for _ in 0..count {
            let relation = self.relation();
            self.relations.push(relation);
        }
    }

    fn relation(&mut self) -> String {
        let parts = [1, 1, 1, 2, 3][self.choices.below(5)];
        let parts: Vec<String> = (0..parts).map(|_| self.part()).collect();
        parts.join(" || ")
    }

    fn part(&mut self) -> String {
        let has_source = self.choices.below(4) < 3;
        let exclusions = self.choices.below(3).max(!has_source as usize);
        let source = match has_source {
            true => self.end(2),
            false => String::new(),
        };
        let exclusions: Vec<String> = (0..exclusions).map(|_| self.end(6)).collect();
        match exclusions.is_empty() {
            true => source,
            false => format!("{source} / {}", exclusions.join(", ")),
        }
    }

    /// A source or an exclusion. Mostly a variable: what is null has no answer.
    fn end(&mut self, rare: usize) -> String {
        match self.choices.is_rare(rare) {
            true => self.host_object().text,
            false => HOSTS[self.choices.below(HOSTS.len())].into(),
        }
    }

    fn reach(&mut self) -> Option<String> {
        if self.relations.is_empty() || self.variables.is_empty() {
            return None;
        }
        let relation = &self.relations[self.choices.below(self.relations.len())];
        let variable = &self.variables[self.choices.below(self.variables.len())].name;
        Some(format!("reach[{relation}]({variable})"))
    }

    /// All relations, asked of the innermost variable.
    fn reach_all(&mut self) -> String {
        let variable = self.variables.last().expect("there is one").name.clone();
        let mut said = String::new();
        for relation in self.relations.clone() {
            if !said.is_empty() {
                said += &format!(" {} ", ["||", "&&"][self.choices.below(2)]);
            }
            said += &format!("reach[{relation}]({variable})");
        }
        said
    }

    fn connective(&mut self) -> &'static str {
        ["&&", "||", "->", "<->"][self.choices.below(4)]
    }

    // PHALANX.

    /// An object, of the asker's now and then.
    fn thing(&mut self) -> String {
        match self.choices.is_rare(40) {
            true => "current_thread()".into(),
            false if self.variables.is_empty() => self.host_object().text,
            false => self.object().text,
        }
    }

    /// What takes traversals of its own.
    fn probing(&mut self, depth: usize) -> String {
        let can_nest = depth > 0 && self.variables.len() < 3 && !self.choices.is_done();
        match self.choices.below(16) {
            0..=3 if can_nest => format!("({})", self.quantifier(["forall", "exists"], depth)),
            4 if can_nest => {
                let count = self.count(depth.min(2));
                let op = self.operator(true);
                format!("({count}) {op} {}", self.choices.below(4))
            }
            5..=6 => {
                let object = self.thing();
                let set = self.set(depth);
                match self.choices.below(2) {
                    0 => format!("({set}).has({object})"),
                    _ => format!("{object} in ({set})"),
                }
            }
            7 => {
                let set = self.set(depth);
                let op = self.operator(true);
                format!("({set}).size() {op} {}", self.choices.below(5))
            }
            8 => {
                let (left, right) = (self.set(depth), self.set(depth));
                let op = self.operator(false);
                format!("({left}) {op} ({right})")
            }
            9 => format!("({}).is_empty()", self.set(depth)),
            10 => {
                let above = match self.choices.below(6) {
                    4 => format!("stack({})", self.thread()),
                    5 => format!("roots({})", self.thread()),
                    _ => self.from(depth),
                };
                format!("dom({above}, {})", self.thing())
            }
            _ => self.probe(depth),
        }
    }

    fn probe(&mut self, depth: usize) -> String {
        let one = self.thing();
        let other = self.thing();
        match self.choices.below(13) {
            0 => format!("is_heap({one})"),
            1 => format!("is_shared({one})"),
            2 => format!("is_reachable({one}, {other})"),
            3 => format!("isDisjoint({one}, {other})"),
            4 => format!("is_unique_owner({one})"),
            5..=6 => format!(
                "reach_through({one}, {{{other}}} | {}, {})",
                self.set(depth),
                self.thing()
            ),
            7 => format!("is_object_owned({one}, {other})"),
            8 => format!("is_thread_owned({one})"),
            9 => format!("is_thread_stack_owned({one})"),
            10 => format!("is_thread_object_owned({one})"),
            11 => format!("unique({one})"),
            _ => format!("{one}.is_alive()"),
        }
    }

    fn count(&mut self, depth: usize) -> String {
        let head = self.open();
        let body = self.formula(depth);
        let value = self.path(Wanted::Number).text;
        self.variables.pop();
        match self.choices.below(4) {
            0 => format!("num_of {head}: ({body})"),
            1 => format!("\\num_of {head}; true; ({body})"),
            2 => format!("\\sum {head}; {body}; {value}"),
            _ => {
                let fold = ["min", "max"][self.choices.below(2)];
                format!("\\{fold} {head}; {body}; {value}")
            }
        }
    }

    /// An object or a set to start at.
    fn from(&mut self, depth: usize) -> String {
        match self.choices.below(4) {
            0..=2 => self.thing(),
            _ => self.set(depth),
        }
    }

    fn set(&mut self, depth: usize) -> String {
        let can_nest = depth > 0 && !self.choices.is_done();
        let next = depth.saturating_sub(1);
        match self.choices.below(if can_nest { 22 } else { 8 }) {
            0 => format!("reach({})", self.thing()),
            1 => format!("pred({})", self.thing()),
            2 => "running()".into(),
            3 => "reach()".into(),
            4 => format!("{{{}}}", self.thing()),
            5 => format!("{{{}, {}}}", self.thing(), self.thing()),
            6 => format!("stack({})", self.thread()),
            7 => format!("roots({})", self.thread()),
            8..=9 => {
                let from = self.from(next);
                format!("reach({from}, {})", self.set(next))
            }
            10 => format!("reach({})", self.set(next)),
            11..=12 => {
                let name = ["thread_reach", "thread_stack_reach", "thread_object_reach"];
                let name = name[self.choices.below(3)];
                let object = self.thing();
                match self.choices.below(2) {
                    0 => format!("{name}({object})"),
                    _ => format!("{name}({object}, {})", self.set(next)),
                }
            }
            13..=15 if self.variables.len() < 3 => {
                let head = self.open();
                let body = self.formula(next.min(2));
                self.variables.pop();
                format!("{{{head} | {body}}}")
            }
            16 => format!("({}).insert({})", self.set(next), self.thing()),
            17 => {
                let name = ["union", "intersection", "difference"][self.choices.below(3)];
                format!("({}).{name}({})", self.set(next), self.set(next))
            }
            _ => {
                let op = ["|", "&", "-"][self.choices.below(3)];
                format!("({}) {op} ({})", self.set(next), self.set(next))
            }
        }
    }

    fn thread(&mut self) -> String {
        match self.choices.below(3) {
            0 => self.thing(),
            _ => format!("thread:t{}", self.choices.is_rare(5) as usize),
        }
    }

    // Queries and GC assertions.

    fn query(&mut self) -> String {
        self.add_relations(2);
        let head = self.open();
        // Mostly what takes one traversal.
        self.is_deal = !self.choices.is_rare(4);
        let mut text = format!("query {head}");
        if self.choices.below(5) > 0 {
            text += &format!(": {}", self.formula(2));
        }
        match self.choices.below(7) {
            0..=1 => {}
            2 => text += " select count()",
            3 => text += &format!(" select sum({})", self.path(Wanted::Number).text),
            4 => {
                let fold = ["min", "max"][self.choices.below(2)];
                let of = match self.choices.below(3) {
                    0 => self.path(Wanted::Number).text,
                    1 => self.path(Wanted::Char).text,
                    _ => self.string(),
                };
                text += &format!(" select {fold}({of})");
            }
            _ => {
                let count = self.choices.below(3) + 1;
                let values: Vec<String> = (0..count).map(|_| self.selected()).collect();
                text += &format!(" select {}", values.join(", "));
            }
        }
        if self.choices.is_rare(3) {
            text += &format!(" limit {}", self.choices.below(4));
        }
        self.variables.pop();
        text
    }

    fn selected(&mut self) -> String {
        use Wanted::{Char, Enum, Number, Object, Truth};
        let wanted = [Number, Object, Truth, Char, Enum][self.choices.below(5)];
        self.path(wanted).text
    }

    fn gc(&mut self) -> String {
        let said = match self.choices.below(6) {
            0 => {
                let op = ["<=", "<"][self.choices.below(2)];
                let class = self.class_target();
                format!("instances({class}) {op} {}", self.choices.below(5) + 1)
            }
            1 => {
                let class = self.class_target();
                let most = self.choices.below(8);
                format!("volume({class}) <= {} bytes", 24 * most)
            }
            2 => match self.choices.below(2) {
                0 => format!("unshared({})", self.target()),
                _ => {
                    let target = self.target();
                    let slots = ["next", "\"[]\"", "next, \"[]\""][self.choices.below(3)];
                    format!("unshared({target} by {slots})")
                }
            },
            3..=4 => format!("owned_by({}, {})", self.target(), self.target()),
            _ => format!("dead({})", self.target()),
        };
        format!("rule it: {said}")
    }

    fn class_target(&mut self) -> String {
        let only = if self.choices.is_rare(3) { "only " } else { "" };
        // An interface has no instances of its own.
        let most = self.classes.len() - if only.is_empty() { 0 } else { INTERFACES };
        let class = quoted(&self.classes[self.choices.below(most)]);
        format!("{only}{class}")
    }

    fn target(&mut self) -> String {
        match self.choices.below(2) {
            0 => self.class_target(),
            _ => self.host_object().text,
        }
    }
}
