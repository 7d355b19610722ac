//! The SACK blocks of an ACK (RFC 2018, RFC 2883).

use crate::tcp::scoreboard::Range;

/// SACK blocks that fit next to a timestamp option (RFC 2018 section 3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// The SACK blocks of one ACK, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    pub(super) blocks: [Range; MAX_SACK_BLOCKS + 1],
    /// Two whole words: narrow ones would stall the copy of an ACK that was just built.
    pub(super) length: u32,
    pub(super) duplicates: u32,
}

impl SackBlocks {
    /// A duplicate, if one is reported, and held blocks, as far as they fit.
    pub fn new(duplicate: Option<Range>, held: &[Range]) -> SackBlocks {
        let mut blocks = SackBlocks { duplicates: u32::from(duplicate.is_some()), ..SackBlocks::default() };
        let all = duplicate.iter().chain(held).take(blocks.blocks.len());
        all.for_each(|block| blocks.push(*block));
        blocks
    }

    /// All blocks as on the wire, and (0, 0) where there is none.
    #[inline]
    pub fn slots(&self) -> &[Range; MAX_SACK_BLOCKS + 1] {
        &self.blocks
    }

    /// Replaces an empty set by the first `length` of these blocks. The first may be a duplicate; those behind `length` are (0,
    /// 0).
    #[inline]
    pub fn fill(&mut self, blocks: [Range; MAX_SACK_BLOCKS], length: u32, has_duplicate: bool) {
        let [slots @ .., _] = &mut self.blocks;
        *slots = blocks;
        (self.length, self.duplicates) = (length, u32::from(has_duplicate));
    }

    /// The blocks of data held beyond the cumulative acknowledgement.
    pub fn held(&self) -> &[Range] {
        &self.blocks[self.duplicates as usize..self.length as usize]
    }

    /// The duplicate that the ACK reports (DSACK, RFC 2883).
    pub fn duplicate(&self) -> Option<Range> {
        (self.duplicates > 0).then_some(self.blocks[0])
    }

    /// All blocks as on the wire, a duplicate first.
    pub fn all(&self) -> &[Range] {
        &self.blocks[..self.length as usize]
    }

    /// Whether there is none, neither held nor duplicate.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Truncates the blocks, with the duplicate's block, to the number that fits beside a timestamp.
    pub(super) fn truncate(&mut self) {
        self.blocks[MAX_SACK_BLOCKS] = Range::default();
        self.length = self.length.min(MAX_SACK_BLOCKS as u32);
    }

    /// `tcp_check_dsack` takes the first block for a duplicate if it is below `next`, or within the second block. A block
    /// that changed later may stand between.
    pub(super) fn doubt_duplicate(&mut self, next: u32) {
        let (first, second) = (self.blocks[0], self.blocks[1]);
        let is_seen = first.0 < next || self.length > 1 && second.0 <= first.0 && first.1 <= second.1;
        self.duplicates *= u32::from(is_seen);
    }

    pub(super) fn push(&mut self, block: Range) {
        self.blocks[self.length as usize] = block;
        self.length += 1;
    }
}
