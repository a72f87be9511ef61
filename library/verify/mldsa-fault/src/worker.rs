//! A part of a run, in a process of its own.

use std::collections::BTreeMap;

use mldsa_lanes::{Backend, MlDsa44, MlDsa65, MlDsa87, ParameterSet};
use serde_json::{Value, json};

use crate::code::{Code, Place};
use crate::machine::{Fault, Machine, What, count, cover, inject};
use crate::numbers::Numbers;
use crate::operations::{Case, Operation, case};
use crate::plan::{Kind, Sites, kind, sweep};

/// What is counted of each operation and kind.
pub const OUTCOMES: [&str; 9] = [
    "right",
    "other",
    "refused",
    "panic",
    "crash",
    "hang",
    "unbounded",
    "wrong",
    "revealing",
];

/// Faults for each case: each has a key, a message and a clock of its own.
const FAULTS_A_CASE: usize = 40;
/// So many faults share one run of a case in a sweep.
const FAULTS_OF_A_SWEEP: usize = 2_000;
/// Findings of a part that are kept in full.
const MOST_FINDINGS: usize = 50;

/// A part of a run.
pub struct Part {
    pub set: u32,
    pub is_hardened: bool,
    pub backend: String,
    pub seed: u64,
    pub number: u64,
    pub faults: usize,
    /// Faults that disturb nothing, to see that the injector itself does no harm.
    pub idle: bool,
    /// After an ordinary call on the same stack.
    pub warm: bool,
    /// Not drawn: each instruction and jump of a case of each operation. Then `faults` is 0.
    pub sweep: bool,
    /// Of a sweep: where the instructions belong.
    pub places: Vec<Place>,
    /// No faults: the executed instructions are counted by the place they belong to.
    pub count: bool,
    pub operations: Vec<Operation>,
}

impl Part {
    /// What a record of it begins with.
    pub fn key(&self) -> Value {
        json!({
            "set": self.set,
            "mode": if self.is_hardened { "hardened" } else { "plain" },
            "backend": self.backend,
            "seed": self.seed,
            "part": self.number,
            "faults": self.faults,
            "idle": self.idle,
            "warm": self.warm,
            "sweep": self.sweep,
            "places": Place::names(&self.places),
            "count": self.count,
            "operations": self.operation_names(),
        })
    }

    pub fn operation_names(&self) -> String {
        let names: Vec<&str> = self.operations.iter().map(|o| o.name()).collect();
        names.join(",")
    }

    /// Injects; the record.
    pub fn run(&self) -> Value {
        let backend = Backend::by_name(&self.backend).expect("a backend of this CPU");
        match self.set {
            44 => self.run_set::<MlDsa44>(backend),
            65 => self.run_set::<MlDsa65>(backend),
            _ => self.run_set::<MlDsa87>(backend),
        }
    }

