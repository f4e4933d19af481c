//! Finds the provider's module.

use std::env;
use std::path::PathBuf;

use crate::error::Error;

/// The file name that cargo uses.
const NAME: &str = "libtollgate_provider.so";

/// Returns the path of the module that was built with this program. It is in cargo's folder `deps`,
/// which is the program's folder or below it, or installed beside the program.
///
/// # Errors
///
/// [`Error::NoModule`] with the first path that was tried.
pub fn module() -> Result<PathBuf, Error> {
    let program = env::current_exe().map_err(Error::io("find", "this program".as_ref()))?;
    let places = [program.with_file_name("deps").join(NAME), program.with_file_name(NAME)];
    let found = places.iter().find(|place| place.is_file()).cloned();
    found.ok_or_else(|| Error::NoModule(places[1].clone()))
}
