//! What library/evidence/fips204.md and constant-time.md say of the source is so: every name in them exists, every
//! step of Algorithms 6, 7 and 8 is named at the lines that do it, and every declassification stands where its table
//! says. The manifests of the two packages of the library agree.

use crate::source::{defines, items, read, root, sources, words};
use std::collections::{BTreeMap, BTreeSet};

const LIBRARY: &str = "crates/mldsa-lanes/src";
const ORACLE: &str = "crates/mldsa-oracle/src";
const READER: &str = "scripts/ct_code";

/// Names in the documents that are Rust's, the CPU's or another crate's.
const FOREIGN: [&str; 10] = [
    "div",
    "else",
    "end",
    "idiv",
    "neoverse-v1",
    "shake",
    "to_le_bytes",
    "u16",
    "u64",
    "x86-64-v4",
];

/// The file of a module that a path begins with, and the rest of the path.
fn module<'s, 'p>(
    files: &'s BTreeMap<String, String>,
    path: &'p str,
) -> Option<(&'s str, Vec<&'p str>)> {
    let segments: Vec<&str> = path.split("::").collect();
    (1..=segments.len()).rev().find_map(|length| {
        let folder = segments[..length].join("/");
        let names = [format!("{folder}.rs"), format!("{folder}/mod.rs")];
        let file = names.iter().find_map(|name| files.get_key_value(name));
        file.map(|(name, _)| (name.as_str(), segments[length..].to_vec()))
    })
}

/// The items that a path of the documents names: `module::name`, `module::Type::name`, and both
/// without a module, for names of which there is one.
fn named<'s>(files: &'s BTreeMap<String, String>, path: &str) -> Vec<&'s str> {
    let (texts, rest): (Vec<&str>, Vec<&str>) = match module(files, path) {
        Some((file, rest)) => (vec![&files[file]], rest),
        None => (
            files.values().map(String::as_str).collect(),
            path.split("::").collect(),
        ),
    };
    let within = |text: &'s str, name: &str| items(text, |line| defines(line, name));
    let found = texts.into_iter().flat_map(|text| match rest[..] {
        [] => vec![text],
        [name] => within(text, name),
        [of, name] => {
            let head = |line: &str| {
                let is_type = defines(line, of);
                is_type || (line.starts_with("impl") && words(line).any(|word| word == of))
            };
            let types = items(text, head).into_iter();
            types
                .flat_map(|item| {
                    let variant = |line: &str| words(line).next() == Some(name);
                    if defines(item.lines().next().unwrap(), of) && item.contains("enum ") {
                        items(item, variant)
                    } else {
                        within(item, name)
                    }
                })
                .collect()
        }
        _ => vec![],
    });
    found.collect()
}

/// What stands between backticks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The cells of a table's row, nothing for other lines.
fn cells(line: &str) -> Vec<&str> {
    let Some(row) = line.strip_prefix('|') else {
        return vec![];
    };
    let row = row.trim_end().trim_end_matches('|');
    row.split('|').map(str::trim).collect()
}

/// Why a span of a document is not so, if it is not.
fn fault(span: &str, library: &[&BTreeMap<String, String>]) -> Option<String> {
    let exists = |path: &str| {
        let folders = [
            "..",
            "",
            LIBRARY,
            ORACLE,
            "crates",
            "crates/mldsa-inside",
            READER,
        ]
        .iter();
        folders
            .map(|folder| root().join(folder).join(path))
            .any(|path| path.exists())
    };
    let is_name = span
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':');
    let ok = if FOREIGN.contains(&span) {
        true
    } else if let Some((_, command)) = span
        .split_once("make ")
        .filter(|(environment, _)| environment.is_empty() || environment.contains('='))
    {
        let makefile = read("Makefile");
        let mut words = command.split([' ', '=']);
        makefile.contains(&format!("\n{}:", words.next().unwrap()))
            && words
                .filter(|word| word.chars().all(|c| c.is_ascii_uppercase()))
                .all(|variable| makefile.contains(&format!("\n{variable} :=")))
    } else if let Some(path) = span.strip_prefix("library/out/") {
        read("Makefile").contains(&format!("out/{path}"))
    } else if let Some(option) = span
        .strip_prefix("--")
        .filter(|_| !span.starts_with("--cfg "))
    {
        let name = option.split(' ').next().unwrap();
        read(format!("{READER}/__main__.py")).contains(&format!("\"--{name}\""))
    } else if span.starts_with("MLDSA_") {
        read("scripts/ct.sh").contains(span)
    } else if is_name {
        let site = |files: &BTreeMap<String, String>| {
            let declared = files.get("declassify.rs");
            let name = span.strip_prefix("Site::").unwrap_or(span);
            declared.is_some_and(|text| text.contains(&format!("\n    {name},\n")))
        };
        library
            .iter()
            .any(|files| !named(files, span).is_empty() || site(files))
    } else if span.starts_with("apt-get ") || span == "!=" {
        true
    } else if let Some(cfg) = span.strip_prefix("--cfg ") {
        read("crates/mldsa-lanes/Cargo.toml").contains(&format!("cfg({cfg})"))
    } else {
        exists(span)
    };
    (!ok).then(|| format!("`{span}`"))
}

