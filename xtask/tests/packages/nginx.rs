//! nginx signs with the provider after the commands of docs/install.md, and no longer after those
//! of its section on removal.

use crate::system::System;
use crate::{commands, folder};

const SITE: &str = "server { listen 127.0.0.1:443 ssl; ssl_certificate /srv/cert.pem; \
    ssl_certificate_key /srv/key.pem; }";
const HANDSHAKE: &str = "openssl s_client -connect 127.0.0.1:443 </dev/null 2>&1 | \
    grep -E 'Cipher is TLS|Cipher is ECDHE'";
const WORKER: &str = "$(pgrep -n -x nginx)";

#[test]
#[ignore = "needs packages and Debian systems: ./x test --long"]
fn nginx_signs_with_the_provider_until_it_is_removed() {
    let (Some(packages), Some(template)) = (folder("TOLLGATE_PACKAGES"), folder("TOLLGATE_DEBIAN"))
    else {
        return;
    };
    let mut system = System::new(&template, &packages, "nginx");
    system.run(
        "openssl req -x509 -newkey rsa:2048 -noenc -subj /CN=localhost -keyout /srv/key.pem \
         -out /srv/cert.pem 2>/dev/null",
    );
    system.run(&format!("echo '{SITE}' >/etc/nginx/conf.d/tls.conf"));
    // One worker, so that it signs in every handshake.
    system.run("sed -i 's/^worker_processes .*/worker_processes 1;/' /etc/nginx/nginx.conf");
    system.run("systemctl restart nginx");
    system.run(HANDSHAKE);

    let use_it = commands("Use the provider");
    assert_eq!(use_it.len(), 3, "{use_it:?}");
    for command in &use_it {
        system.run(command);
    }
    let (code, said) = system.try_run(&format!("tollgate provider stats --pid {WORKER}"));
    assert!(code == 0 && said.contains("yes: it has loaded the module"), "{said}");

    // Counts need a folder; the package has made none, because the system has no systemd.
    system.run("install -d -m 1777 /run/tollgate");
    system.run("sed -i '/tollgate.so/a metrics = /run/tollgate' /etc/ssl/tollgate.cnf");
    system.run("systemctl restart nginx");
    for _ in 0..3 {
        system.run(HANDSHAKE);
    }
    system.run("sleep 1");
    let counts = system.run(&format!("tollgate provider stats --pid {WORKER}"));
    let signatures = counts.lines().filter_map(|line| line.trim().strip_prefix("signatures "));
    assert_eq!(signatures.map(str::trim).collect::<Vec<_>>(), ["3"], "{counts}");

    // If the package goes first, and the service keeps its setting, nginx works without it.
    system.run("apt-get remove tollgate-provider");
    system.run("systemctl restart nginx");
    system.run(HANDSHAKE);
    let (code, said) = system.try_run(&format!("tollgate provider stats --pid {WORKER}"));
    assert!(code == 1 && said.contains("no"), "{said}");

    system.run("apt-get install ./tollgate-provider_*.deb && systemctl restart nginx");
    system.run(&format!("tollgate provider stats --pid {WORKER}"));
    for command in commands("Remove") {
        system.run(&command);
    }
    system.run(HANDSHAKE);
    let maps = system.run(&format!("cat /proc/{WORKER}/maps"));
    assert!(maps.contains("libcrypto") && !maps.contains("tollgate"), "{maps}");
    assert_ne!(system.try_run(&format!("ls {}", "/etc/ssl/tollgate.cnf")).0, 0);
}
