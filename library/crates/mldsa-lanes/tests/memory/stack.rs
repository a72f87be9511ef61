//! Peak stack of every operation: below the limits here, and as library/evidence/stack.md says.

use std::hint::black_box;
use std::ops::Range;

use crate::every_operation;
use crate::own_stack::{OwnStack, Work};
use crate::residue::ONE;
use mldsa_oracle::PARAMETER_SETS;

const DOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../evidence/stack.md");
/// Rewrites the table of library/evidence/stack.md for the build that runs (`make figures PART=stack`).
const WRITE: &str = "MLDSA_WRITE_STACK";

/// KiB that no operation passes, by what its name contains: the first that fits. Optimised builds,
/// unoptimised ones.
const LIMITS: [(&str, [usize; 2]); 3] = [
    ("workspace", [44, 768]),
    ("hardened", [164, 768]),
    ("", [128, 768]),
];

/// KiB for each set.
type Cell = [usize; PARAMETER_SETS.len()];

/// Row after row: an operation, and its cells on the backends.
#[derive(Debug, Default)]
struct Table {
    backends: Vec<String>,
    rows: Vec<(String, Vec<Option<Cell>>)>,
}

impl Table {
    /// The place for an operation on a backend.
    fn cell(&mut self, name: &str, backend: &str) -> &mut Option<Cell> {
        let column = position(&mut self.backends, |b| b == backend, || backend.into());
        let row = position(&mut self.rows, |(n, _)| n == name, || (name.into(), vec![]));
        let cells = &mut self.rows[row].1;
        cells.resize(cells.len().max(column + 1), None);
        &mut cells[column]
    }

    /// From Markdown: the first table in `text`.
    fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| line.starts_with('|'));
        let mut lines = lines.map(|line| line.trim_matches('|').split('|').map(str::trim));
        let mut table = Table::default();
        let header = lines.next().into_iter().flatten();
        table.backends = header.skip(1).map(String::from).collect();
        for mut line in lines.skip(1) {
            let name = line.next().unwrap_or_default().into();
            let cells = line.map(|cell| {
                let numbers: Result<Vec<usize>, _> = cell.split(", ").map(str::parse).collect();
                numbers.ok().and_then(|numbers| numbers.try_into().ok())
            });
            table.rows.push((name, cells.collect()));
        }
        table
    }

    fn markdown(&self) -> String {
        let mut out = format!("| operation | {} |\n", self.backends.join(" | "));
        out += &format!("|---|{}\n", "---|".repeat(self.backends.len()));
        for (name, cells) in &self.rows {
            let cells = (0..self.backends.len()).map(|i| match cells.get(i) {
                Some(Some(cell)) => cell.map(|kib| kib.to_string()).join(", "),
                _ => "–".into(),
            });
            out += &format!("| {name} | {} |\n", cells.collect::<Vec<_>>().join(" | "));
        }
        out
    }
}

/// Where the item is that fits, after adding it if there is none.
fn position<T>(list: &mut Vec<T>, fits: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> usize {
    list.iter().position(fits).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    })
}

/// Peak stack in bytes.
fn depth(stack: &mut OwnStack, work: &Work<'_>) -> usize {
    let mut depth = 0;
    stack.run(work, |used| depth = depth.max(used.depth()));
    depth
}

/// Whether this build is optimised: then an array that nobody reads takes no stack.
fn optimised(stack: &mut OwnStack) -> bool {
    let taken = depth(stack, &|_| {
        let _unread = [black_box(7u8); 1 << 16];
    });
    taken < 1 << 16
}

fn measured(stack: &mut OwnStack) -> Table {
    let mut table = Table::default();
    every_operation(|p, _, backend, (name, work)| {
        let set = PARAMETER_SETS.iter().position(|of| *of == p).unwrap();
        let cell = table.cell(name, backend.name()).get_or_insert_default();
        cell[set] = depth(stack, work).div_ceil(1024);
    });
    table
}

/// Whether a measurement is what the document says; frames differ a little between compilers and
/// profiles, and those that are aligned to a page by where the stack begins.
fn agree(measured: usize, stated: usize) -> bool {
    measured.abs_diff(stated) <= 4 + stated / 10
}

/// What is above its limit.
fn above_limits(measured: &Table, build: usize) -> Vec<String> {
    let mut above = Vec::new();
    for (name, cells) in &measured.rows {
        let (_, limits) = LIMITS.iter().find(|(part, _)| name.contains(part)).unwrap();
        for (backend, cell) in measured.backends.iter().zip(cells) {
            if cell.is_some_and(|cell| cell.iter().any(|kib| *kib > limits[build])) {
                let limit = limits[build];
                above.push(format!("{name} on {backend}: {cell:?} KiB, limit {limit}"));
            }
        }
    }
    above
}

