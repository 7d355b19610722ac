//! A parsed script: events with times, in the order of its lines.

use super::code::Program;
use super::wire::Segment;
use crate::units::Duration;

/// A script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// `--name=value` lines before the first event.
    pub options: Vec<Setting>,
    /// `// anabranch: key=value ...` lines: a comment to others, a setting to us.
    pub settings: Vec<Setting>,
    /// The events of the script.
    pub events: Vec<Event>,
}

/// A name and its value, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The line it stands on.
    pub line: u32,
    /// The name.
    pub name: String,
    /// The value, empty without one.
    pub value: String,
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The line it begins on.
    pub line: u32,
    /// When it is to happen.
    pub at: At,
    /// What.
    pub action: Action,
}

/// When an event is to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// This time after the start.
    Absolute(Duration),
    /// This time after the previous event.
    Relative(Duration),
    /// Within a span after the start.
    AbsoluteRange(Duration, Duration),
    /// Within a span after the event before.
    RelativeRange(Duration, Duration),
    /// `*`: whenever.
    Any,
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// `<`: the segment arrives.
    Inbound(Segment),
    /// `>`: the segment is to be sent.
    Outbound(Segment),
    /// A system call.
    Call(Call),
    /// A shell command in backticks.
    Command(String),
    /// `%{ ... }%`.
    Code(Program),
}

/// A system call and its expected result.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Name of the call.
    pub name: String,
    /// Arguments of the call.
    pub arguments: Vec<Argument>,
    /// How long it blocks, after it was called; `None` if it returns at once.
    pub returns_after: Option<Duration>,
    /// The value, if the script does not leave it open.
    pub result: Option<i64>,
    /// The error's name, such as `EAGAIN`.
    pub error: Option<String>,
}

/// An argument of a system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// `...`.
    Any,
    /// A number.
    Number(i64),
    /// A constant's name, or several joined by `|`.
    Names(Vec<String>),
    /// A string.
    Text,
    /// `[...]`.
    List(Vec<Argument>),
    /// `{...}`: a structure, whose content is not parsed.
    Structure,
}
