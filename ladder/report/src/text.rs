//! Plain text for terminals: safe characters only, cut or wrapped to a width.

/// The maximum width of any table or note, in columns.
pub const WIDTH: usize = 100;

/// Replaces every character that may be wide, invisible or a control character by `?`, because
/// names of processors and versions are untrusted. Keeps Latin letters, which occur in names of
/// authors and units.
#[must_use]
pub fn plain(text: &str) -> String {
    let is_latin = |c: char| c <= '\u{24f}' && c.is_alphabetic();
    let keep = |c: char| c == ' ' || c.is_ascii_graphic() || is_latin(c);
    text.chars().map(|c| if keep(c) { c } else { '?' }).collect()
}

/// Returns [`plain`] text of at most `width` columns. Text that was cut ends in `~`.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let text = plain(text);
    if text.chars().count() <= width {
        return text;
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept + "~"
}

/// Returns [`plain`] text as lines of at most [`WIDTH`] columns, broken at spaces. Each line ends
/// in a line feed. All lines except the first are indented by two.
#[must_use]
pub fn wrapped(text: &str) -> String {
    const INDENT: &str = "  ";
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in plain(text).split_ascii_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        let gap = usize::from(!line.trim().is_empty());
        if line.chars().count() + gap + word.len() > WIDTH && gap == 1 {
            lines.push(core::mem::replace(&mut line, INDENT.to_owned()));
        } else if gap == 1 {
            line.push(' ');
        }
        // Break a word that is longer than a line at the end of the line.
        while line.chars().count() + word.len() > WIDTH {
            let rest = word.split_off(WIDTH - line.chars().count());
            line.extend(word);
            lines.push(core::mem::replace(&mut line, INDENT.to_owned()));
            word = rest;
        }
        line.extend(word);
    }
    lines.push(line);
    lines.retain(|line| !line.trim().is_empty());
    lines.into_iter().map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_characters_are_replaced() {
        assert_eq!(plain("a\tb\nc\u{1b}[31m d µs 漢"), "a?b?c?[31m d µs ?");
        assert_eq!(plain("Großschädl, Koç\u{ad}\u{200b}\u{301}"), "Großschädl, Koç???");
        assert_eq!(cut("amm52_mb8_portable", 8), "amm52_m~");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abc", 0), "~");
    }

    #[test]
    fn long_texts_wrap_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrapped(""), "");
        assert_eq!(wrapped("  two   words "), "two words\n");
        let words = "word ".repeat(60);
        let lines = wrapped(&words);
        assert!(lines.lines().all(|line| line.len() <= WIDTH && line.len() > WIDTH - 10
            || line == lines.lines().last().unwrap_or_default()));
        assert_eq!(lines.matches("word").count(), 60);
        let long = "x".repeat(250);
        let lines: Vec<String> = wrapped(&long).lines().map(str::to_owned).collect();
        assert_eq!(lines.iter().map(String::len).collect::<Vec<_>>(), [100, 100, 54]);
        assert_eq!(lines.concat().replace(' ', ""), long);
    }
}
