//! Requests out of a stream of lines.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, BufRead, Read};

use super::fields::Fields;
use super::request::{Input, Operation, Prepare, Request, parse_single};
use super::text::{number, one_number, parse_hex, quote};

/// Longest line, without its line end, in bytes.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// A line that breaks a rule of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Counted from 1 at the worker's start.
    pub line: u64,
    pub rule: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.rule)
    }
}

/// Reads requests; a malformed one becomes a [`Fault`] and leaves the reader at the next request.
pub struct Reader<R> {
    source: R,
    line: u64,
}

/// One line of input, or the rule it breaks.
type Line = Result<String, String>;

impl<R: BufRead> Reader<R> {
    pub fn new(source: R) -> Self {
        Self { source, line: 0 }
    }

    /// The number of the line read last.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The next request, or `None` at the end of input.
    ///
    /// # Errors
    /// Only those of reading.
    pub fn next_request(&mut self) -> io::Result<Option<Result<Request, Fault>>> {
        let Some(line) = self.read_line()? else {
            return Ok(None);
        };
        let at = self.line;
        let fault = |rule| Fault { line: at, rule };
        let words = match &line {
            Ok(text) => text.split(' ').collect::<Vec<_>>(),
            Err(rule) => return Ok(Some(Err(fault(rule.clone())))),
        };
        if words[0] == "prepare" {
            // The body is consumed whatever the first line is like, so that its lines are not
            // taken for requests.
            let body = self.read_body()?;
            let parsed = one_number(&words)
                .map_err(fault)
                .and_then(|job| parse_body(job, at, body));
            return Ok(Some(parsed.map(Request::Prepare)));
        }
        Ok(Some(parse_single(&words).map_err(fault)))
    }

    /// The lines up to `end`, each with its number.
    fn read_body(&mut self) -> io::Result<Vec<(u64, Line)>> {
        let mut lines = Vec::new();
        while let Some(line) = self.read_line()? {
            if line.as_deref() == Ok("end") {
                return Ok(lines);
            }
            lines.push((self.line, line));
        }
        lines.push((self.line, Err("the input ended before `end`".into())));
        Ok(lines)
    }

    fn read_line(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let limit = MAX_LINE_BYTES as u64 + 1;
        let read = self
            .source
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        } else if bytes.len() > MAX_LINE_BYTES {
            self.source.skip_until(b'\n')?;
            return Ok(Some(Err(format!(
                "a line is longer than {MAX_LINE_BYTES} bytes"
            ))));
        }
        Ok(Some(
            String::from_utf8(bytes).map_err(|_| "the line is not UTF-8".into()),
        ))
    }
}

fn parse_body(job: u64, at: u64, lines: Vec<(u64, Line)>) -> Result<Prepare, Fault> {
    let mut header: [Option<String>; 3] = [None, None, None];
    let mut inputs: Vec<Input> = Vec::new();
    let mut seen = HashSet::new();
    for (line, text) in lines {
        let fault = |rule| Fault { line, rule };
        let text = text.map_err(fault)?;
        let Some((key, value)) = text.split_once(' ') else {
            return Err(fault(format!("expected `key value`, got {}", quote(&text))));
        };
        let place = ["variant", "set", "operation"]
            .iter()
            .position(|name| *name == key);
        match (place, inputs.last_mut()) {
            (Some(place), None) if header[place].is_none() => header[place] = Some(value.into()),
            (Some(_), _) => return Err(fault(format!("misplaced or repeated `{key}`"))),
            (None, _) if key == "input" => {
                let id = number(value).map_err(fault)?;
                if !seen.insert(id) {
                    return Err(fault(format!("input {id} is given twice")));
                }
                inputs.push(Input {
                    id,
                    line,
                    fields: Fields::default(),
                });
            }
            (None, None) => return Err(fault(format!("{} before the first input", quote(key)))),
            (None, Some(input)) => {
                let slot = input
                    .fields
                    .slot(key)
                    .ok_or_else(|| fault(format!("unknown field {}", quote(key))))?;
                if slot.is_some() {
                    return Err(fault(format!("field `{key}` is given twice")));
                }
                let bytes = parse_hex(value).map_err(|rule| fault(format!("{key}: {rule}")))?;
                *slot = Some(bytes.into());
            }
        }
    }
    let missing = |key| Fault {
        line: at,
        rule: format!("job {job} has no `{key}` line"),
    };
    let [variant, set, operation] = header;
    let operation = operation.ok_or_else(|| missing("operation"))?;
    Ok(Prepare {
        job,
        variant: variant.ok_or_else(|| missing("variant"))?,
        set: set.ok_or_else(|| missing("set"))?,
        operation: Operation::ALL
            .into_iter()
            .find(|known| known.name() == operation)
            .ok_or_else(|| Fault {
                line: at,
                rule: format!("unknown operation {}", quote(&operation)),
            })?,
        inputs,
    })
}
