//! Places of agents, and the commands that start them there.

use core::fmt;
use core::str::FromStr;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::AGENTS_MAX;
use crate::nats::FleetName;

/// The place of agents: `ssh:HOST`, `exec:COMMAND`, or `nats:FLEET/COUNT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    text: String,
    pub(super) place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A program and its arguments.
    Command(Vec<String>),
    /// As many agents of a fleet.
    Nats(FleetName, usize),
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = "give ssh:HOST, nats:FLEET/COUNT, or exec:COMMAND, which runs 'tollgate agent' \
                      in some other way";
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
            "nats" => {
                let (fleet, count) = rest.split_once('/').ok_or(wanted)?;
                let count = count.parse().ok().filter(|count| (1..=AGENTS_MAX).contains(count));
                let wanted =
                    concat!("the number of agents is 1 to ", agents_max!(), ", as in nats:lab/4");
                let count = count.ok_or(wanted)?;
                let place = Place::Nats(fleet.parse()?, count);
                return Ok(Self { text: text.to_owned(), place });
            }
            _ => return Err(wanted),
        };
        if words.is_empty() {
            return Err("give a command after exec:, as in 'exec:tollgate agent'");
        }
        let words = words.into_iter().map(str::to_owned).collect();
        Ok(Self { text: text.to_owned(), place: Place::Command(words) })
    }
}

impl Address {
    /// Returns the number of agents there.
    #[must_use]
    pub const fn agents(&self) -> usize {
        match self.place {
            Place::Command(_) => 1,
            Place::Nats(_, count) => count,
        }
    }

    /// Returns whether its agents are on NATS.
    #[must_use]
    pub const fn is_nats(&self) -> bool {
        matches!(self.place, Place::Nats(..))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns the command, with pipes for the protocol; its errors go to standard error. It has a
/// process group of its own: Ctrl-C reaches the controller, which stops the agents.
pub(super) fn command(words: &[String]) -> Command {
    let (program, arguments) = words.split_first().expect("an address has a program");
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        match text.parse::<Address>().unwrap().place {
            Place::Command(words) => words,
            Place::Nats(..) => panic!("{text} is no command"),
        }
    }

    #[test]
    fn addresses_become_commands() {
        let ssh = ["ssh", "-T", "-o", "BatchMode=yes", "me@load1", "tollgate", "agent"];
        assert_eq!(words("ssh:me@load1"), ssh);
        let netns = ["ip", "netns", "exec", "a", "tollgate", "agent"];
        assert_eq!(words("exec:ip netns exec a  tollgate agent"), netns);
        for bad in ["", "load1", "ssh:", "ssh:-oProxyCommand=x", "ssh:a b", "exec: "] {
            assert!(bad.parse::<Address>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn addresses_on_nats_have_a_fleet_and_a_number_of_agents() {
        let address: Address = format!("nats:lab/{AGENTS_MAX}").parse().unwrap();
        assert_eq!((address.agents(), address.is_nats()), (AGENTS_MAX, true));
        assert_eq!(address.place, Place::Nats("lab".parse().unwrap(), AGENTS_MAX));
        assert_eq!("ssh:load1".parse::<Address>().unwrap().agents(), 1);
        for bad in ["nats:lab", "nats:lab/", "nats:lab/0", "nats:a.b/1", "nats:/1"] {
            assert!(bad.parse::<Address>().is_err(), "{bad:?}");
        }
        let beyond = format!("nats:lab/{}", AGENTS_MAX + 1);
        let why = beyond.parse::<Address>().unwrap_err();
        assert!(why.contains(&format!("1 to {AGENTS_MAX},")), "{why}");
    }
}
