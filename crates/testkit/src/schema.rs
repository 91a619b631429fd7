//! Holds JSON against `docs/findings.schema.json`, and SARIF against the standard's schema.
//!
//! Ours is taken more strictly than it says: a field that it does not name is an error. Programs must bear fields
//! that are new to them; our own tests must not.
//!
//! `sarif-schema-2.1.0.json` is the schema of the standard by OASIS Open, as the crate `serde-sarif` has it (MIT).

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;

/// Panics, with the place, if a document does not fit.
pub fn check(document: &str) {
    static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
        let schema = include_str!("../../../docs/findings.schema.json");
        let mut schema = serde_json::from_str(schema).expect("the schema is JSON");
        close(&mut schema);
        jsonschema::validator_for(&schema).expect("it is a schema")
    });
    hold(&SCHEMA, document);
}

/// Panics, with the place, if a document is not SARIF 2.1.0.
pub fn check_sarif(document: &str) {
    static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
        let schema = include_str!("sarif-schema-2.1.0.json");
        let mut schema: Value = serde_json::from_str(schema).expect("the schema is JSON");
        // The standard's pattern has a bracket that only some dialects take for itself.
        for of in ["run", "toolComponent"] {
            let language = &mut schema["definitions"][of]["properties"]["language"];
            language["pattern"] = "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$".into();
        }
        let options = jsonschema::options().should_validate_formats(true);
        options.build(&schema).expect("it is a schema")
    });
    hold(&SCHEMA, document);
}

fn hold(schema: &Validator, document: &str) {
    let document: Value = serde_json::from_str(document).expect("the document is JSON");
    let wrong: Vec<String> = schema
        .iter_errors(&document)
        .map(|error| format!("${} does not fit: {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{}\n{document:#}", wrong.join("\n"));
}

/// Forbids fields that a schema does not name.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let names_all = fields.get("type").is_some_and(|it| it == "object");
            fields.values_mut().for_each(close);
            if names_all && fields.contains_key("properties") {
                fields.insert("additionalProperties".into(), false.into());
            }
        }
        Value::Array(all) => all.iter_mut().for_each(close),
        _ => {}
    }
}
