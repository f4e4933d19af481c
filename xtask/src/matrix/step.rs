//! One step of the matrix.

use core::time::Duration;
use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use xshell::Cmd;

use crate::Result;

/// What a step prints of its output.
#[derive(Clone, Copy)]
pub(super) enum Show {
    Nothing,
    LastLine,
    /// The lines that contain one of these words. It is an error if there is none.
    Lines(&'static [&'static str]),
    /// How many tests passed. It is an error if none ran, or one says that it did not run.
    Totals,
}

/// Runs commands until one fails. While they run, prints the last line of their output every 20 s;
/// then the time, and what `show` leaves of the output. If a command fails, prints everything.
pub(super) fn step<'a>(
    title: &str,
    show: Show,
    commands: impl IntoIterator<Item = Cmd<'a>>,
) -> Result<()> {
    println!("== {title}");
    let start = Instant::now();
    let path = std::env::temp_dir().join(format!("tollgate-step-{}.log", std::process::id()));
    let log = File::create(&path)?;
    let read = || String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
    let mut is_good = true;
    for command in commands {
        let name = command.to_string();
        let mut command = Command::from(command);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
        let mut child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
        let (mut status, mut said) = (child.try_wait()?, start.elapsed());
        while status.is_none() {
            sleep(Duration::from_millis(50));
            if start.elapsed() > said + Duration::from_secs(20) {
                said = start.elapsed();
                let output = read();
                let last: String =
                    output.lines().next_back().unwrap_or(&name).chars().take(90).collect();
                println!("   {} s, waiting for: {}", said.as_secs(), last.trim());
            }
            status = child.try_wait()?;
        }
        is_good = status.is_some_and(|status| status.success());
        if !is_good {
            break;
        }
    }
    let output = read();
    fs::remove_file(&path)?;
    let seconds = start.elapsed().as_secs();
    if !is_good {
        print!("{output}");
        return Err(format!("failed after {seconds} s: {title}").into());
    }
    println!("   {seconds} s");
    let shown = show.summary(&output).inspect_err(|_| print!("{output}"));
    shown.map_err(|error| format!("{title}: {error}"))?.lines().for_each(|line| println!("{line}"));
    Ok(())
}

impl Show {
    fn summary(self, output: &str) -> core::result::Result<String, &'static str> {
        match self {
            Self::Nothing => Ok(String::new()),
            Self::LastLine => Ok(output.lines().next_back().unwrap_or_default().to_owned()),
            Self::Lines(words) => {
                let lines =
                    output.lines().filter(|line| words.iter().any(|word| line.contains(word)));
                let lines = lines.collect::<Vec<_>>().join("\n");
                if lines.is_empty() {
                    Err("the line that it should print is missing")
                } else {
                    Ok(lines)
                }
            }
            Self::Totals => totals(output),
        }
    }
}

/// Adds the results of test programs: `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
fn totals(output: &str) -> core::result::Result<String, &'static str> {
    let (mut passed, mut ignored, mut programs) = (0, 0, 0);
    for line in output.lines() {
        if line.starts_with("not run") {
            return Err("a test lacks something; its line begins with 'not run'");
        }
        if line.starts_with("test result:") {
            let words: Vec<&str> = line.split(' ').collect();
            let number =
                |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0_u64);
            (passed, ignored, programs) = (passed + number(3), ignored + number(7), programs + 1);
        }
    }
    match passed {
        0 => Err("no test ran: does the step name tests that exist?"),
        _ => Ok(format!("   {passed} passed, {ignored} ignored, in {programs} programs")),
    }
}

#[cfg(test)]
mod tests {
    use xshell::{Shell, cmd};

    use super::{Show, step, totals};

    #[test]
    fn results_are_added_and_tests_that_did_not_run_are_errors() {
        let result = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n";
        let two = format!("running\n{result}{result}");
        assert_eq!(totals(&two).unwrap(), "   6 passed, 2 ignored, in 2 programs");
        assert!(totals(&format!("{two}not run: no nginx\n")).is_err());
        assert!(totals(&result.replace('3', "0")).is_err());
    }

    #[test]
    fn a_step_fails_with_its_first_command() {
        let sh = Shell::new().unwrap();
        let (good, bad) = (|| cmd!(sh, "echo backends tested"), || cmd!(sh, "false"));
        assert!(step("good", Show::Lines(&["tested"]), [good(), good()]).is_ok());
        let error = step("bad", Show::Nothing, [bad(), good()]).unwrap_err().to_string();
        assert!(error.ends_with(" s: bad"), "{error}");
        assert!(step("silent", Show::Lines(&["passed"]), [good()]).is_err());
        assert!(step("missing", Show::Nothing, [cmd!(sh, "no-such-program")]).is_err());
    }
}
