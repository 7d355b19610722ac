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
        Problem { line, text, refused: false }
    }

    /// A problem of a valid script that needs a missing feature.
    pub fn refused(line: u32, text: String) -> Problem {
        Problem { line, text, refused: true }
    }
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
