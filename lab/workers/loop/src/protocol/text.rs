//! Numbers, bytes and texts as the protocol writes them.

pub(super) fn one_number(words: &[&str]) -> Result<u64, String> {
    numbers(words).map(|[value]| value)
}

pub(super) fn numbers<const N: usize>(words: &[&str]) -> Result<[u64; N], String> {
    if words.len() != N + 1 {
        return Err(format!(
            "`{}` takes {N} numbers, got {}",
            words[0],
            words.len() - 1
        ));
    }
    let mut values = [0; N];
    for (value, word) in values.iter_mut().zip(&words[1..]) {
        *value = number(word)?;
    }
    Ok(values)
}

pub(super) fn number(text: &str) -> Result<u64, String> {
    // `parse` alone would take a plus sign.
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .then(|| text.parse().ok())
        .flatten()
        .ok_or_else(|| format!("expected a decimal number below 2^64, got {}", quote(text)))
}

/// Bytes from lower-case hexadecimal; `-` is the empty string.
pub fn parse_hex(text: &str) -> Result<Vec<u8>, String> {
    if text == "-" {
        return Ok(Vec::new());
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks_exact(2);
    if text.is_empty() || !pairs.remainder().is_empty() {
        return Err(format!(
            "hexadecimal needs pairs of digits, got {} characters",
            text.len()
        ));
    }
    pairs
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect::<Option<_>>()
        .ok_or_else(|| format!("expected lower-case hexadecimal, got {}", quote(text)))
}

/// Lower-case hexadecimal; the empty string is `-`.
pub fn format_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    if bytes.is_empty() {
        return "-".into();
    }
    bytes
        .iter()
        .flat_map(|byte| {
            [
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]
        })
        .map(char::from)
        .collect()
}

/// One line of printable text out of any error text.
pub fn one_line(text: &str) -> String {
    let line = text
        .split(|c: char| c.is_control() || c == ' ')
        .filter(|word| !word.is_empty());
    let joined = line.collect::<Vec<_>>().join(" ");
    if joined.is_empty() {
        "no text".into()
    } else {
        joined
    }
}

/// Text of a request as shown in an error: escaped and cut.
pub(super) fn quote(text: &str) -> String {
    const SHOWN: usize = 40;
    let escaped: String = text.escape_default().take(SHOWN).collect();
    let dots = if text.chars().nth(SHOWN).is_some() {
        "..."
    } else {
        ""
    };
    format!("`{escaped}{dots}`")
}

pub(super) fn at_least_one(text: &str, what: &str) -> Result<u64, String> {
    match number(text)? {
        0 => Err(format!("{what} must be at least 1")),
        value => Ok(value),
    }
}
