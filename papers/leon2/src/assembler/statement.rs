//! Splits a source into statements, and a statement into operands.

/// A statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// `name:`
    Label(String),
    /// `name = value`
    Value(String, String),
    /// An instruction or a directive.
    Line(String),
}

/// Returns the statements of a source, each with its line number.
pub(super) fn statements(source: &str) -> Vec<(usize, Statement)> {
    let mut all = Vec::new();
    for (i, line) in source.lines().enumerate() {
        for part in parts(line) {
            read(part.trim(), &mut |statement| all.push((i + 1, statement)));
        }
    }
    all
}

/// Splits a line at semicolons and drops its comment. Inside quotation marks, `;` and `!` are text.
fn parts(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quoted, mut escaped) = (0, false, false);
    for (i, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ';' if !quoted => {
                parts.push(&line[start..i]);
                start = i + 1;
            }
            '!' if !quoted => {
                parts.push(&line[start..i]);
                return parts;
            }
            _ => {}
        }
    }
    parts.push(&line[start..]);
    parts
}

fn read(text: &str, push: &mut impl FnMut(Statement)) {
    let name = text.split(|c: char| !is_of_name(c)).next().unwrap_or_default();
    let rest = text[name.len()..].trim_start();
    if text.is_empty() || text.starts_with('#') {
        return;
    }
    if let (false, Some(after)) = (name.is_empty(), rest.strip_prefix(':')) {
        push(Statement::Label(name.to_owned()));
        read(after.trim(), push);
    } else if let (false, Some(value)) = (name.is_empty(), rest.strip_prefix('=')) {
        push(Statement::Value(name.to_owned(), value.trim().to_owned()));
    } else {
        push(Statement::Line(text.to_owned()));
    }
}

/// Returns whether a name may contain this character.
pub(super) fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')
}

/// Splits operands at commas outside parentheses and brackets.
pub(super) fn operands(text: &str) -> Result<Vec<String>, String> {
    let mut operands = Vec::new();
    let (mut start, mut depth) = (0, 0_u32);
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => {
                depth = depth.checked_sub(1).ok_or("a ) or ] without its opening bracket")?;
            }
            ',' if depth == 0 => {
                operands.push(text[start..i].trim().to_owned());
                start = i + 1;
            }
            _ => {}
        }
    }
    if depth != 0 {
        return Err("a ( or [ without its closing bracket".to_owned());
    }
    let last = text[start..].trim();
    if !last.is_empty() || !operands.is_empty() {
        operands.push(last.to_owned());
    }
    if operands.iter().any(String::is_empty) {
        return Err("an operand is missing before or after a comma".to_owned());
    }
    Ok(operands)
}

/// Returns the bytes of a string in quotation marks.
pub(super) fn string(text: &str) -> Result<Vec<u8>, String> {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let inner = inner.ok_or("a string is written in quotation marks")?;
    let mut bytes = Vec::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => bytes.push(match chars.next() {
                Some('n') => b'\n',
                Some('t') => b'\t',
                Some('0') => 0,
                Some('\\') => b'\\',
                Some('"') => b'"',
                _ => return Err(r#"after \ there may be n, t, 0, \ or ""#.to_owned()),
            }),
            '"' => return Err(r#"a quotation mark within a text is written \""#.to_owned()),
            c => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Ok(bytes)
}
