//! What came of a script.

use super::script::At;
use super::wire::Segment;
use crate::units::Time;
use serde::Serialize;

/// A line of the comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The script's line; `None` for a segment that nothing asked for.
    pub line: Option<u32>,
    /// When the script expects it, seconds; `None` for whenever, or if it does not.
    pub expected_s: Option<f64>,
    /// The segment that the script expects.
    pub expected: Option<String>,
    /// When it was sent, seconds.
    pub sent_s: Option<f64>,
    /// What was sent; several segments in succession as one, where the script has them so.
    pub sent: Option<String>,
    /// Whether they agree.
    pub agrees: bool,
}

/// Why a script failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The script's line.
    pub line: u32,
    /// What was expected, and what happened.
    pub text: String,
}

/// What came of a script.
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
    /// An expected segment, and what was sent for it.
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

    /// A segment that nothing asked for.
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
