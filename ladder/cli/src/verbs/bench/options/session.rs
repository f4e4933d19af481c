//! Resumption, key shares and the end of connections: values of options of `tollgate bench`.

use tollgate_load::{Close, Freshness, Mechanism, Resume};

use super::Bench;

pub(super) const CLOSE: [(&str, &str, Close); 2] = [
    ("fin", "A close alert and FIN; the client waits for the server's", Close::Fin),
    ("rst", "A TCP reset", Close::RstAfterConfirm),
];

pub(super) const KEY_SHARE: [(&str, &str, Freshness); 2] = [
    ("fresh", "A fresh one for each handshake, as real clients do", Freshness::Fresh),
    ("reuse", "One for each thread", Freshness::Reuse),
];

impl Bench {
    /// Returns the resumption of a plan with this version.
    pub(crate) fn resume(&self, is_tls13: bool) -> Option<Resume> {
        let share = self.clients.mix.resumed_share;
        let by = self.clients.mix.resume_by.unwrap_or(Mechanism::usual(is_tls13));
        (share > 0.0).then_some(Resume { share, by })
    }

    pub(crate) fn resume_words(&self) -> String {
        let Some(Resume { share, by }) = self.resume(true) else {
            return "full handshakes, none resumed".to_owned();
        };
        let by = if self.clients.mix.resume_by.is_some() { by.word() } else { "ticket or psk" };
        format!("{:.1} % of the sessions resumed, by {by}", 100.0 * share)
    }

    /// Returns the end of connections; the default depends on the resumption.
    pub(crate) fn close(&self, resume: Option<Resume>) -> Close {
        let is_early = resume.is_some_and(|resume| resume.by == Mechanism::EarlyData);
        self.close.unwrap_or(if is_early { Close::Fin } else { Close::RstAfterConfirm })
    }

    pub(crate) fn close_words(&self) -> &'static str {
        match self.close(self.resume(true)) {
            Close::Fin => "sends a close alert and awaits the server's",
            Close::RstAfterConfirm => "resets after the server has confirmed",
        }
    }
}

pub(crate) fn mechanism(text: &str) -> Result<Mechanism, String> {
    let found = Mechanism::ALL.into_iter().find(|by| by.word() == text);
    found.ok_or_else(|| format!("give one of {}", Mechanism::ALL.map(Mechanism::word).join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::bench;

    #[test]
    fn shares_and_mechanisms_become_a_plan() {
        assert_eq!(bench("").resume(true), None);
        let by_share =
            |text, is_tls13| bench(&format!("--resume {text}")).resume(is_tls13).unwrap();
        assert_eq!(by_share("80%", true), Resume { share: 0.8, by: Mechanism::Psk });
        assert_eq!(by_share("0.25", false), Resume { share: 0.25, by: Mechanism::Ticket });
        let flags = bench("--resume 100% --resume-by early-data");
        assert_eq!(flags.resume(true), Some(Resume { share: 1.0, by: Mechanism::EarlyData }));
        assert_eq!(flags.resume_words(), "100.0 % of the sessions resumed, by early-data");
    }
}
