//! Mistakes of the protocol: all of them in answering `measure`.

use std::io::{self, BufRead, Write};
use std::process;
use std::thread;

use mldsa_worker_rust::protocol::{Reader, Request};
use mldsa_worker_rust::session::{self, Session};

/// What goes wrong when a job is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    Hang,
    Crash,
    Garbage,
    Short,
}

impl Fault {
    /// The fault of a mode; a mode whose mistake is one of the cryptography has none.
    pub fn of(mode: &str) -> Self {
        match mode {
            "hang" => Self::Hang,
            "crash" => Self::Crash,
            "garbage" => Self::Garbage,
            "short" => Self::Short,
            _ => Self::None,
        }
    }
}

/// As [`session::serve`], with the fault in place of a right answer to `measure`.
///
/// # Errors
/// Only those of reading and writing.
pub fn serve(
    fault: Fault,
    session: &mut Session,
    requests: &mut Reader<impl BufRead>,
    replies: &mut impl Write,
) -> io::Result<()> {
    if fault == Fault::None {
        return session::serve(session, requests, replies);
    }
    while let Some(request) = requests.next_request()? {
        match request {
            Ok(Request::Quit) => break,
            Ok(request @ Request::Measure { .. }) => {
                let mut right = Vec::new();
                session.handle(request, requests.line(), &mut right)?;
                spoil(fault, &right, replies)?;
            }
            Ok(request) => session.handle(request, requests.line(), replies)?,
            Err(fault) => writeln!(replies, "error {fault}")?,
        }
        replies.flush()?;
    }
    Ok(())
}

/// Writes what the fault makes of the right reply.
fn spoil(fault: Fault, right: &[u8], replies: &mut impl Write) -> io::Result<()> {
    match fault {
        Fault::None => replies.write_all(right),
        Fault::Hang => loop {
            thread::park();
        },
        Fault::Crash => {
            replies.write_all(&right[..right.len() / 2])?;
            replies.flush()?;
            process::exit(70);
        }
        Fault::Garbage => {
            replies.write_all(b"sample of nothing in particular\n\xff\xfe not a line of text\n")
        }
        Fault::Short => {
            let lines: Vec<_> = right.split_inclusive(|byte| *byte == b'\n').collect();
            let first = lines.iter().position(|line| line.starts_with(b"sample "));
            for (place, line) in lines.into_iter().enumerate() {
                if Some(place) != first {
                    replies.write_all(line)?;
                }
            }
            Ok(())
        }
    }
}
