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

/// The source without unit tests, which stand at the end of a file, and constants.
pub fn at_run_time(text: &str) -> String {
    let tests = text.match_indices("mod tests {").map(|(at, _)| at);
    let mut begins =
        tests.filter(|&at| matches!(text[..at].rsplit('\n').next(), Some("" | "pub(crate) ")));
    let text = &text[..begins.next().unwrap_or(text.len())];
    let constant = |line: &str| {
        let words: Vec<&str> = words(line).take(3).collect();
        let visible = usize::from(words.first() == Some(&"pub"))
            + usize::from(line.trim_start().starts_with("pub("));
        words.get(visible) == Some(&"const")
    };
    let constants = items(text, constant);
    constants
        .iter()
        .fold(text.to_owned(), |text, item| text.replace(item, ""))
}

/// Both operands of each division in a line of code.
pub fn divisions(code: &str) -> Vec<String> {
    let ways = [
        "/",
        "%",
        ".rem_euclid",
        ".div_euclid",
        ".div_ceil",
        ".checked_div",
        ".checked_rem",
    ];
    let places = ways.iter().flat_map(|way| code.match_indices(way));
    places
        .map(|(at, way)| {
            let right = code[at + way.len()..].trim_start_matches(['=', ' ']);
            format!(
                "{} {}",
                &code[product(code, at)..at],
                &right[..operand(right)]
            )
        })
        .collect()
}

pub fn in_a_name(c: char) -> bool {
    c.is_alphanumeric() || "_$.:".contains(c)
}

/// Where the product that ends at `end` begins.
fn product(code: &str, end: usize) -> usize {
    let mut at = end;
    loop {
        let rest = code[..at].trim_end();
        let mut depth = 0;
        // Back over names, calls and indices, and what stands in their brackets.
        let start = rest.char_indices().rev().find(|&(_, c)| {
            depth += i32::from(")]".contains(c));
            let outside = depth == 0 && !in_a_name(c);
            depth -= i32::from("([".contains(c) && depth > 0);
            outside
        });
        let start = start.map_or(0, |(position, c)| position + c.len_utf8());
        let before = rest[..start].trim_end();
        match before.chars().next_back() {
            Some('*' | '/' | '%') if start < rest.len() => at = before.len() - 1,
            _ if rest[start..].trim() == "as" => at = start,
            _ if before.ends_with(" as") => at = before.len() - 2,
            _ => return start,
        }
    }
}

/// The length of the operand at the beginning of `code`.
fn operand(code: &str) -> usize {
    let mut depth = 0;
    let end = code.char_indices().find(|&(_, c)| {
        let outside = depth == 0 && !in_a_name(c) && !"([".contains(c);
        depth += i32::from("([".contains(c)) - i32::from(")]".contains(c));
        outside
    });
    end.map_or(code.len(), |(position, _)| position)
}

#[test]
fn divisions_are_found() {
    for (code, found) in [
        ("let a = x / 2 + y;", vec!["x 2"]),
        (
            "a[at / 2] >> (4 * (low.0[i] % q))",
            vec!["at 2", "low.0[i] q"],
        ),
        ("secret * 25 / 8", vec!["secret * 25 8"]),
        ("(r + s).rem_euclid(Q)", vec!["(r + s) (Q)"]),
        ("len /= f(4);", vec!["len f(4)"]),
        ("let b = w0 as u32 / GAMMA;", vec!["w0 as u32 GAMMA"]),
    ] {
        let divided = divisions(code);
        let divided: Vec<String> = divided
            .iter()
            .map(|d| d.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(divided, found, "{code}");
    }
}
