//! Reports, as text and as JSON.

mod json;
mod text;
