//! OpenSSL's sources: fetched from Debian's archive, changed, and built; and the configurations of its
//! tests.
//!
//! The change is for one way to run the tests: if the variable [`EVERYWHERE`] is set, each library
//! context that loads the provider `default` also loads this provider and prefers it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{EVERYWHERE, output};

/// The release of Debian whose OpenSSL is 3.5.
const RELEASE: &str = "trixie";

pub(super) fn read(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|why| format!("{}: {why}", path.display()))
}

/// Returns the folder with the built sources. The first call fetches and builds them, in some ten
/// minutes on two cores. If the archive cannot be reached, prints this and returns `None`; with
/// `CI=true` it is an error.
pub(super) fn built(folder: &Path) -> Result<Option<PathBuf>, String> {
    let (source, mark) = (folder.join("source"), folder.join("built"));
    if mark.exists() {
        return Ok(Some(source));
    }
    println!("fetching and building the OpenSSL of Debian {RELEASE} in {}", folder.display());
    let partial = folder.join("partial");
    for old in [&source, &partial] {
        let _ = fs::remove_dir_all(old); // of an earlier attempt
    }
    fs::create_dir_all(&partial).map_err(|why| format!("{}: {why}", partial.display()))?;
    if let Err(why) = fetch(&partial) {
        if std::env::var_os("CI").is_some_and(|value| value == "true") {
            return Err(why);
        }
        println!("not run: the sources of OpenSSL cannot be fetched: {why}");
        return Ok(None);
    }
    fs::rename(partial.join("source"), &source).map_err(|why| why.to_string())?;
    load_everywhere(&source)?;
    output(Command::new("./Configure").arg("-rdynamic").current_dir(&source))?;
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    output(Command::new("make").arg(format!("-j{cores}")).current_dir(&source))?;
    write(&mark, "")?;
    fs::remove_dir_all(&partial).map_err(|why| why.to_string())?;
    Ok(Some(source))
}

/// Downloads the newest sources that the archive has, and unpacks them as `source`. A mirror may lack
/// the newest version that it lists.
fn fetch(folder: &Path) -> Result<(), String> {
    for part in ["lists/partial", "archives/partial", "source"] {
        fs::create_dir_all(folder.join(part)).map_err(|why| why.to_string())?;
    }
    let at = folder.display();
    let keys = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg";
    let mut list = String::new();
    for (mirror, suite) in mirrors()? {
        list += &format!("deb-src [{keys}] {mirror} {suite} main\n");
    }
    write(&folder.join("sources.list"), &list)?;
    write(&folder.join("status"), "")?;
    let settings = format!(
        "Dir::Etc {{ main \"/dev/null\"; parts \"/dev/null\"; sourceparts \"/dev/null\"; }};\n\
         Dir::Etc::sourcelist \"{at}/sources.list\";\n\
         Dir::State {{ Lists \"{at}/lists\"; status \"{at}/status\"; }};\n\
         Dir::Cache \"{at}\"; Dir::Cache::archives \"{at}/archives\";\n\
         APT::Sandbox::User \"root\"; Acquire::Languages \"none\"; Acquire::http::Timeout \"20\";\n"
    );
    let settings_file = folder.join("apt.conf");
    write(&settings_file, &settings)?;
    let apt = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        output(command.args(words).current_dir(folder).env("APT_CONFIG", &settings_file))
    };
    apt("apt-get", &["update", "-q"])?;
    let versions = apt("apt-cache", &["madison", "openssl"])?.stdout;
    let versions = String::from_utf8_lossy(&versions);
    let mut failure = "the archive lists no version of openssl".to_owned();
    for version in versions.lines().filter_map(|line| line.split('|').nth(1)).map(str::trim) {
        let wanted = format!("openssl={version}");
        match apt("apt-get", &["source", "-q", "--download-only", &wanted]) {
            Ok(_) => return unpack(folder),
            Err(why) => failure = why,
        }
    }
    Err(failure)
}

/// Returns the archives that apt uses, with the suites of the release.
fn mirrors() -> Result<Vec<(String, String)>, String> {
    let format = "$(LABEL) $(REPO_URI)";
    let mut command = Command::new("apt-get");
    let listed =
        output(command.args(["indextargets", "--format", format, "Created-By: Packages"]))?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mirror = |label: &str| {
        let of = |line: &str| line.strip_prefix(label).map(|mirror| mirror.trim().to_owned());
        listed.lines().find_map(of)
    };
    let main = mirror("Debian ").ok_or("apt-get lists no archive of Debian: run apt-get update")?;
    let security = mirror("Debian-Security ");
    let security = security.map(|mirror| (mirror, format!("{RELEASE}-security")));
    Ok([Some((main, RELEASE.to_owned())), security].into_iter().flatten().collect())
}

fn unpack(folder: &Path) -> Result<(), String> {
    let files = fs::read_dir(folder).map_err(|why| why.to_string())?;
    let is_source = |path: &PathBuf| path.to_string_lossy().ends_with(".orig.tar.gz");
    let archive = files.flatten().map(|entry| entry.path()).find(is_source);
    let archive = archive.ok_or("apt-get source downloaded no sources")?;
    let mut command = Command::new("tar");
    command.arg("-xf").arg(archive).arg("-C").arg(folder.join("source"));
    output(command.arg("--strip-components=1")).map(|_| ())
}

/// Changes the two functions that load `default`: the one for programs and configurations, and the
/// one for contexts that load nothing.
fn load_everywhere(source: &Path) -> Result<(), String> {
    let function = format!(
        "#include <stdlib.h>\n#include <openssl/evp.h>\n\n\
         void tollgate_load(OSSL_LIB_CTX *libctx)\n{{\n    \
         if (getenv(\"{EVERYWHERE}\") != NULL\n        \
         && OSSL_PROVIDER_try_load(libctx, \"tollgate\", 1) != NULL)\n        \
         EVP_set_default_properties(libctx, \"?tollgate.operations=yes\");\n}}\n\n\
         OSSL_PROVIDER *OSSL_PROVIDER_try_load_ex("
    );
    let at_load = "    if (strcmp(name, \"default\") == 0)\n        tollgate_load(libctx);\n    return actual;\n";
    replace(
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
        &source.join("crypto/provider_core.c"),
        &[(fallbacks, &declared), (unlock, &unlock_and_load)],
    )
}

/// Replaces texts, each of which must be there once.
fn replace(path: &Path, changes: &[(&str, &str)]) -> Result<(), String> {
    let mut text = read(path)?;
    for (old, new) in changes {
        if text.matches(old).count() != 1 {
            return Err(format!("{}: this release has no single {old:?}", path.display()));
        }
        text = text.replace(old, new);
    }
    write(path, &text)
}

/// Returns the configurations of tests that activate the provider `default` and have no FIPS module,
/// with their texts.
pub(super) fn configurations(source: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let files = fs::read_dir(source.join("test")).map_err(|why| why.to_string())?;
    let mut found = Vec::new();
    for path in files.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == "cnf") {
            let text = read(&path)?;
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
