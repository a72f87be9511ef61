//! Bounded sessions: the corpus, then inputs at random, without a fuzzing engine.

use crate::Target;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A small generator of numbers (splitmix64): which inputs a session takes follows from its seed.
pub struct Numbers(pub u64);

impl Numbers {
    /// The next one.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound as u64) as usize
    }

    /// An input: one of the corpus with some bytes changed, or fresh.
    pub fn input(&mut self, corpus: &[(String, Vec<u8>)]) -> Vec<u8> {
        if corpus.is_empty() || self.below(2) == 0 {
            let length = 16 + self.below(48);
            return (0..length).map(|_| self.draw() as u8).collect();
        }
        let mut input = corpus[self.below(corpus.len())].1.clone();
        for _ in 0..1 + self.below(4) {
            match self.below(3) {
                0 => input.push(self.draw() as u8),
                1 => input.truncate(input.len() - input.len() / 8),
                _ if input.is_empty() => {}
                _ => {
                    let at = self.below(input.len());
                    input[at] = self.draw() as u8;
                }
            }
        }
        input
    }
}

/// An input on which a target panicked.
#[derive(Debug)]
pub struct Finding {
    /// The target.
    pub target: &'static str,
    /// A file of the corpus, or where the input was written.
    pub file: PathBuf,
    /// What the panic said.
    pub said: String,
}

/// The committed inputs of a target, by file name.
///
/// # Panics
/// If there are none: a corpus that is not found must not pass for one that was replayed.
pub fn corpus(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
        .into_iter()
        .map(|file| (file.display().to_string(), std::fs::read(&file).unwrap()))
        .collect()
}

/// Runs one input. A panic is a finding.
pub fn run(target: &'static Target, input: &[u8]) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| (target.run)(input))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied());
        text.unwrap_or("a panic without words").to_owned()
    })
}

/// Replays the corpus, then runs inputs of the seed until the time is up. How many were run.
///
/// # Errors
/// The first finding; its input is kept in `out/fuzz`.
pub fn session(target: &'static Target, time: Duration, seed: u64) -> Result<u64, Finding> {
    let corpus = corpus(target);
    for (file, input) in &corpus {
        run(target, input).map_err(|said| Finding {
            target: target.name,
            file: file.into(),
            said,
        })?;
    }
    let mut numbers = Numbers(seed);
    let start = Instant::now();
    let mut count = corpus.len() as u64;
    while start.elapsed() < time {
        let input = numbers.input(&corpus);
        run(target, &input).map_err(|said| finding(target, &input, said))?;
        count += 1;
    }
    Ok(count)
}

/// Keeps the input of a finding.
pub fn finding(target: &'static Target, input: &[u8], said: String) -> Finding {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../out/fuzz");
    let name = input
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    let file = folder.join(format!("{}-{name}", target.name));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&file, input).unwrap();
    Finding {
        target: target.name,
        file,
        said,
    }
}

/// A number of the environment, or another.
///
/// # Panics
/// If it is there and no number.
pub fn number(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => otherwise,
    }
}

/// A seed that differs from run to run.
pub fn fresh_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("a clock after 1970").as_nanos() as u64
}
