//! Scripts in packetdrill's language, run against the simulated sender and receiver.
//!
//! A script describes the application's calls, the arriving segments and the expected segments, with times. [`run`]
//! parses the script, plays it in virtual time against one connection, and compares. No I/O: shell commands of a script
//! are read, never executed.

pub mod calls;
pub mod code;
pub mod compare;
pub mod connection;
pub mod info;
pub mod lexer;
pub mod outline;
pub mod parser;
pub mod presets;
pub mod reordering;
pub mod report;
pub mod runner;
pub mod script;
pub mod settings;
pub mod shell;
pub mod streams;
pub mod wire;

use report::Report;
use settings::Preset;
use std::fmt;

/// A problem that prevents a script from running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: u32,
    /// The problem, and a correct value.
    pub text: String,
    /// Whether the script is valid, but needs a feature that the simulator does not have.
    pub refused: bool,
}

impl Problem {
    /// Not of the language.
    pub fn syntax(line: u32, text: String) -> Problem {
        Problem { line, text: shortened(text), refused: false }
    }

    /// A problem of a valid script that needs a missing feature.
    pub fn refused(line: u32, text: String) -> Problem {
        Problem { line, text: shortened(text), refused: true }
    }
}

/// Characters of a message: a broken script may have a word of thousands, and what would be right stands behind it.
const LONGEST_MESSAGE: usize = 600;

/// A message without its middle, if it is too long.
fn shortened(text: String) -> String {
    let (half, count) = (LONGEST_MESSAGE / 2, text.chars().count());
    if count <= LONGEST_MESSAGE {
        return text;
    }
    text.chars().take(half).chain(" ... ".chars()).chain(text.chars().skip(count - half)).collect()
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused = if self.refused { "not modelled: " } else { "" };
        write!(formatter, "line {}: {refused}{}", self.line, self.text)
    }
}

impl std::error::Error for Problem {}

/// Runs a script against a stack.
///
/// # Errors
/// The problem that prevents the script from running. If the script runs and an expectation fails, the report shows it.
pub fn run(text: &str, preset: Preset) -> Result<Report, Problem> {
    let script = parser::parse(text)?;
    runner::Runner::new(&script, preset)?.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_keeps_its_begin_and_its_end() {
        let text = |length: usize| format!("{}: here should be a time", "\u{e9}".repeat(length));
        assert_eq!(Problem::syntax(1, text(500)).text, text(500));
        let long = Problem::refused(1, text(5000)).text;
        assert!(long.chars().count() < 610 && long.starts_with('\u{e9}') && long.ends_with("here should be a time"));
    }
}
