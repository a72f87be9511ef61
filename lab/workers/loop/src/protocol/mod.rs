//! The protocol's text: requests are parsed and values formatted here. No clocks, no cryptography.

mod fields;
mod reader;
mod request;
mod text;

pub use fields::{Field, Fields, of_length};
pub use reader::{Fault, MAX_LINE_BYTES, Reader};
pub use request::{Block, Chain, Form, Input, Operation, Prepare, Request, Runs, Stage};
pub use text::{format_hex, one_line, parse_hex};

/// The protocol version of `hello`.
pub const VERSION: u64 = 1;
