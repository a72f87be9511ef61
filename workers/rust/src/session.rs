//! Carries out requests: keeps the prepared jobs and writes the replies.

use std::any::Any;
use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use sha2::{Digest, Sha256};

use crate::adapter::{Family, Output, Prepared, Rnd, Scheme, Variant};
use crate::build_info;
use crate::protocol::{
    Fault, Fields, Input, Operation, Prepare, Reader, Request, VERSION, format_hex, one_line,
};
use crate::timing::{self, CPU_CLOCK, Ticks, WALL_CLOCK};

/// A worker's state between requests.
pub struct Session {
    name: &'static str,
    variants: Vec<Variant>,
    jobs: HashMap<u64, PreparedJob>,
}

/// Why a request is not carried out.
enum Stop {
    /// The request breaks a rule; answered by an `error` line naming the request's last line.
    Rule(String),
    /// The same at a line of its own.
    Fault(Fault),
    Pipe(io::Error),
}

impl From<String> for Stop {
    fn from(rule: String) -> Self {
        Self::Rule(rule)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Pipe(error)
    }
}

struct PreparedJob {
    operation: Operation,
    inputs: Vec<(u64, Prepared)>,
}

/// Answers requests until `quit` or the end of input.
///
/// # Errors
/// Only those of reading and writing; whatever a request asks for is answered.
pub fn serve(
    session: &mut Session,
    requests: &mut Reader<impl BufRead>,
    replies: &mut impl Write,
) -> io::Result<()> {
    while let Some(request) = requests.next_request()? {
        match request {
            Ok(Request::Quit) => break,
            Ok(request) => session.handle(request, requests.line(), replies)?,
            Err(fault) => writeln!(replies, "error {fault}")?,
        }
        replies.flush()?;
    }
    Ok(())
}

impl Session {
    pub fn new(name: &'static str, variants: Vec<Variant>) -> Self {
        Self {
            name,
            variants,
            jobs: HashMap::new(),
        }
    }

    /// Answers one request; `line` is where it ended, for error texts.
    ///
    /// # Errors
    /// Only those of writing.
    pub fn handle(
        &mut self,
        request: Request,
        line: u64,
        replies: &mut impl Write,
    ) -> io::Result<()> {
        let done = match request {
            Request::Hello { version } => self.hello(version, replies),
            Request::Prepare(prepare) => self.prepare(&prepare, replies),
            Request::Answer { job } => self.answer(job, replies),
            Request::Measure {
                job,
                passes,
                calls,
                warmup,
            } => self.measure(job, passes, calls, warmup, replies),
            Request::Forget { job } => self.forget(job, replies),
            Request::Quit => Ok(()),
        };
        match done {
            Ok(()) => Ok(()),
            Err(Stop::Rule(rule)) => writeln!(replies, "error {}", Fault { line, rule }),
            Err(Stop::Fault(fault)) => writeln!(replies, "error {fault}"),
            Err(Stop::Pipe(error)) => Err(error),
        }
    }

    fn hello(&self, version: u64, out: &mut impl Write) -> Result<(), Stop> {
        if version != VERSION {
            return Err(format!("protocol version {version} is unknown, this is {VERSION}").into());
        }
        writeln!(out, "worker {}", self.name)?;
        writeln!(out, "protocol {VERSION}")?;
        writeln!(out, "language Rust")?;
        writeln!(out, "compiler {}", build_info::COMPILER)?;
        writeln!(out, "flags {}", build_info::FLAGS)?;
        writeln!(out, "unit ns")?;
        writeln!(out, "clock {WALL_CLOCK}")?;
        writeln!(out, "cpu_clock {CPU_CLOCK}")?;
        for line in self.variants.iter().flat_map(Variant::announcement) {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "end")?;
        Ok(())
    }

    fn prepare(&mut self, prepare: &Prepare, out: &mut impl Write) -> Result<(), Stop> {
        let Prepare {
            job,
            operation,
            inputs,
            ..
        } = prepare;
        let (variant, scheme) = self.find(prepare)?;
        for input in inputs {
            if let Some(field) = missing_field(variant, *operation, &input.fields) {
                let rule = format!(
                    "input {} of {} has no `{field}`",
                    input.id,
                    operation.name()
                );
                return Err(Stop::Fault(Fault {
                    line: input.line,
                    rule,
                }));
            }
        }
        let prepared = |input: &Input| {
            (
                input.id,
                caught(|| variant.prepare(scheme, *operation, &input.fields)),
            )
        };
        let inputs = inputs.iter().map(prepared).collect();
        self.jobs.insert(
            *job,
            PreparedJob {
                operation: *operation,
                inputs,
            },
        );
        writeln!(out, "ready {job}")?;
        Ok(())
    }

