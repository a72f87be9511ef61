//! Files and pipes: bounded and streamed reading, writing in one step.

#[cfg(unix)]
use std::fs::Permissions;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
#[cfg(unix)]
use std::os::fd::AsFd;
#[cfg(windows)]
use std::os::windows::io::AsHandle;
use std::path::{Path, PathBuf};

use mldsa_lanes::{Mu, MuHasher};
use zeroize::Zeroizing;

use crate::failure::{Failure, is_standard_stream, shown};

/// Keys and signatures in any encoding are smaller.
const SMALL: usize = mldsa_lanes::pem::MAX_BYTES;
/// Messages are read in pieces of this many bytes.
const PIECE: usize = 256 * 1024;

/// Standard input without the buffer of `std::io::stdin`, which nobody wipes.
fn stdin() -> io::Result<File> {
    #[cfg(unix)]
    return Ok(io::stdin().as_fd().try_clone_to_owned()?.into());
    #[cfg(windows)]
    return Ok(io::stdin().as_handle().try_clone_to_owned()?.into());
}

/// Standard output, likewise without a buffer.
fn stdout() -> io::Result<File> {
    #[cfg(unix)]
    return Ok(io::stdout().as_fd().try_clone_to_owned()?.into());
    #[cfg(windows)]
    return Ok(io::stdout().as_handle().try_clone_to_owned()?.into());
}

fn open(path: &Path) -> Result<File, Failure> {
    let file = if is_standard_stream(path) {
        stdin()
    } else {
        File::open(path)
    };
    file.map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        shown(path),
        format_args!("cannot be read: {error}"),
        "check the path and its permissions",
    )
}

/// Read until `buffer` is full or the file ends. Return the number of bytes.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Read a key or a signature. `None` if the file is longer than 64 KiB.
pub fn read_small(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
    // Of full length at once: a vector that grows leaves copies behind.
    let mut bytes = Zeroizing::new(vec![0; SMALL + 1]);
    let count = fill(&mut open(path)?, &mut bytes).map_err(|error| unreadable(path, &error))?;
    bytes.truncate(count);
    Ok((count <= SMALL).then_some(bytes))
}

/// Hash a message of any length, piece by piece.
pub fn hash(path: &Path, mut hasher: MuHasher) -> Result<Mu, Failure> {
    let mut file = open(path)?;
    let mut piece = Zeroizing::new(vec![0; PIECE]);
    loop {
        let count = fill(&mut file, &mut piece).map_err(|error| unreadable(path, &error))?;
        if count == 0 {
            return Ok(hasher.finish());
        }
        hasher.update(&piece[..count]);
    }
}

/// Refuse to read standard input twice.
pub fn refuse_shared_stdin<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<(), Failure> {
    if paths.filter(|path| is_standard_stream(path)).count() > 1 {
        return Err(Failure::new(
            "standard input",
            "`-` is given more than once",
            "name files for all but one",
        ));
    }
    Ok(())
}

/// Who may read a new file.
#[derive(Clone, Copy)]
pub enum Access {
    /// The owner: mode 0600.
    Owner,
    /// Whoever the umask allows.
    Umask,
}

impl Access {
    #[cfg(unix)]
    fn permissions(self) -> Permissions {
        use std::os::unix::fs::PermissionsExt;
        Permissions::from_mode(match self {
            Access::Owner => 0o600,
            Access::Umask => 0o666,
        })
    }
}

/// Where output goes.
pub enum Target {
    StandardOutput,
    /// A device or a named pipe: written in place.
    Special(PathBuf),
    /// A regular file: a temporary file beside it takes its name.
    File {
        path: PathBuf,
        replace: bool,
    },
}

impl Target {
    /// Look at `path` before any work is done. Without `force`, an existing file is an error.
    pub fn plan(path: &Path, force: bool) -> Result<Self, Failure> {
        if is_standard_stream(path) {
            return Ok(Target::StandardOutput);
        }
        let file = |path, replace| Ok(Target::File { path, replace });
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(Failure::new(
                shown(path),
                "is a folder",
                "name a file for the output",
            )),
            Ok(found) if !found.is_file() => Ok(Target::Special(path.into())),
            Ok(_) if !force => Err(already_there(path)),
            // A link keeps pointing to its file, which is replaced.
            Ok(_) => file(
                fs::canonicalize(path).map_err(|error| unwritable(path, &error))?,
                true,
            ),
            Err(error) if error.kind() == ErrorKind::NotFound => file(path.into(), force),
            Err(error) => Err(unwritable(path, &error)),
        }
    }

    /// Whether the output would reach a person's screen.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Target::StandardOutput) && io::stdout().is_terminal()
    }

    /// Write all of `bytes`, or leave no file.
    pub fn write(&self, bytes: &[u8], access: Access) -> Result<(), Failure> {
        match self {
            Target::StandardOutput => print(bytes),
            Target::Special(path) => OpenOptions::new()
                .write(true)
                .open(path)
                .and_then(|mut file| file.write_all(bytes))
                .map_err(|error| unwritable(path, &error)),
            Target::File { path, replace } => create(path, bytes, access, *replace),
        }
    }
}

fn create(path: &Path, bytes: &[u8], access: Access, replace: bool) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mldsa-");
    #[cfg(unix)]
    builder.permissions(access.permissions());
    #[cfg(not(unix))]
    let _ = access;
    let written = builder.tempfile_in(folder).and_then(|mut file| {
        file.write_all(bytes)?;
        if matches!(access, Access::Owner) {
            file.as_file().sync_all()?;
        }
        Ok(if replace {
            file.persist(path)
        } else {
            file.persist_noclobber(path)
        }?)
    });
    match written {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(already_there(path)),
        Err(error) => Err(unwritable(path, &error)),
    }
}

fn already_there(path: &Path) -> Failure {
    Failure::new(
        shown(path),
        "exists already",
        "choose another name, or add --force to replace it",
    )
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        shown(path),
        format_args!("cannot be written: {error}"),
        "check the folder, its permissions and the space left",
    )
}

/// Write to standard output.
pub fn print(bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    let written = stdout().and_then(|mut out| out.write_all(bytes.as_ref()));
    written.map_err(|error| {
        Failure::new(
            "standard output",
            format_args!("cannot be written: {error}"),
            "check the program that reads it",
        )
    })
}
