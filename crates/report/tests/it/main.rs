//! Reports, as text, JSON, SARIF and JUnit; and findings that are known.

mod baseline;
mod formats;
mod json;
mod text;
