//! The functions and methods of expressions, by their names.
//!
//! Names are read in snake case and in the papers' camel case, with or without Java's `get`.

/// A function or a method.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// In snake case.
    pub name: &'static str,
    /// How many arguments it takes at least.
    pub least: usize,
    /// How many at most.
    pub most: usize,
    /// Whether it is true or false.
    pub is_predicate: bool,
}

const fn value(name: &'static str, least: usize, most: usize) -> Function {
    Function {
        name,
        least,
        most,
        is_predicate: false,
    }
}

const fn predicate(name: &'static str, arguments: usize) -> Function {
    Function {
        name,
        least: arguments,
        most: arguments,
        is_predicate: true,
    }
}

/// All functions.
pub const FUNCTIONS: [Function; 21] = [
    value("running", 0, 0),
    value("current_thread", 0, 0),
    value("stack", 1, 1),
    value("roots", 1, 1),
    value("reach", 0, 2),
    value("pred", 1, 1),
    predicate("dom", 2),
    predicate("is_heap", 1),
    predicate("is_shared", 1),
    predicate("is_reachable", 2),
    predicate("is_disjoint", 2),
    predicate("is_unique_owner", 1),
    predicate("reach_through", 3),
    predicate("is_object_owned", 2),
    predicate("is_thread_owned", 1),
    predicate("is_thread_stack_owned", 1),
    predicate("is_thread_object_owned", 1),
    predicate("unique", 1),
    value("thread_reach", 1, 2),
    value("thread_stack_reach", 1, 2),
    value("thread_object_reach", 1, 2),
];

/// All methods.
pub const METHODS: [Function; 8] = [
    predicate("has", 1),
    value("size", 0, 0),
    predicate("is_empty", 0),
    value("union", 1, 1),
    value("intersection", 1, 1),
    value("difference", 1, 1),
    value("insert", 1, 1),
    predicate("is_alive", 0),
];

/// Returns a name as it stands in the tables.
pub fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    match snake.strip_prefix("get_").unwrap_or(&snake) {
        "contains" => "has".into(),
        wanted => wanted.into(),
    }
}

/// Whether there is a method of that name.
pub fn is_method(name: &str) -> bool {
    let name = snake_case(name);
    METHODS.iter().any(|it| it.name == name)
}

/// Whether what has that name is true or false.
pub fn is_predicate(name: &str) -> bool {
    let name = snake_case(name);
    let mut all = FUNCTIONS.iter().chain(&METHODS);
    all.any(|it| it.name == name && it.is_predicate)
}
