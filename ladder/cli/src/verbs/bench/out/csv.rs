//! Rows of comma-separated values (RFC 4180).

/// Formats a row with its line feed, with quotes where needed.
pub(super) fn row<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let quoted = |cell: T| {
        let cell = cell.as_ref();
        let is_bare = !cell.contains([',', '"', '\n', '\r']);
        if is_bare { cell.to_owned() } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
    };
    cells.into_iter().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_quotes_has_them() {
        assert_eq!(row(["a b", "", "1,5", "say \"x\""]), "a b,,\"1,5\",\"say \"\"x\"\"\"\n");
    }
}
