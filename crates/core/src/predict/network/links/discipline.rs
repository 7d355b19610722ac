//! Queue disciplines.

use crate::packet::DisciplineSpec;
use crate::spec::LinkSpec;

/// The rule by which a queue drops or marks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Discipline {
    /// Drops when the queue is full, until its flows react to the drops.
    DropTail,
    /// Drops one packet when the wait has exceeded a target for an interval, seconds (RFC 8289).
    Delay {
        /// The acceptable wait.
        target_s: f64,
        /// Time for which the wait may exceed the target.
        interval_s: f64,
    },
    /// Drops single packets with a probability that rises with the mean queue, packets (Floyd and Jacobson 1993).
    Random {
        /// Mean queue at which drops begin.
        minimum: f64,
        /// Mean queue at which the drop probability is `probability`.
        maximum: f64,
        /// See `maximum`.
        probability: f64,
    },
    /// Marks all packets of a round trip when the queue has this length, seconds.
    Threshold {
        /// The length.
        mark_s: f64,
    },
}

impl Discipline {
    /// The discipline of a link, where a full packet takes `packet_s` to transmit. `None` if the model has no
    /// equations for it.
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

    /// Whether the share and the queue of BBR follow from the model, on a link that this number of flows that react cross. BBR does not answer the
    /// drops that keep other flows' queues short.
    pub fn is_known_with_bbr(&self, senders: f64) -> bool {
        match self {
            Discipline::DropTail | Discipline::Threshold { .. } => true,
            Discipline::Delay { .. } => senders <= 1.0,
            Discipline::Random { .. } => false,
        }
    }
}