#[test]
fn every_name_exists() {
    let (library, oracle) = (sources(LIBRARY), sources(ORACLE));
    let mut faults = vec![];
    for document in ["evidence/fips204.md", "evidence/constant-time.md"] {
        let text = read(document);
        assert!(spans(&text).count() > 30, "{document} has few names");
        for (number, line) in text.lines().enumerate() {
            let mut check = |text: &str, files: &[&BTreeMap<String, String>]| {
                let found = spans(text).filter_map(|span| fault(span, files));
                faults.extend(found.map(|fault| format!("{document}:{}: {fault}", number + 1)));
            };
            // The map's columns: number, algorithm, library, oracle, remark.
            match (document, &cells(line)[..]) {
                ("evidence/fips204.md", [_, _, in_library, in_oracle, remark]) => {
                    check(in_library, &[&library]);
                    check(in_oracle, &[&oracle]);
                    check(remark, &[&library]);
                }
                ("evidence/constant-time.md", _) => check(line, &[&library]),
                _ => check(line, &[&library, &oracle]),
            }
        }
    }
    assert!(
        faults.is_empty(),
        "the source has no such thing:\n{}",
        faults.join("\n")
    );
}

/// Numbers written as `3`, `3 and 4`, `3, 4 and 5` or `3 to 5` at the beginning of a text.
fn numbers(text: &str) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut range = None;
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        let digits: &str = word.trim_end_matches(|c: char| !c.is_ascii_digit());
        match (word, digits.parse()) {
            (_, Ok(number)) => {
                found.extend(range.take().unwrap_or(number)..=number);
                if digits.len() < word.len() {
                    break;
                }
            }
            ("and", _) => {}
            ("to", _) => range = found.last().copied(),
            _ => break,
        }
    }
    found
}

/// The steps of an algorithm that a piece of source names.
fn steps_in(text: &str, algorithm: usize) -> BTreeSet<usize> {
    let mark = format!("Algorithm {algorithm}, step");
    let said = text.split(&mark).skip(1);
    said.flat_map(|rest| numbers(rest.strip_prefix('s').unwrap_or(rest).trim_start()))
        .collect()
}

/// For each algorithm its number of lines, and those that do nothing: comments, `else` and `end`.
const ALGORITHMS: [(usize, usize, &[usize]); 3] = [
    (6, 11, &[2, 7]),
    (7, 34, &[14, 22, 24, 27, 29, 30, 32]),
    (8, 13, &[4, 11]),
];

