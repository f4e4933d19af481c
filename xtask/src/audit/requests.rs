//! Valgrind's client requests, which no release may contain.

use std::fs;
use std::path::Path;

use crate::workspace::target_folder;

/// The instructions before each request: `rol rdi` by 3, 13, 61 and 51, and `xchg rbx, rbx`.
const REQUEST: [u8; 19] = [
    0x48, 0xc1, 0xc7, 3, 0x48, 0xc1, 0xc7, 13, 0x48, 0xc1, 0xc7, 61, 0x48, 0xc1, 0xc7, 51, 0x48,
    0x87, 0xdb,
];

/// The release builds of what users run, in the target folder.
const RELEASES: [&str; 3] =
    ["release/tollgate", "release/tollgate-ladder", "release/libtollgate_provider.so"];

/// Returns a finding for each release that contains a request or cannot be read.
pub(super) fn of_releases() -> Vec<String> {
    match target_folder() {
        Ok(target) => RELEASES.iter().filter_map(|it| finding(&target.join(it))).collect(),
        Err(why) => vec![why],
    }
}

fn finding(path: &Path) -> Option<String> {
    match fs::read(path) {
        Ok(bytes) if has_request(&bytes) => {
            Some(format!("{}: contains client requests of valgrind", path.display()))
        }
        Ok(_) => None,
        Err(why) => Some(format!("{}: {why}; run: ./x provider", path.display())),
    }
}

fn has_request(code: &[u8]) -> bool {
    code.windows(REQUEST.len()).any(|bytes| bytes == REQUEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_found_anywhere() {
        let mut code = vec![0x90; 100];
        assert!(!has_request(&code));
        code.extend(REQUEST);
        assert!(has_request(&code));
        code.pop();
        assert!(!has_request(&code));
    }

    #[test]
    fn a_missing_release_is_a_finding() {
        assert!(finding(Path::new("/no/such/release")).is_some());
    }
}