/// Where the document is not what was measured.
fn differences(measured: &Table, stated: &mut Table) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, _) in &stated.rows {
        if !measured.rows.iter().any(|(known, _)| known == name) {
            wrong.push(format!("{name} is no operation"));
        }
    }
    for (name, cells) in &measured.rows {
        if !stated.rows.iter().any(|(known, _)| known == name) {
            wrong.push(format!("{name} is not in the table"));
        }
        for (backend, cell) in measured.backends.iter().zip(cells) {
            // A backend that the table's machine lacked has no cell.
            let (Some(cell), Some(stated)) = (cell, *stated.cell(name, backend)) else {
                continue;
            };
            if cell
                .iter()
                .zip(stated)
                .any(|(kib, stated)| !agree(*kib, stated))
            {
                wrong.push(format!("{name} on {backend}: {cell:?} KiB, not {stated:?}"));
            }
        }
    }
    wrong
}

/// The version of the compiler.
fn compiler() -> String {
    let told = std::process::Command::new("rustc")
        .arg("--version")
        .output();
    let told = String::from_utf8(told.expect("rustc tells its version").stdout).unwrap();
    told.split(' ').nth(1).expect("a version").into()
}

/// Where a section of the page names the compiler.
fn stated_compiler(section: &str) -> Range<usize> {
    let start = section.find("by rustc ").expect("a compiler is named") + "by rustc ".len();
    let version = section[start..].find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let end = start + version.expect("the page goes on");
    start..end - usize::from(section[..end].ends_with('.'))
}

#[test]
fn stack_is_as_stated() {
    let _one = ONE.lock();
    let mut stack = OwnStack::new();
    let optimised = optimised(&mut stack);
    let measured = measured(&mut stack);
    let above = above_limits(&measured, usize::from(!optimised));
    assert!(above.is_empty(), "{}", above.join("\n"));

    let heading = match (optimised, cfg!(debug_assertions)) {
        (true, false) => "## Release builds\n",
        (false, true) => "## Unoptimised builds\n",
        // Nobody's build but the tests' own: the limits are all.
        _ => return,
    };
    let doc = std::fs::read_to_string(DOC).expect("evidence/stack.md");
    let start = doc
        .find(heading)
        .expect("evidence/stack.md has a section for each build");
    let end = doc[start + 1..]
        .find("\n## ")
        .map_or(doc.len(), |at| start + at + 2);
    let mut stated = Table::parse(&doc[start..end]);
    let named = stated_compiler(&doc[start..end]);
    if std::env::var_os(WRITE).is_none() {
        if doc[start..end][named.clone()] != compiler() {
            println!("evidence/stack.md is of another compiler: the limits alone are checked");
            return;
        }
        let wrong = differences(&measured, &mut stated);
        let wrong = wrong.join("\n");
        assert!(
            wrong.is_empty(),
            "evidence/stack.md: `make figures PART=stack` rewrites it\n{wrong}"
        );
        return;
    }
    let mut table = Table::default();
    for (name, cells) in &measured.rows {
        // What this CPU lacks stays as it was.
        for backend in stated.backends.clone() {
            *table.cell(name, &backend) = *stated.cell(name, &backend);
        }
        for (backend, cell) in measured.backends.iter().zip(cells) {
            let place = table.cell(name, backend);
            *place = cell.or(*place);
        }
    }
    let mut section = doc[start..end].to_owned();
    section.replace_range(named, &compiler());
    let lines: Vec<&str> = section.lines().collect();
    let text = lines.iter().filter(|line| !line.starts_with('|'));
    let text: String = text.map(|line| format!("{line}\n")).collect();
    let section = format!("{}\n\n{}", text.trim_end(), table.markdown());
    let gap = if end < doc.len() { "\n" } else { "" };
    let doc = [&doc[..start], &section, gap, &doc[end..]].concat();
    std::fs::write(DOC, doc).expect("evidence/stack.md can be written");
}

/// The measurement sees what a function of known frame takes.
#[test]
fn a_known_frame_is_measured() {
    #[inline(never)]
    fn takes_100_kib() {
        black_box(&mut [1u8; 100 << 10]);
    }
    let _one = ONE.lock();
    let taken = depth(&mut OwnStack::new(), &|_| takes_100_kib());
    assert!((100..104).contains(&(taken >> 10)), "{taken}");
}