#[test]
fn every_step_is_named_where_it_is_done() {
    let library = sources(LIBRARY);
    let map = read("evidence/fips204.md");
    let mut faults = vec![];
    for (algorithm, lines, silent) in ALGORITHMS {
        let (_, section) = map
            .split_once(&format!("\n### Algorithm {algorithm},"))
            .unwrap_or_else(|| {
                panic!("evidence/fips204.md has no section on Algorithm {algorithm}")
            });
        let section = section.split("\n#").next().unwrap();
        // For each step the places that the map gives.
        let mut places: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for row in section.lines().map(cells).filter(|row| row.len() == 3) {
            for step in numbers(row[0]) {
                let known = places.insert(step, spans(row[2]).collect());
                assert!(known.is_none(), "step {algorithm}.{step} has two rows");
            }
        }
        let working = (1..=lines).filter(|step| !silent.contains(step));
        assert!(
            places.keys().copied().eq(working),
            "Algorithm {algorithm}: the map has the steps {:?}",
            places.keys()
        );
        for (step, paths) in &places {
            if paths.is_empty() {
                faults.push(format!("step {algorithm}.{step} has no place"));
            }
            for path in paths {
                let items = named(&library, path);
                if !items
                    .iter()
                    .any(|item| steps_in(item, algorithm).contains(step))
                {
                    faults.push(format!("`{path}` does not name step {algorithm}.{step}"));
                }
            }
        }
        // And back: what the code of the scheme names as a step is in the map, with that file.
        for (file, text) in &library {
            if !file.starts_with("scheme/") && !file.starts_with("batch/") {
                continue;
            }
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//!"));
            let code = code.filter(|line| !line.trim_start().starts_with("///"));
            for step in steps_in(&code.collect::<Vec<_>>().join("\n"), algorithm) {
                let here = |path: &&str| module(&library, path).is_some_and(|(at, _)| at == file);
                if !places.get(&step).is_some_and(|all| all.iter().any(here)) {
                    faults.push(format!(
                        "{file} names step {algorithm}.{step}, the map does not"
                    ));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The table of sites in library/evidence/constant-time.md: `file`, `functions` for each site, no more, no less.
#[test]
fn every_site_is_where_its_table_says() {
    let library = sources(LIBRARY);
    let text = read("evidence/constant-time.md");
    let rows = text.lines().map(cells).filter(|row| row.len() == 4);
    let mut before: Vec<&str> = vec![];
    let mut sites = 0;
    for row in rows {
        let Some(site) = spans(row[0]).next() else {
            continue;
        };
        sites += 1;
        if row[3] != "the same" {
            before = spans(row[3]).collect();
        }
        let mark = format!("Site::{site}");
        let uses = |text: &str| {
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            code.flat_map(|line| {
                line.match_indices(&mark)
                    .map(|(at, _)| &line[at + mark.len()..])
            })
            .filter(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
            .count()
        };
        let mut told = 0;
        let mut file = "";
        for span in &before {
            if span.ends_with(".rs") {
                file = span;
                continue;
            }
            let text = library
                .get(file)
                .unwrap_or_else(|| panic!("{site}: no {file}"));
            let name = span.rsplit("::").next().unwrap();
            let found: usize = items(text, |line| line.contains("fn ") && defines(line, name))
                .into_iter()
                .map(uses)
                .sum();
            assert!(found > 0, "{file}, `{span}` does not declassify {site}");
            told += found;
        }
        let all: usize = library.values().map(|text| uses(text)).sum();
        assert_eq!(told, all, "places of {site}: in the table, in the source");
    }
    assert!(sites >= 10, "the table has {sites} sites");
}

/// mldsa-inside compiles the source of mldsa-lanes with the same features, dependencies and lints; only
/// `default` and comments differ.
#[test]
fn both_manifests_of_the_library_agree() {
    let section = |manifest: &str, head: &str| -> Vec<String> {
        let text = read(manifest);
        let lines = text.lines().skip_while(|line| *line != head).skip(1);
        let own = lines.take_while(|line| !line.starts_with('['));
        own.filter(|line| {
            !line.is_empty() && !line.starts_with('#') && !line.starts_with("default =")
        })
        .map(String::from)
        .collect()
    };
    for head in [
        "[features]",
        "[dependencies]",
        "[target.'cfg(any(target_arch = \"x86_64\", target_arch = \"aarch64\"))'.dependencies]",
        "[lints.rust]",
    ] {
        let published = section("crates/mldsa-lanes/Cargo.toml", head);
        assert!(!published.is_empty(), "no {head}");
        assert_eq!(
            section("crates/mldsa-inside/Cargo.toml", head),
            published,
            "{head}"
        );
    }
}
