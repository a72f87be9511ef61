//! The library's machine code in this process, found by the program's own symbol table.

use addr2line::Loader;
use iced_x86::{Code as Opcode, Decoder, DecoderOptions, FlowControl, Instruction};
use iced_x86::{InstructionInfoFactory, OpAccess, UsedMemory};

/// Where an instruction belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A function of the library.
    Library,
    /// A line of the library that the compiler inlined into its caller.
    Inlined,
    /// A line of the caller itself, which the library does not control.
    Caller,
}

impl Place {
    pub const ALL: [Place; 3] = [Place::Library, Place::Inlined, Place::Caller];

    /// The places of this text, names with commas between them.
    pub fn named(text: &str) -> Option<Vec<Place>> {
        let named = text.split(',');
        named
            .map(|name| Self::ALL.into_iter().find(|place| place.name() == name))
            .collect()
    }

    pub fn names(places: &[Place]) -> String {
        let names: Vec<&str> = places.iter().map(|place| place.name()).collect();
        names.join(",")
    }

    pub fn name(self) -> &'static str {
        match self {
            Place::Library => "library",
            Place::Inlined => "inlined",
            Place::Caller => "caller",
        }
    }
}

/// A function of the library, or one that calls it.
pub struct Function {
    /// What it is called, shortened.
    pub name: String,
    pub start: usize,
    pub end: usize,
}

/// An instruction of such a function.
pub struct Site {
    pub address: usize,
    /// Its first byte, which a breakpoint replaces.
    pub byte: u8,
    pub function: usize,
    pub is_entry: bool,
    pub place: Place,
    pub instruction: Instruction,
}

pub struct Code {
    pub functions: Vec<Function>,
    pub sites: Vec<Site>,
    first: usize,
    /// For each address from the first on: the number of the site that is there, plus one.
    index: Vec<u32>,
    /// Of all these bytes: whether a record is of the same code.
    pub digest: u64,
}

impl Code {
    /// All functions of the library in the running program, and those of [`callers`](crate::callers).
    ///
    /// # Panics
    /// If the program has no symbols or no line numbers.
    pub fn of_this_program() -> Self {
        let file = std::fs::read("/proc/self/exe").expect("the program can be read");
        let lines = Loader::new("/proc/self/exe").expect("the program has line numbers");
        let bias = load_address();
        let is_library = |name: &str| name.contains("mldsa_lanes") && !name.contains("mldsa_fault");
        let is_caller = |name: &str| name.contains("mldsa_fault7callers");
        let mut callers = Vec::new();
        let mut functions: Vec<Function> = symbols(&file)
            .filter(|(name, _, _)| is_library(name) || is_caller(name))
            .inspect(|(name, start, _)| callers.extend(is_caller(name).then_some(bias + start)))
            .map(|(name, start, size)| Function {
                name: short(&name),
                start: bias + start,
                end: bias + start + size,
            })
            .collect();
        functions.sort_by_key(|f| (f.start, f.end));
        functions.dedup_by_key(|f| f.start);
        assert!(!functions.is_empty(), "the program has no symbols");
        let first = functions[0].start;
        let end = functions.iter().map(|f| f.end).max().unwrap_or(first);
        let mut code = Code {
            index: vec![0; end - first],
            sites: Vec::new(),
            functions,
            first,
            digest: 0xcbf2_9ce4_8422_2325,
        };
        for (number, function) in code.functions.iter().enumerate() {
            // SAFETY: the symbol table's functions are mapped, and nothing writes to them yet.
            let bytes = unsafe {
                std::slice::from_raw_parts(
                    function.start as *const u8,
                    function.end - function.start,
                )
            };
            for byte in bytes {
                code.digest = (code.digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
            }
            let ip = function.start as u64;
            for instruction in Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE).iter() {
                let address = instruction.ip() as usize;
                if instruction.code() == Opcode::INVALID || code.index[address - first] != 0 {
                    break;
                }
                let place = match callers.contains(&function.start) {
                    false => Place::Library,
                    true => place_in_caller(&lines, (address - bias) as u64),
                };
                code.index[address - first] = code.sites.len() as u32 + 1;
                code.sites.push(Site {
                    address,
                    byte: bytes[address - function.start],
                    function: number,
                    is_entry: address == function.start,
                    place,
                    instruction,
                });
            }
        }
        code
    }

    /// The number of the site at an address.
    pub fn at(&self, address: usize) -> Option<usize> {
        let place = address.checked_sub(self.first)?;
        (*self.index.get(place)? as usize).checked_sub(1)
    }
}

