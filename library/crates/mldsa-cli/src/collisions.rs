//! Inputs and outputs that are the same file or stream under two names.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
#[cfg(unix)]
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use crate::failure::{Failure, shown, shown_as};
use crate::files::folder;
use crate::streams::{Standard, descriptor, metadata};

/// Device and inode of a file or stream.
#[cfg(unix)]
type Node = (u64, u64);
/// The path without links.
#[cfg(not(unix))]
type Node = std::path::PathBuf;

#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Node(Node),
    /// A file that does not exist yet: its folder and name.
    Name(Node, OsString),
    Descriptor(u32),
}

#[cfg(unix)]
fn node(_: &Path, metadata: &Metadata) -> Option<Node> {
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn node(path: &Path, _: &Metadata) -> Option<Node> {
    fs::canonicalize(path).ok()
}

#[cfg(unix)]
fn is_disk(metadata: &Metadata) -> bool {
    metadata.file_type().is_block_device()
}

#[cfg(unix)]
fn is_pipe(metadata: &Metadata) -> bool {
    metadata.file_type().is_fifo() || metadata.file_type().is_socket()
}

#[cfg(not(unix))]
fn is_disk(_: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

/// A stream that gives each byte once.
fn read_once(path: &Path, metadata: &Metadata) -> Option<Identity> {
    if is_pipe(metadata) {
        return node(path, metadata).map(Identity::Node);
    }
    descriptor(path, Standard::Input).map(Identity::Descriptor)
}

fn output(path: &Path) -> Option<Identity> {
    if let Ok(metadata) = metadata(path, Standard::Output) {
        return node(path, &metadata).map(Identity::Node);
    }
    let folder = folder(path);
    let node = node(folder, &fs::metadata(folder).ok()?)?;
    Some(Identity::Name(node, path.file_name()?.into()))
}

/// Refuse a stream that would be read twice, an output that is an input, and two outputs in one file.
/// Names of missing files are compared too. `-` is standard input or output.
pub fn refuse<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    outputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Failure> {
    let mut streams = HashMap::new();
    let mut kept = HashMap::new();
    for path in inputs {
        let Ok(metadata) = metadata(path, Standard::Input) else {
            continue;
        };
        if let Some(stream) = read_once(path, &metadata)
            && streams.insert(stream, path).is_some()
        {
            return Err(Failure::new(
                shown(path),
                "is an input twice",
                "name it once and use files for the others",
            ));
        }
        if let Some(node) = node(path, &metadata)
            && (metadata.is_file() || is_disk(&metadata))
        {
            kept.insert(Identity::Node(node), path);
        }
    }
    let mut written: HashMap<Identity, &Path> = HashMap::new();
    for path in outputs {
        let Some(identity) = output(path) else {
            continue;
        };
        if let Some(input) = kept.get(&identity) {
            return Err(Failure::new(
                shown_as(path, Standard::Output),
                format_args!("the same file as the input {}", shown(input)),
                "choose another output",
            ));
        }
        if let Some(first) = written.insert(identity, path) {
            return Err(Failure::new(
                shown_as(path, Standard::Output),
                format_args!("the same output as {}", shown_as(first, Standard::Output)),
                "name each FILE once, and sign each stream in a command of its own",
            ));
        }
    }
    Ok(())
}
