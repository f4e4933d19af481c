//! OpenSSL's sources: fetched from Debian's archive, changed, and built; and the configurations of
//! its tests.
//!
//! The change is for one way to run the tests: if the variable [`EVERYWHERE`] is set, each library
//! context that loads the provider `default` also loads this provider and prefers it.

use std::path::{Path, PathBuf};
use std::{env, fs};

use xshell::{Shell, cmd};

use super::EVERYWHERE;
use crate::Result;
use crate::debian::Apt;

/// Returns the folder with the built sources. The first call fetches and builds them, in some ten
/// minutes on two cores. If the archive cannot be reached, prints this and returns `None`; with
/// `CI=true` it is an error.
pub(super) fn built(sh: &Shell, folder: &Path) -> Result<Option<PathBuf>> {
    let (source, mark) = (folder.join("source"), folder.join("built"));
    if mark.exists() {
        return Ok(Some(source));
    }
    println!("fetching and building the OpenSSL of Debian 13 in {}", folder.display());
    sh.remove_path(&source)?; // of an earlier attempt
    let partial = folder.join("partial");
    let fetch = || -> Result<()> {
        // The release of Debian whose OpenSSL is 3.5.
        let apt = Apt::new(sh, &partial, &["trixie", "trixie-security"], "amd64")?;
        let archive = apt.source("openssl")?;
        sh.create_dir(&source)?;
        Ok(cmd!(sh, "tar -xf {archive} -C {source} --strip-components=1").run()?)
    };
    if let Err(why) = fetch() {
        if env::var_os("CI").is_some_and(|value| value == "true") {
            return Err(why);
        }
        println!("not run: the sources of OpenSSL cannot be fetched: {why}");
        return Ok(None);
    }
    load_everywhere(sh, &source)?;
    let cores = std::thread::available_parallelism().map_or(2, usize::from).to_string();
    let _here = sh.push_dir(&source);
    cmd!(sh, "./Configure -rdynamic").ignore_stdout().run()?;
    cmd!(sh, "make -j{cores}").ignore_stdout().run()?;
    sh.write_file(&mark, "")?;
    sh.remove_path(&partial)?;
    Ok(Some(source))
}

/// Changes the two functions that load `default`: the one for programs and configurations, and the
/// one for contexts that load nothing.
fn load_everywhere(sh: &Shell, source: &Path) -> Result<()> {
    let function = format!(
        "#include <stdlib.h>\n#include <openssl/evp.h>\n\n\
         void tollgate_load(OSSL_LIB_CTX *libctx)\n{{\n    \
         if (getenv(\"{EVERYWHERE}\") != NULL\n        \
         && OSSL_PROVIDER_try_load(libctx, \"tollgate\", 1) != NULL)\n        \
         EVP_set_default_properties(libctx, \"?tollgate.operations=yes\");\n}}\n\n\
         OSSL_PROVIDER *OSSL_PROVIDER_try_load_ex("
    );
    let at_load = "    if (strcmp(name, \"default\") == 0)\n        tollgate_load(libctx);\n    \
     return actual;\n";
    replace(
        sh,
        &source.join("crypto/provider.c"),
        &[
            ("OSSL_PROVIDER *OSSL_PROVIDER_try_load_ex(", &function),
            ("    return actual;\n", at_load),
        ],
    )?;
    let fallbacks = "static int provider_activate_fallbacks(";
    let unlock = "        store->use_fallbacks = 0;\n        ret = 1;\n    }\nerr:\n    \
                  CRYPTO_THREAD_unlock(store->lock);\n";
    let load = "#ifndef FIPS_MODULE\n    if (ret)\n        tollgate_load(store->libctx);\n#endif\n";
    let unlock_and_load = format!("{unlock}{load}");
    let declared = format!("void tollgate_load(OSSL_LIB_CTX *libctx);\n{fallbacks}");
    replace(
        sh,
        &source.join("crypto/provider_core.c"),
        &[(fallbacks, &declared), (unlock, &unlock_and_load)],
    )
}

/// Replaces texts, each of which must be there once.
fn replace(sh: &Shell, path: &Path, changes: &[(&str, &str)]) -> Result<()> {
    let mut text = sh.read_file(path)?;
    for (old, new) in changes {
        if text.matches(old).count() != 1 {
            return Err(format!("{}: this release has no single {old:?}", path.display()).into());
        }
        text = text.replace(old, new);
    }
    Ok(sh.write_file(path, text)?)
}

/// Returns the configurations of tests that activate the provider `default` and have no FIPS
/// module, with their texts.
pub(super) fn configurations(sh: &Shell, source: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    for path in sh.read_dir(source.join("test"))? {
        if path.extension().is_some_and(|extension| extension == "cnf") {
            let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
            let has = |start: &str| text.lines().any(|line| line.starts_with(start));
            if has("default = default_sect") && has("[default_sect]") && !has("fips = ") {
                found.push((path, text));
            }
        }
    }
    Ok(found)
}

/// Returns a configuration with the provider, whose operations are preferred.
pub(super) fn with_provider(text: &str, module: &Path) -> String {
    let query = "?tollgate.operations=yes";
    let has_section = text.contains("\nalg_section");
    let mut lines = Vec::new();
    for line in text.lines() {
        let unspaced = line.replace(' ', "");
        match unspaced.strip_prefix("default_properties=") {
            Some(old) => {
                lines.push(format!("default_properties = \"{},{query}\"", old.trim_matches('"')));
            }
            None => lines.push(line.to_owned()),
        }
        match unspaced.as_str() {
            "default=default_sect" => lines.push("tollgate = tollgate_sect".to_owned()),
            "[openssl_init]" if !has_section => {
                lines.push("alg_section = tollgate_algorithms".to_owned());
            }
            _ => {}
        }
    }
    lines.push(format!("[tollgate_sect]\nmodule = {}\nactivate = 1", module.display()));
    if !has_section {
        lines.push(format!("[tollgate_algorithms]\ndefault_properties = {query}"));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_gets_the_provider() {
        let text = "openssl_conf = openssl_init\n[openssl_init]\nproviders = provider_sect\n\
                    [provider_sect]\ndefault = default_sect\n[default_sect]\nactivate = 1\n";
        let expected = "openssl_conf = openssl_init\n[openssl_init]\n\
                        alg_section = tollgate_algorithms\nproviders = provider_sect\n\
                        [provider_sect]\ndefault = default_sect\ntollgate = tollgate_sect\n\
                        [default_sect]\nactivate = 1\n\
                        [tollgate_sect]\nmodule = /t.so\nactivate = 1\n\
                        [tollgate_algorithms]\ndefault_properties = ?tollgate.operations=yes\n";
        assert_eq!(with_provider(text, Path::new("/t.so")), expected);
        let text = "[openssl_init]\nalg_section = e\n[e]\ndefault_properties=\"a=b\"\n";
        assert!(
            with_provider(text, Path::new("/t.so"))
                .contains("default_properties = \"a=b,?tollgate.operations=yes\"\n")
        );
    }
}
