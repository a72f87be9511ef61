//! Requests, and what a line's words must be to be one.

use super::fields::{Field, Fields};
use super::text::{at_least_one, number, numbers, one_number, quote};

/// What is asked of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Keygen,
    Sign,
    Verify,
    Encaps,
    Decaps,
    Hash,
    Handshake,
    Accept,
    Trace,
    ZViolation,
}

impl Operation {
    pub const ALL: [Self; 10] = [
        Self::Keygen,
        Self::Sign,
        Self::Verify,
        Self::Encaps,
        Self::Decaps,
        Self::Hash,
        Self::Handshake,
        Self::Accept,
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
            Self::Handshake => "handshake",
            Self::Accept => "accept",
            Self::Trace => "trace",
            Self::ZViolation => "z_violation",
        }
    }
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

    pub(super) fn parse(words: &[&str]) -> Result<Self, String> {
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
    pub(super) fn parse(words: &[&str]) -> Result<Self, String> {
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

pub(super) fn parse_single(words: &[&str]) -> Result<Request, String> {
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
