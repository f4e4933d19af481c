//! `cargo xtask header`: generates `engine/c/include/tollgate.h` from the functions of the crate
//! `tollgate-c`. `tidy` compares the file with a freshly generated one.

use crate::Result;
use crate::finding::Finding;
use crate::workspace::{Workspace, root, shell};

const HEADER: &str = "engine/c/include/tollgate.h";
const CONFIG: &str = "engine/c/cbindgen.toml";
/// The sources, in the order of the header.
const SOURCES: &str =
    "code scheme private_key public_key verify operation own_thread queue event_loop";

pub(crate) fn write() -> Result<bool> {
    shell()?.write_file(HEADER, make()?)?;
    Ok(true)
}

/// Returns a finding if the header is out of date.
pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let Some(header) = workspace.file(HEADER) else {
        return vec![Finding::new(HEADER, 1, "the file is missing", "run: cargo xtask header")];
    };
    let text = match make() {
        Ok(text) => text,
        Err(error) => {
            let remedy = "correct it or its sources";
            return vec![Finding::new(CONFIG, 1, error.to_string(), remedy)];
        }
    };
    let what = "out of date with the sources of tollgate-c".to_owned();
    let header = (HEADER, &*header.text);
    Finding::outdated(header, &text, what, "run: cargo xtask header").into_iter().collect()
}

fn make() -> Result<String> {
    let config = cbindgen::Config::from_file(root().join(CONFIG))?;
    let builder = cbindgen::Builder::new().with_config(config);
    let add = |builder: cbindgen::Builder, name: &str| {
        builder.with_src(root().join(format!("engine/c/src/{name}.rs")))
    };
    let mut text = Vec::new();
    SOURCES.split(' ').fold(builder, add).generate()?.write(&mut text);
    Ok(String::from_utf8(text)?)
}

#[cfg(test)]
mod tests {
    use super::{HEADER, check, make};
    use crate::workspace::{Workspace, fake};

    #[test]
    fn finds_a_header_that_is_out_of_date() {
        let text = make().expect("the sources are good");
        assert_eq!(check(&fake::workspace(&[], &[(HEADER, &text)])), []);
        let touched = text.replacen("int tollgate_sign(", "void tollgate_sign(", 1);
        let [only] = &check(&fake::workspace(&[], &[(HEADER, &touched)]))[..] else {
            panic!("one finding")
        };
        assert!(touched.lines().nth(only.line - 1).is_some_and(|line| line.starts_with("void ")));
        assert_eq!(check(&Workspace::default()).len(), 1, "no header");
    }
}
