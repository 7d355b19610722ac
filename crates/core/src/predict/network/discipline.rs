//! Queue disciplines.

use crate::packet::DisciplineSpec;
use crate::spec::LinkSpec;

/// When a queue drops or marks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Discipline {
    /// When it is full: what its flows grow until they know of it.
    DropTail,
    /// One packet, when the wait has been above a target for an interval, seconds (RFC 8289).
    Delay {
        /// The acceptable wait.
        target_s: f64,
        /// How long it may be more.
        interval_s: f64,
    },
    /// Single packets, with a probability that rises with the mean queue (Floyd and Jacobson 1993), packets.
    Random {
        /// The queue at which it begins.
        minimum: f64,
        /// The queue at which it is `probability`.
        maximum: f64,
        /// See `maximum`.
        probability: f64,
    },
    /// All packets of a round trip, when the queue has this length, seconds.
    Threshold {
        /// The length.
        mark_s: f64,
    },
}

impl Discipline {
    /// Of a link whose full packets take so long; none where the model knows no such discipline.
    pub fn of(link: &LinkSpec, packet_s: f64) -> Option<Discipline> {
        let discipline = match &link.queue.discipline {
            DisciplineSpec::DropTail(_) => Discipline::DropTail,
            DisciplineSpec::Codel(parameters) => {
                Discipline::Delay { target_s: parameters.target.as_secs(), interval_s: parameters.interval.as_secs() }
            }
            DisciplineSpec::Red(parameters) => Discipline::Random {
                minimum: parameters.minimum,
                maximum: parameters.maximum,
                probability: parameters.probability.0,
            },
            DisciplineSpec::EcnThreshold(parameters) => {
                Discipline::Threshold { mark_s: f64::from(parameters.mark) * packet_s }
            }
            #[allow(unreachable_patterns, reason = "a discipline added to the registry has no equations yet")]
            _ => return None,
        };
        Some(discipline)
    }
}
