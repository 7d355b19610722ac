//! The result of a script.

use super::script::At;
use super::wire::Segment;
use crate::units::Time;
use serde::Serialize;

/// A line of the comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Line of the script; `None` for an unexpected segment.
    pub line: Option<u32>,
    /// Time at which the script expects the segment, seconds. `None` if any time is right, or if the script expects
    /// no segment.
    pub expected_s: Option<f64>,
    /// The segment that the script expects.
    pub expected: Option<String>,
    /// When it was sent, seconds.
    pub sent_s: Option<f64>,
    /// The sent segments. Several consecutive segments count as one where the script has them as one.
    pub sent: Option<String>,
    /// Whether they agree.
    pub agrees: bool,
}

/// Why a script failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The script's line.
    pub line: u32,
    /// The expectation, and the actual event.
    pub text: String,
}

/// The result of a script.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Segments expected and sent, in order.
    pub rows: Vec<Row>,
    /// The first thing that was not as the script says.
    pub failure: Option<Failure>,
}

fn seconds(time: Time) -> f64 {
    time.as_secs()
}

impl Row {
    /// An expected segment, and the segment sent for it.
    pub fn expected(
        line: u32,
        at: At,
        due: Time,
        segment: &Segment,
        sent: Option<&(Time, Segment)>,
        agrees: bool,
    ) -> Row {
        Row {
            line: Some(line),
            expected_s: (at != At::Any).then(|| seconds(due)),
            expected: Some(segment.to_string()),
            sent_s: sent.map(|(time, _)| seconds(*time)),
            sent: sent.map(|(_, segment)| segment.to_string()),
            agrees,
        }
    }

    /// An unexpected segment.
    pub fn unexpected((time, segment): &(Time, Segment)) -> Row {
        Row {
            line: None,
            expected_s: None,
            expected: None,
            sent_s: Some(seconds(*time)),
            sent: Some(segment.to_string()),
            agrees: false,
        }
    }
}
