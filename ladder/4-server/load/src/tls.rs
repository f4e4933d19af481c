//! The TLS client's configuration for a plan.

use tollgate_tls_client::{Config, Settings};

use crate::error::Error;
use crate::plan::Plan;
use crate::resumption::Mechanism;
use crate::target::Target;

/// Returns the configuration of one thread. Secrets are reused only within a thread, and threads
/// share no counter or lock.
pub(crate) fn config(plan: &Plan, target: &Target) -> Result<Config, Error> {
    let offered = plan.offer.settings(plan.protocol);
    let offered = offered.ok_or(Error::Plan("this client does not know the suite or group"))?;
    let by = plan.resume.map(|resume| resume.by);
    let settings = Settings {
        // request no tickets for session IDs: the server would prefer tickets
        tickets: by != Some(Mechanism::SessionId),
        save_sessions: by.is_some(),
        server_name: target.server_name().map(str::to_owned),
        verify_signature: plan.verify,
        key_share: plan.key_share,
        premaster: plan.key_share,
        ..offered
    };
    Config::new(settings).map_err(Error::Client)
}
