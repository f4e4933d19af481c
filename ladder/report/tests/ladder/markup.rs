//! A strict reader of the report's HTML: it refuses errors that a browser tolerates.

/// Elements without an end tag.
const VOID: [&str; 1] = ["meta"];

/// Checks that every element is closed at the right place, every attribute is quoted, and every id
/// is unique. Text must not contain an unescaped `<` or `&`. The page must not load anything.
pub(crate) fn check(html: &str) -> Result<(), String> {
    let mut rest = html.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    let mut open: Vec<String> = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    while let Some((text, tail)) = rest.split_once('<') {
        check_text(text)?;
        let (tag, tail) = tail.split_once('>').ok_or_else(|| format!("no end: {tail:.60}"))?;
        rest = tail;
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop();
            if last.as_deref() != Some(name) {
                return Err(format!("</{name}> ends {last:?}"));
            }
            continue;
        }
        // elements of pictures may close themselves
        let (tag, is_closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(format!("no element: {tag:?}"));
        }
        for (key, value) in pairs(attributes)? {
            let loads = matches!(key, "src" | "href") && !value.starts_with('#');
            if loads || key.starts_with("on") {
                return Err(format!("loads or runs: {key}={value:?}"));
            }
            if key == "id" {
                if ids.iter().any(|id| id == value) {
                    return Err(format!("id {value:?} twice"));
                }
                ids.push(value.to_owned());
            }
        }
        if name == "script" {
            return Err("a script".to_owned());
        }
        if name == "style" {
            rest = rest.split_once("</style>").ok_or("style without end")?.1;
        } else if !is_closed && !VOID.contains(&name) {
            open.push(name.to_owned());
        }
    }
    check_text(rest)?;
    if open.is_empty() { Ok(()) } else { Err(format!("never ends: {open:?}")) }
}

/// Reads `key="value"` pairs.
fn pairs(mut text: &str) -> Result<Vec<(&str, &str)>, String> {
    let mut found = Vec::new();
    while !text.trim().is_empty() {
        let bad = || format!("no attribute: {text:.80}");
        let (key, tail) = text.trim_start().split_once("=\"").ok_or_else(bad)?;
        let (value, tail) = tail.split_once('"').ok_or_else(bad)?;
        if !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return Err(bad());
        }
        check_text(value)?;
        found.push((key, value));
        text = tail;
    }
    Ok(found)
}

fn check_text(text: &str) -> Result<(), String> {
    for part in text.split('&').skip(1) {
        if !["amp;", "lt;", "gt;", "quot;", "apos;"].iter().any(|escape| part.starts_with(escape)) {
            return Err(format!("bare &: {part:.40}"));
        }
    }
    if text.contains('>') { Err(format!("bare >: {text:.80}")) } else { Ok(()) }
}

/// Returns the content of the section with this id.
pub(crate) fn section<'a>(html: &'a str, id: &str) -> &'a str {
    let (_, tail) = html
        .split_once(&format!("<section id=\"{id}\">"))
        .unwrap_or_else(|| panic!("no section {id}"));
    tail.split_once("</section>").map_or(tail, |(inside, _)| inside)
}

/// Returns the text of all elements whose tag begins with `tag`, such as `<td class="figure"`.
pub(crate) fn texts<'a>(html: &'a str, tag: &str) -> Vec<&'a str> {
    let found = html.split(tag).skip(1);
    found.filter_map(|tail| tail.split_once('>')?.1.split('<').next()).collect()
}
