//! Carries out requests: keeps the prepared jobs and writes the replies.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};

use sha2::{Digest, Sha256};

use crate::adapter::{Family, Output, Prepared, PrivateKey, Rnd, Scheme, Variant};
use crate::block;
use crate::chain::{self, Link};
use crate::job::caught;
use crate::protocol::{
    Block, Chain, Fault, Fields, Form, Input, Operation, Prepare, Reader, Request, Runs, VERSION,
    format_hex, one_line,
};
use crate::runs::{self, Effort, Sample};
use crate::timing::{self, CLASSES, COUNTER, CPU_CLOCK, Ticks, WALL_CLOCK};

/// What the announcement says of the build.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    pub compiler: &'static str,
    pub flags: &'static str,
    /// Its name in the protocol, if it has one.
    pub name: Option<&'static str>,
}

/// A worker's state between requests.
pub struct Session {
    name: &'static str,
    build: Build,
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
    /// Position of the variant, and of the set in it.
    place: (usize, usize),
    operation: Operation,
    inputs: Vec<(u64, Prepared)>,
    /// What the inputs were prepared from: runs prepare them anew, in the threads they run in.
    fields: Vec<Fields>,
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
    pub fn new(name: &'static str, build: Build, variants: Vec<Variant>) -> Self {
        Self {
            name,
            build,
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
            Request::Prepare(prepare) => self.prepare(prepare, replies),
            Request::Answer { job, batch } => self.answer(job, batch, replies),
            Request::Measure {
                job,
                passes,
                calls,
                warmup,
                runs,
            } => {
                let effort = Effort {
                    passes,
                    calls,
                    warmup,
                };
                match runs {
                    None => self.measure(job, effort, replies),
                    Some(runs) => self.measure_runs(job, effort, runs, replies),
                }
            }
            Request::Chain(chain) => self.chain(&chain, replies),
            Request::Block(block) => self.block(block, replies),
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
        writeln!(out, "compiler {}", self.build.compiler)?;
        writeln!(out, "flags {}", self.build.flags)?;
        if let Some(build) = self.build.name {
            writeln!(out, "build {build}")?;
        }
        if timing::is_counting() {
            writeln!(out, "unit instructions")?;
            writeln!(out, "clock {COUNTER}")?;
            writeln!(out, "phases {}", CLASSES.join(" "))?;
        } else {
            writeln!(out, "unit ns")?;
            writeln!(out, "clock {WALL_CLOCK}")?;
            writeln!(out, "cpu_clock {CPU_CLOCK}")?;
            writeln!(out, "chains yes")?;
            writeln!(out, "blocks yes")?;
        }
        for line in self.variants.iter().flat_map(Variant::announcement) {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "end")?;
        Ok(())
    }

    fn prepare(&mut self, prepare: Prepare, out: &mut impl Write) -> Result<(), Stop> {
        let place = self.find(&prepare)?;
        let (variant, scheme) = self.at(place);
        let Prepare {
            job,
            operation,
            inputs,
            ..
        } = prepare;
        for input in &inputs {
            if let Some(field) = missing_field(variant, operation, &input.fields) {
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
            timing::mark();
            let made = caught(|| variant.prepare(scheme, operation, &input.fields));
            timing::mark();
            (input.id, made)
        };
        let prepared = PreparedJob {
            place,
            operation,
            inputs: inputs.iter().map(prepared).collect(),
            fields: inputs.into_iter().map(|input| input.fields).collect(),
        };
        self.jobs.insert(job, prepared);
        writeln!(out, "ready {job}")?;
        Ok(())
    }

    /// The variant and the scheme at a place that [`Session::find`] gave.
    fn at(&self, (variant, set): (usize, usize)) -> (&Variant, &dyn Scheme) {
        let variant = &self.variants[variant];
        (variant, variant.schemes[set].1.as_ref())
    }

    /// Where the variant and the set are.
    fn find(&self, prepare: &Prepare) -> Result<(usize, usize), String> {
        let Prepare {
            variant: id,
            set,
            operation,
            ..
        } = prepare;
        let place = self.variants.iter().position(|variant| variant.id() == *id);
        let place = place.ok_or_else(|| format!("unknown variant `{}`", one_line(id)))?;
        let variant = &self.variants[place];
        if !variant.operations.contains(operation) {
            return Err(format!(
                "variant {id} has no operation {}",
                operation.name()
            ));
        }
        let scheme = variant.schemes.iter().position(|(name, _)| name == set);
        let scheme =
            scheme.ok_or_else(|| format!("variant {id} has no set `{}`", one_line(set)))?;
        Ok((place, scheme))
    }

    fn answer(&mut self, job: u64, batch: Option<u64>, out: &mut impl Write) -> Result<(), Stop> {
        if let Some(size) = batch {
            return self.answer_in_batches(job, size, out);
        }
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

    fn answer_in_batches(&self, job: u64, size: u64, out: &mut impl Write) -> Result<(), Stop> {
        let prepared = self.jobs.get(&job).ok_or_else(|| unknown_job(job))?;
        timeable(prepared)?;
        within(size, runs::MAX_SIZE, "a batch", "operations")?;
        let (variant, scheme) = self.at(prepared.place);
        let group = || variant.group(scheme, prepared.operation, Form::Batch, &prepared.fields);
        let mut group = caught(group)?;
        let outputs = runs::answer(group.as_mut(), prepared.inputs.len(), size as usize);
        for ((id, _), output) in prepared.inputs.iter().zip(outputs) {
            match output {
                Ok(output) => writeln!(out, "output {id} {}", output.text())?,
                Err(text) => writeln!(out, "failed {id} {}", one_line(&text))?,
            }
        }
        writeln!(out, "done {job}")?;
        Ok(())
    }

    fn measure_runs(
        &self,
        job: u64,
        effort: Effort,
        runs: Runs,
        out: &mut impl Write,
    ) -> Result<(), Stop> {
        let prepared = self.jobs.get(&job).ok_or_else(|| unknown_job(job))?;
        timeable(prepared)?;
        within(runs.size, runs::MAX_SIZE, "a run", "operations")?;
        within(runs.threads, runs::MAX_THREADS, "a run", "threads")?;
        let count = prepared.inputs.len();
        let mut samples = Vec::new();
        if count > 0 {
            // Of the session the parts that threads may share: prepared inputs belong to one.
            let (operation, fields) = (prepared.operation, prepared.fields.as_slice());
            let (variant, scheme) = self.at(prepared.place);
            let prepare = || variant.group(scheme, operation, runs.form, fields);
            samples = runs::measure(&prepare, count, runs, effort)?;
        }
        for Sample { first, result } in samples {
            let id = prepared.inputs[first].0;
            write_sample(out, id, effort.calls, result)?;
        }
        writeln!(out, "done {job}")?;
        Ok(())
    }

    fn chain(&self, chain: &Chain, out: &mut impl Write) -> Result<(), Stop> {
        within(chain.threads, runs::MAX_THREADS, "a chain", "threads")?;
        within(
            chain.group() as u64,
            runs::MAX_SIZE,
            "a batch",
            "operations",
        )?;
        let mut jobs = Vec::new();
        for stage in &chain.stages {
            let job = self
                .jobs
                .get(&stage.job)
                .ok_or_else(|| unknown_job(stage.job))?;
            timeable(job)?;
            jobs.push(job);
        }
        let numbers = |job: &PreparedJob| job.inputs.iter().map(|(id, _)| *id).collect::<Vec<_>>();
        let ids = numbers(jobs[0]);
        if jobs.iter().any(|job| numbers(job) != ids) {
            return Err(
                "the jobs of a chain must have the same inputs in the same order"
                    .to_string()
                    .into(),
            );
        }
        if ids.is_empty() || ids.len() % chain.group() != 0 {
            return Err(format!(
                "{} inputs are no whole batches of {}",
                ids.len(),
                chain.group()
            )
            .into());
        }
        let fields: Vec<&[Fields]> = jobs.iter().map(|job| job.fields.as_slice()).collect();
        // Of the session the parts that threads may share.
        let stages: Vec<_> = jobs
            .iter()
            .map(|job| (self.at(job.place), job.operation))
            .collect();
        let prepare = |number: usize, fields: &[Fields]| {
            let ((variant, scheme), operation) = stages[number];
            let form = if chain.stages[number].batch > 0 {
                Form::Batch
            } else {
                Form::Loop
            };
            variant.group(scheme, operation, form, fields)
        };
        for pass in chain::measure(&prepare, &fields, chain)? {
            for Link {
                thread,
                first,
                ticks,
                stages,
            } in pass.links
            {
                let id = ids[first];
                match stages {
                    Err(text) => writeln!(out, "failed {id} {}", one_line(&text))?,
                    Ok(stages) => {
                        write!(out, "link {thread} {id} {} {}", ticks.wall, ticks.cpu)?;
                        for (wall, digest) in stages {
                            write!(out, " {wall} {}", format_hex(&digest))?;
                        }
                        writeln!(out)?;
                    }
                }
            }
            writeln!(out, "pass {}", pass.wall)?;
        }
        writeln!(out, "done chain")?;
        Ok(())
    }

    fn block(&self, block: Block, out: &mut impl Write) -> Result<(), Stop> {
        let prepared = self
            .jobs
            .get(&block.job)
            .ok_or_else(|| unknown_job(block.job))?;
        timeable(prepared)?;
        let count = prepared.inputs.len();
        within(count as u64, runs::MAX_SIZE, "a block", "operations")?;
        within(block.batch, runs::MAX_SIZE, "a batch", "operations")?;
        within(block.threads, runs::MAX_THREADS, "a block", "threads")?;
        within(block.cold, block::MAX_COLD, "memory to read", "bytes")?;
        within(block.threads, count as u64, "this block", "threads")?;
        if !block::visits_all(count as u64, block.stride) {
            return Err(format!(
                "STRIDE {} and the number of inputs, {count}, have a common divisor",
                block.stride
            )
            .into());
        }
        // Of the session the parts that threads may share.
        let (variant, scheme) = self.at(prepared.place);
        let operation = prepared.operation;
        let form = if block.batch > 0 {
            Form::Batch
        } else {
            Form::Loop
        };
        let prepare = |fields: &[Fields]| variant.group(scheme, operation, form, fields);
        for Sample { first, result } in block::measure(&prepare, &prepared.fields, &block)? {
            write_sample(out, prepared.inputs[first].0, 1, result)?;
        }
        writeln!(out, "done {}", block.job)?;
        Ok(())
    }

    fn measure(&mut self, job: u64, effort: Effort, out: &mut impl Write) -> Result<(), Stop> {
        let Effort {
            passes,
            calls,
            warmup,
        } = effort;
        let prepared = self.jobs.get_mut(&job).ok_or_else(|| unknown_job(job))?;
        timeable(prepared)?;
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
            let sample = sample.map(|(ticks, digest)| {
                let cpu = ticks.cpu.saturating_sub(reading);
                (Ticks { cpu, ..ticks }, digest)
            });
            write_sample(out, id, calls, sample)?;
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

fn write_sample(
    out: &mut impl Write,
    id: u64,
    calls: u64,
    sample: Result<(Ticks, [u8; 32]), String>,
) -> io::Result<()> {
    match sample {
        Ok((Ticks { wall, cpu, classes }, digest)) => {
            let digest = format_hex(&digest);
            let cpu = if timing::is_counting() {
                "-".to_owned()
            } else {
                cpu.to_string()
            };
            write!(out, "sample {id} {wall} {cpu} {calls} {digest}")?;
            for class in classes.into_iter().flatten() {
                write!(out, " {class}")?;
            }
            writeln!(out)
        }
        Err(text) => writeln!(out, "failed {id} {}", one_line(&text)),
    }
}

fn timeable(job: &PreparedJob) -> Result<(), String> {
    match job.operation {
        Operation::Trace | Operation::ZViolation => {
            Err(format!("operation {} is never timed", job.operation.name()))
        }
        _ => Ok(()),
    }
}

fn within(number: u64, most: u64, what: &str, of: &str) -> Result<(), String> {
    if number > most {
        return Err(format!("{what} has at most {most} {of}, got {number}"));
    }
    Ok(())
}

fn unknown_job(job: u64) -> String {
    format!("job {job} is not prepared")
}

/// The first field that every input of the operation has to have and this one has not.
fn missing_field(variant: &Variant, operation: Operation, input: &Fields) -> Option<&'static str> {
    let classical = variant.family == Family::Classical;
    let reads_seed = classical || variant.private_key == PrivateKey::Seed;
    let needed: [(&'static str, bool); 5] = match operation {
        Operation::Keygen => [("seed", input.seed.is_some()); 5],
        Operation::Verify => [
            ("message", input.message.is_some()),
            ("context", input.context.is_some()),
            ("signature", input.signature.is_some()),
            ("pk", classical || input.pk.is_some()),
            ("seed", !classical || input.seed.is_some()),
        ],
        Operation::Encaps => {
            let rnd = ("rnd", variant.rnd == Rnd::None || input.rnd.is_some());
            let pk = ("pk", input.pk.is_some());
            [pk, rnd, pk, rnd, pk]
        }
        Operation::Hash => [("message", input.message.is_some()); 5],
        Operation::Handshake | Operation::Accept => return None,
        Operation::Decaps => {
            let ciphertext = ("ciphertext", input.ciphertext.is_some());
            let sk = ("sk", reads_seed || input.sk.is_some());
            let seed = ("seed", !reads_seed || input.seed.is_some());
            [ciphertext, sk, seed, sk, seed]
        }
        Operation::Sign | Operation::Trace | Operation::ZViolation => [
            ("message", input.message.is_some()),
            ("context", input.context.is_some()),
            (
                "rnd",
                classical || variant.rnd == Rnd::None || input.rnd.is_some(),
            ),
            ("sk", reads_seed || input.sk.is_some()),
            ("seed", !reads_seed || input.seed.is_some()),
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
