//! Skeletal programs after DeAL's section 5.2: each builds the structure that one of the paper's
//! example assertions is about (sections 1, 2.2 and 4), and nothing else.
//!
//! What an assertion speaks of by name lies in a static of that name. Nearly all objects are of
//! the class that the assertion quantifies over, so that it filters nothing.

use heaphound::{Header, Interface, Local, Managed, Mutator, Object, RefArray, Rules, Slot, Var};

use super::Random;

/// A program, and what it asserts.
pub struct Skeleton {
    /// What it is called in reports.
    pub name: &'static str,
    /// The paper's text.
    pub text: &'static str,
    /// The host variables.
    pub hosts: &'static [&'static str],
    build: fn(&mut Mutator<'_>, &Shape),
}

/// How a program's structure is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// How many objects it is made of.
    pub objects: usize,
    /// Where they lie.
    pub layout: Layout,
    /// Whether the assertion fails, for one object.
    pub broken: bool,
}

/// In which order objects are allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// In the order in which they are linked.
    Sequential,
    /// At random.
    Shuffled,
}

impl Layout {
    /// Returns what it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Shuffled => "shuffled",
        }
    }
}

impl Skeleton {
    /// Builds the structure. Returns the assertion about it.
    pub fn build(&self, m: &mut Mutator<'_>, shape: &Shape) -> Rules {
        (self.build)(&mut m.scope(), shape);
        self.assertion(m)
    }

    /// Returns the assertion, about what was built.
    pub fn assertion(&self, m: &Mutator<'_>) -> Rules {
        let assertion = Rules::named(self.name, self.text);
        self.hosts.iter().fold(assertion, |assertion, host| {
            assertion.bind(m, host, m.static_root::<Object>(host))
        })
    }
}

/// Returns the program of that name.
pub fn find(name: &str) -> Option<&'static Skeleton> {
    SKELETONS.iter().find(|it| it.name == name)
}

