//! A run: its parts in processes of their own, several at a time.

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;

use serde_json::Value;

use crate::code::Place;
use crate::operations::Operation;
use crate::report::Report;
use crate::worker::Part;

/// Faults of a part.
const PART: usize = 10_000;

struct Options {
    faults: usize,
    sets: Vec<u32>,
    modes: Vec<bool>,
    backend: String,
    seed: u64,
    jobs: usize,
    out: Option<String>,
    idle: bool,
    sweep: bool,
    count: bool,
    places: Vec<Place>,
    operations: Vec<Operation>,
}

fn options(arguments: &[String]) -> Option<Options> {
    let (faults, rest) = arguments.split_first()?;
    let mut options = Options {
        faults: faults.parse().ok().filter(|n| *n > 0)?,
        sets: vec![44, 65, 87],
        modes: vec![false, true],
        backend: "portable".into(),
        seed: 1,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        out: None,
        idle: false,
        sweep: false,
        count: false,
        places: Place::ALL.to_vec(),
        operations: Operation::by_default(),
    };
    let mut rest = rest.iter();
    while let Some(name) = rest.next() {
        if let "--idle" | "--sweep" | "--count" = name.as_str() {
            let flag = match name.as_str() {
                "--idle" => &mut options.idle,
                "--sweep" => &mut options.sweep,
                _ => &mut options.count,
            };
            *flag = true;
            continue;
        }
        let value = rest.next()?;
        match name.as_str() {
            "--sets" => {
                let sets = value.split(',').map(|set| set.parse().ok());
                let sets = sets.map(|set| set.filter(|set| [44, 65, 87].contains(set)));
                options.sets = sets.collect::<Option<_>>()?;
            }
            "--modes" => {
                let modes = value.split(',').map(|mode| match mode {
                    "plain" => Some(false),
                    "hardened" => Some(true),
                    _ => None,
                });
                options.modes = modes.collect::<Option<_>>()?;
            }
            "--operations" => options.operations = Operation::named(value)?,
            "--places" => options.places = Place::named(value)?,
            "--backend" => options.backend.clone_from(value),
            "--seed" => options.seed = value.parse().ok()?,
            "--jobs" => options.jobs = value.parse().ok().filter(|n| *n > 0)?,
            "--out" => options.out = Some(value.clone()),
            _ => return None,
        }
    }
    Some(options)
}

pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [
        word,
        set,
        mode,
        backend,
        seed,
        number,
        faults,
        idle,
        warm,
        sweep,
        count,
        places,
        operations,
    ] = arguments.as_slice()
        && word == "part"
    {
        let number_of = |text: &String| text.parse().expect("a number");
        let part = Part {
            set: number_of(set) as u32,
            is_hardened: mode == "hardened",
            backend: backend.clone(),
            seed: number_of(seed),
            number: number_of(number),
            faults: number_of(faults) as usize,
            idle: idle == "true",
            warm: warm == "true",
            sweep: sweep == "true",
            count: count == "true",
            places: Place::named(places).expect("places"),
            operations: Operation::named(operations).expect("operations"),
        };
        println!("{}", part.run());
        return ExitCode::SUCCESS;
    }
    let Some(options) = options(&arguments) else {
        eprintln!(
            "usage: mldsa-fault FAULTS [--sets 44,65,87] [--modes plain,hardened] [--backend NAME] \
             [--seed NUMBER] [--jobs NUMBER] [--out FILE] [--operations sign,hedge,verify,load,load-public,\
             keygen,boxed,generate] [--idle] [--sweep [--places library,inlined,caller]] [--count]"
        );
        return ExitCode::from(2);
    };
    if mldsa_lanes::Backend::by_name(&options.backend).is_none() {
        eprintln!("mldsa-fault: this CPU has no backend {}", options.backend);
        return ExitCode::from(2);
    }
    match run(&options) {
        Ok(report) => {
            print!("{}", report.text());
            verdict(&options, &report)
        }
        Err(error) => {
            eprintln!("mldsa-fault: {error}");
            ExitCode::from(2)
        }
    }
}

