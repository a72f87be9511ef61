//! One operation on one prepared input: how it is performed and timed, and what comes out.

use std::any::Any;
use std::fmt::Debug;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::protocol::format_hex;
use crate::timing::{Start, Ticks};

/// The result of an operation, in the forms the protocol knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A signature, a ciphertext with its secret behind it, or a secret.
    Bytes(Vec<u8>),
    /// A public key, and the private key as FIPS 204 `skEncode` bytes where the interface gives it.
    KeyPair {
        public: Vec<u8>,
        private: Option<Vec<u8>>,
    },
    Verdict(bool),
    /// One word per attempt, as [`attempt_word`] writes it.
    Attempts(Vec<String>),
}

impl Output {
    pub fn bytes(bytes: impl AsRef<[u8]>) -> Self {
        Self::Bytes(bytes.as_ref().to_vec())
    }

    /// A ciphertext and the secret that it shares.
    pub fn encapsulated(ciphertext: impl AsRef<[u8]>, secret: impl AsRef<[u8]>) -> Self {
        Self::Bytes([ciphertext.as_ref(), secret.as_ref()].concat())
    }

    pub fn public_key(public: impl AsRef<[u8]>) -> Self {
        Self::KeyPair {
            public: public.as_ref().to_vec(),
            private: None,
        }
    }

    pub fn key_pair(public: impl AsRef<[u8]>, private: impl AsRef<[u8]>) -> Self {
        Self::KeyPair {
            public: public.as_ref().to_vec(),
            private: Some(private.as_ref().to_vec()),
        }
    }

    /// The bytes whose SHA-256 goes with a sample; none for a trace.
    pub fn digested(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::KeyPair { public, .. } => public,
            Self::Verdict(true) => &[1],
            Self::Verdict(false) => &[0],
            Self::Attempts(_) => &[],
        }
    }

    /// The values of an `output` or `trace` line.
    pub fn text(&self) -> String {
        match self {
            Self::Bytes(_) | Self::Verdict(_) => format_hex(self.digested()),
            Self::KeyPair { public, private } => {
                format!(
                    "{} {}",
                    format_hex(public),
                    format_hex(private.as_deref().unwrap_or(&[]))
                )
            }
            Self::Attempts(words) => words.join(" "),
        }
    }
}

/// The trace word of an attempt: `ok`, or a letter and the first failing polynomial per check.
///
/// `failed` is the bitmap 1 = z, 2 = r0, 4 = ct0, 8 = hint; `first_failing` has one index per bit.
pub fn attempt_word(failed: u8, first_failing: [u8; 4]) -> String {
    if failed == 0 {
        return "ok".into();
    }
    let checks = ['z', 'r', 'c', 'h']
        .into_iter()
        .zip(first_failing)
        .enumerate();
    checks
        .filter(|(bit, _)| failed >> bit & 1 == 1)
        .map(|(_, (letter, index))| format!("{letter}{index}"))
        .collect()
}

/// One operation on one prepared input.
pub trait Job {
    /// Performs it once, untimed.
    ///
    /// # Errors
    /// The implementation's own, as text.
    fn answer(&mut self) -> Result<Output, String>;

    /// Performs it `calls` times (at least once) between two readings of the clocks. The output is
    /// the last call's and is converted after the clocks are read.
    fn measure(&mut self, calls: u64) -> (Ticks, Result<Output, String>);

    /// Performs it once and keeps the result: one turn of a loop that is timed as a whole.
    fn perform(&mut self);

    /// The results that [`Job::perform`] kept since the last call of this, in order.
    fn kept(&mut self) -> Vec<Result<Output, String>>;
}

/// A prepared input, or why the implementation cannot take it.
pub type Prepared = Result<Box<dyn Job>, String>;

/// A job from the operation to time and the conversion of its result, which is not timed.
///
/// The loop over calls is compiled for each operation, so that no dynamic dispatch and no copy of
/// the result lies between the clocks.
pub fn job<T: 'static, E: Debug + 'static>(
    operation: impl FnMut() -> Result<T, E> + 'static,
    convert: impl Fn(T) -> Output + 'static,
) -> Prepared {
    Ok(Box::new(Timed {
        operation,
        convert,
        kept: Vec::new(),
    }))
}

/// A job of verification.
pub fn verdict(operation: impl FnMut() -> bool + 'static) -> Prepared {
    let mut operation = operation;
    job(move || Ok::<_, ()>(operation()), Output::Verdict)
}

/// A verification whose public key the implementation cannot read: the answer is no.
pub fn refused() -> Prepared {
    verdict(|| false)
}

struct Timed<F, C, R> {
    operation: F,
    convert: C,
    kept: Vec<R>,
}

impl<F, C, T, E> Job for Timed<F, C, Result<T, E>>
where
    F: FnMut() -> Result<T, E>,
    C: Fn(T) -> Output,
    E: Debug,
{
    fn answer(&mut self) -> Result<Output, String> {
        (self.operation)()
            .map(&self.convert)
            .map_err(|error| describe(&error))
    }

    fn measure(&mut self, calls: u64) -> (Ticks, Result<Output, String>) {
        let operation = &mut self.operation;
        let start = Start::now();
        for _ in 1..calls {
            // The references are hidden, not the values: a value would be copied.
            let result = black_box(&mut *operation)();
            black_box(&result);
        }
        let last = black_box(operation)();
        black_box(&last);
        let ticks = start.elapsed();
        (
            ticks,
            last.map(&self.convert).map_err(|error| describe(&error)),
        )
    }

    fn perform(&mut self) {
        let result = black_box(&mut self.operation)();
        self.kept.push(result);
    }

    fn kept(&mut self) -> Vec<Result<Output, String>> {
        let converted = |result: Result<T, E>| result.map(&self.convert).map_err(|e| describe(&e));
        self.kept.drain(..).map(converted).collect()
    }
}

/// An implementation's error as text. Many peers return empty or one-word errors.
pub fn describe(error: &dyn Debug) -> String {
    let text = format!("{error:?}");
    match text.trim_matches('"') {
        "()" => "the implementation returned an error".into(),
        text => text.into(),
    }
}

/// A panicking implementation fails on its input; the worker lives on.
pub fn caught<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
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
