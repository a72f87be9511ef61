//! How tests read the source and the documents: by lines, as rustfmt writes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Rust files of a folder by their paths in it.
pub fn sources(folder: &str) -> BTreeMap<String, String> {
    let mut folders = vec![root().join(folder)];
    let mut found = BTreeMap::new();
    while let Some(current) = folders.pop() {
        for entry in fs::read_dir(&current).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root().join(folder)).unwrap();
                found.insert(name.to_str().unwrap().replace('\\', "/"), read(&path));
            }
        }
    }
    found
}

pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

/// Whether a line of source defines `name`.
pub fn defines(line: &str, name: &str) -> bool {
    const KEYWORDS: [&str; 9] = [
        "fn",
        "struct",
        "enum",
        "trait",
        "type",
        "const",
        "static",
        "mod",
        "macro_rules",
    ];
    let words: Vec<&str> = words(line).collect();
    !line.trim_start().starts_with("//")
        && words
            .windows(2)
            .any(|pair| KEYWORDS.contains(&pair[0]) && pair[1] == name)
}

/// The items of `text` whose first line is one that `begins`, each up to the end of its braces, which
/// rustfmt has put under its beginning.
pub fn items(text: &str, begins: impl Fn(&str) -> bool) -> Vec<&str> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let start_of = |number: usize| lines[..number].iter().map(|line| line.len()).sum::<usize>();
    let item = |first: usize| {
        let indent = lines[first].len() - lines[first].trim_start().len();
        let ends = |number: usize| {
            let line = lines[number].trim_end();
            let same = line.len() - line.trim_start().len() == indent;
            let closes = line.ends_with(['}', ';', ')']) || line.trim_start().starts_with('}');
            same && closes
        };
        let last = (first..lines.len()).find(|&number| ends(number));
        &text[start_of(first)..start_of(last.unwrap_or(lines.len() - 1) + 1)]
    };
    (0..lines.len())
        .filter(|&number| begins(lines[number]))
        .map(item)
        .collect()
}
