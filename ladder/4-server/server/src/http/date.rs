//! The `Date` of a response, formatted once a second.

use jiff::Timestamp;

/// An IMF-fixdate, RFC 9110 §5.6.7.
#[derive(Debug, Default)]
pub(crate) struct Date {
    second: i64,
    text: String,
}

impl Date {
    pub(crate) fn now(&mut self) -> &str {
        self.at(Timestamp::now())
    }

    fn at(&mut self, now: Timestamp) -> &str {
        if self.text.is_empty() || self.second != now.as_second() {
            self.second = now.as_second();
            self.text = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        }
        &self.text
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn matches_the_rfc_example() {
        let mut date = Date::default();
        let then = Timestamp::from_second(784_111_777).unwrap();
        assert_eq!(date.at(then), "Sun, 06 Nov 1994 08:49:37 GMT");
        let next = Timestamp::from_second(784_111_778).unwrap();
        assert_eq!(date.at(next), "Sun, 06 Nov 1994 08:49:38 GMT");
    }
}