/// The programs, in the order of the paper.
pub const SKELETONS: &[Skeleton] = &[
    Skeleton {
        name: "doubly-linked",
        text: "assertion(forall Node x: reach[d](x) -> x.next.prev == x)",
        hosts: &["d"],
        build: doubly_linked_list,
    },
    Skeleton {
        name: "all-dominated",
        text: "assertion(forall Node x: !reach[/d](x))",
        hosts: &["d"],
        build: |m, shape| {
            let list = links(m, shape, None);
            let first = element(m, list, 0);
            let head = m.alloc(HeadInit { first: Some(first) }).expect("room");
            hold(m, "d", head);
            if shape.broken {
                hold_middle(m, list);
            }
        },
    },
    Skeleton {
        name: "hot-cache",
        text: "assertion((forall Node x: x.data > config.threshold -> reach[hotcache](x)) && \
               (exists Node y: !reach[hotcache](y) && y.next == null))",
        hosts: &["hotcache", "config"],
        build: hot_cache,
    },
    Skeleton {
        name: "instanceof",
        text: "assertion(forall Node x: reach[HttpSession](x) -> \
               x instanceof Serializable && !(x instanceof Thread))",
        hosts: &["HttpSession"],
        build: session,
    },
    Skeleton {
        name: "sorted",
        text: "assertion(forall Node x: reach[c](x) -> x.data <= x.next.data)",
        hosts: &["c"],
        build: |m, shape| {
            let broken = shape.objects / 2;
            let list = numbers(m, shape, |at| match shape.broken && at == broken {
                true => -1,
                false => at as i64,
            });
            hold_first(m, "c", list);
        },
    },
    Skeleton {
        name: "cyclic",
        text: "assertion(forall Node x: reach[c](x) -> x.next != null)",
        hosts: &["c"],
        build: |m, shape| {
            let list = links(m, shape, (!shape.broken).then_some(0));
            hold_first(m, "c", list);
        },
    },
    Skeleton {
        name: "tree",
        text: "assertion(forall Tree x: reach[t](x) -> x.left.parent == x && x.right.parent == x)",
        hosts: &["t"],
        build: tree,
    },
    Skeleton {
        name: "heap",
        text: "assertion(forall Node x: reach[h](x) -> x.data <= x.left.data && x.data <= x.right.data)",
        hosts: &["h"],
        build: heap,
    },
    Skeleton {
        name: "leaves",
        text: "assertion(forall Node x: x.next == null -> reach[leaves](x))",
        hosts: &["leaves"],
        build: leaves,
    },
    Skeleton {
        name: "exists",
        text: "assertion(exists Node x: x.data > 3.141 && x.data < 3.142)",
        hosts: &[],
        build: |m, shape| {
            let list = nodes(m, shape, shape.objects, |m| {
                m.alloc(MeasureInit {
                    data: 3.0,
                    next: None,
                })
                .expect("room")
            });
            each(m, list, |at, node, elements| {
                node.next.set(elements.get(at + 1).and_then(Slot::get));
                // The last one, so that all are looked at.
                if at + 1 == elements.len() && !shape.broken {
                    node.data.set(3.1412);
                }
            });
            hold_first(m, "list", list);
        },
    },
    Skeleton {
        name: "dominated-positive",
        text: "assertion(forall Node x: !reach[/c](x) -> x.data > 0)",
        hosts: &["c"],
        build: |m, shape| {
            let broken = shape.objects / 2;
            let list = numbers(m, shape, |at| !(shape.broken && at == broken) as i64);
            hold_first(m, "c", list);
        },
    },
    Skeleton {
        name: "dominated-by-two",
        text: "assertion(forall Person x: !reach[/males, females](x))",
        hosts: &["males", "females"],
        build: persons,
    },
    Skeleton {
        name: "disjoint",
        text: "assertDisjoint(forall Person x: reach[males](x) || reach[females](x))",
        hosts: &["males", "females"],
        build: |m, shape| {
            persons(
                m,
                &Shape {
                    broken: false,
                    ..*shape
                },
            );
            if shape.broken {
                let person = m.alloc(PersonInit { next: None }).expect("room");
                hold(m, "stray", person);
            }
        },
    },
    Skeleton {
        name: "disjoint-dominated",
        text: "assertDisjoint(forall Person x: \
               (reach[males](x) || reach[females](x)) && !reach[/males, females](x))",
        hosts: &["males", "females"],
        build: persons,
    },
    Skeleton {
        name: "disjoint-trees",
        text: "assertDisjoint(forall x: !(reach[parseTree](x) && reach[syntaxTree](x)))",
        hosts: &["parseTree", "syntaxTree"],
        build: two_trees,
    },
    Skeleton {
        name: "unsafe-same",
        text: "unsafeAssert(forall x: (reach[s1/o1](x) -> x.data > 0) && (reach[s2/o2](x) -> x.data > 0))",
        hosts: &["s1", "o1", "s2", "o2"],
        build: two_lists,
    },
    Skeleton {
        name: "unsafe-sound",
        text: "unsafeAssert(forall x: (reach[s1](x) -> x.data > 0) && (reach[s2](x) -> x.data >= 0))",
        hosts: &["s1", "s2"],
        build: two_lists,
    },
    Skeleton {
        name: "unsafe-complete",
        text: "unsafeAssert(exists x: reach[s1](x) && x.data <= 0 || reach[s2](x) && x.data < 0)",
        hosts: &["s1", "s2"],
        build: |m, shape| {
            // What breaks the others is the witness of this.
            let broken = !shape.broken;
            two_lists(m, &Shape { broken, ..*shape });
        },
    },
    Skeleton {
        name: "array-disjoint",
        text: "assertDisjoint(forall Node x: reach[arr](x) -> !reach[/arr](x))",
        hosts: &["arr"],
        build: |m, shape| {
            let array = nodes(m, shape, shape.objects, |m| {
                m.alloc(LinkInit { next: None }).expect("room")
            });
            hold(m, "arr", array);
            if shape.broken {
                hold_middle(m, array);
            }
        },
    },
    Skeleton {
        name: "array-marked",
        text: "assertion(forall Node x: x.mark == dummy -> !reach[/arr](x))",
        hosts: &["arr", "dummy"],
        build: |m, shape| {
            let dummy = m.alloc(HeadInit { first: None }).expect("room");
            let array = nodes(m, shape, shape.objects, |m| {
                let init = MarkedInit {
                    mark: None,
                    next: None,
                };
                m.alloc(init).expect("room")
            });
            each(m, array, |_, node, _| {
                node.mark.set(Some(m[dummy].as_object()));
            });
            hold(m, "dummy", dummy);
            hold(m, "arr", array);
            if shape.broken {
                hold_middle(m, array);
            }
        },
    },
];

/// What holds the first of a list.
#[derive(Managed)]
#[repr(C)]
struct Head {
    header: Header,
    first: Slot<Link>,
}

#[derive(Managed)]
#[managed(name = "Node")]
#[repr(C)]
struct Link {
    header: Header,
    next: Slot<Link>,
}

