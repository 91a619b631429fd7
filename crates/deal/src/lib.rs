//! What a program says of its heap, as text.
//!
//! Two languages share one front end. DeAL (Reichenbach, Immerman, Smaragdakis, Aftandilian
//! and Guyer, OOPSLA 2010) states what one traversal can check; PHALANX's expressions
//! (Vechev, Yahav, Yorsh and Bloom, ISMM 2010) ask whatever can be asked, in as many
//! traversals as it takes. Text becomes a tree as written ([`syntax`]), and against the
//! classes of a heap that becomes a tree whose names are resolved ([`resolved`]).
//!
//! ```
//! use heaphound_deal::fmt::{Style, format};
//! use heaphound_deal::parse::parse;
//!
//! let text = "rule links-agree: assertion(forall Node x: reach[d](x) -> x.next.prev == x);";
//! assert!(parse(text).diagnostics.is_empty());
//! let symbols = format("heap.deal", text, Style::Unicode).unwrap();
//! assert_eq!(
//!     symbols,
//!     "rule links-agree: assertion(∀x ∈ Node: reach[d](x) ⇒ x.next.prev == x);\n",
//! );
//! ```
//!
//! The way of a text: tokens (`lexer`), tree ([`parse`], [`syntax`]), names and types
//! ([`check`], [`resolved`]); back to text ([`mod@fmt`]); what is wrong with it
//! ([`diagnostic`]). The grammar, with an example of everything, is `docs/deal.md`.
//!
//! On a heap: what the names stand for ([`bind`]), where paths lead ([`interpret`]),
//! what expressions come to ([`expr`]), what GC assertions say ([`gc`]), all of it at once
//! ([`evaluate`]), and what that says if the heap is not whole ([`part`]). Without a heap: what a text must be about ([`infer`]).
//!
//! Nothing here does I/O.
#![forbid(unsafe_code)]

pub mod bind;
pub mod check;
pub mod datum;
pub mod diagnostic;
mod doubt;
pub mod evaluate;
pub mod expr;
pub mod fmt;
mod fold;
mod functions;
pub mod gc;
pub mod infer;
pub mod interpret;
mod lexer;
pub mod parse;
pub mod part;
pub mod plan;
pub mod predicate;
pub mod resolved;
pub mod syntax;
pub mod traverse;
pub mod verdict;
