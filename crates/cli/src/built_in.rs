//! Rules that the command has with it: `--rules NAME` where no file has that name.
//!
//! They are files in `crates/cli/rules`. A new one needs a line here.

use std::path::Path;

/// The names of rules, and their texts.
const RULES: &[(&str, &str)] = &[
    ("jdk", include_str!("../rules/jdk.deal")),
    ("node", include_str!("../rules/node.deal")),
];

/// Returns the rules of that name, unless there is a file that has it.
pub fn rules(name: &Path) -> Option<&'static str> {
    let found = RULES.iter().find(|it| Path::new(it.0) == name)?;
    (!name.exists()).then_some(found.1)
}
