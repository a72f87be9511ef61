//! Files and pipes: bounded and streamed reading, writing in one step.

#[cfg(unix)]
use std::fs::Permissions;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use mldsa_lanes::{Mu, MuHasher};
use zeroize::Zeroizing;

use crate::descriptors;
use crate::failure::{Failure, shown, shown_as};
use crate::streams::{self, Standard};

/// Keys and signatures in any encoding are smaller.
const SMALL: usize = mldsa_lanes::pem::MAX_BYTES;
/// Messages are read in pieces of this many bytes.
const PIECE: usize = 256 * 1024;

fn open(path: &Path) -> Result<File, Failure> {
    let file = match streams::descriptor(path, Standard::Input) {
        Some(number) => {
            if number == Standard::Input.descriptor() {
                Standard::Input.require_open()?;
            }
            descriptors::duplicate(number)
        }
        None => File::open(path),
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

/// The folder of a file.
pub fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Warn if other users can read or change a file with a private key or a password.
pub fn warn_if_shared(path: &Path, standard: Standard, content: &str) {
    let metadata = streams::metadata(path, standard).ok();
    if let Some(mode) = metadata.as_ref().and_then(shared_mode) {
        Failure::new(
            shown_as(path, standard),
            format_args!("mode {mode:04o} gives other users access to a {content}"),
            "run `chmod 600` on the file",
        )
        .warn();
    }
}

/// The mode of a file that its group or others can use.
#[cfg(unix)]
fn shared_mode(metadata: &Metadata) -> Option<u32> {
    let mode = metadata.permissions().mode() & 0o777;
    (metadata.is_file() && mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn shared_mode(_: &Metadata) -> Option<u32> {
    None
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
        Permissions::from_mode(match self {
            Access::Owner => 0o600,
            Access::Umask => 0o666,
        })
    }
}

/// Where output goes.
pub enum Target {
    StandardOutput,
    /// A device, a named pipe or another open stream, by its descriptor.
    InPlace {
        path: PathBuf,
        descriptor: Option<u32>,
    },
    /// A regular file: a temporary file beside it takes its name.
    File {
        path: PathBuf,
        replace: bool,
    },
}

impl Target {
    /// Look at `path` before any work is done. Without `force`, an existing file is an error.
    pub fn plan(path: &Path, force: bool) -> Result<Self, Failure> {
        let in_place = |descriptor| {
            let path = path.into();
            Ok(Target::InPlace { path, descriptor })
        };
        match streams::descriptor(path, Standard::Output) {
            Some(1) => {
                Standard::Output.require_open()?;
                return Ok(Target::StandardOutput);
            }
            Some(number) => return in_place(Some(number)),
            None => {}
        }
        let file = |path, replace| Ok(Target::File { path, replace });
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(Failure::new(
                shown(path),
                "is a folder",
                "name a file for the output",
            )),
            Ok(metadata) if !metadata.is_file() => in_place(None),
            Ok(_) if !force => Err(already_there(path)),
            // A link keeps pointing to its file, which is replaced.
            Ok(_) => file(
                fs::canonicalize(path).map_err(|error| unwritable(path, &error))?,
                true,
            ),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // A link to nothing is a file that exists.
                if !force && fs::symlink_metadata(path).is_ok() {
                    return Err(already_there(path));
                }
                fs::metadata(folder(path)).map_err(|error| unwritable(path, &error))?;
                file(path.into(), force)
            }
            Err(error) => Err(unwritable(path, &error)),
        }
    }

    /// Whether the output would reach a person's screen.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Target::StandardOutput) && io::stdout().is_terminal()
    }

    /// Write all of `bytes`, or leave no file.
    pub fn write(&self, bytes: &[u8], access: Access) -> Result<(), Failure> {
        let path = match self {
            Target::StandardOutput => {
                print(bytes)?;
                Path::new("-")
            }
            Target::InPlace { path, descriptor } => {
                let file = match descriptor {
                    Some(number) => descriptors::duplicate(*number),
                    None => OpenOptions::new().write(true).open(path),
                };
                file.and_then(|mut file| file.write_all(bytes))
                    .map_err(|error| unwritable(path, &error))?;
                path
            }
            Target::File { path, replace } => return create(path, bytes, access, *replace),
        };
        if matches!(access, Access::Owner) {
            warn_if_shared(path, Standard::Output, "private key");
        }
        Ok(())
    }
}

fn create(path: &Path, bytes: &[u8], access: Access, replace: bool) -> Result<(), Failure> {
    let folder = folder(path);
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
        if replace {
            file.persist(path)?;
        } else {
            file.persist_noclobber(path)?;
        }
        // Without this the name can be lost with the power.
        #[cfg(unix)]
        if matches!(access, Access::Owner) {
            sync_folder(folder)?;
        }
        Ok(())
    });
    match written {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(already_there(path)),
        Err(error) => Err(unwritable(path, &error)),
    }
}

/// Write the names of a folder to the disk, where its permissions and its file system allow it.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error)
            if !matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
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
    Standard::Output.require_open()?;
    let written = Standard::Output
        .file()
        .and_then(|mut out| out.write_all(bytes.as_ref()));
    written.map_err(|error| {
        Failure::new(
            "standard output",
            format_args!("cannot be written: {error}"),
            "check the program that reads it",
        )
    })
}
