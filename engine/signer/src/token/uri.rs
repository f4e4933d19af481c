//! URIs of keys in tokens (RFC 7512): the attributes that a token and a private key must have.

use core::fmt;
use core::str::FromStr;

use cryptoki::slot::TokenInfo;

/// The private key in a token that a URI such as `pkcs11:token=site;object=web` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUri {
    text: String,
    pub(crate) token: TokenName,
    /// Its label.
    pub(crate) object: Option<String>,
    pub(crate) id: Option<Vec<u8>>,
}

/// The attributes that name a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TokenName {
    label: Option<String>,
    manufacturer: Option<String>,
    model: Option<String>,
    serial: Option<String>,
}

impl TokenName {
    pub(crate) fn is(&self, token: &TokenInfo) -> bool {
        let is = |wanted: &Option<String>, has: &str| wanted.as_ref().is_none_or(|it| it == has);
        is(&self.label, token.label())
            && is(&self.manufacturer, token.manufacturer_id())
            && is(&self.model, token.model())
            && is(&self.serial, token.serial_number())
    }
}

/// Writes the label or the serial number, for messages.
impl fmt::Display for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.label, &self.serial) {
            (Some(name), _) | (None, Some(name)) => write!(f, "the token {name:?}"),
            (None, None) => f.write_str("the token"),
        }
    }
}

impl fmt::Display for KeyUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for KeyUri {
    type Err = String;

    /// Reads a URI. No error shows a value: it may be a PIN in the wrong place.
    fn from_str(text: &str) -> Result<Self, String> {
        let attributes = text.strip_prefix("pkcs11:").ok_or(
            "give a URI that begins with \"pkcs11:\", such as \"pkcs11:token=site;object=web\"",
        )?;
        if attributes.contains('?') {
            return Err(
                "leave out `?` and the rest: [pkcs11] has the module and the PIN".to_owned()
            );
        }
        let mut uri =
            Self { text: text.to_owned(), token: TokenName::default(), object: None, id: None };
        let mut kind = None;
        for attribute in attributes.split(';') {
            let (name, value) = attribute
                .split_once('=')
                .ok_or("an attribute has no `=`: write them as name=value, with `;` between two")?;
            let bytes = decoded(value).ok_or_else(|| {
                format!("`{name}`: write bytes as % and two hexadecimal digits, such as %01")
            })?;
            if bytes.is_empty() {
                return Err(format!("`{name}` is empty: leave it out"));
            }
            if name == "id" {
                once(name, &mut uri.id, bytes)?;
                continue;
            }
            let value = String::from_utf8(bytes).map_err(|_| format!("`{name}` is no UTF-8"))?;
            let to = match name {
                "token" => &mut uri.token.label,
                "manufacturer" => &mut uri.token.manufacturer,
                "model" => &mut uri.token.model,
                "serial" => &mut uri.token.serial,
                "object" => &mut uri.object,
                "type" => &mut kind,
                _ => {
                    let known = "token, serial, manufacturer, model, object, id, type=private";
                    return Err(format!("`{name}` is not used here: choose from {known}"));
                }
            };
            once(name, to, value)?;
        }
        if kind.is_some_and(|kind| kind != "private") {
            return Err(
                "`type`: the key is a private one: write type=private, or leave it out".to_owned()
            );
        }
        if uri.object.is_none() && uri.id.is_none() {
            return Err("no attribute names the key: add `object`, `id`, or both".to_owned());
        }
        Ok(uri)
    }
}

fn once<T>(name: &str, to: &mut Option<T>, value: T) -> Result<(), String> {
    match to.replace(value) {
        Some(_) => Err(format!("`{name}` is there twice: leave one out")),
        None => Ok(()),
    }
}

/// Replaces % and two digits by the byte that they stand for.
fn decoded(value: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let [byte, after @ ..] = rest {
        if *byte == b'%' {
            let digits = after.get(..2).filter(|it| it.iter().all(u8::is_ascii_hexdigit))?;
            bytes.push(u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*byte);
            rest = after;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_those_of_the_standard() {
        let text = "pkcs11:model=SoftHSM%20v2;manufacturer=SoftHSM%20project;serial=ef0e;\
                    token=a%3Bb;id=%01%fF;object=w%C3%A9b;type=private";
        let uri: KeyUri = text.parse().unwrap();
        assert_eq!(uri.to_string(), text);
        assert_eq!(uri.token.label.as_deref(), Some("a;b"));
        assert_eq!(uri.token.model.as_deref(), Some("SoftHSM v2"));
        assert_eq!(uri.token.manufacturer.as_deref(), Some("SoftHSM project"));
        assert_eq!(uri.token.serial.as_deref(), Some("ef0e"));
        assert_eq!((uri.object.as_deref(), uri.id), (Some("wéb"), Some(vec![1, 255])));
        let uri: KeyUri = "pkcs11:id=a%20".parse().unwrap();
        assert_eq!((uri.id, uri.token), (Some(b"a ".to_vec()), TokenName::default()));
    }

    #[test]
    fn errors_say_what_to_change_and_show_no_value() {
        for (text, why) in [
            ("token=site;object=SECRET", "begins with \"pkcs11:\""),
            ("pkcs11:token=a;object=b?pin-value=SECRET", "leave out `?`"),
            ("pkcs11:token=a;object=b;pin-value=SECRET", "`pin-value` is not used here"),
            ("pkcs11:slot-id=1;object=b", "choose from token, serial"),
            ("pkcs11:token=a;SECRET", "no `=`"),
            ("pkcs11:token=a;object=b;", "no `=`"),
            ("pkcs11:", "no `=`"),
            ("pkcs11:token=;object=b", "`token` is empty"),
            ("pkcs11:id=%0g", "`id`: write bytes as %"),
            ("pkcs11:id=%0", "`id`: write bytes as %"),
            ("pkcs11:id=%+1", "`id`: write bytes as %"),
            ("pkcs11:object=%ff", "`object` is no UTF-8"),
            ("pkcs11:object=a;object=b", "`object` is there twice"),
            ("pkcs11:id=%01;id=%02", "`id` is there twice"),
            ("pkcs11:object=a;type=public", "write type=private"),
            ("pkcs11:token=a", "add `object`, `id`"),
        ] {
            let error = text.parse::<KeyUri>().unwrap_err();
            assert!(error.contains(why) && !error.contains("SECRET"), "{why:?} in {error}");
        }
    }
}