#[derive(Managed)]
#[managed(name = "Node")]
#[repr(C)]
struct Twofold {
    header: Header,
    next: Slot<Twofold>,
    prev: Slot<Twofold>,
}

#[derive(Managed)]
#[managed(name = "Node")]
#[repr(C)]
struct Number {
    header: Header,
    data: Var<i64>,
    next: Slot<Number>,
}

#[derive(Managed)]
#[managed(name = "Node")]
#[repr(C)]
struct Measure {
    header: Header,
    data: Var<f64>,
    next: Slot<Measure>,
}

#[derive(Managed)]
#[managed(name = "Node")]
#[repr(C)]
struct Marked {
    header: Header,
    mark: Slot<Object>,
    next: Slot<Marked>,
}

#[derive(Managed)]
#[repr(C)]
struct Cache {
    header: Header,
    first: Slot<Number>,
}

#[derive(Managed)]
#[repr(C)]
struct Config {
    header: Header,
    threshold: i64,
}

#[derive(Interface)]
struct Serializable;

#[derive(Managed)]
#[managed(implements(Serializable))]
#[repr(C)]
struct Stored {
    #[managed(superclass)]
    node: Link,
}

/// A thread is not serializable.
#[derive(Managed)]
#[repr(C)]
struct Thread {
    #[managed(superclass)]
    node: Link,
}

#[derive(Managed)]
#[repr(C)]
struct Tree {
    header: Header,
    left: Slot<Tree>,
    right: Slot<Tree>,
    parent: Slot<Tree>,
}

#[derive(Managed)]
#[managed(name = "Tree")]
#[repr(C)]
struct Branch {
    header: Header,
    left: Slot<Branch>,
    right: Slot<Branch>,
}

#[derive(Managed)]
#[managed(name = "Node")]
#[repr(C)]
struct HeapNode {
    header: Header,
    data: Var<i64>,
    left: Slot<HeapNode>,
    right: Slot<HeapNode>,
}

#[derive(Managed)]
#[repr(C)]
struct Person {
    header: Header,
    next: Slot<Person>,
}

/// Puts an object into a static.
fn hold<T: Managed + ?Sized>(m: &Mutator<'_>, name: &str, object: Local<'_, T>) {
    m.static_root::<Object>(name)
        .set(m, Some(m[object].as_object()));
}

/// Holds the first of some nodes in a static.
fn hold_first<T: Managed>(m: &Mutator<'_>, name: &str, nodes: Local<'_, RefArray<T>>) {
    let first = element(m, nodes, 0);
    hold(m, name, first);
}

/// Adds a second way to an object in the middle.
fn hold_middle<T: Managed>(m: &Mutator<'_>, nodes: Local<'_, RefArray<T>>) {
    let middle = element(m, nodes, m[nodes].len() / 2);
    hold(m, "stray", middle);
}

/// Makes nodes. Returns them in the order in which they are to be linked.
fn nodes<'a, T: Managed>(
    m: &mut Mutator<'a>,
    shape: &Shape,
    count: usize,
    make: for<'b> fn(&mut Mutator<'b>) -> Local<'b, T>,
) -> Local<'a, RefArray<T>> {
    let array = m.alloc_refs::<T>(count).expect("room");
    let mut places: Vec<u32> = (0..count as u32).collect();
    if shape.layout == Layout::Shuffled {
        let mut random = Random::new(6);
        for last in (1..count).rev() {
            places.swap(last, random.index(last + 1));
        }
    }
    for place in places {
        let mut m = m.scope();
        let node = make(&mut m);
        m[array][place as usize].set(Some(&m[node]));
    }
    array
}

/// Visits nodes in order.
fn each<T: Managed>(
    m: &Mutator<'_>,
    nodes: Local<'_, RefArray<T>>,
    mut f: impl FnMut(usize, &T, &[Slot<T>]),
) {
    let elements = &m[nodes];
    for (at, node) in elements.iter().enumerate() {
        f(at, node.get().expect("all are there"), elements);
    }
}

fn element<'a, T: Managed>(
    m: &Mutator<'a>,
    nodes: Local<'_, RefArray<T>>,
    at: usize,
) -> Local<'a, T> {
    m.local(m[nodes][at].get().expect("all are there"))
}