    fn find(&self, prepare: &Prepare) -> Result<(&Variant, &dyn Scheme), String> {
        let Prepare {
            variant: id,
            set,
            operation,
            ..
        } = prepare;
        let variant = self.variants.iter().find(|variant| variant.id() == *id);
        let variant = variant.ok_or_else(|| format!("unknown variant `{}`", one_line(id)))?;
        if !variant.operations.contains(operation) {
            return Err(format!(
                "variant {id} has no operation {}",
                operation.name()
            ));
        }
        let scheme = variant.schemes.iter().find(|(name, _)| name == set);
        let (_, scheme) =
            scheme.ok_or_else(|| format!("variant {id} has no set `{}`", one_line(set)))?;
        Ok((variant, scheme.as_ref()))
    }

    fn answer(&mut self, job: u64, out: &mut impl Write) -> Result<(), Stop> {
        let prepared = self.jobs.get_mut(&job).ok_or_else(|| unknown_job(job))?;
        let key = if prepared.operation == Operation::Trace {
            "trace"
        } else {
            "output"
        };
        for (id, input) in &mut prepared.inputs {
            let result = match input {
                Ok(work) => caught(|| work.answer()),
                Err(text) => Err(text.clone()),
            };
            match result {
                Ok(output) => writeln!(out, "{key} {id} {}", output.text())?,
                Err(text) => writeln!(out, "failed {id} {}", one_line(&text))?,
            }
        }
        writeln!(out, "done {job}")?;
        Ok(())
    }

    fn measure(
        &mut self,
        job: u64,
        passes: u64,
        calls: u64,
        warmup: u64,
        out: &mut impl Write,
    ) -> Result<(), Stop> {
        let prepared = self.jobs.get_mut(&job).ok_or_else(|| unknown_job(job))?;
        if matches!(prepared.operation, Operation::Trace | Operation::ZViolation) {
            return Err(format!("operation {} is never timed", prepared.operation.name()).into());
        }
        warm_up(&mut prepared.inputs, warmup);
        // Anew each time: it changes with the core's speed.
        let reading = timing::cpu_reading_cost();
        // Written when all are taken: writing would disturb the next sample.
        let mut samples = Vec::new();
        for _ in 0..passes {
            for (id, input) in &mut prepared.inputs {
                let sample = match input {
                    Ok(work) => caught(|| {
                        let (ticks, output) = work.measure(calls);
                        output.map(|output| (ticks, digest(&output)))
                    }),
                    Err(text) => Err(text.clone()),
                };
                samples.push((*id, sample));
            }
        }
        for (id, sample) in samples {
            match sample {
                Ok((Ticks { wall, cpu }, digest)) => {
                    let cpu = cpu.saturating_sub(reading);
                    writeln!(
                        out,
                        "sample {id} {wall} {cpu} {calls} {}",
                        format_hex(&digest)
                    )?;
                }
                Err(text) => writeln!(out, "failed {id} {}", one_line(&text))?,
            }
        }
        writeln!(out, "done {job}")?;
        Ok(())
    }

    fn forget(&mut self, job: u64, out: &mut impl Write) -> Result<(), Stop> {
        self.jobs.remove(&job).ok_or_else(|| unknown_job(job))?;
        writeln!(out, "done {job}")?;
        Ok(())
    }
}

fn unknown_job(job: u64) -> String {
    format!("job {job} is not prepared")
}

/// The first field that every input of the operation has to have and this one has not.
fn missing_field(variant: &Variant, operation: Operation, input: &Fields) -> Option<&'static str> {
    let classical = variant.family == Family::Classical;
    let needed: [(&'static str, bool); 5] = match operation {
        Operation::Keygen => [("seed", input.seed.is_some()); 5],
        Operation::Verify => [
            ("message", input.message.is_some()),
            ("context", input.context.is_some()),
            ("signature", input.signature.is_some()),
            ("pk", classical || input.pk.is_some()),
            ("seed", !classical || input.seed.is_some()),
        ],
        Operation::Sign | Operation::Trace | Operation::ZViolation => [
            ("message", input.message.is_some()),
            ("context", input.context.is_some()),
            (
                "rnd",
                classical || variant.rnd == Rnd::None || input.rnd.is_some(),
            ),
            ("sk", classical || input.sk.is_some()),
            ("seed", !classical || input.seed.is_some()),
        ],
    };
    needed
        .into_iter()
        .find(|(_, present)| !present)
        .map(|(name, _)| name)
}

/// Performs inputs in order, one call each, until the time has passed.
fn warm_up(inputs: &mut [(u64, Prepared)], ticks: u64) {
    let begin = timing::wall();
    loop {
        let mut performed = false;
        for (_, input) in inputs.iter_mut() {
            let Ok(work) = input else { continue };
            performed |= caught(|| work.measure(1).1).is_ok();
            if timing::wall().saturating_sub(begin) >= ticks {
                return;
            }
        }
        // Nothing works: waiting longer would only burn the time limit.
        if !performed {
            return;
        }
    }
}

fn digest(output: &Output) -> [u8; 32] {
    Sha256::digest(output.digested()).into()
}

/// A panicking implementation fails on its input; the worker lives on.
fn caught<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(format!("panicked: {}", panic_text(payload.as_ref()))))
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("without text")
}
