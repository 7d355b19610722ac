//! Reordering as Linux's sender measures it (`tcp_check_sack_reordering`).

use crate::tcp::scoreboard::Delivered;

/// The degree of reordering that Linux assumes before it has seen any.
const LEAST_REORDERING: u32 = 3;
/// The most that it remembers (`tcp_max_reordering`).
const MOST_REORDERING: u32 = 300;

/// Reordering as the sender can measure it. It is the distance from the lowest late segment, sent once, to the end of the
/// segments that SACK had reported before.
#[derive(Debug, Clone, Copy)]
pub struct Reordering {
    /// The greatest distance, in segments.
    pub degree: u32,
    /// How often it was seen.
    pub seen: u32,
}

impl Default for Reordering {
    fn default() -> Reordering {
        Reordering { degree: LEAST_REORDERING, seen: 0 }
    }
}

impl Reordering {
    /// Updates the record after an ACK. `sacked_end` is the end of the segments that SACK had reported before it.
    pub fn on_ack(&mut self, delivered: &Delivered, sacked_end: u32) {
        if let Some(lowest) = delivered.lowest_original().filter(|lowest| *lowest < sacked_end)
            && delivered.reordered
        {
            self.degree = self.degree.max((sacked_end - lowest).min(MOST_REORDERING));
            self.seen += 1;
        }
    }
}