/// Returns a list whose last node leads to one of it, or nowhere.
fn links<'a>(m: &mut Mutator<'a>, shape: &Shape, last: Option<usize>) -> Local<'a, RefArray<Link>> {
    let list = nodes(m, shape, shape.objects, |m| {
        m.alloc(LinkInit { next: None }).expect("room")
    });
    each(m, list, |at, node, elements| {
        let next = elements.get(at + 1).or(last.map(|at| &elements[at]));
        node.next.set(next.and_then(Slot::get));
    });
    list
}

/// Returns a list of numbers.
fn numbers<'a>(
    m: &mut Mutator<'a>,
    shape: &Shape,
    data: impl Fn(usize) -> i64,
) -> Local<'a, RefArray<Number>> {
    let list = nodes(m, shape, shape.objects, |m| {
        let init = NumberInit {
            data: 0,
            next: None,
        };
        m.alloc(init).expect("room")
    });
    each(m, list, |at, node, elements| {
        node.data.set(data(at));
        node.next.set(elements.get(at + 1).and_then(Slot::get));
    });
    list
}

fn doubly_linked_list(m: &mut Mutator<'_>, shape: &Shape) {
    let list = nodes(m, shape, shape.objects, |m| {
        let init = TwofoldInit {
            next: None,
            prev: None,
        };
        m.alloc(init).expect("room")
    });
    each(m, list, |at, node, elements| {
        let broken = shape.broken && at == elements.len() / 2;
        let before = at.checked_sub(1 + broken as usize);
        node.prev.set(before.and_then(|at| elements[at].get()));
        node.next.set(elements.get(at + 1).and_then(Slot::get));
    });
    hold_first(m, "d", list);
}

/// Half of the nodes are in the cache, and above the threshold.
fn hot_cache(m: &mut Mutator<'_>, shape: &Shape) {
    let half = shape.objects / 2;
    let list = numbers(m, shape, |at| {
        let hot = at < half || shape.broken && at == half;
        11 - !hot as i64
    });
    let (first, second) = (element(m, list, 0), element(m, list, half));
    let last = element(m, list, half - 1);
    m[last].next.clear();
    let cache = m.alloc(CacheInit { first: Some(first) }).expect("room");
    let config = m.alloc(ConfigInit { threshold: 10 }).expect("room");
    hold(m, "hotcache", cache);
    hold(m, "config", config);
    hold(m, "cold", second);
}

fn session(m: &mut Mutator<'_>, shape: &Shape) {
    let list = nodes(m, shape, shape.objects, |m| {
        let node = LinkInit { next: None };
        m.alloc(StoredInit { node }).expect("room")
    });
    each(m, list, |at, node, elements| {
        let next = elements.get(at + 1).and_then(Slot::get);
        node.node.next.set(next.map(|it| &it.node));
    });
    m.know_class::<Thread>();
    if shape.broken {
        let node = LinkInit { next: None };
        let thread = m.alloc(ThreadInit { node }).expect("room");
        let last = element(m, list, shape.objects - 1);
        m[last].node.next.set(Some(&m[thread].node));
    }
    hold_first(m, "HttpSession", list);
}

/// Returns the children of a node in a binary tree that is filled level by level.
fn children<T: Managed>(elements: &[Slot<T>], at: usize) -> [Option<&T>; 2] {
    [2 * at + 1, 2 * at + 2].map(|child| elements.get(child).and_then(Slot::get))
}

fn tree(m: &mut Mutator<'_>, shape: &Shape) {
    let all = nodes(m, shape, shape.objects, |m| {
        let init = TreeInit {
            left: None,
            right: None,
            parent: None,
        };
        m.alloc(init).expect("room")
    });
    each(m, all, |at, node, elements| {
        let [left, right] = children(elements, at);
        node.left.set(left);
        node.right.set(right);
        let broken = shape.broken && at == elements.len() / 2;
        let parent = at.checked_sub(1).map(|at| at / 2).filter(|_| !broken);
        node.parent.set(parent.and_then(|at| elements[at].get()));
    });
    hold_first(m, "t", all);
}

fn heap(m: &mut Mutator<'_>, shape: &Shape) {
    let all = nodes(m, shape, shape.objects, |m| {
        let init = HeapNodeInit {
            data: 0,
            left: None,
            right: None,
        };
        m.alloc(init).expect("room")
    });
    each(m, all, |at, node, elements| {
        let broken = shape.broken && at == elements.len() / 2;
        node.data.set(if broken { -1 } else { at as i64 });
        let [left, right] = children(elements, at);
        node.left.set(left);
        node.right.set(right);
    });
    hold_first(m, "h", all);
}

