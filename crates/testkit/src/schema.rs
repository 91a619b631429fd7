//! Holds JSON against `docs/findings.schema.json`.
//!
//! A small validator of the part of JSON Schema that the file uses. It is stricter than
//! the standard: a field that the schema does not name is an error, and so is a keyword
//! that is not understood here.

use serde_json::Value;

/// Panics, with the place, if a document does not fit.
pub fn check(document: &str) {
    let schema = include_str!("../../../docs/findings.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("the schema is JSON");
    let document: Value = serde_json::from_str(document).expect("the document is JSON");
    if let Err(error) = fits(&schema, &schema, &document, "$") {
        panic!("{error}\n{document:#}");
    }
}

fn fits(whole: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        let ok = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                fits(whole, &whole["$defs"][name], value, at)?;
                true
            }
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "type" => match rule {
                Value::Array(types) => types.iter().any(|it| is_of(it, value)),
                it => is_of(it, value),
            },
            "minimum" => value.is_null() || value.as_u64() >= rule.as_u64(),
            "pattern" => {
                assert_eq!(rule, "^[0-9a-f]{16}$", "the only pattern known here");
                let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
                let text = value.as_str().unwrap_or_default();
                text.len() == 16 && text.chars().all(hex)
            }
            "required" => {
                let names = rule.as_array().unwrap().iter();
                names
                    .map(|it| it.as_str().unwrap())
                    .all(|it| value.get(it).is_some())
            }
            "properties" => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    let at = format!("{at}.{name}");
                    let rule = rule.get(name).ok_or(format!("{at} is not in the schema"))?;
                    fits(whole, rule, value, &at)?;
                }
                true
            }
            "items" => {
                for (i, value) in value.as_array().into_iter().flatten().enumerate() {
                    fits(whole, rule, value, &format!("{at}[{i}]"))?;
                }
                true
            }
            "anyOf" => {
                let mut rules = rule.as_array().unwrap().iter();
                rules.any(|rule| fits(whole, rule, value, at).is_ok())
            }
            _ => return Err(format!("the keyword {keyword} is not known here")),
        };
        if !ok {
            return Err(format!("{at} does not fit {keyword}: {rule}"));
        }
    }
    Ok(())
}

fn is_of(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        kind => panic!("the type {kind} is not known here"),
    }
}
