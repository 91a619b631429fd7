//! Assertions with a heap on which each holds and one on which it fails: those that the papers
//! print, by their texts, and more about the same heaps.
//!
//! Heaps are heap text (`docs/heap-text.md`). A case binds its host variables to objects, by
//! the names that those have in both heaps. Whoever evaluates anything can take this table.

/// A text, and two heaps.
pub struct Case {
    /// What it is about.
    pub name: &'static str,
    /// One statement.
    pub text: &'static str,
    /// A heap on which it holds.
    pub holds: &'static str,
    /// A heap on which it does not.
    pub fails: &'static str,
    /// The host variables, and the objects that they stand for.
    pub binds: &'static [(&'static str, &'static str)],
    /// The host variables that stand for values, and the values.
    pub values: &'static [(&'static str, &'static str)],
    /// The thread that asks.
    pub asker: Option<&'static str>,
    /// The objects that show why it fails, for all quantifiers, in the order of the heap: of a
    /// `forall` those for which the body is false, of others those for which it is true; those
    /// that two relations have; what breaks a GC assertion.
    pub shown: &'static [&'static str],
}

const NONE: Case = Case {
    name: "",
    text: "",
    holds: "",
    fails: "",
    binds: &[],
    values: &[],
    asker: None,
    shown: &[],
};

