//! The server's `OPENSSL_CONF`: with the provider, or without.

use std::path::Path;

/// Replaces the system's file. Allows keys of every size: HAProxy and hitch read keys before their
/// own lists of suites.
const WITHOUT: &str = "openssl_conf = start\n\
     [tls]\nsystem_default = keys\n[keys]\nCipherString = DEFAULT:@SECLEVEL=0\n\
     [start]\nssl_conf = tls\n";

/// The query that prefers the provider's operations, as written by `tollgate provider install`.
const PREFER: &str = "?tollgate.operations=yes";

/// Returns the text of the file. Each process writes its counts to a file in the folder `metrics`.
pub(crate) fn text(module: Option<&Path>, metrics: &Path) -> String {
    let Some(module) = module else {
        return WITHOUT.to_owned();
    };
    format!(
        "{WITHOUT}providers = providers\nalg_section = algorithms\n\
         [providers]\ndefault = default_section\ntollgate = tollgate_section\n\
         [default_section]\nactivate = 1\n\
         [tollgate_section]\nmodule = {}\nactivate = 1\nmetrics = {}\n\
         [algorithms]\ndefault_properties = {PREFER}\n",
        module.display(),
        metrics.display()
    )
}
