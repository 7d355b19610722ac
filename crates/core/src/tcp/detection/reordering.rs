//! How far segments are overtaken, as a sender with SACK and DSACK can know it.

use crate::tcp::scoreboard::{Delivered, Scoreboard};
use std::collections::VecDeque;

/// Number of retransmitted segments whose lengths are remembered: more than a window, until their DSACKs arrive.
const REMEMBERED: usize = 4096;

/// Measures reordering in the unit of a threshold: the least threshold that does not take a late segment for lost. It is one more
/// than the segments that overtook it.
#[derive(Debug, Clone, Default)]
pub struct ReorderingLengths {
    /// Lengths of segments that were delivered after a retransmission: only a DSACK shows whether they were late or lost.
    uncertain: VecDeque<(u32, u32)>,
}

impl ReorderingLengths {
    /// The length of the reordering that the last ACK reveals, if it delivers a segment that was late and sent only once.
    pub fn observe(&mut self, delivered: &Delivered, board: &Scoreboard) -> Option<u32> {
        if delivered.any_retransmitted
            && delivered.newest_retransmitted
            && let Some((_, segment)) = delivered.newest()
        {
            if self.uncertain.len() == REMEMBERED {
                self.uncertain.pop_front();
            }
            self.uncertain.push_back((segment, 1 + delivered_before_above(segment, delivered, board)));
        }
        let late = delivered.lowest_original().filter(|_| delivered.reordered)?;
        Some(1 + delivered_before_above(late, delivered, board))
    }

    /// The length of the reordering that made this segment's retransmission spurious, once a DSACK says that it was.
    pub fn confirm(&mut self, segment: u32) -> Option<u32> {
        let index = self.uncertain.iter().position(|(late, _)| *late == segment)?;
        self.uncertain.remove(index).map(|(_, length)| length)
    }
}

/// Segments above one that the last ACK delivered which earlier ACKs had reported.
fn delivered_before_above(segment: u32, delivered: &Delivered, board: &Scoreboard) -> u32 {
    if segment < board.una() {
        // All that was sacked before: the sacked segments without the new ones, plus the acknowledged ones.
        return (board.sacked() + delivered.cumulative).saturating_sub(delivered.count);
    }
    let above = (segment + 1..board.sacked_end()).filter(|other| board.is_sacked(*other)).count() as u32;
    above.saturating_sub(delivered.count - 1)
}

/// Segments in flight before the ACK that opened the first hole (FlightSize of RFC 4653 section 3.1).
pub fn flight_before_hole(delivered: &Delivered, board: &Scoreboard) -> u32 {
    board.outstanding() + delivered.cumulative
}

/// Segments that have left the network while the first outstanding one has not, with SACK or by duplicate ACKs.
pub fn reported_above_hole(board: &Scoreboard) -> u32 {
    board.sacked() + board.duplicates()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Time;

    fn board(sent: u32) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..sent).for_each(|_| _ = board.send_new(Time(1)));
        board
    }

    #[test]
    fn the_first_hole_was_overtaken_by_all_that_was_sacked() {
        let (mut board, mut lengths) = (board(10), ReorderingLengths::default());
        let delivered = board.acknowledge(0, &[(1, 5)], Time(2));
        assert_eq!(lengths.observe(&delivered, &board), None);
        let delivered = board.acknowledge(5, &[], Time(3)); // 0 arrived after 1 to 4: a threshold of 5 would have waited
        assert_eq!(lengths.observe(&delivered, &board), Some(5));
        let delivered = board.acknowledge(6, &[], Time(4));
        assert_eq!(lengths.observe(&delivered, &board), None);
    }

    #[test]
    fn a_hole_in_the_middle_was_overtaken_by_what_lies_above_it() {
        let (mut board, mut lengths) = (board(10), ReorderingLengths::default());
        board.acknowledge(0, &[(1, 3), (4, 6)], Time(2));
        let delivered = board.acknowledge(0, &[(1, 6)], Time(3)); // 3, overtaken by 4 and 5
        assert_eq!(lengths.observe(&delivered, &board), Some(3));
        let delivered = board.acknowledge(6, &[], Time(4)); // 0, overtaken by five
        assert_eq!(lengths.observe(&delivered, &board), Some(6));
    }

    #[test]
    fn of_a_segment_sent_again_only_the_dsack_tells() {
        let (mut board, mut lengths) = (board(10), ReorderingLengths::default());
        board.acknowledge(0, &[(1, 5)], Time(2));
        board.mark_lost(0);
        board.retransmit(0, Time(3));
        let delivered = board.acknowledge(5, &[], Time(4));
        assert_eq!(lengths.observe(&delivered, &board), None);
        assert_eq!(lengths.confirm(3), None);
        assert_eq!(lengths.confirm(0), Some(5));
        assert_eq!(lengths.confirm(0), None, "once");
    }

    #[test]
    fn several_segments_sent_again_are_told_apart() {
        let (mut board, mut lengths) = (board(10), ReorderingLengths::default());
        board.acknowledge(0, &[(2, 6)], Time(2));
        for segment in [0, 1] {
            board.mark_lost(segment);
            board.retransmit(segment, Time(3));
        }
        for cumulative in [1, 6] {
            let delivered = board.acknowledge(cumulative, &[], Time(4));
            assert_eq!(lengths.observe(&delivered, &board), None);
        }
        assert_eq!([0, 1, 2].map(|segment| lengths.confirm(segment)), [Some(5), Some(5), None]);
    }
}
