//! Entropy values: how the sender of a flow chooses the path of each packet.
//!
//! A packet carries a value. A switch hashes it with the flow and a salt of its own, and so picks one of its equal next hops. The sender
//! sprays by changing the value. An acknowledgement returns the value of the packet that it answers, and its mark, so that a policy learns which
//! values are good (Ultra Ethernet 1.0; Bonato et al., REPS, arXiv 2407.21625).
//!
//! To add a policy: a file here with its [`crate::parameters!`] and its state machine, and one line in the registry below.

use crate::rng::Stream;
use crate::units::{Duration, Time};

pub mod bitmap;
pub mod flow;
pub mod mixed;
pub mod oblivious;
pub mod plb;
pub mod reps;
mod rounds;

/// What the sender has learnt about a packet with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// It arrived without a mark.
    Good,
    /// It arrived with congestion experienced.
    Marked,
    /// A queue has cut its payload, and another path would have helped.
    Trimmed,
}

/// A policy by which a sender chooses entropy values.
pub trait EntropyPolicy: Send + Sync {
    /// The value of the packet that is sent now.
    fn next(&mut self, now: Time) -> u32;

    /// Called when an acknowledgement has returned a value, on a path of about this round-trip time.
    fn on_feedback(&mut self, _now: Time, _round_trip: Duration, _value: u32, _feedback: Feedback) {}

    /// Called when the retransmission timer has expired. Nobody knows the value of the packet that was lost.
    fn on_timeout(&mut self, _now: Time) {}
}

crate::algorithm_registry! {
    /// A policy of entropy values by name, with its parameters.
    pub enum EntropySpec builds dyn EntropyPolicy from Stream {
        /// One value for all packets of the flow, as ECMP has it.
        Flow = "flow": flow::Flow,
        /// All values in turn, in an order drawn anew each round.
        Oblivious = "oblivious": oblivious::Oblivious,
        /// All values in turn, but those with a penalty are skipped (Ultra Ethernet 1.0).
        Bitmap = "bitmap": bitmap::Bitmap,
        /// Values that came back without a mark are used again, once each; after a timeout, again and again (REPS, arXiv 2407.21625).
        Reps = "reps": reps::Reps,
        /// Values that came back without a mark, the earliest first; where there is none, as `bitmap`.
        Mixed = "mixed": mixed::Mixed,
        /// A new value after rounds with many marks, and after a timeout (PLB, Qureshi et al. 2022, as in Linux 6.2).
        Plb = "plb": plb::Plb,
    }
}

impl Default for EntropySpec {
    fn default() -> EntropySpec {
        EntropySpec::Oblivious(oblivious::Parameters::default())
    }
}

#[cfg(test)]
mod properties;
