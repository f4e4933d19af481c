//! The way from `tollgate VERB` to `tollgate-ladder`, and errors of the command line.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::program::{refused, run, said, scratch, start};

#[test]
fn a_verb_that_measures_runs_tollgate_ladder_from_the_folder_of_the_program() {
    let folder = scratch("beside");
    fs::create_dir(&folder).unwrap();
    let program = folder.join("tollgate");
    fs::copy(env!("CARGO_BIN_EXE_tollgate"), &program).unwrap();
    let run =
        |path: &str| Command::new(&program).args(["bench", "-z", "1 s"]).env("PATH", path).output();
    refused(&run("/nowhere").unwrap(), "install the package tollgate-ladder");
    let put = |folder: &std::path::Path, text: &str| {
        let ladder = folder.join("tollgate-ladder");
        fs::write(&ladder, format!("#!/bin/sh\necho {text} \"$#\" \"$@\"\n")).unwrap();
        fs::set_permissions(&ladder, Permissions::from_mode(0o755)).unwrap();
    };
    let other = folder.join("path");
    fs::create_dir(&other).unwrap();
    put(&other, "from PATH");
    assert_eq!(said(&run(other.to_str().unwrap()).unwrap()), "from PATH 3 bench -z 1 s\n");
    put(&folder, "beside");
    assert_eq!(said(&run("/nowhere").unwrap()), "beside 3 bench -z 1 s\n");
}

#[test]
fn wrong_options_are_refused_with_the_help_of_their_verb() {
    for (line, why) in [
        ("key gen --nope", "'--nope' found; try 'tollgate key gen --help'"),
        ("key gen --force", "--output"),
        ("provider install --remove --module x.so", "cannot be used with"),
        ("provider stats --pid 0", "0 is not in 1.."),
        ("provider switch", "unrecognized subcommand"),
        ("signer", "--config"),
    ] {
        refused(&run(&line.split(' ').collect::<Vec<_>>()), why);
    }
}

#[test]
fn a_closed_pipe_is_silent() {
    let mut child = start("key gen --insecure --bits 512", &[]);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
}
