//! Standard streams, and paths that name an open one: `-`, `/dev/stdin`, `/dev/fd/3`.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use crate::descriptors;
use crate::failure::{Failure, is_standard_stream};
#[cfg(unix)]
use crate::files::folder;

/// A stream that `-` stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Standard {
    Input,
    Output,
}

impl Standard {
    pub const fn descriptor(self) -> u32 {
        match self {
            Standard::Input => 0,
            Standard::Output => 1,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Standard::Input => "standard input",
            Standard::Output => "standard output",
        }
    }

    /// The stream without the buffer of `std::io`, which nobody wipes.
    pub fn file(self) -> io::Result<File> {
        descriptors::duplicate(self.descriptor())
    }

    /// Refuse a stream that was closed when the process began.
    pub fn require_open(self) -> Result<(), Failure> {
        if descriptors::was_closed(self.descriptor()) {
            let remedy = "connect it to a file or a pipe";
            return Err(Failure::new(self.name(), "is closed", remedy));
        }
        Ok(())
    }
}

/// The descriptor of this process that `path` names. `standard` is the stream that `-` stands for.
pub fn descriptor(path: &Path, standard: Standard) -> Option<u32> {
    if is_standard_stream(path) {
        return Some(standard.descriptor());
    }
    #[cfg(unix)]
    return descriptor_of_link(path);
    #[cfg(not(unix))]
    return None;
}

/// Whether `path` names an open stream, which has no folder and no file name.
pub fn is_stream(path: &Path) -> bool {
    descriptor(path, Standard::Input).is_some()
}

/// Follow links until one is in a folder of descriptors. Going further leads to the file behind the
/// descriptor, and loses its position and its mode of writing.
#[cfg(unix)]
fn descriptor_of_link(path: &Path) -> Option<u32> {
    /// Linux follows as many.
    const LINKS: usize = 40;
    let folders = ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"];
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        let kind = fs::symlink_metadata(&path).ok()?.file_type();
        if kind.is_file() || kind.is_dir() {
            return None;
        }
        let folder = fs::canonicalize(folder(&path)).ok()?;
        let is_folder = |known| fs::canonicalize(known).is_ok_and(|known| known == folder);
        if folders.into_iter().any(is_folder) {
            return path.file_name()?.to_str()?.parse().ok();
        }
        path = folder.join(fs::read_link(&path).ok()?);
    }
    None
}

/// Metadata of the file or stream that `path` names.
pub fn metadata(path: &Path, standard: Standard) -> io::Result<Metadata> {
    match descriptor(path, standard) {
        Some(number) => descriptors::duplicate(number)?.metadata(),
        None => fs::metadata(path),
    }
}
