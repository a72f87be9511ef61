//! The protocol's text: requests are parsed and values formatted here. No clocks, no cryptography.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, BufRead, Read};

use crate::bytes::Bytes;

/// The protocol version of `hello`.
pub const VERSION: u64 = 1;
/// Longest line, without its line end, in bytes.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// What is asked of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Keygen,
    Sign,
    Verify,
    Encaps,
    Decaps,
    Hash,
    Trace,
    ZViolation,
}

impl Operation {
    pub const ALL: [Self; 8] = [
        Self::Keygen,
        Self::Sign,
        Self::Verify,
        Self::Encaps,
        Self::Decaps,
        Self::Hash,
        Self::Trace,
        Self::ZViolation,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Keygen => "keygen",
            Self::Sign => "sign",
            Self::Verify => "verify",
            Self::Encaps => "encaps",
            Self::Decaps => "decaps",
            Self::Hash => "hash",
            Self::Trace => "trace",
            Self::ZViolation => "z_violation",
        }
    }
}

/// The key-value fields of one input; a field the lab left out is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    pub seed: Option<Bytes>,
    pub sk: Option<Bytes>,
    pub pk: Option<Bytes>,
    pub message: Option<Bytes>,
    pub context: Option<Bytes>,
    pub rnd: Option<Bytes>,
    pub signature: Option<Bytes>,
    pub ciphertext: Option<Bytes>,
}

impl Fields {
    /// The 32-byte seed xi, or a classical key pair's seed.
    pub fn seed(&self) -> Result<[u8; 32], String> {
        exact(&self.seed, "seed")
    }

    /// The seed of ML-KEM, d and z.
    pub fn kem_seed(&self) -> Result<[u8; 64], String> {
        exact(&self.seed, "seed")
    }

    /// The seed of SLH-DSA with the security parameter `n`: SK.seed, SK.prf and PK.seed.
    pub fn slh_seed(&self, n: usize) -> Result<Vec<u8>, String> {
        of_length(present(&self.seed, "seed")?, "seed", 3 * n)
    }

    /// The opt_rand of SLH-DSA with the security parameter `n`; none asks for deterministic signing.
    pub fn opt_rand(&self, n: usize) -> Result<Option<Vec<u8>>, String> {
        match present(&self.rnd, "rnd")? {
            [] => Ok(None),
            rnd => of_length(rnd, "rnd", n).map(Some),
        }
    }

    /// The 32 bytes of `rnd`.
    pub fn rnd(&self) -> Result<[u8; 32], String> {
        exact(&self.rnd, "rnd")
    }

    pub fn sk(&self) -> Result<&[u8], String> {
        present(&self.sk, "sk")
    }

    pub fn pk(&self) -> Result<&[u8], String> {
        present(&self.pk, "pk")
    }

    /// What is hashed, signed or verified. In a chain it may not be there before the clock starts.
    pub fn message(&self) -> Result<Bytes, String> {
        self.message.clone().ok_or_else(|| missing("message"))
    }

    pub fn context(&self) -> Result<Vec<u8>, String> {
        present(&self.context, "context").map(<[u8]>::to_vec)
    }

    /// Of a chain as [`Fields::message`].
    pub fn signature(&self) -> Result<Bytes, String> {
        self.signature.clone().ok_or_else(|| missing("signature"))
    }

    pub fn ciphertext(&self) -> Result<Vec<u8>, String> {
        present(&self.ciphertext, "ciphertext").map(<[u8]>::to_vec)
    }

    fn slot(&mut self, key: &str) -> Option<&mut Option<Bytes>> {
        Some(match key {
            "seed" => &mut self.seed,
            "sk" => &mut self.sk,
            "pk" => &mut self.pk,
            "message" => &mut self.message,
            "context" => &mut self.context,
            "rnd" => &mut self.rnd,
            "signature" => &mut self.signature,
            "ciphertext" => &mut self.ciphertext,
            _ => return None,
        })
    }
}

/// A copy of what an interface reads without asking for its length.
///
/// # Errors
/// Where it is another than the set's.
pub fn of_length(bytes: &[u8], name: &str, length: usize) -> Result<Vec<u8>, String> {
    if bytes.len() != length {
        return Err(format!(
            "{name} must be {length} bytes, got {}",
            bytes.len()
        ));
    }
    Ok(bytes.to_vec())
}

fn missing(name: &str) -> String {
    format!("field `{name}` is missing")
}

fn present<'a>(field: &'a Option<Bytes>, name: &str) -> Result<&'a [u8], String> {
    field.as_deref().ok_or_else(|| missing(name))
}

