//! `cases.json`: files in PEM that every layer has to read or to reject.
//!
//! `file` is a template, one character for each byte (Latin-1). `{block}` is a block whose base64 has lines of
//! `columns` characters (0: one line) and line ends `eol`; `{label}` and `{other}` are the labels of the key and of
//! the other key of the pair; `{body}` is the base64. A case with `error`, a variant of `mldsa_lanes::pem::Error`, is
//! rejected with a message that contains `text`.

use serde_json::Value;

/// A case, filled in with a key.
pub struct Case {
    pub name: String,
    pub file: Vec<u8>,
    /// The variant of the error, and a part of its text.
    pub error: Option<(String, String)>,
}

/// The labels of private and public keys.
pub const LABELS: [&str; 2] = ["PRIVATE KEY", "PUBLIC KEY"];

/// Fill each case in with a key in PEM, in lines of 64 characters.
pub fn cases(pem: &str) -> Vec<Case> {
    let lines: Vec<&str> = pem.lines().collect();
    let [begin, body @ .., _] = &lines[..] else {
        panic!("not PEM: {pem}");
    };
    let is_public = begin.contains(LABELS[1]);
    let (label, other) = (
        LABELS[usize::from(is_public)],
        LABELS[usize::from(!is_public)],
    );
    let Ok(Value::Array(cases)) = serde_json::from_str(include_str!("cases.json")) else {
        panic!("cases.json is not a list");
    };
    let fill = |case: &Value| {
        let text = |name: &str, default: &str| case[name].as_str().unwrap_or(default).to_owned();
        let body: Vec<char> = body.concat().chars().collect();
        let columns = match case["columns"].as_u64() {
            None => 64,
            Some(0) => body.len(),
            Some(columns) => columns as usize,
        };
        let lines: Vec<String> = body
            .chunks(columns)
            .map(|line| line.iter().collect())
            .collect();
        let eol = text("eol", "\n");
        let body = lines.join(&eol);
        let block = ["-----BEGIN {label}-----", &body, "-----END {label}-----"].join(&eol);
        let fill = |template: String| {
            let template = template.replace("{block}", &block).replace("{body}", &body);
            template.replace("{label}", label).replace("{other}", other)
        };
        let error = text("error", "");
        Case {
            name: text("name", ""),
            file: fill(text("file", "{block}\n"))
                .chars()
                .map(|byte| byte as u8)
                .collect(),
            error: (!error.is_empty()).then(|| (error, fill(text("text", "")))),
        }
    };
    cases.iter().map(fill).collect()
}
