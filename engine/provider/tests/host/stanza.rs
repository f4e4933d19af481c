//! Recipes of OpenSSL's own `evp_test`: stanzas of `name = value`, some with a key in PEM below.

/// One test, or one key.
#[derive(Debug, Default)]
pub(crate) struct Stanza {
    /// The line number of the first line.
    pub(crate) line: usize,
    pub(crate) rows: Vec<(String, String)>,
    /// The lines after the first line of a key.
    pub(crate) pem: String,
}

impl Stanza {
    /// Returns the value of the first line with this name.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.rows.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the kind of the test, and the value in the same line. Titles and conditions may
    /// precede this line.
    pub(crate) fn kind(&self) -> Option<(&str, &str)> {
        const BEFORE: [&str; 5] =
            ["Title", "Availablein", "FIPSversion", "Securitycheck", "Unapproved"];
        let row = self.rows.iter().find(|(name, _)| !BEFORE.contains(&name.as_str()))?;
        Some((&row.0, &row.1))
    }

    /// Returns the bytes of each value with this name. A value is hexadecimal or a string in
    /// quotes.
    pub(crate) fn pieces(&self, name: &str) -> Vec<Vec<u8>> {
        let values = self.rows.iter().filter(|(known, _)| known == name);
        let bytes = |value: &str| match value.strip_prefix('"').and_then(|v| v.strip_suffix('"')) {
            Some(text) => text.into(),
            None => hex::decode(value).unwrap_or_else(|error| {
                panic!("line {}: {name}: {error}", self.line);
            }),
        };
        values.map(|(_, value)| bytes(value)).collect()
    }

    /// Concatenates the bytes of all values with this name.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        self.pieces(name).concat()
    }
}

/// Splits a recipe into stanzas: lines up to an empty one, without comments.
pub(crate) fn parse(text: &str) -> Vec<Stanza> {
    let (mut stanzas, mut stanza, mut in_pem) = (Vec::new(), Stanza::default(), false);
    for (number, line) in text.lines().chain([""]).enumerate() {
        if line.starts_with("-----BEGIN") || in_pem {
            stanza.pem += line;
            stanza.pem.push('\n');
            in_pem = !line.starts_with("-----END");
        } else if line.trim().is_empty() {
            if !stanza.rows.is_empty() {
                stanzas.push(core::mem::take(&mut stanza));
            }
        } else if !line.starts_with('#')
            && let Some((name, value)) = line.split_once('=')
        {
            if stanza.rows.is_empty() {
                stanza.line = number + 1;
            }
            stanza.rows.push((name.trim().into(), value.trim().into()));
        }
    }
    stanzas
}