fn exact<const N: usize>(field: &Option<Bytes>, name: &str) -> Result<[u8; N], String> {
    let bytes = present(field, name)?;
    bytes
        .try_into()
        .map_err(|_| format!("{name} must be {N} bytes, got {}", bytes.len()))
}

/// One input of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub id: u64,
    /// The number of the line that began it, for error texts.
    pub line: u64,
    pub fields: Fields,
}

/// The whole `prepare` request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepare {
    pub job: u64,
    pub variant: String,
    pub set: String,
    pub operation: Operation,
    pub inputs: Vec<Input>,
}

/// How the operations of a run are performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// By single calls, one after another.
    Loop,
    /// By one call of the batch interface.
    Batch,
}

/// Which operations are timed together: `count` runs of `size` on each of `threads` threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs {
    pub form: Form,
    pub size: u64,
    pub count: u64,
    pub threads: u64,
}

/// A stage of a chain. `message` and `signature` are the numbers, from 1, of the stages whose
/// output takes the place of that field; 0 where it stays as it was prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    pub job: u64,
    /// Operations in each call of the batch interface; 0 for single calls.
    pub batch: u64,
    pub message: u64,
    pub signature: u64,
}

/// One of an input's fields.
pub type Field = fn(&mut Fields) -> &mut Option<Bytes>;

impl Stage {
    /// The stages, from 0, that fill a field, and which.
    pub fn sources(&self) -> Vec<(usize, Field)> {
        let fields: [(u64, Field); 2] = [
            (self.message, |fields| &mut fields.message),
            (self.signature, |fields| &mut fields.signature),
        ];
        let filled = fields.into_iter().filter(|(source, _)| *source > 0);
        filled
            .map(|(source, field)| (source as usize - 1, field))
            .collect()
    }
}

/// Operations of several jobs on each input in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    pub passes: u64,
    pub warmup: u64,
    pub threads: u64,
    pub stages: Vec<Stage>,
}

impl Chain {
    /// How many inputs go through it together.
    pub fn group(&self) -> usize {
        let batches = self.stages.iter().map(|stage| stage.batch as usize);
        batches.max().unwrap_or_default().max(1)
    }

    fn parse(words: &[&str]) -> Result<Self, String> {
        const FORM: &str = "`chain` takes PASSES WARMUP THREADS and four numbers for each stage";
        let [_, passes, warmup, threads, stages @ ..] = words else {
            return Err(FORM.into());
        };
        let stages = stages.chunks(4).map(|words| {
            let [job, batch, message, signature] = words else {
                return Err(FORM.to_string());
            };
            Ok(Stage {
                job: number(job)?,
                batch: number(batch)?,
                message: number(message)?,
                signature: number(signature)?,
            })
        });
        let chain = Self {
            passes: number(passes)?,
            warmup: number(warmup)?,
            threads: at_least_one(threads, "THREADS")?,
            stages: stages.collect::<Result<_, _>>()?,
        };
        if chain.stages.is_empty() {
            return Err(FORM.into());
        }
        for (place, stage) in chain.stages.iter().enumerate() {
            if stage.message.max(stage.signature) > place as u64 {
                return Err(format!(
                    "stage {} takes from one that is not before it",
                    place + 1
                ));
            }
            if stage.batch > 0 && !(chain.group() as u64).is_multiple_of(stage.batch) {
                return Err("the largest batch must be a multiple of every other".into());
            }
        }
        Ok(chain)
    }
}

/// A job's inputs once, shared out to `threads`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub job: u64,
    pub passes: u64,
    /// Operations in each call of the batch interface; 0 for single calls.
    pub batch: u64,
    pub threads: u64,
    /// Input number j, counted from 0, is at position j times this, modulo their number.
    pub stride: u64,
    /// Bytes of other memory that every thread reads before each pass.
    pub cold: u64,
}

impl Block {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let [job, passes, batch, threads, stride, cold] = numbers(words)?;
        if threads == 0 {
            return Err("THREADS must be at least 1".into());
        }
        Ok(Self {
            job,
            passes,
            batch,
            threads,
            stride,
            cold,
        })
    }
}

/// A well-formed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Hello {
        version: u64,
    },
    Prepare(Prepare),
    Answer {
        job: u64,
        /// Operations in each call of the batch interface; none for single calls.
        batch: Option<u64>,
    },
    Measure {
        job: u64,
        passes: u64,
        calls: u64,
        warmup: u64,
        /// None where every call of an operation is a sample of its own.
        runs: Option<Runs>,
    },
    Chain(Chain),
    Block(Block),
    Forget {
        job: u64,
    },
    Quit,
}

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

