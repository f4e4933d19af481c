//! `tollgate bench URL`: servers that refuse handshakes, and servers with few groups.

use crate::bench::bench;
use crate::program::{refused, text};
use crate::s_server::{SServer, files_of_server};

#[test]
fn the_cause_of_a_refused_handshake_is_named() {
    let folder = files_of_server("refusals");
    let no_group =
        "handshake_failure (40) in phase hello; suite, group or signature scheme: the server";
    for (arguments, more, why) in [
        (&["-tls1_3", "-groups", "P-521"][..], &[][..], no_group),
        (&["-tls1_3", "-groups", "X448"], &[], no_group),
        (&["-tls1_2"], &["--protocol", "tls13"], "1.2 only: give --protocol"),
        (&["-tls1_3"], &["--protocol", "tls12-x25519"], "1.3 only: give --protocol"),
        (&["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], &[], "0x0302, which was not offered; check"),
        (&["-tls1_3", "-groups", "P-256"], &["--group", "x25519"], "--group with one of secp256r1"),
        (&["-tls1_3", "-Verify", "1"], &[], "phase confirm; the server requires a client certif"),
    ] {
        let server = SServer::start(&folder, arguments);
        let output = bench(&[&[server.url.as_str()], more].concat());
        refused(&output, why);
        let stderr = String::from_utf8(output.stderr).unwrap();
        let is_old = arguments.contains(&"-tls1_1");
        assert_eq!(stderr.contains("supports TLS 1.2 or 1.3"), is_old, "{arguments:?}: {stderr}");
    }
}

#[test]
fn servers_with_other_groups_alone_are_loaded() {
    let folder = files_of_server("groups");
    for group in ["P-256", "P-384"] {
        let server = SServer::start(&folder, &["-tls1_3", "-groups", group]);
        let stdout = text(&bench(&[&server.url, "--rounds", "1"]));
        assert!(stdout.contains(" 0 failures"), "{group}: {stdout}");
    }
}