/// Half of the nodes lead to the other half, which are leaves.
fn leaves(m: &mut Mutator<'_>, shape: &Shape) {
    let half = shape.objects / 2;
    let all = nodes(m, shape, 2 * half, |m| {
        m.alloc(LinkInit { next: None }).expect("room")
    });
    let inner = m.alloc_refs::<Link>(half).expect("room");
    let leaves = m.alloc_refs::<Link>(half).expect("room");
    for at in 0..half {
        let (node, leaf) = (m[all][2 * at].get(), m[all][2 * at + 1].get());
        node.expect("all are there").next.set(leaf);
        m[inner][at].set(node);
        let lost = shape.broken && at == half / 2;
        m[leaves][at].set(leaf.filter(|_| !lost));
    }
    hold(m, "inner", inner);
    hold(m, "leaves", leaves);
}

/// Two lists of persons.
fn persons(m: &mut Mutator<'_>, shape: &Shape) {
    let half = shape.objects / 2;
    let all = nodes(m, shape, shape.objects, |m| {
        m.alloc(PersonInit { next: None }).expect("room")
    });
    each(m, all, |at, person, elements| {
        let next = elements.get(at + 1).filter(|_| at + 1 != half);
        person.next.set(next.and_then(Slot::get));
    });
    let (males, females) = (element(m, all, 0), element(m, all, half));
    hold(m, "males", males);
    hold(m, "females", females);
    if shape.broken {
        let stray = element(m, all, half / 2);
        hold(m, "stray", stray);
    }
}

fn two_trees(m: &mut Mutator<'_>, shape: &Shape) {
    let half = shape.objects / 2;
    for name in ["parseTree", "syntaxTree"] {
        let mut m = m.scope();
        let all = nodes(&mut m, shape, half, |m| {
            let init = BranchInit {
                left: None,
                right: None,
            };
            m.alloc(init).expect("room")
        });
        each(&m, all, |at, node, elements| {
            let [left, right] = children(elements, at);
            node.left.set(left);
            node.right.set(right);
        });
        let (root, last) = (element(&m, all, 0), element(&m, all, half - 1));
        hold(&m, name, root);
        match name {
            "parseTree" => m.static_root::<Branch>("last").set(&m, Some(&m[last])),
            _ if shape.broken => {
                let shared = m.static_root::<Branch>("last");
                m[last].left.set(shared.get(&m));
            }
            _ => {}
        }
    }
    m.static_root::<Branch>("last").clear(m);
}

/// Two lists of positive numbers; the last of each is excluded where something is.
fn two_lists(m: &mut Mutator<'_>, shape: &Shape) {
    let half = shape.objects / 2;
    let broken = shape.objects - 2;
    let list = numbers(m, shape, |at| match shape.broken && at == broken {
        true => -1,
        false => 1,
    });
    let last = element(m, list, half - 1);
    m[last].next.clear();
    for (name, at) in [
        ("s1", 0),
        ("o1", half - 1),
        ("s2", half),
        ("o2", shape.objects - 1),
    ] {
        let node = element(m, list, at);
        hold(m, name, node);
    }
}

#[cfg(test)]
mod tests {
    use heaphound::Heap;

    use super::*;

    #[test]
    fn each_assertion_holds_on_its_program_and_fails_on_a_broken_one() {
        for skeleton in SKELETONS {
            for layout in [Layout::Sequential, Layout::Shuffled] {
                for broken in [false, true] {
                    let heap = Heap::builder().collector_threads(1).build().unwrap();
                    let mut m = heap.attach("main").unwrap();
                    let objects = 100;
                    let shape = Shape {
                        objects,
                        layout,
                        broken,
                    };
                    let mut assertion = skeleton.build(&mut m, &shape);
                    let findings = assertion.check(&mut m).unwrap();
                    assert_eq!(
                        findings.len(),
                        broken as usize,
                        "{}: {findings:#?}",
                        skeleton.name
                    );
                    let failed = findings.iter().all(|it| it.kind != "not-checked");
                    assert!(failed, "{}: {findings:#?}", skeleton.name);
                    let marked = heap.stats().history.back().unwrap().marked_objects;
                    assert!(
                        (objects..objects + 5).contains(&marked),
                        "{}: {marked}",
                        skeleton.name
                    );
                    assert_eq!(assertion.interpreted().check(&mut m).unwrap(), findings);
                }
            }
        }
    }

    #[test]
    fn names_are_unique() {
        assert!(
            SKELETONS
                .iter()
                .all(|it| find(it.name).unwrap().text == it.text)
        );
    }
}
