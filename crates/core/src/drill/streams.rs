//! Bytes to segments and back: scripts count bytes, the sender and the receiver whole segments.

use std::collections::BTreeSet;

/// Bytes of one segment, counted from the first byte of data; a FIN counts as a byte behind the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The first byte.
    pub start: u64,
    /// Payload bytes.
    pub length: u32,
    /// Whether the segment carries the FIN.
    pub fin: bool,
}

impl Piece {
    /// The sequence number behind it, its FIN counted.
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.length) + u64::from(self.fin)
    }
}

/// The data that an application has written, and its boundaries of segments.
#[derive(Debug, Clone)]
pub struct Outgoing {
    mss: u32,
    written: u64,
    /// A FIN follows the written data.
    finished: bool,
    /// Cut when they are sent for the first time, and never again.
    pieces: Vec<Piece>,
    /// Number of segments announced to the sender.
    announced: u32,
}

impl Outgoing {
    /// A stream without data. Full segments carry `mss` bytes.
    pub fn new(mss: u32) -> Outgoing {
        Outgoing { mss, written: 0, finished: false, pieces: Vec::new(), announced: 0 }
    }

    /// Appends bytes that the application writes.
    pub fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// Ends the data: the application has written everything.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Whether the application has written all.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether all that was written is cut, the FIN too.
    pub fn is_all_cut(&self) -> bool {
        self.cut_end() == self.written + u64::from(self.finished)
    }

    /// The byte behind the last cut segment.
    pub fn cut_end(&self) -> u64 {
        self.pieces.last().map_or(0, Piece::end)
    }

    /// Whether the last segment, were all cut now, would be shorter than a full one and has no FIN to end it.
    pub fn has_short_tail(&self) -> bool {
        let uncut = self.written.saturating_sub(self.cut_end());
        !self.finished && !uncut.is_multiple_of(u64::from(self.mss))
    }

    /// Number of further segments to announce to the sender, without the short last one if `hold_tail`.
    pub fn announce(&mut self, hold_tail: bool) -> u32 {
        let uncut = self.written.saturating_sub(self.cut_end());
        let full = uncut / u64::from(self.mss);
        let is_held = hold_tail && self.has_short_tail();
        let short = !is_held && !uncut.is_multiple_of(u64::from(self.mss));
        let lone_fin = self.finished && uncut == 0 && !self.is_all_cut();
        let known = self.pieces.len() as u64 + full + u64::from(short) + u64::from(lone_fin);
        let known = u32::try_from(known).unwrap_or(u32::MAX);
        let more = known.saturating_sub(self.announced);
        self.announced += more;
        more
    }

    /// Whether a segment was announced to the sender but not sent.
    pub fn is_waiting(&self) -> bool {
        self.announced > self.pieces.len() as u32
    }

    /// The segment with this number. It gets its boundaries when it is sent for the first time.
    pub fn piece(&mut self, segment: u32) -> Piece {
        if segment as usize == self.pieces.len() {
            let start = self.cut_end();
            let length = (self.written - start.min(self.written)).min(u64::from(self.mss)) as u32;
            let fin = self.finished && start + u64::from(length) == self.written;
            self.pieces.push(Piece { start, length, fin });
        }
        self.pieces[segment as usize]
    }

    /// The first segment that ends after this byte. An acknowledgement up to this byte passes all segments before it.
    pub fn segment_at(&self, byte: u64) -> u32 {
        self.pieces.partition_point(|piece| piece.end() <= byte) as u32
    }

    /// The segments that lie wholly in the bytes from `start` to before `end`.
    pub fn segments_within(&self, start: u64, end: u64) -> (u32, u32) {
        let first = self.pieces.partition_point(|piece| piece.start < start) as u32;
        (first, self.segment_at(end).max(first))
    }

