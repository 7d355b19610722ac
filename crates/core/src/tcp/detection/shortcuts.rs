//! Cheaper answers of a detector to its sender. They save time and never change results.
//!
//! An ACK is *predicted* if it only passes the next segment, this was sent once, and nothing is sacked, lost or sent again. Van
//! Jacobson's header prediction gave such ACKs a short path as well: most ACKs of a steady flow are predicted.

use super::LossDetector;
use crate::tcp::rtt::RttEstimate;
use crate::tcp::scoreboard::Scoreboard;
use crate::units::Time;

/// Cheaper answers of a [`LossDetector`]. A detector without any says so in the registry.
pub trait DetectorShortcuts: LossDetector {
    /// Whether a predicted ACK changes the detector's state. If not, the sender does not report predicted ACKs.
    fn learns_from_predicted_acks(&self) -> bool {
        true
    }

    /// Processes the predicted ACK of the segment before `board.una()`, which was sent at `sent`. Returns a time before which the
    /// detector has no deadline, whatever is sent until then. Returns `None` without any change if [`LossDetector::on_ack`] must
    /// decide.
    fn on_predicted_ack(
        &mut self,
        _now: Time,
        _sent: Time,
        _round_start: bool,
        _board: &Scoreboard,
        _rtt: &RttEstimate,
    ) -> Option<Time> {
        None
    }

    /// Whether the deadline is certainly not before this instant. Costs less than the deadline itself, and may be too careful.
    fn quiet_until(&self, _instant: Time, _board: &Scoreboard, _rtt: &RttEstimate) -> bool {
        false
    }

    /// Whether the deadline is always that of the retransmission timer ([`super::timer::deadline`]).
    fn has_only_the_timer(&self) -> bool {
        false
    }
}
