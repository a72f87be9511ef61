//! The program of `make ct` (library/evidence/constant-time.md): runs the library under Valgrind with its
//! secrets marked undefined, so that Valgrind reports each branch and each address that depends on
//! one.
//!
//! ```text
//! mldsa-ct check BACKEND...   every operation; fails if Valgrind reports anything
//! mldsa-ct leaks BACKEND...   leaks made on purpose; fails if Valgrind misses one
//! ```

#[cfg(mldsa_ct)]
mod cases;
#[cfg(mldsa_ct)]
mod check;
#[cfg(mldsa_ct)]
mod leaks;
#[cfg(mldsa_ct)]
mod operations;

#[cfg(not(mldsa_ct))]
fn main() -> std::process::ExitCode {
    eprintln!("mldsa-ct: built without `--cfg mldsa_ct`, so nothing can be checked: see `make ct`");
    std::process::ExitCode::from(2)
}

#[cfg(mldsa_ct)]
fn main() -> std::process::ExitCode {
    use mldsa_lanes::{Backend, ct};
    use std::process::ExitCode;

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((task, names)) = arguments
        .split_first()
        .filter(|(_, names)| !names.is_empty())
    else {
        eprintln!("usage: mldsa-ct check|leaks BACKEND...");
        return ExitCode::from(2);
    };
    if !ct::running_under_valgrind() {
        eprintln!("mldsa-ct: not under Valgrind, so nothing can be checked: see `make ct`");
        return ExitCode::from(2);
    }
    let mut backends = Vec::new();
    for name in names {
        let Some(backend) = Backend::by_name(name) else {
            let here: Vec<_> = Backend::available().map(Backend::name).collect();
            eprintln!("mldsa-ct: no backend {name} under Valgrind on this machine, only {here:?}");
            return ExitCode::from(2);
        };
        backends.push(backend);
    }
    let passed = match task.as_str() {
        "check" => check::run(&backends),
        "leaks" => leaks::run(&backends),
        _ => {
            eprintln!("usage: mldsa-ct check|leaks BACKEND...");
            return ExitCode::from(2);
        }
    };
    if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
