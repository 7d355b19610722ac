//! The retransmission timer of RFC 6298, which every detector but the purely time-based ones keeps as its last resort.

use super::{Signal, Verdict};
use crate::tcp::rtt::RttEstimate;
use crate::tcp::scoreboard::Scoreboard;
use crate::units::Time;

/// Expiry of the timer: one RTO after it was started, while data is outstanding (RFC 6298 section 5).
#[inline]
pub fn deadline(board: &Scoreboard, rtt: &RttEstimate) -> Option<Time> {
    (board.outstanding() > 0).then(|| rtt.expiry(board.timer_start()))
}

/// Marks everything in flight as lost, because the timer expired (RFC 6298 (5.4), RFC 6675 section 5.1).
pub fn expire(board: &mut Scoreboard) -> Verdict {
    board.mark_all_lost();
    Verdict::of(Signal::Timeout)
}
