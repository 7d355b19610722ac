//! Scripts in packetdrill's language, run against the simulated sender and receiver.
//!
//! A script says what the application does, what arrives, and what is to be sent, with times. [`run`] parses it, plays
//! it in virtual time against one connection and compares. No I/O: shell commands of a script are read, never executed.

pub mod calls;
pub mod code;
pub mod connection;
pub mod info;
pub mod lexer;
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

/// What is wrong with a script before it can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong, and what would be right.
    pub text: String,
    /// Whether it is of the language, but of what a simulator has not got.
    pub refused: bool,
}

impl Problem {
    /// Not of the language.
    pub fn syntax(line: u32, text: String) -> Problem {
        Problem { line, text, refused: false }
    }

    /// Of the language, but not of what there is here.
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
/// What keeps it from running; a script that runs and does not find what it expects is in the report.
pub fn run(text: &str, preset: Preset) -> Result<Report, Problem> {
    let script = parser::parse(text)?;
    runner::Runner::new(&script, preset)?.run()
}
