//! Where the provider's module is.

use std::env;
use std::path::PathBuf;

use crate::error::Error;

/// The file's name, as cargo builds it.
const NAME: &str = "libtollgate_provider.so";

/// The module that was built with this program: cargo puts it into `deps`, beside the program's own
/// parts or one folder below it; who installs it may put it beside the program.
///
/// # Errors
///
/// [`Error::NoModule`] if there is none, with the first place that was looked at.
pub fn module() -> Result<PathBuf, Error> {
    let program = env::current_exe().map_err(Error::io("find", "this program".as_ref()))?;
    let places = [program.with_file_name("deps").join(NAME), program.with_file_name(NAME)];
    let found = places.iter().find(|place| place.is_file()).cloned();
    found.ok_or_else(|| Error::NoModule(places[1].clone()))
}
