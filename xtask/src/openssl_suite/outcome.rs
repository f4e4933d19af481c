//! The results of a recipe's tests, in the Test Anything Protocol, and how two runs differ.

use std::collections::BTreeMap;

/// How often each test has passed and failed, by its description.
pub(super) type Results = BTreeMap<String, [usize; 2]>;

/// Reads the tests at all levels of the output of a recipe, and the failed stanzas of `evp_test`,
/// by file and line. Tests without a description are counted together.
pub(super) fn parse(output: &str) -> Results {
    let mut results = Results::new();
    for line in output.lines() {
        let line = line.trim_start();
        if let Some(stanza) = failed_stanza(line) {
            results.entry(stanza.to_owned()).or_default()[1] += 1;
            continue;
        }
        let (has_failed, rest) = match line.strip_prefix("not ok") {
            Some(rest) => (true, rest),
            None => match line.strip_prefix("ok") {
                Some(rest) => (false, rest),
                None => continue,
            },
        };
        // `ok 3 - description`, or `ok 3 # skip reason`
        let Some(rest) = rest.strip_prefix(' ') else { continue };
        let description = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if description.len() == rest.len() {
            continue;
        }
        let description = description.trim_start_matches([' ', '-']).to_owned();
        results.entry(description).or_default()[usize::from(has_failed)] += 1;
    }
    results
}

/// Returns file and line of a stanza, from a line such as
/// `# ../recipes/30-test_evp_data/evppkey_rsa.txt:219: Expected error ...`.
fn failed_stanza(line: &str) -> Option<&str> {
    let path = line.strip_prefix("# ")?.split(": ").next()?;
    let stanza = path.rsplit_once('/')?.1;
    let (file, number) = stanza.split_once(':')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && file.ends_with(".txt")).then_some(stanza)
}

/// Returns how many tests there are.
pub(super) fn count(results: &Results) -> usize {
    results.values().flatten().sum()
}

/// Returns a line for each test that passed or failed another number of times than it did alone,
/// except for those that begin with an explained description; an empty one explains itself alone.
pub(super) fn differences(alone: &Results, with: &Results, explained: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    let names: std::collections::BTreeSet<_> = alone.keys().chain(with.keys()).collect();
    for name in names {
        let [alone, with] = [alone, with].map(|run| run.get(name).copied().unwrap_or_default());
        let is_known = |known: &&str| match known.is_empty() {
            true => name.is_empty(),
            false => name.starts_with(known),
        };
        if alone != with && !explained.iter().any(is_known) {
            let [passed, failed] = with;
            lines.push(format!(
                "{name:?}: {passed} passed and {failed} failed, alone {} and {}",
                alone[0], alone[1]
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: &str = "
# The results of this test
    1..3
    ok 1 - test_one
    # INFO: okay
    ok 2 - test_two
    not ok 3 - test_three
ok 1 - a program
ok 2
okay 3
not ok 3 # skip no FIPS
        # ../../30-test_evp_data/evppkey_rsa.txt:219: Expected error a, got b
        # skipping, 'fips' provider not available: ../../30-test_evp_data/evppkey_rsa.txt:646
        # Reading ../../30-test_evp_data/evppkey_rsa.txt
../util/wrap.pl => 0
";

    #[test]
    fn tests_of_all_levels_are_counted() {
        let results = parse(ALONE);
        assert_eq!(count(&results), 7);
        assert_eq!(results["evppkey_rsa.txt:219"], [0, 1]);
        assert_eq!(results["test_three"], [0, 1]);
        assert_eq!(results["a program"], [1, 0]);
        assert_eq!(results["# skip no FIPS"], [0, 1]);
        assert_eq!(results[""], [1, 0]);
    }

    #[test]
    fn each_change_is_a_difference() {
        let alone = parse(ALONE);
        assert!(differences(&alone, &alone, &[]).is_empty());
        let order = parse(&ALONE.lines().rev().collect::<Vec<_>>().join("\n"));
        assert!(differences(&alone, &order, &[]).is_empty());
        for (from, to) in [
            ("ok 1 - test_one", "not ok 1 - test_one"),
            ("not ok 3 - test_three", "ok 3 - test_three"),
            ("    ok 2 - test_two\n", ""),
            ("ok 2 - test_two", "ok 2 - test_two\nok 2 - test_two"),
        ] {
            let with = parse(&ALONE.replacen(from, to, 1));
            assert_eq!(differences(&alone, &with, &[]).len(), 1, "{from}");
            assert!(differences(&alone, &with, &["test_"]).is_empty(), "{from}");
        }
    }
}
