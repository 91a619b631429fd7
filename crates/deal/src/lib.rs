//! What a program says of its heap, as text.
//!
//! Two languages share one front end. DeAL (Reichenbach, Immerman, Smaragdakis, Aftandilian
//! and Guyer, OOPSLA 2010) states what one traversal can check; PHALANX's expressions
//! (Vechev, Yahav, Yorsh and Bloom, ISMM 2010) ask whatever can be asked, in as many
//! traversals as it takes. Text becomes a tree as written ([`syntax`]), and against the
//! classes of a heap that becomes a tree whose names are resolved ([`resolved`]).
//!
//! Nothing here looks at an object, and nothing here does I/O.
#![forbid(unsafe_code)]

pub mod check;
pub mod diagnostic;
pub mod fmt;
mod lexer;
pub mod parse;
pub mod resolved;
pub mod syntax;
