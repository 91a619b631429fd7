//! Reports, as text, HTML, JSON, SARIF and JUnit; and findings that are known.

mod baseline;
mod formats;
mod html;
mod json;
mod text;
