//! `make bench-kernels`: see library/evidence/kernels.md.

mod case;
mod data;
mod families;
mod floor;
mod gate;
mod measure;
mod options;
mod peers;
mod report;

use std::process::ExitCode;

use case::Kernels;
use options::{Options, Wish};

fn main() -> ExitCode {
    if let Err(error) = mldsa_lanes::Backend::use_environment() {
        return refuse(&error.to_string());
    }
    match options::parse(std::env::args_os().skip(1)) {
        Ok(Wish::Help) => {
            println!("{}", options::HELP);
            ExitCode::SUCCESS
        }
        Ok(Wish::Run(options)) => run(&options).unwrap_or_else(|error| refuse(&error)),
        Err(error) => refuse(&error),
    }
}

fn refuse(error: &str) -> ExitCode {
    eprintln!("bench-kernels: error: {error}");
    ExitCode::from(2)
}

/// The exit status is 1 if a kernel was left out or is below its floor.
fn run(options: &Options) -> Result<ExitCode, String> {
    let mut kernels = Kernels::new(&options.kernels, &options.backends);
    families::collect(&mut kernels);
    if kernels.list.is_empty() {
        return Err(format!(
            "--kernels {}: no kernel's name has such a part; there are {}",
            options.kernels.join(","),
            kernels.known.join(", ")
        ));
    }
    if options.list {
        print!("{}", report::list(&kernels.list));
        return Ok(ExitCode::SUCCESS);
    }
    // Overflow checks would end the run: after the first call a kernel may leave its range.
    if cfg!(debug_assertions) {
        return Err("this is a debug build; times mean nothing: build with --release".into());
    }
    let mut json = options
        .json
        .as_ref()
        .map(|path| report::create(path))
        .transpose()?;
    let mut refusals = gate::check(&mut kernels.list);
    let series = measure::measure(&mut kernels.list, options.rounds);
    // A kernel that goes wrong on the way has samples that are worth nothing.
    let late = gate::check(&mut kernels.list);
    let mut missed = Vec::new();
    if late.is_empty() {
        if let Some((file, path)) = &mut json {
            report::write(file, &kernels.list, &series)
                .map_err(|e| format!("--json {}: {e}", path.display()))?;
        }
        print!("{}", report::table(&kernels.list, &series, options.rounds));
        missed = floor::missed(&kernels.list, &series);
    }
    refusals.extend(late);
    for refusal in &refusals {
        println!(
            "left out: {} of {}: {}",
            refusal.kernel, refusal.implementation, refusal.reason
        );
    }
    for line in &missed {
        eprintln!("{line}");
    }
    let good = refusals.is_empty() && missed.is_empty();
    Ok(ExitCode::from(u8::from(!good)))
}