/// The parts that are missing in the file of an earlier run of the same code are run; all are reported.
fn run(options: &Options) -> Result<Report, String> {
    let mut parts = Vec::new();
    // A sweep's cases are counted, not its faults.
    let is_by_case = options.sweep || options.count;
    let size = if is_by_case { 1 } else { PART };
    for (number, start) in (0..options.faults).step_by(size).enumerate() {
        for set in &options.sets {
            let both = [false, true];
            let modes = options.modes.iter();
            for (is_hardened, warm) in modes.flat_map(|mode| both.map(|warm| (mode, warm))) {
                parts.push(Part {
                    set: *set,
                    is_hardened: *is_hardened,
                    backend: options.backend.clone(),
                    seed: options.seed,
                    number: number as u64,
                    // Half of them after an ordinary call.
                    faults: match is_by_case {
                        true => 0,
                        false => PART.min(options.faults - start).div_ceil(2),
                    },
                    warm,
                    idle: options.idle,
                    sweep: options.sweep,
                    count: options.count,
                    places: options.places.clone(),
                    operations: options.operations.clone(),
                });
            }
        }
    }
    let digest = format!("{:016x}", crate::code::Code::of_this_program().digest);
    let mut records: Vec<Value> = Vec::new();
    if let Some(path) = &options.out {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        records.extend(lines.filter(|record: &Value| record["code"] == digest.as_str()));
    }
    let is_of = |record: &Value, part: &Part| {
        let key = part.key();
        let mut fields = key.as_object().into_iter().flatten();
        fields.all(|(name, value)| record[name] == *value)
    };
    let known: Vec<Value> = records.into_iter().collect();
    let (done, missing): (Vec<&Part>, Vec<&Part>) = parts
        .iter()
        .partition(|part| known.iter().any(|record| is_of(record, part)));
    let mut report = Report::default();
    for part in done {
        let record = known.iter().find(|record| is_of(record, part));
        record.into_iter().for_each(|record| report.add(record));
    }
    // The addresses of a run are those of the next: the same seed gives the same faults.
    // SAFETY: a plain call, before there are threads.
    unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
    let (queue, report) = (Mutex::new(missing.into_iter()), Mutex::new(report));
    std::thread::scope(|scope| {
        let threads = (0..options.jobs).map(|_| {
            scope.spawn(|| -> Result<(), String> {
                loop {
                    let next = queue.lock().map_err(|e| e.to_string())?.next();
                    let Some(part) = next else { return Ok(()) };
                    let record = elsewhere(part)?;
                    let mut report = report.lock().map_err(|e| e.to_string())?;
                    if let Some(path) = &options.out {
                        keep(path, &record).map_err(|e| format!("{path}: {e}"))?;
                    }
                    report.add(&record);
                }
            })
        });
        let threads: Vec<_> = threads.collect();
        let mut ends = threads.into_iter().map(|thread| thread.join());
        ends.try_for_each(|end| end.map_err(|_| "a thread panicked".to_owned())?)
    })?;
    report.into_inner().map_err(|e| e.to_string())
}

fn keep(path: &str, record: &Value) -> std::io::Result<()> {
    if let Some(folder) = std::path::Path::new(path).parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create(true).append(true).open(path)?;
    writeln!(file, "{record}")
}

/// A part in a process of its own, without an environment, which would move its stack.
fn elsewhere(part: &Part) -> Result<Value, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mode = if part.is_hardened {
        "hardened"
    } else {
        "plain"
    };
    let done = Command::new(program)
        .args(["part", &part.set.to_string(), mode, &part.backend])
        .args([part.seed, part.number, part.faults as u64].map(|n| n.to_string()))
        .args([part.idle, part.warm, part.sweep, part.count].map(|flag| flag.to_string()))
        .args([Place::names(&part.places), part.operation_names()])
        .env_clear()
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| e.to_string())?;
    if !done.status.success() {
        return Err(format!("{}: a part ended with {}", part.key(), done.status));
    }
    serde_json::from_slice(&done.stdout).map_err(|e| format!("{}: {e}", part.key()))
}

fn verdict(options: &Options, report: &Report) -> ExitCode {
    if options.count {
        return ExitCode::SUCCESS;
    }
    let mut good = true;
    for is_hardened in &options.modes {
        let mode = if *is_hardened { "hardened" } else { "plain" };
        let sums = report.of_mode(mode);
        let count = |name| sums.get(name).copied().unwrap_or_default();
        let (wrong, revealing) = (count("wrong"), count("revealing"));
        println!(
            "faults: {mode}, {}: {} faults, {wrong} wrong, {revealing} revealing the key",
            options.backend,
            sums.values().sum::<u64>(),
        );
        let bad = wrong + revealing;
        // The plain mode must show that the faults do something.
        good &= if *is_hardened || options.idle {
            bad + count("unbounded") == 0
        } else {
            bad > 0
        };
    }
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