    fn run_set<P: ParameterSet>(&self, backend: Backend) -> Value {
        let code: &Code = Box::leak(Box::new(Code::of_this_program()));
        Machine::start(code);
        let mut tally = Tally::default();
        for (operation, share) in Operation::ALL {
            if !self.operations.contains(&operation) {
                continue;
            }
            let mode = u64::from(self.is_hardened);
            let mode = mode + 2 * u64::from(self.warm);
            let words = [self.seed, self.number, self.set.into(), mode, share];
            let mut numbers = Numbers::of(&words);
            let mut new_case = || -> Case {
                case::<P>(
                    operation,
                    self.is_hardened,
                    self.warm,
                    backend,
                    &mut numbers,
                )
            };
            let mut case = new_case();
            if self.count {
                let executed = count(&mut case.run);
                tally
                    .executed
                    .insert(operation.name().into(), executed.into());
                continue;
            }
            let coverage = cover(&mut case.run);
            if self.sweep {
                let clock = coverage.clocks[0].0;
                for faults in sweep(code, &coverage, &self.places).chunks(FAULTS_OF_A_SWEEP) {
                    self.inject(code, &mut tally, &mut case, clock, faults, usize::MAX);
                }
                continue;
            }
            let mut numbers = Numbers::of(&[words[0], words[1], words[2], words[3], words[4], 1]);
            let sites = Sites::new(code, &coverage);
            // An operation that is asked for alone has all faults.
            let mut left = match self.operations.len() {
                1 => self.faults,
                _ => self.faults * share as usize / 100,
            };
            while left > 0 {
                let mut case = new_case();
                let clocks = &coverage.clocks;
                let (clock, ticks) = *numbers.one_of(clocks).expect("functions are called");
                let mut faults = Vec::new();
                while faults.len() < FAULTS_A_CASE {
                    let kind = kind(&mut numbers);
                    let fault = sites.fault(kind, ticks, &mut numbers);
                    faults.extend(fault.map(|fault| (kind, fault)));
                }
                left -= self.inject(code, &mut tally, &mut case, clock, &faults, left);
            }
        }
        let counts: BTreeMap<String, [u64; OUTCOMES.len()]> = tally
            .counts
            .into_iter()
            .map(|((operation, kind, place), row)| {
                let names = [operation.name(), kind.name(), place.name()];
                (names.join(" "), row)
            })
            .collect();
        let mut record = self.key();
        record["code"] = json!(format!("{:016x}", code.digest));
        record["missed"] = json!(tally.missed);
        record["counts"] = json!(counts);
        record["executed"] = json!(tally.executed);
        record["found"] = json!(tally.found);
        record
    }

    /// Makes the faults and counts at most so many; how many.
    fn inject(
        &self,
        code: &Code,
        tally: &mut Tally,
        case: &mut Case,
        clock: usize,
        faults: &[(Kind, Fault)],
        most: usize,
    ) -> usize {
        let mut bare: Vec<Fault> = faults.iter().map(|(_, fault)| *fault).collect();
        if self.idle {
            bare.iter_mut().for_each(|f| f.what = What::Nothing);
        }
        let (output, ends) = inject(&mut case.run, case.key, clock, &bare);
        let operation = case.operation;
        assert!(
            case.is_right(output.as_deref()),
            "wrong without a fault: {operation:?}"
        );
        tally.missed += (faults.len() - ends.len()) as u64;
        let mut counted = 0;
        for (place, end) in ends {
            let Some(outcome) = case.outcome(end) else {
                tally.missed += 1;
                continue;
            };
            if counted == most {
                break;
            }
            counted += 1;
            let (kind, fault) = &faults[place];
            let column = OUTCOMES.iter().position(|name| *name == outcome);
            // A fault in memory has no instruction of its own.
            let place = match fault.what {
                What::At { site, .. } => code.sites[site].place,
                _ => Place::Library,
            };
            let row = tally.counts.entry((operation, *kind, place)).or_default();
            row[column.unwrap_or(0)] += 1;
            let is_bad = matches!(outcome, "unbounded" | "wrong" | "revealing");
            let is_found = self.is_hardened && is_bad && place != Place::Caller;
            if is_found && tally.found.len() < MOST_FINDINGS {
                let (operation, kind) = (operation.name(), kind.name());
                let told = told(code, fault, clock);
                let (place, state) = (place.name(), ["cold", "warm"][usize::from(self.warm)]);
                let found = format!("{outcome} ({place}, {state}): {operation} {kind} {told}");
                tally.found.push(found);
            }
        }
        counted
    }
}

/// What came out so far.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<(Operation, Kind, Place), [u64; OUTCOMES.len()]>,
    /// Instructions by operation: of each [`Place`], then of other functions.
    executed: BTreeMap<String, Vec<u64>>,
    found: Vec<String>,
    missed: u64,
}

/// Where a fault was.
fn told(code: &Code, fault: &Fault, clock: usize) -> String {
    let name = |site: usize| &code.functions[code.sites[site].function];
    let of = format!("call {} of {}", fault.tick, name(clock).name);
    match fault.what {
        What::At { site, hit, how } => {
            let function = name(site);
            format!(
                "{how:?} at {}+{:#x}, time {hit} after {of}: {:?}",
                function.name,
                code.sites[site].address - function.start,
                code.sites[site].instruction.code()
            )
        }
        _ => format!("at {of}, bit of {:#x}", fault.seed),
    }
}