    /// The number of segments from `first` on that end at or before this byte, those not yet cut taken for full.
    pub fn segments_until(&self, first: u32, byte: u64) -> u32 {
        let fitting = self.segment_at(byte);
        let cut = self.pieces.len() as u32;
        if fitting < cut || byte < self.cut_end() {
            return fitting.saturating_sub(first);
        }
        let uncut = self.written.saturating_sub(self.cut_end());
        let (room, mss) = (byte - self.cut_end(), u64::from(self.mss));
        let more = if room >= uncut {
            uncut.div_ceil(mss) + u64::from(self.finished) + (room - uncut) / mss
        } else {
            room / mss
        };
        cut.saturating_sub(first).saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
    }
}

/// The arriving data, divided wherever a segment of the script begins or ends. So original segments and retransmissions
/// are counted in the same way, whatever their boundaries.
#[derive(Debug, Clone, Default)]
pub struct Incoming {
    /// Starts of pieces and the end of the last, ascending.
    cuts: Vec<u64>,
}

impl Incoming {
    /// Builds the boundaries from segments, each from byte to byte. A FIN counts as a byte.
    pub fn new(segments: impl Iterator<Item = (u64, u64)>) -> Incoming {
        let mut cuts = BTreeSet::from([0]);
        for (start, end) in segments {
            cuts.extend([start, end]);
        }
        Incoming { cuts: cuts.into_iter().collect() }
    }

    /// The pieces of the bytes from `start` to before `end`.
    pub fn pieces(&self, start: u64, end: u64) -> std::ops::Range<u32> {
        let position = |byte: u64| self.cuts.partition_point(|cut| *cut < byte) as u32;
        position(start)..position(end)
    }

    /// The byte that a piece begins with.
    pub fn start(&self, piece: u32) -> u64 {
        self.cuts.get(piece as usize).or(self.cuts.last()).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_writes_are_cut_into_full_segments_when_they_are_sent() {
        let mut outgoing = Outgoing::new(1000);
        outgoing.write(1500);
        assert_eq!(outgoing.announce(false), 2);
        assert_eq!(outgoing.piece(0), Piece { start: 0, length: 1000, fin: false });
        outgoing.write(700); // before the short one is sent
        assert_eq!(outgoing.announce(false), 1);
        assert_eq!(outgoing.piece(1), Piece { start: 1000, length: 1000, fin: false });
        outgoing.finish();
        assert_eq!(outgoing.announce(false), 0);
        assert_eq!(outgoing.piece(2), Piece { start: 2000, length: 200, fin: true });
        assert!(outgoing.is_all_cut());
        assert_eq!([outgoing.segment_at(999), outgoing.segment_at(1000), outgoing.segment_at(2201)], [0, 1, 3]);
    }

    #[test]
    fn a_short_tail_can_be_held_and_a_lone_fin_is_a_segment() {
        let mut outgoing = Outgoing::new(1000);
        outgoing.write(1500);
        assert_eq!(outgoing.announce(true), 1);
        assert_eq!(outgoing.announce(false), 1);
        outgoing.piece(0);
        outgoing.piece(1);
        outgoing.finish();
        assert_eq!(outgoing.announce(true), 1);
        assert_eq!(outgoing.piece(2), Piece { start: 1500, length: 0, fin: true });
        assert_eq!(outgoing.announce(true), 0);
    }

    #[test]
    fn a_window_in_bytes_is_a_number_of_segments() {
        let mut outgoing = Outgoing::new(1000);
        outgoing.write(2500);
        outgoing.announce(false);
        outgoing.piece(0);
        let segments: Vec<u32> =
            [0, 999, 1000, 1999, 2000, 2499, 2500].map(|end| outgoing.segments_until(0, end)).into();
        assert_eq!(segments, [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!(outgoing.segments_within(0, 999), (0, 0));
    }

    #[test]
    fn arrivals_are_cut_alike_whoever_sends_them_again() {
        let incoming = Incoming::new([(0, 1000), (1000, 2000), (0, 2000)].into_iter());
        assert_eq!(incoming.pieces(0, 2000), 0..2);
        assert_eq!(incoming.pieces(1000, 2000), 1..2);
        assert_eq!(incoming.start(2), 2000);
    }
}