fn parse_single(words: &[&str]) -> Result<Request, String> {
    match words[0] {
        "hello" => Ok(Request::Hello {
            version: one_number(words)?,
        }),
        "answer" => {
            let (words, batch) = match words {
                [head @ .., "batch", size] => (head, Some(at_least_one(size, "SIZE")?)),
                _ => (words, None),
            };
            Ok(Request::Answer {
                job: one_number(words)?,
                batch,
            })
        }
        "forget" => Ok(Request::Forget {
            job: one_number(words)?,
        }),
        "measure" => {
            let (words, runs) = split_runs(words)?;
            let [job, passes, calls, warmup] = numbers(words)?;
            if calls == 0 {
                return Err("`measure` needs at least one call per sample".into());
            }
            Ok(Request::Measure {
                job,
                passes,
                calls,
                warmup,
                runs,
            })
        }
        "chain" => Chain::parse(words).map(Request::Chain),
        "block" => Block::parse(words).map(Request::Block),
        "quit" => numbers::<0>(words).map(|_| Request::Quit),
        other => Err(format!("unknown request {}", quote(other))),
    }
}

/// Takes `loop SIZE COUNT THREADS`, or the same of `batch`, off the end of a request.
fn split_runs<'a, 'b>(words: &'a [&'b str]) -> Result<(&'a [&'b str], Option<Runs>), String> {
    let [head @ .., form, size, count, threads] = words else {
        return Ok((words, None));
    };
    let form = match *form {
        "loop" => Form::Loop,
        "batch" => Form::Batch,
        _ => return Ok((words, None)),
    };
    let runs = Runs {
        form,
        size: at_least_one(size, "SIZE")?,
        count: at_least_one(count, "COUNT")?,
        threads: at_least_one(threads, "THREADS")?,
    };
    Ok((head, Some(runs)))
}

fn at_least_one(text: &str, what: &str) -> Result<u64, String> {
    match number(text)? {
        0 => Err(format!("{what} must be at least 1")),
        value => Ok(value),
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

fn one_number(words: &[&str]) -> Result<u64, String> {
    numbers(words).map(|[value]| value)
}

fn numbers<const N: usize>(words: &[&str]) -> Result<[u64; N], String> {
    if words.len() != N + 1 {
        return Err(format!(
            "`{}` takes {N} numbers, got {}",
            words[0],
            words.len() - 1
        ));
    }
    let mut values = [0; N];
    for (value, word) in values.iter_mut().zip(&words[1..]) {
        *value = number(word)?;
    }
    Ok(values)
}

fn number(text: &str) -> Result<u64, String> {
    // `parse` alone would take a plus sign.
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .then(|| text.parse().ok())
        .flatten()
        .ok_or_else(|| format!("expected a decimal number below 2^64, got {}", quote(text)))
}

/// Bytes from lower-case hexadecimal; `-` is the empty string.
pub fn parse_hex(text: &str) -> Result<Vec<u8>, String> {
    if text == "-" {
        return Ok(Vec::new());
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks_exact(2);
    if text.is_empty() || !pairs.remainder().is_empty() {
        return Err(format!(
            "hexadecimal needs pairs of digits, got {} characters",
            text.len()
        ));
    }
    pairs
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect::<Option<_>>()
        .ok_or_else(|| format!("expected lower-case hexadecimal, got {}", quote(text)))
}

/// Lower-case hexadecimal; the empty string is `-`.
pub fn format_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    if bytes.is_empty() {
        return "-".into();
    }
    bytes
        .iter()
        .flat_map(|byte| {
            [
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]
        })
        .map(char::from)
        .collect()
}

/// One line of printable text out of any error text.
pub fn one_line(text: &str) -> String {
    let line = text
        .split(|c: char| c.is_control() || c == ' ')
        .filter(|word| !word.is_empty());
    let joined = line.collect::<Vec<_>>().join(" ");
    if joined.is_empty() {
        "no text".into()
    } else {
        joined
    }
}

/// Text of a request as shown in an error: escaped and cut.
fn quote(text: &str) -> String {
    const SHOWN: usize = 40;
    let escaped: String = text.escape_default().take(SHOWN).collect();
    let dots = if text.chars().nth(SHOWN).is_some() {
        "..."
    } else {
        ""
    };
    format!("`{escaped}{dots}`")
}
