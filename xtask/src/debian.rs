//! Programs, libraries and sources of Debian's releases, from the archives that the system's apt
//! uses. apt checks them. Each is fetched once; delete its folder to fetch again.

use std::path::{Path, PathBuf};

use xshell::{Cmd, Shell, cmd};

use crate::Result;

/// apt with lists in a folder; those of the system stay as they are.
pub(crate) struct Apt<'a> {
    sh: &'a Shell,
    folder: PathBuf,
}

impl<'a> Apt<'a> {
    /// Reads the lists of suites such as `trixie` and `trixie-security` into a new folder.
    pub(crate) fn new(
        sh: &'a Shell,
        folder: &Path,
        suites: &[&str],
        architecture: &str,
    ) -> Result<Self> {
        let apt = Self { sh, folder: folder.to_owned() };
        sh.remove_path(folder)?;
        for part in ["lists/partial", "archives/partial", "packages", "source"] {
            sh.create_dir(folder.join(part))?;
        }
        let keys = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]";
        let mut list = String::new();
        for suite in suites {
            let label = if suite.ends_with("-security") { "Debian-Security" } else { "Debian" };
            let archive = archive(sh, label)?;
            list += &format!("deb {keys} {archive} {suite} main\n");
            list += &format!("deb-src {keys} {archive} {suite} main\n");
        }
        sh.write_file(folder.join("sources.list"), list)?;
        sh.write_file(folder.join("status"), "")?;
        let at = folder.display();
        let settings = format!(
            "Dir::Etc {{ main \"/dev/null\"; parts \"/dev/null\"; sourceparts \"/dev/null\"; }};\n\
             Dir::Etc::sourcelist \"{at}/sources.list\";\n\
             Dir::State {{ Lists \"{at}/lists\"; status \"{at}/status\"; }};\n\
             Dir::Cache \"{at}\"; Dir::Cache::archives \"{at}/archives\";\n\
             APT::Architecture \"{architecture}\"; APT::Architectures {{ \"{architecture}\"; }};\n\
             APT::Sandbox::User \"root\"; Acquire::Languages \"none\";\n\
             Acquire::http::Timeout \"20\";\n"
        );
        sh.write_file(folder.join("apt.conf"), settings)?;
        apt.get(&["update"]).run()?;
        Ok(apt)
    }

    fn get(&self, words: &[&str]) -> Cmd<'a> {
        cmd!(self.sh, "apt-get -q {words...}").env("APT_CONFIG", self.folder.join("apt.conf"))
    }

    /// Downloads packages and unpacks them in the folder `root`.
    fn unpack(&self, packages: &[&str]) -> Result<()> {
        let (sh, root) = (self.sh, self.folder.join("root"));
        let _here = sh.push_dir(self.folder.join("packages"));
        self.get(&[&["download"], packages].concat()).run()?;
        for package in sh.read_dir(".")? {
            cmd!(sh, "dpkg-deb -x {package} {root}").quiet().run()?;
        }
        Ok(())
    }

    /// Downloads the newest sources of a package that the archives still have: they drop the
    /// sources of a version before its entry in the list.
    pub(crate) fn source(&self, package: &str) -> Result<PathBuf> {
        let _here = self.sh.push_dir(self.folder.join("source"));
        let versions = cmd!(self.sh, "apt-cache madison {package}");
        let versions = versions.env("APT_CONFIG", self.folder.join("apt.conf")).read()?;
        for version in versions.lines().filter_map(|line| line.split('|').nth(1)) {
            let wanted = format!("{package}={}", version.trim());
            if self.get(&["source", "--download-only", &wanted]).run().is_ok() {
                return find(self.sh, ".", |name| name.ends_with(".orig.tar.gz"));
            }
        }
        Err(format!("the archive has no sources of {package}").into())
    }
}

