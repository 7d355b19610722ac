//! Congestion controls as Linux has them, in whole segments: those of its source, and [programs](program) for it.

pub mod based;
pub mod bbr;
pub mod bic;
pub mod cdg;
pub mod cubic;
pub mod dctcp;
pub mod highspeed;
pub mod htcp;
pub mod hybla;
pub mod illinois;
mod policer;
pub mod program;
pub mod reno;
pub mod rounds;
pub mod scalable;
pub mod vegas;
pub mod veno;
pub mod westwood;
pub mod window;
pub mod yeah;

use super::CongestionControl;
use crate::tcp::events::Connection;
use crate::units::{Duration, Time};

/// `min_quantum` of most controls (`net.ipv4.tcp_min_tso_segs`), segments.
pub const MIN_QUANTUM: u32 = 2;

/// What a control as Linux has it sees and decides besides. A control of a paper has the defaults, and says so in the registry. It may
/// run on a sender that follows Linux, too.
pub trait LinuxControl: CongestionControl {
    /// Called when a loss happens within the reduction after a congestion mark. From then on, the episode is loss recovery. The window has
    /// shrunk to `reached` by then. Only from a sender that follows Linux.
    fn on_loss_in_reduction(&mut self, _reached: u32) {}

    /// Recovery ended because nothing was lost, and the window stays reduced, for a mark. Only from a sender that follows Linux.
    fn on_reopened(&mut self) {}

    /// Whether the control sees the connection before each of its events. Then its `on_ack` sees every ACK, also an ACK that delivers
    /// nothing.
    fn observes_connection(&self) -> bool {
        false
    }

    /// The connection before the next event; only if it [observes it](Self::observes_connection).
    fn on_connection(&mut self, _connection: &Connection<'_>) {}

    /// A segment is about to be sent while nothing is in flight; only if it [observes the connection](Self::observes_connection).
    fn on_start(&mut self) {}

    /// Least number of segments that a sender following Linux sends at one instant when it paces (`min_tso_segs`).
    fn min_quantum(&mut self, _now: Time) -> u32 {
        MIN_QUANTUM
    }

    /// The least retransmission timeout that it demands instead of the stack's; only if it [observes](Self::observes_connection).
    fn min_rto(&self) -> Option<Duration> {
        None
    }

    /// Whether the control requests a reduction without a loss after the last ACK. Then the sender spreads the reduction over a round
    /// trip, as after a congestion mark. `None` if the control never requests one.
    fn backs_off(&self) -> Option<bool> {
        None
    }
}
