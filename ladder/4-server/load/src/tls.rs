//! The client's settings for a plan.

use core::num::NonZeroU32;

use tollgate_tls_client as client;
use tollgate_tls_client::{Config, Settings, VerifySignature};

use crate::error::Error;
use crate::plan::{Freshness, Plan, Verify};
use crate::resumption::Mechanism;
use crate::target::Target;

/// One configuration per thread: whatever is reused is reused within a thread, and no two threads
/// share a counter or a lock.
pub(crate) fn config(plan: &Plan, target: &Target) -> Result<Config, Error> {
    let offered = plan.offer.settings(plan.protocol);
    let offered = offered.ok_or(Error::Plan("suite or group is no name that this client knows"))?;
    let verify_signature = match plan.verify {
        Verify::Always => VerifySignature::Always,
        Verify::Never => VerifySignature::Never,
        Verify::Sample { one_in } => VerifySignature::Sample(
            NonZeroU32::new(one_in).ok_or(Error::Plan("one_in is at least 1"))?,
        ),
    };
    let by = plan.resume.map(|resume| resume.by);
    let settings = Settings {
        // who resumes by session IDs asks for no tickets: a server that can would give them instead
        tickets: by != Some(Mechanism::SessionId),
        save_sessions: by.is_some(),
        psk_alone: by == Some(Mechanism::PskKe),
        server_name: target.server_name().map(str::to_owned),
        identity: target.identity().cloned(),
        verify_signature,
        key_share: freshness(plan.key_share),
        premaster: freshness(plan.premaster),
        ..offered
    };
    Config::new(settings).map_err(Error::Client)
}

const fn freshness(freshness: Freshness) -> client::Freshness {
    match freshness {
        Freshness::Fresh => client::Freshness::Fresh,
        Freshness::Reuse => client::Freshness::Reuse,
    }
}
