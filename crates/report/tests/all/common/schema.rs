//! JSON Schema, as much of it as our schemas and that of SARIF use for what we write: a keyword that is not known
//! here is a failure, not a pass.

use serde_json::Value as Json;
use std::fs;
use std::path::PathBuf;

/// A schema that documents are held against.
pub struct Schema(Json);

impl Schema {
    /// The published schema of that name.
    pub fn new(name: &str) -> Schema {
        let file = format!("schema/{name}.schema.json");
        let text = fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)).expect("the schema is there");
        Schema(serde_json::from_slice(&text).expect("JSON"))
    }

    /// A schema that somebody else publishes.
    pub fn of(schema: Json) -> Schema {
        Schema(schema)
    }

    /// Is the document as the schema says?
    pub fn accepts(&self, document: &Json) -> bool {
        self.is_valid(&self.0, document)
    }

    /// Fails unless the document is as the schema says.
    pub fn holds(&self, document: &Json, what: &str) {
        if let Err(problem) = self.check(&self.0, document) {
            panic!("{what}: {problem}\n{document:#}");
        }
    }

    fn is_valid(&self, schema: &Json, value: &Json) -> bool {
        self.check(schema, value).is_ok()
    }

    fn check(&self, schema: &Json, value: &Json) -> Result<(), String> {
        let schema = match schema {
            Json::Bool(true) => return Ok(()),
            Json::Bool(false) => return Err(format!("not permitted: {value}")),
            Json::Object(schema) => schema,
            other => panic!("not a schema: {other}"),
        };
        for (keyword, rule) in schema {
            let holds = match &keyword[..] {
                "$schema" | "$id" | "$defs" | "definitions" | "title" | "description" | "default" => true,
                "then" | "else" => true,
                "$ref" => {
                    let place = rule.as_str().and_then(|name| name.strip_prefix('#')).expect("a definition");
                    self.check(self.0.pointer(place).expect("a definition"), value)?;
                    true
                }
                "format" => value.as_str().is_none_or(|text| has_format(rule, text)),
                "type" => has_type(rule, value),
                "enum" => list(rule).contains(value),
                "const" => rule == value,
                "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("a number")),
                "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().expect("a number")),
                "minLength" => value.as_str().is_none_or(|text| text.chars().count() >= size(rule)),
                "minItems" => value.as_array().is_none_or(|items| items.len() >= size(rule)),
                "maxItems" => value.as_array().is_none_or(|items| items.len() <= size(rule)),
                "uniqueItems" => value
                    .as_array()
                    .is_none_or(|items| items.iter().enumerate().all(|(i, item)| !items[..i].contains(item))),
                "required" => value.as_object().is_none_or(|object| {
                    list(rule).iter().all(|name| object.contains_key(name.as_str().expect("a name")))
                }),
                "items" => {
                    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item).map_err(|problem| format!("[{i}]{problem}"))?;
                    }
                    true
                }
                "properties" => {
                    for (name, rule) in rule.as_object().expect("an object") {
                        if let Some(member) = value.get(name) {
                            self.check(rule, member).map_err(|problem| format!(".{name}{problem}"))?;
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    let known = schema.get("properties").and_then(Json::as_object);
                    for (name, member) in value.as_object().into_iter().flatten() {
                        if known.is_none_or(|known| !known.contains_key(name)) {
                            self.check(rule, member).map_err(|problem| format!(".{name}{problem}"))?;
                        }
                    }
                    true
                }
                "allOf" => {
                    list(rule).iter().try_for_each(|rule| self.check(rule, value))?;
                    true
                }
                "anyOf" => list(rule).iter().any(|rule| self.is_valid(rule, value)),
                "oneOf" => list(rule).iter().filter(|rule| self.is_valid(rule, value)).count() == 1,
                "if" => {
                    let branch = if self.is_valid(rule, value) { "then" } else { "else" };
                    schema.get(branch).map_or(Ok(()), |rule| self.check(rule, value))?;
                    true
                }
                other => panic!("the keyword {other} is not known here"),
            };
            if !holds {
                return Err(format!(": {keyword} {rule} does not hold of {value}"));
            }
        }
        Ok(())
    }
}

fn list(rule: &Json) -> &Vec<Json> {
    rule.as_array().expect("a list")
}

fn size(rule: &Json) -> usize {
    rule.as_u64().expect("a number") as usize
}

fn has_type(name: &Json, value: &Json) -> bool {
    match name.as_str().expect("a name") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("the type {other} is not known here"),
    }
}

/// Of a URI what can be seen from its characters.
fn has_format(name: &Json, text: &str) -> bool {
    let escapes = text.split('%').skip(1);
    let mut escapes = escapes.map(|rest| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    let reference = text.chars().all(plain) && escapes.all(|escape| escape);
    let scheme = || text.split_once(':').is_some_and(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_alphabetic()));
    match name.as_str().expect("a name") {
        "uri-reference" => reference,
        "uri" => reference && scheme(),
        other => panic!("the format {other} is not known here"),
    }
}
