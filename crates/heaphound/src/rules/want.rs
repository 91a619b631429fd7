//! Whether a rule may fail for want of objects or references: those that leak pruning has cut off.
//!
//! What is missing can only make some things less true, such as `exists` and `reach`, and others more: `forall`, `is_disjoint`.
//! A rule that fails may owe that to what is missing if it asks for one of the first, or for the contrary of one of the others.

use heaphound_deal::resolved::{
    Formula, Operand, Probe, Program, QuantifierId, Set, Source, Statement,
};
use heaphound_deal::syntax::QuantifierKind;

/// Whether a statement that fails might hold, were nothing missing.
pub(super) fn may_want(program: &Program) -> bool {
    match &program.statement {
        Statement::Assertion(_, formula) | Statement::Formula(formula) => {
            Wants(program).more(formula, true)
        }
        // They speak of what there is too much of.
        Statement::Gc(_) => false,
        Statement::Query(_) | Statement::Value(_) | Statement::Set(_) => false,
    }
}

struct Wants<'p>(&'p Program);

impl Wants<'_> {
    /// Whether a formula that is not what is `wanted` might be, were nothing missing.
    fn more(&self, formula: &Formula, wanted: bool) -> bool {
        match formula {
            // Objects of which something cut is read are left out.
            Formula::Constant(_)
            | Formula::Flag(_)
            | Formula::InstanceOf(..)
            | Formula::Label(..) => false,
            Formula::Compare(it) => [&it.left, &it.right]
                .into_iter()
                .any(|it| !matches!(it, Operand::Constant(_) | Operand::Path(_))),
            Formula::Not(a) => self.more(a, !wanted),
            Formula::And(a, b) | Formula::Or(a, b) => self.more(a, wanted) || self.more(b, wanted),
            Formula::Implies(a, b) => self.more(a, !wanted) || self.more(b, wanted),
            Formula::Iff(a, b) => [true, false]
                .into_iter()
                .any(|wanted| self.more(a, wanted) || self.more(b, wanted)),
            Formula::Reach(..) => wanted,
            Formula::Quantified(it) => self.more_of_quantifier(*it, wanted),
            Formula::In(_, set) => self.more_in(set, wanted),
            Formula::SameSet(a, b) => [true, false]
                .into_iter()
                .any(|wanted| self.more_in(a, wanted) || self.more_in(b, wanted)),
            // The first leads to the second, and nothing else does.
            Formula::Dom(..) => true,
            Formula::Probe(probe) => match **probe {
                Probe::IsHeap(_) | Probe::IsShared(_) | Probe::IsReachable(..) => wanted,
                // Not with what is cut.
                Probe::IsDisjoint(..) | Probe::IsUnique(_) => !wanted,
                Probe::ReachThrough(_, ref cut, _) => !wanted || self.more_in(cut, true),
                Probe::IsUniqueOwner(_) | Probe::IsObjectOwned(..) | Probe::IsThreadOwned(..) => {
                    true
                }
            },
        }
    }

    fn more_of_quantifier(&self, it: QuantifierId, wanted: bool) -> bool {
        let it = &self.0.quantifiers[it.0 as usize];
        let range = |wanted| {
            it.range
                .as_ref()
                .is_some_and(|range| self.more(range, wanted))
        };
        match it.kind {
            // An object that breaks it is in the range, and would be.
            QuantifierKind::Forall => !wanted || range(false) || self.more(&it.body, true),
            QuantifierKind::Exists => wanted || range(false) || self.more(&it.body, false),
            _ => true,
        }
    }

    /// Whether a set that lacks an object, if that is `wanted` in it, or has one that is not, might be otherwise.
    fn more_in(&self, set: &Set, wanted: bool) -> bool {
        match set {
            // Roots are not cut.
            Set::Running | Set::Stack(_) | Set::Roots(_) | Set::Literal(_) => false,
            Set::ReachAll | Set::Pred(_) => wanted,
            Set::Reach(source, None) => match source {
                Source::Object(_) => wanted,
                Source::Set(source) => wanted || self.more_in(source, false),
            },
            Set::Reach(_, Some(_)) | Set::ThreadReach(..) => true,
            Set::Of(it) => {
                let it = &self.0.quantifiers[it.0 as usize];
                let range = it.range.as_ref();
                wanted
                    || range.is_some_and(|range| self.more(range, false))
                    || self.more(&it.body, false)
            }
            Set::Union(a, b) | Set::Intersection(a, b) => {
                self.more_in(a, wanted) || self.more_in(b, wanted)
            }
            Set::Difference(a, b) => self.more_in(a, wanted) || self.more_in(b, !wanted),
        }
    }
}

#[cfg(test)]
mod tests {
    use heaphound_deal::check::{Scope, compile};
    use heaphound_gc::Heap;
    use heaphound_heap::view::HeapView;

    use super::*;

    #[test]
    fn what_asks_for_more_may_want_something() {
        let heap = Heap::builder().build().unwrap();
        let class = heap.define_class("Node").slot("next");
        class.define().unwrap();
        let mut m = heap.attach("main").unwrap();
        let texts = [
            ("assertion(forall Node x: x.next == null)", false),
            ("assertion(exists Node x: x.next == null)", true),
            ("assertion(!(exists Node x: x.next == null))", false),
            ("assertion(!(forall Node x: x.next == null))", true),
            ("assertion(forall Node x: reach[a](x))", true),
            ("assertion(forall Node x: !reach[a](x))", false),
            ("forall Node x: reach(a).has(x)", true),
            ("forall Node x: !reach(a).has(x)", false),
            ("forall Node x: is_reachable(a, x)", true),
            ("!is_reachable(a, b)", false),
            ("is_disjoint(a, b)", false),
            ("!is_disjoint(a, b)", true),
            ("reach(a).size() == 3", true),
            ("!(a in (stack(thread:main) - reach(b)))", true),
            ("unshared(Node)", false),
        ];
        m.inspect(|view| {
            for (text, expected) in texts {
                let mut scope = Scope::new(view.classes());
                for host in ["a", "b"] {
                    scope = scope.bind(host, None);
                }
                let resolved = compile("it", text, &scope).unwrap();
                let program = &resolved.rules[0].program;
                assert_eq!(may_want(program), expected, "{text}");
            }
        });
    }
}
