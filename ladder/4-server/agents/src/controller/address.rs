//! Places of agents, and the commands that start them there.

use core::fmt;
use core::str::FromStr;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// The place of an agent: `ssh:HOST`, or `exec:COMMAND`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    text: String,
    /// The program and its arguments.
    words: Vec<String>,
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted =
            "give ssh:HOST, or exec:COMMAND, which runs 'tollgate agent' in some other way";
        let (kind, rest) = text.split_once(':').ok_or(wanted)?;
        let words = match kind {
            // ssh would take a host with a dash for an option
            "ssh"
                if rest.is_empty()
                    || rest.starts_with('-')
                    || rest.contains(char::is_whitespace) =>
            {
                return Err("give a host after ssh:, as in ssh:load1 or ssh:user@load1");
            }
            // BatchMode: standard input is the protocol, so nobody can answer a question
            "ssh" => vec!["ssh", "-T", "-o", "BatchMode=yes", rest, "tollgate", "agent"],
            "exec" => rest.split_whitespace().collect(),
            _ => return Err(wanted),
        };
        if words.is_empty() {
            return Err("give a command after exec:, as in 'exec:tollgate agent'");
        }
        let words = words.into_iter().map(str::to_owned).collect();
        Ok(Self { text: text.to_owned(), words })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Address {
    /// Returns the command, with pipes for the protocol; its errors go to standard error. It has a
    /// process group of its own: Ctrl-C reaches the controller, which stops the agents.
    pub(super) fn command(&self) -> Command {
        let (program, arguments) = self.words.split_first().expect("an address has a program");
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.parse::<Address>().unwrap().words
    }

    #[test]
    fn addresses_become_commands() {
        let ssh = ["ssh", "-T", "-o", "BatchMode=yes", "me@load1", "tollgate", "agent"];
        assert_eq!(words("ssh:me@load1"), ssh);
        let netns = ["ip", "netns", "exec", "a", "tollgate", "agent"];
        assert_eq!(words("exec:ip netns exec a  tollgate agent"), netns);
        for bad in ["", "load1", "ssh:", "ssh:-oProxyCommand=x", "ssh:a b", "exec: ", "nats:x"] {
            assert!(bad.parse::<Address>().is_err(), "{bad:?}");
        }
    }
}
