//! Runs the command `openssl` under memcheck, with the portable kernels of the module because
//! valgrind does not support AVX-512. Memcheck must find no read of uninitialized memory, no read
//! out of bounds and no leak. `TOLLGATE_TEST_LONG` enables this test, because each command takes 15
//! seconds.

use crate::host::openssl_conf::Folder;
use crate::host::pem_path;

const VALGRIND: &str =
    "valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite";

#[test]
fn commands_are_clean() {
    let is_set = |name| std::env::var_os(name).is_some();
    // valgrind does not support a release with its own dynamic loader.
    if !is_set("TOLLGATE_TEST_LONG") || is_set("TOLLGATE_OPENSSL") {
        eprintln!("commands under memcheck NOT RUN: ./x test --long does, with the installed one");
        return;
    }
    let folder = Folder::new();
    folder.configure("x25519 = on\necdsa = on");
    let [key, ec] = ["rsa-2048.pem", "ec-p256.pem"].map(pem_path);
    folder.write("message", &[7; 32]);
    folder.openssl(true, &format!("pkeyutl -encrypt -inkey {key} -in message -out secret"));
    folder.openssl(false, "genpkey -algorithm X25519 -out x25519.pem");
    folder.openssl(false, "pkey -in x25519.pem -pubout -out peer.pem");
    for words in [
        "genpkey -algorithm X25519 -out new.pem".into(),
        "pkeyutl -derive -inkey x25519.pem -peerkey peer.pem -out secret.bin".into(),
        format!("dgst -sha256 -sign {ec} -out signature message"),
        format!("dgst -sha256 -prverify {ec} -signature signature message"),
        format!("dgst -sha256 -sign {key} -out signature message"),
        format!("dgst -sha256 -prverify {key} -signature signature message"),
        format!("dgst -sha512 -sigopt rsa_padding_mode:pss -sign {key} message"),
        format!("pkeyutl -decrypt -inkey {key} -in secret"),
        format!("req -x509 -key {key} -subj /CN=localhost -out c.pem"),
        "genrsa -propquery tollgate.rsa=yes -out new.pem 1024".into(),
    ] {
        let mut command = folder.command_under(VALGRIND, true, &words);
        let output =
            command.env("TOLLGATE_CPU_DISABLE", "ifma,avxifma,avx512f,adx,avx2").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("=="), "openssl {words}: {said}");
    }
}