/// All of them.
pub const CASES: &[Case] = &[
    // DeAL, section 1.
    Case {
        name: "a doubly linked list",
        text: "assertion(forall Node x: reach[d](x) -> x.next.prev == x)",
        // Nothing is said of the list that d does not lead to.
        holds: "
            root static:d -> List#1
            List#1.head -> Node#1
            Node#1 { next -> Node#2, prev -> null }
            Node#2 { next -> Node#3, prev -> Node#1 }
            Node#3 { next -> null, prev -> Node#2 }
            root static:other -> Node#4
            Node#4 { next -> Node#5, prev -> null }
            Node#5 { next -> null, prev -> null }",
        fails: "
            root static:d -> List#1
            List#1.head -> Node#1
            Node#1 { next -> Node#2, prev -> null }
            Node#2 { next -> Node#3, prev -> null }
            Node#3 { next -> null, prev -> Node#2 }",
        binds: &[("d", "List#1")],
        shown: &["Node#1"],
        ..NONE
    },
    Case {
        name: "a doubly linked list, in symbols",
        text: "assertion(∀x ∈ Node : Rd(x) ⇒ (x.next.prev = x))",
        holds: "
            root static:d -> Node#1
            Node#1 { next -> Node#2, prev -> Node#2 }
            Node#2 { next -> Node#1, prev -> Node#1 }",
        fails: "
            root static:d -> Node#1
            Node#1 { next -> Node#2, prev -> Node#2 }
            Node#2 { next -> Node#1, prev -> Node#2 }",
        binds: &[("d", "Node#1")],
        shown: &["Node#1"],
        ..NONE
    },
    Case {
        name: "all nodes are dominated by d",
        text: "assertion(∀x ∈ Node : ¬R r0/d(x))",
        holds: "
            root main -> List#1
            root static:list -> List#1
            List#1.head -> Node#1
            Node#1.next -> Node#2
            Node#2.next -> Node#1",
        fails: "
            root main -> List#1, Node#2
            List#1.head -> Node#1
            Node#1.next -> Node#2
            Node#2.next -> Node#3",
        binds: &[("d", "List#1")],
        shown: &["Node#2", "Node#3"],
        ..NONE
    },
    Case {
        name: "what is hot is cached, and something else ends",
        text: "assertion((∀x ∈ Node : (x.data > threshold) ⇒ Rhotcache(x)) ∧
                         (∃y ∈ Node : ¬Rhotcache(y) ∧ y.next = null))",
        holds: "
            root main -> Cache#1, Node#3
            Cache#1.first -> Node#1
            Node#1 { next -> Node#2, data = 11 }
            Node#2 { next -> null, data = 5 }
            Node#3 { next -> null, data = 10 }",
        fails: "
            root main -> Cache#1, Node#3
            Cache#1.first -> Node#1
            Node#1 { next -> Node#2, data = 11 }
            Node#2 { next -> null, data = 5 }
            Node#3 { next -> null, data = 12 }",
        binds: &[("hotcache", "Cache#1")],
        values: &[("threshold", "10")],
        // It broke the first part; the second has a witness, the same.
        shown: &["Node#3", "Node#3"],
        ..NONE
    },
    Case {
        name: "what is hot is cached, by a limit that the heap has",
        text: "assertion((∀x ∈ Node : (x.data > config.threshold) ⇒ Rhotcache(x)) ∧
                         (∃y ∈ Node : ¬Rhotcache(y) ∧ y.next = null))",
        holds: "
            root main -> Cache#1, Config#1, Node#3
            Config#1.threshold = 10
            Cache#1.first -> Node#1
            Node#1 { next -> Node#2, data = 11 }
            Node#2 { next -> null, data = 5 }
            Node#3 { next -> null, data = 10 }",
        fails: "
            root main -> Cache#1, Config#1, Node#3
            Config#1.threshold = 10
            Cache#1.first -> Node#1
            Node#1 { next -> Node#2, data = 11 }
            Node#2 { next -> null, data = 5 }
            Node#3 { next -> null, data = 12 }",
        binds: &[("hotcache", "Cache#1"), ("config", "Config#1")],
        // It broke the first part; the second has a witness, the same.
        shown: &["Node#3", "Node#3"],
        ..NONE
    },
    // DeAL, section 2.2.
    Case {
        name: "a session holds what can be stored",
        text: "assertion(∀x ∈ Node : RHttpSession(x) ⇒
                   x instanceof Serializable ∧ ¬(x instanceof Thread))",
        holds: "
            interface Serializable
            class Session { first -> }
            class Node { next -> }
            class Stored : Node, Serializable
            class Worker : Node, Serializable
            class Thread : Node
            root main -> Session#1, Thread#1
            Session#1.first -> Stored#1
            Stored#1.next -> Worker#1",
        // A thread is not serializable. One of a subclass that is may not be stored either.
        fails: "
            interface Serializable
            class Session { first -> }
            class Node { next -> }
            class Stored : Node, Serializable
            class Thread : Node
            class Worker : Thread, Serializable
            root main -> Session#1
            Session#1.first -> Stored#1
            Stored#1.next -> Node#1
            Node#1.next -> Worker#1
            Worker#1.next -> Thread#1",
        binds: &[("HttpSession", "Session#1")],
        shown: &["Node#1", "Worker#1", "Thread#1"],
        ..NONE
    },
    Case {
        name: "a sorted list",
        text: "assertion(∀x ∈ Node : Rc(x) ⇒ x.data ≤ x.next.data)",
        holds: "
            root static:c -> Node#1
            Node#1 { next -> Node#2, data = -3 }
            Node#2 { next -> Node#3, data = 1.5 }
            Node#3 { next -> Node#4, data = 1.5 }
            Node#4 { next -> null, data = 7 }",
        fails: "
            root static:c -> Node#1
            Node#1 { next -> Node#2, data = 3 }
            Node#2 { next -> Node#3, data = 1.5 }
            Node#3 { next -> Node#4, data = 1 }
            Node#4 { next -> null, data = 7 }",
        binds: &[("c", "Node#1")],
        shown: &["Node#1", "Node#2"],
        ..NONE
    },
    Case {
        name: "not a number is never sorted",
        text: "assertion(∀x ∈ Node : Rc(x) ⇒ x.data ≤ x.next.data)",
        holds: "
            root static:c -> Node#1
            Node#1 { next -> Node#2, data = -inf }
            Node#2 { next -> null, data = inf }",
        fails: "
            root static:c -> Node#1
            Node#1 { next -> Node#2, data = 3 }
            Node#2 { next -> Node#3, data = nan }
            Node#3 { next -> null, data = 7 }",
        binds: &[("c", "Node#1")],
        shown: &["Node#1", "Node#2"],
        ..NONE
    },
    Case {
        name: "a cycle",
        text: "assertion(∀x ∈ Node : Rc(x) ⇒ x.next ≠ null)",
        holds: "
            root static:c -> Node#1
            Node#1.next -> Node#2
            Node#2.next -> Node#2
            root static:list -> Node#3
            Node#3.next -> null",
        fails: "
            root static:c -> Node#1
            Node#1.next -> Node#2
            Node#2.next -> null",
        binds: &[("c", "Node#1")],
        shown: &["Node#2"],
        ..NONE
    },
    Case {
        name: "leaves are where leaves are kept",
        text: "assertion(∀x ∈ Node : (x.next = null) ⇒ Rleaves(x))",
        holds: "
            root main -> Node#1, Set#1
            Node#1.next -> Node#2
            Node#2.next -> null
            Set#1.only -> Node#2",
        fails: "
            root main -> Node#1, Set#1, Node#3
            Node#1.next -> Node#2
            Node#2.next -> null
            Node#3.next -> null
            Node#4.next -> null      // garbage
            Set#1.only -> Node#2",
        binds: &[("leaves", "Set#1")],
        shown: &["Node#3"],
        ..NONE
    },
    Case {
        name: "somewhere is something like pi",
        text: "assertion(∃x ∈ Node : x.data > 3.141 ∧ x.data < 3.142)",
        holds: "
            root main -> Node#1
            Node#1 { next -> Node#2, data = 3.14159 }
            Node#2.data = 3",
        fails: "
            root main -> Node#1
            Node#1.data = 3.141
            Node#2.data = 3.1415     // garbage",
        ..NONE
    },
    Case {
        name: "all that c dominates is positive",
        text: "assertion(∀x ∈ Node : ¬R/c(x) ⇒ x.data > 0)",
        holds: "
            root main -> List#1, Node#2
            List#1.head -> Node#1
            Node#1 { next -> Node#2, data = 1 }
            Node#2.data = -1",
        fails: "
            root main -> List#1, Node#3
            List#1.head -> Node#1
            Node#1 { next -> Node#2, data = 1 }
            Node#2 { next -> Node#3, data = 0 }
            Node#3.data = -1",
        binds: &[("c", "List#1")],
        shown: &["Node#2"],
        ..NONE
    },
    Case {
        name: "persons are dominated by two lists together",
        text: "assertion(∀x ∈ Person : ¬R/males, females(x))",
        holds: "
            root main -> List#1, List#2
            List#1 { first -> Person#1, second -> Person#2 }
            List#2 { first -> Person#2, second -> Person#3 }",
        fails: "
            root main -> List#1, List#2
            root thread:main[7] -> Person#3
            List#1 { first -> Person#1, second -> Person#2 }
            List#2 { first -> Person#2, second -> Person#3 }",
        binds: &[("males", "List#1"), ("females", "List#2")],
        shown: &["Person#3"],
        ..NONE
    },
    Case {
        name: "each person is in one of two lists",
        text: "assertDisjoint(∀x ∈ Person : Rmales(x) ∨ Rfemales(x))",
        holds: "
            root main -> List#1, List#2, Person#1
            List#1.first -> Person#1
            List#2.first -> Person#2",
        fails: "
            root main -> List#1, List#2, Person#3
            List#1.first -> Person#1
            List#2.first -> Person#2",
        binds: &[("males", "List#1"), ("females", "List#2")],
        shown: &["Person#3"],
        ..NONE
    },
    Case {
        name: "no person is in both lists",
        text: "assertDisjoint(∀x ∈ Person : Rmales(x) ∨ Rfemales(x))",
        holds: "
            root main -> List#1, List#2
            List#1.first -> Person#1
            List#2.first -> Person#2",
        fails: "
            root main -> List#1, List#2, Person#3
            List#1.first -> Person#1
            List#2.first -> Person#1
            Person#1.address -> Address#1",
        binds: &[("males", "List#1"), ("females", "List#2")],
        shown: &["Person#1", "Address#1"],
        ..NONE
    },
    Case {
        name: "each person is dominated by one of two lists",
        text: "assertDisjoint(∀x ∈ Person :
                   (Rmales(x) ∨ Rfemales(x)) ∧ ¬R/males, females(x))",
        holds: "
            root main -> List#1, List#2, Other#1
            List#1.first -> Person#1
            List#2.first -> Person#2",
        // In a list, and on the stack: in two relations.
        fails: "
            root main -> List#1, List#2, Person#2
            List#1.first -> Person#1
            List#2.first -> Person#2",
        binds: &[("males", "List#1"), ("females", "List#2")],
        shown: &["Person#2"],
        ..NONE
    },
    Case {
        name: "trees of two phases share nothing",
        text: "assertDisjoint(∀x : ¬(RparseTree(x) ∧ RsyntaxTree(x)))",
        holds: "
            root main -> Tree#1, Tree#2
            Tree#1 { left -> Tree#3, right -> Tree#4 }
            Tree#2 { left -> Tree#5, right -> null }",
        fails: "
            root main -> Tree#1, Tree#2
            Tree#1 { left -> Tree#3, right -> Tree#4 }
            Tree#2 { left -> Tree#5, right -> Tree#4 }",
        binds: &[("parseTree", "Tree#1"), ("syntaxTree", "Tree#2")],
        shown: &["Tree#4"],
        ..NONE
    },
    Case {
        name: "two relations ask the same",
        text: "unsafeAssert(∀x : (Rs1/o1(x) ⇒ x.data > 0) ∧ (Rs2/o2(x) ⇒ x.data > 0))",
        // What an exclusion hides has any data.
        holds: "
            root main -> Node#1, Node#2
            Node#1 { next -> Node#3, other -> Node#4, data = 1 }
            Node#2 { next -> Node#3, other -> Node#5, data = 2 }
            Node#3 { next -> null, other -> null, data = 3 }
            Node#4 { next -> null, other -> null, data = 0 }
            Node#5 { next -> null, other -> null, data = 0 }",
        fails: "
            root main -> Node#1, Node#2
            Node#1 { next -> Node#3, other -> Node#4, data = 1 }
            Node#2 { next -> Node#3, other -> Node#4, data = 2 }
            Node#3 { next -> null, other -> null, data = 0 }
            Node#4 { next -> null, other -> Node#5, data = 0 }
            Node#5 { next -> null, other -> null, data = 0 }",
        binds: &[
            ("s1", "Node#1"),
            ("o1", "Node#4"),
            ("s2", "Node#2"),
            ("o2", "Node#5"),
        ],
        // The first excludes Node#4, so that it counts for the second.
        shown: &["Node#3", "Node#4"],
        ..NONE
    },
    Case {
        name: "an object counts for the first that reaches it",
        text: "unsafeAssert(∀x : (Rs1(x) ⇒ x.data > 0) ∧ (Rs2(x) ⇒ x.data ≥ 0))",
        holds: "
            root main -> Node#1, Node#2
            Node#1 { next -> Node#3, data = 1 }
            Node#2 { next -> Node#3, data = 0 }
            Node#3 { next -> null, data = 1 }",
        fails: "
            root main -> Node#1, Node#2
            Node#1 { next -> Node#3, data = 1 }
            Node#2 { next -> Node#3, data = 0 }
            Node#3 { next -> null, data = 0 }",
        binds: &[("s1", "Node#1"), ("s2", "Node#2")],
        shown: &["Node#3"],
        ..NONE
    },
    Case {
        name: "something is less than two relations want",
        text: "unsafeAssert(∃x : Rs1(x) ∧ x.data ≤ 0 ∨ Rs2(x) ∧ x.data < 0)",
        holds: "
            root main -> Node#1, Node#2
            Node#1 { next -> Node#3, data = 1 }
            Node#2 { next -> Node#3, data = 0 }
            Node#3 { next -> null, data = 0 }",
        fails: "
            root main -> Node#1, Node#2
            Node#1 { next -> null, data = 1 }
            Node#2 { next -> Node#3, data = 0 }
            Node#3 { next -> null, data = 0 }",
        binds: &[("s1", "Node#1"), ("s2", "Node#2")],
        ..NONE
    },
    Case {
        name: "an object does not count for the second that reaches it",
        text: "unsafeAssert(forall x: (reach[s1](x) -> x.data >= 0) && (reach[s2](x) -> x.data > 0))",
        // By what it says it is false: the second reaches Node#3 too.
        holds: "
            root main -> Node#1, Node#2
            Node#1 { next -> Node#3, data = 0 }
            Node#2 { next -> Node#3, data = 1 }
            Node#3 { next -> null, data = 0 }",
        fails: "
            root main -> Node#1, Node#2
            Node#1 { next -> null, data = 0 }
            Node#2 { next -> Node#3, data = 1 }
            Node#3 { next -> null, data = 0 }",
        binds: &[("s1", "Node#1"), ("s2", "Node#2")],
        shown: &["Node#3"],
        ..NONE
    },
    Case {
        name: "a later trace does not pass what an earlier one has",
        text: "unsafeAssert(∀x : Rs1/o1(x) ∨ Rs2(x))",
        holds: "
            root main -> Node#1, Node#2
            Node#1.next -> Node#3
            Node#2.next -> Node#3
            Node#3.next -> null",
        // The way from Node#2 to Node#4 leads through Node#5 alone, which the first has.
        fails: "
            root main -> Node#1, Node#2
            Node#1 { next -> Node#5, other -> null }
            Node#2 { next -> Node#5, other -> null }
            Node#5 { next -> Node#3, other -> null }
            Node#3 { next -> Node#4, other -> null }
            Node#4 { next -> null, other -> null }",
        binds: &[("s1", "Node#1"), ("o1", "Node#3"), ("s2", "Node#2")],
        shown: &["Node#3", "Node#4"],
        ..NONE
    },
    // DeAL, section 4.
    Case {
        name: "all that an array leads to is dominated by it",
        text: "assertDisjoint(∀x ∈ Node : Rarr(x) ⇒ ¬R/arr(x))",
        holds: "
            root main -> Node[]#1, Node#3
            Node[]#1 [ Node#1, null, Node#2 ]
            Node#1.next -> Node#2
            Node#2.next -> null
            Node#3.next -> null",
        // As the paper says: a spurious error, the array itself holds no Node#3.
        fails: "
            root main -> Node[]#1, Node#3
            Node[]#1 [ Node#1, null, Node#2 ]
            Node#1.next -> Node#3
            Node#2.next -> null
            Node#3.next -> null",
        binds: &[("arr", "Node[]#1")],
        shown: &["Node#3"],
        ..NONE
    },
    Case {
        name: "all that an array holds is dominated by it",
        text: "assertion(∀x ∈ Node : (x.mark = dummy) ⇒ ¬R/arr(x))",
        holds: "
            root main -> Node[]#1, Node#3, Object#1
            Node[]#1 [ Node#1, null, Node#2 ]
            Node#1 { mark -> Object#1, next -> Node#3 }
            Node#2 { mark -> Object#1, next -> null }
            Node#3 { mark -> null, next -> null }",
        fails: "
            root main -> Node[]#1, Node#3, Object#1
            Node[]#1 [ Node#1, null, Node#2 ]
            Node#1 { mark -> Object#1, next -> Node#3 }
            Node#2 { mark -> Object#1, next -> null }
            Node#3 { mark -> null, next -> Node#2 }",
        binds: &[("arr", "Node[]#1"), ("dummy", "Object#1")],
        shown: &["Node#2"],
        ..NONE
    },
    // DeAL, what its words say.
    Case {
        name: "exclusions add up",
        text: "assertion(exists Node x: x.data == 1 && reach[a/b || c/d, e](x))",
        // As figure 2 has it: b, d and e are avoided from c, b alone from a.
        holds: "
            root main -> Node#1, Node#2, Node#3, Node#5
            Node#1 { next -> Node#4, other -> null, data = 0 }     // a
            Node#2 { next -> null, other -> null, data = 0 }       // c
            Node#3 { next -> null, other -> null, data = 0 }       // b
            Node#4 { next -> Node#6, other -> null, data = 0 }     // d
            Node#5 { next -> null, other -> null, data = 0 }       // e
            Node#6 { next -> null, other -> null, data = 1 }",
        fails: "
            root main -> Node#1, Node#2
            Node#1 { next -> Node#3, other -> null, data = 0 }     // a
            Node#2 { next -> Node#3, other -> Node#4, data = 0 }   // c
            Node#3 { next -> Node#6, other -> null, data = 1 }     // b
            Node#4 { next -> Node#6, other -> Node#5, data = 1 }   // d
            Node#5 { next -> null, other -> null, data = 1 }       // e
            Node#6 { next -> null, other -> null, data = 1 }",
        binds: &[
            ("a", "Node#1"),
            ("b", "Node#3"),
            ("c", "Node#2"),
            ("d", "Node#4"),
            ("e", "Node#5"),
        ],
        ..NONE
    },
    Case {
        name: "a null on the way leaves an object out, whatever else is said",
        text: "assertion(exists Node x: x.next == null || x.next.data > 0)",
        holds: "
            root main -> Node#1
            Node#1 { next -> Node#2, data = 0 }
            Node#2 { next -> null, data = 1 }",
        fails: "
            root main -> Node#1
            Node#1 { next -> Node#2, data = 1 }
            Node#2 { next -> null, data = 0 }",
        ..NONE
    },
    Case {
        name: "texts compare byte by byte",
        text: r#"assertion(forall Person x: x.name < x.next.name && x.name != "Bea")"#,
        holds: r#"
            root main -> Person#1
            Person#1 { name -> Str#1, next -> Person#2 }
            Person#2 { name -> Str#2, next -> null }
            Str#1 "Zoë"
            Str#2 "ann""#,
        fails: r#"
            root main -> Person#1
            Person#1 { name -> Str#1, next -> Person#2 }
            Person#2 { name -> Str#1, next -> Person#3 }
            Person#3 { name -> Str#2, next -> Person#4 }
            Person#4 { name -> null, next -> null }
            Str#1 "Ann"
            Str#2 "Bea""#,
        // Person#2 is before Person#3; a name that is null comes neither before nor behind.
        shown: &["Person#1", "Person#3"],
        ..NONE
    },
    Case {
        name: "numbers compare by value",
        text: "assertion(forall Pair x: x.small == x.large && x.small <= x.real)",
        holds: "
            class Pair { small: i8, large: u64, real: f64 }
            root main -> Pair#1, Pair#2
            Pair#1 { small = 5, large = 5, real = 5 }
            Pair#2 { small = 0, large = 0, real = -0.0 }",
        fails: "
            class Pair { small: i8, large: u64, real: f64 }
            root main -> Pair#1, Pair#2, Pair#3
            Pair#1 { small = -1, large = 18446744073709551615, real = 5 }
            Pair#2 { small = 2, large = 2, real = 1.75 }
            Pair#3 { small = 0, large = 0, real = nan }",
        shown: &["Pair#1", "Pair#2", "Pair#3"],
        ..NONE
    },
    Case {
        name: "a large integer is not the float next to it",
        text: "assertion(forall Pair x: x.large == x.real)",
        holds: "
            class Pair { large: u64, real: f64 }
            root main -> Pair#1
            Pair#1 { large = 9007199254740992, real = 9007199254740992 }",
        fails: "
            class Pair { large: u64, real: f64 }
            root main -> Pair#1
            Pair#1 { large = 9007199254740993, real = 9007199254740992 }",
        shown: &["Pair#1"],
        ..NONE
    },
    Case {
        name: "what only a finalizer keeps is not alive",
        text: "assertion(forall Node x: x.data > 0)",
        holds: "
            root main -> Node#1
            root finalizer:pending -> Node#2
            Node#1.data = 1
            Node#2.data = 0",
        fails: "
            root main -> Node#1
            root other:jni -> Node#2
            Node#1.data = 1
            Node#2.data = 0",
        shown: &["Node#2"],
        ..NONE
    },
    Case {
        name: "what waits for its finalizer may still read what it refers to",
        text: r"\forall Node x; true; unique(x)",
        holds: "
            root static:kept -> Node#1
            root finalizer:pending -> Late#1
            Late#1.held -> null",
        fails: "
            root static:kept -> Node#1
            root finalizer:pending -> Late#1
            Late#1.later -> Late#2
            Late#2.held -> Node#1",
        shown: &["Node#1"],
        ..NONE
    },
    // PHALANX.
    Case {
        name: "a connection that two threads have is in the pool",
        text: r"\forall Connection c; true;
                (\num_of Thread t; running().has(t); reach(t, {pool}).has(c) || reach(stack(t), {pool}).has(c)) <= 1",
        holds: "
            root thread-object:a -> Thread#1
            root thread-object:b -> Thread#2
            root thread:a -> Connection#1
            root thread:b -> Connection#2
            Thread#1.db -> Pool#1
            Thread#2.db -> Pool#1
            Pool#1 { one -> Connection#1, two -> Connection#2, three -> Connection#3 }",
        fails: "
            root thread-object:a -> Thread#1
            root thread-object:b -> Thread#2
            root thread:a -> Connection#1
            root thread:b -> Connection#1
            Thread#1.db -> Pool#1
            Thread#2.db -> Pool#1
            Pool#1 { one -> Connection#1, two -> Connection#2, three -> null }",
        binds: &[("pool", "Pool#1")],
        shown: &["Connection#1"],
        ..NONE
    },
    Case {
        name: "nobody keeps the set of clients",
        text: "pred(clients).size() == 0",
        holds: "
            root server -> Set#1
            root thread-object:server -> Thread#1",
        fails: "
            root server -> Set#1
            root thread-object:server -> Thread#1
            Thread#1.clients -> Set#1",
        binds: &[("clients", "Set#1")],
        ..NONE
    },
    Case {
        name: "a socket is confined to its thread, whose own stack does not count",
        text: "dom(this, this.socket)",
        holds: "
            root thread:request -> Socket#1
            root thread-object:request -> Request#1
            root thread:server -> Server#1
            Request#1.socket -> Socket#1",
        fails: "
            root thread:request -> Socket#1
            root thread-object:request -> Request#1
            root thread:server -> Socket#1
            Request#1.socket -> Socket#1",
        binds: &[("this", "Request#1")],
        asker: Some("request"),
        ..NONE
    },
    Case {
        name: "all ways lead through the wrapper",
        text: "!reach(a, {w}).has(w.b)",
        holds: "
            root main -> A#1
            A#1 { one -> Wrapper#1, two -> null }
            Wrapper#1.b -> B#1",
        fails: "
            root main -> A#1
            A#1 { one -> Wrapper#1, two -> B#1 }
            Wrapper#1.b -> B#1",
        binds: &[("a", "A#1"), ("w", "Wrapper#1")],
        ..NONE
    },
    Case {
        name: "two tasks have nothing in common",
        text: "!(exists Object v; reach(a).has(v); reach(b).has(v))",
        holds: "
            root main -> Task#1, Task#2
            Task#1.data -> Data#1
            Task#2.data -> Data#2",
        fails: "
            root main -> Task#1, Task#2
            Task#1.data -> Data#1
            Task#2.data -> Data#1",
        binds: &[("a", "Task#1"), ("b", "Task#2")],
        shown: &["Data#1"],
        ..NONE
    },
    Case {
        name: "an object is only the asking thread's",
        text: "is_thread_owned(o)",
        holds: "
            root thread:a -> Data#1
            root thread-object:a -> Thread#1
            Thread#1.data -> Data#1
            root thread:b -> Other#1",
        fails: "
            root thread:a -> Data#1
            root static:cache -> Data#1",
        binds: &[("o", "Data#1")],
        asker: Some("a"),
        ..NONE
    },
    Case {
        name: "a stack dominates only what nobody else leads to",
        text: "dom(stack(current_thread()), o)",
        holds: "
            root thread:a -> Data#1
            root thread-object:a -> Thread#1
            root thread:b -> Other#1",
        fails: "
            root thread:a -> Data#1
            root thread-object:a -> Thread#1
            root thread:b -> Data#1",
        binds: &[("o", "Data#1")],
        asker: Some("a"),
        ..NONE
    },
    Case {
        name: "a set of objects dominates what is reached through one of them",
        text: "dom({a, b}, c)",
        holds: "
            root main -> Node#1, Node#2
            Node#1.next -> Node#3
            Node#2.next -> Node#3",
        fails: "
            root main -> Node#1, Node#2
            root static:c -> Node#3
            Node#1.next -> Node#3
            Node#2.next -> Node#3",
        binds: &[("a", "Node#1"), ("b", "Node#2"), ("c", "Node#3")],
        ..NONE
    },
    // GC assertions.
    Case {
        name: "one searcher",
        text: "rule one: instances(Searcher) <= 1",
        holds: "
            root main -> Searcher#1
            Searcher#2.index -> Searcher#1",
        fails: "
            root main -> Searcher#1, Searcher#2
            Searcher#1.index -> null
            Searcher#2.index -> Searcher#1",
        shown: &["Searcher#1", "Searcher#2"],
        ..NONE
    },
    Case {
        name: "a small cache",
        text: "rule small: volume(Entry) <= 48 bytes",
        holds: "
            root main -> Entry#1, Entry#2
            Entry#1 (24 bytes)
            Entry#2 (24 bytes)
            Entry#3 (24 bytes)",
        fails: "
            root main -> Entry#1, Entry#2
            Entry#1 (24 bytes)
            Entry#2 (32 bytes)",
        shown: &["Entry#1", "Entry#2"],
        ..NONE
    },
    Case {
        name: "the nodes of a tree are not shared",
        text: "rule tree: unshared(Tree)",
        // Locals do not count, nor do the slots of garbage.
        holds: "
            root static:tree -> Tree#1
            root main -> Tree#1, Tree#2, Tree#2
            Tree#1 { left -> Tree#2, right -> Tree#3 }
            Tree#4.left -> Tree#3",
        fails: "
            root static:tree -> Tree#1
            root static:node -> Tree#2
            Tree#1 { left -> Tree#2, right -> Tree#3 }
            Tree#3 { left -> Tree#4, right -> Tree#4 }",
        shown: &["Tree#2", "Tree#4"],
        ..NONE
    },
    Case {
        name: "entries do not outlive or leave their table",
        text: "rule owned: owned_by(table, Entry)",
        holds: "
            root main -> Table#1, Entry#1
            Table#1.first -> Entry#1
            Entry#1.next -> Entry#2
            Entry#3.next -> Entry#1",
        fails: "
            root main -> Table#1, Entry#3
            Table#1.first -> Entry#1
            Entry#1.next -> Entry#2
            Entry#3.next -> Entry#1",
        binds: &[("table", "Table#1")],
        shown: &["Entry#3"],
        ..NONE
    },
    Case {
        name: "a dead owner owns nothing",
        text: "rule owned: owned_by(Table, Entry)",
        holds: "
            root main -> Table#1
            Table#1.first -> Entry#1",
        fails: "
            root main -> Entry#1
            Table#1.first -> Entry#1",
        shown: &["Entry#1"],
        ..NONE
    },
    Case {
        name: "an old company is gone",
        text: "rule gone: dead(old)",
        holds: "
            root main -> Company#1
            Company#2.next -> Company#1",
        fails: "
            root main -> Company#1
            Company#1.next -> Company#2",
        binds: &[("old", "Company#2")],
        shown: &["Company#2"],
        ..NONE
    },
];