impl Site {
    pub fn length(&self) -> usize {
        self.instruction.len()
    }

    pub fn is_call(&self) -> bool {
        let flow = self.instruction.flow_control();
        matches!(flow, FlowControl::Call | FlowControl::IndirectCall)
    }

    pub fn is_branch(&self) -> bool {
        self.instruction.is_jcc_short_or_near()
    }

    /// Reads memory through an operand; a return's own read of the stack does not count.
    pub fn reads_memory(&self) -> bool {
        self.instruction.flow_control() == FlowControl::Next && !self.memory(false).is_empty()
    }

    /// What of memory it writes, or reads.
    pub fn memory(&self, written: bool) -> Vec<UsedMemory> {
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(&self.instruction);
        let wanted = |access| is_write(access) == written || access == OpAccess::ReadWrite;
        let all = info.used_memory().iter().copied();
        all.filter(|m| wanted(m.access()) && m.memory_size().size() > 0)
            .collect()
    }
}

/// Whether an access writes.
pub fn is_write(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// Whether an instruction of a caller comes from the library's text.
fn place_in_caller(lines: &Loader, address: u64) -> Place {
    let mut frames = lines.find_frames(address).expect("readable line numbers");
    while let Ok(Some(frame)) = frames.next() {
        let file = frame.location.and_then(|location| location.file);
        if file.is_some_and(|file| file.contains("mldsa-lanes/src/")) {
            return Place::Inlined;
        }
    }
    Place::Caller
}

/// Where the program's file begins in memory.
fn load_address() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux tells what is mapped");
    let program = std::env::current_exe().expect("the program has a path");
    let line = maps
        .lines()
        .find(|line| line.ends_with(&program.display().to_string()));
    let line = line.expect("the program is mapped");
    let start = line.split('-').next().unwrap_or_default();
    usize::from_str_radix(start, 16).expect("an address")
}

/// Name, address and size of each function in the symbol table of an ELF file of 64 bits.
fn symbols(file: &[u8]) -> impl Iterator<Item = (String, usize, usize)> + '_ {
    let number = |at: usize, bytes: usize| {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(&file[at..][..bytes]);
        u64::from_le_bytes(value) as usize
    };
    let (table, entry, count) = (number(40, 8), number(58, 2), number(60, 2));
    let section = move |i: usize| table + i * entry;
    let symtab = (0..count).find(|i| number(section(*i) + 4, 4) == 2);
    let symtab = section(symtab.expect("the program has a symbol table"));
    let names = number(section(number(symtab + 40, 4)) + 24, 8);
    let (first, size) = (number(symtab + 24, 8), number(symtab + 32, 8));
    (first..first + size).step_by(24).filter_map(move |symbol| {
        let (value, size) = (number(symbol + 8, 8), number(symbol + 16, 8));
        let is_function = file[symbol + 4] & 15 == 2;
        let name = file[names + number(symbol, 4)..]
            .split(|b| *b == 0)
            .next()?;
        let name = String::from_utf8_lossy(name).into_owned();
        (is_function && size > 0).then_some((name, value, size))
    })
}

/// The last two identifiers of a mangled name, without its hash.
fn short(mangled: &str) -> String {
    let mut rest = mangled;
    let mut parts = Vec::new();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[at..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length: usize = rest[..digits].parse().unwrap_or(0);
        rest = &rest[digits..];
        if length == 0 || !rest.is_char_boundary(length.min(rest.len())) || length > rest.len() {
            continue;
        }
        let (part, after) = rest.split_at(length);
        rest = after;
        let is_hash = length == 17 && part.starts_with('h');
        if !is_hash {
            // `_$LT$A$u20$as$u20$path..B$GT$` is B's.
            let part = part.trim_end_matches("$GT$").rsplit("..").next();
            parts.extend(part.map(|p| p.split('$').next().unwrap_or(p).to_owned()));
        }
    }
    let from = parts.len().saturating_sub(2);
    parts[from..].join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shortened() {
        for (mangled, name) in [
            (
                "_ZN11mldsa_lanes6scheme4sign7accepts17h52b02875bb6db033E",
                "sign::accepts",
            ),
            (
                "_ZN89_$LT$mldsa_lanes..backend..portable..Portable$u20$as$u20$mldsa_lanes..backend..Engine$GT$6unpack17h5e5209a3bacac2eeE.llvm.1",
                "Engine::unpack",
            ),
        ] {
            assert_eq!(short(mangled), name);
        }
    }
}