/// Returns the archive with this label that apt uses.
pub(crate) fn archive(sh: &Shell, label: &str) -> Result<String> {
    let format = "$(ORIGIN) $(LABEL) $(REPO_URI)";
    let targets =
        cmd!(sh, "apt-get indextargets --format {format} 'Created-By: Packages'").read()?;
    let prefix = format!("Debian {label} ");
    let found = targets.lines().find_map(|line| line.strip_prefix(&prefix));
    let none = || format!("apt has no archive with the label {label}: run apt-get update").into();
    found.map(str::to_owned).ok_or_else(none)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the path of the first file of a folder whose name the function accepts.
fn find(sh: &Shell, folder: impl AsRef<Path>, is: impl Fn(&str) -> bool) -> Result<PathBuf> {
    let folder = folder.as_ref();
    let found = sh.read_dir(folder)?.into_iter().find(|path| is(&name(path)));
    found.ok_or_else(|| format!("{}: the expected file is missing", folder.display()).into())
}

/// Returns the folder of libraries, and the loader in it, of an unpacked system.
pub(crate) fn loader(sh: &Shell, root: &Path) -> Result<(PathBuf, PathBuf)> {
    let library = find(sh, root.join("usr/lib"), |name| name.ends_with("-linux-gnu"))?;
    let is_loader = |name: &str| name.starts_with("ld-linux") && name.contains(".so.");
    let loader = find(sh, &library, is_loader)?;
    Ok((library, loader))
}

/// Programs of Debian 13 and their libraries.
const PACKAGES_OF_13: &str = "openssl nginx haproxy libssl3t64 libc6 zlib1g libzstd1 libgcc-s1 \
    libstdc++6 libcrypt1 libpcre2-8-0 liblua5.4-0 libjemalloc2 libopentracing1 \
    libopentracing-c-wrapper0t64";

/// Unpacks packages of a release in the folder `root` of a new folder.
fn unpack(
    sh: &Shell,
    folder: &Path,
    suite: &str,
    architecture: &str,
    packages: &[&str],
) -> Result<()> {
    let partial = folder.with_extension("partial");
    Apt::new(sh, &partial, &[suite], architecture)?.unpack(packages)?;
    sh.remove_path(folder)?;
    sh.create_dir(folder)?;
    std::fs::rename(partial.join("root"), folder.join("root"))?;
    Ok(sh.remove_path(partial)?)
}

/// Unpacks openssl, nginx and haproxy of Debian 13.
pub(crate) fn fetch_13(sh: &Shell, folder: &Path) -> Result<()> {
    if folder.join("nginx").exists() {
        return Ok(());
    }
    let architecture = cmd!(sh, "dpkg --print-architecture").read()?;
    let packages: Vec<&str> = PACKAGES_OF_13.split_whitespace().collect();
    unpack(sh, folder, "trixie", &architecture, &packages)?;
    // Their C library may be newer than this system's, so they start by their own loader. HAProxy
    // starts itself again by the same name. nginx is last: it says that the folder is complete.
    let root = folder.join("root");
    let (library, loader) = loader(sh, &root)?;
    let [library, loader] = [&library, &loader].map(|path| path.display());
    for program in ["bin/openssl", "sbin/haproxy", "sbin/nginx"] {
        let binary = root.join("usr").join(program);
        let script = folder.join(program.split('/').next_back().unwrap_or(program));
        let text = format!(
            "#!/bin/sh\nexec \"{loader}\" --argv0 \"$0\" --library-path \"{library}\" \"{}\" \
             \"$@\"\n",
            binary.display()
        );
        sh.write_file(&script, text)?;
        cmd!(sh, "chmod +x {script}").quiet().run()?;
    }
    Ok(())
}

/// Unpacks the OpenSSL of Debian 12 for AArch64, with which tests compare. Returns its folder.
pub(crate) fn fetch_openssl_for_arm(sh: &Shell, folder: &Path) -> Result<PathBuf> {
    let system = folder.join("root/usr");
    if !system.exists() {
        unpack(sh, folder, "bookworm", "arm64", &["libssl-dev", "libssl3"])?;
    }
    Ok(system)
}

/// Unpacks a small system of a release, with nginx.
pub(crate) fn fetch_system(sh: &Shell, folder: &Path, release: &str) -> Result<()> {
    if !folder.exists() {
        let (partial, archive) = (folder.with_extension("partial"), archive(sh, "Debian")?);
        sh.remove_path(&partial)?;
        let option = "--aptopt=APT::Install-Recommends \"false\"";
        let packages = "--include=nginx,openssl,procps,ssl-cert";
        let tool = cmd!(sh, "mmdebstrap --quiet --variant=apt {option} {packages} {release}");
        tool.arg(&partial).arg(archive).run()?;
        std::fs::rename(partial, folder)?;
    }
    Ok(())
}
