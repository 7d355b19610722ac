//! The receiver: what has arrived, what to acknowledge and when.

use super::ack::{AckPolicy, Arrival, When};
use super::room::make_little_room;
use super::scoreboard::Range;
use crate::prefetch::prefetch;
use crate::spec::EcnEcho;
use crate::units::Time;
use std::collections::VecDeque;

/// SACK blocks that fit beside a timestamp option (RFC 2018 section 3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// The SACK blocks of one ACK, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [Range; MAX_SACK_BLOCKS + 1],
    /// Two whole words: narrow ones would stall the copy of an ACK that was just built.
    length: u32,
    duplicates: u32,
}

impl SackBlocks {
    /// A duplicate, if one is reported, and blocks held; those that do not fit are left out.
    pub fn new(duplicate: Option<Range>, held: &[Range]) -> SackBlocks {
        let mut blocks = SackBlocks { duplicates: u32::from(duplicate.is_some()), ..SackBlocks::default() };
        let all = duplicate.iter().chain(held).take(blocks.blocks.len());
        all.for_each(|block| blocks.push(*block));
        blocks
    }

    /// All blocks as on the wire, and (0, 0) where there is none.
    #[inline]
    pub fn places(&self) -> &[Range; MAX_SACK_BLOCKS + 1] {
        &self.blocks
    }

    /// Of no blocks makes the first `length` of these, of which the first may be a duplicate; those behind are (0, 0).
    #[inline]
    pub fn fill(&mut self, blocks: [Range; MAX_SACK_BLOCKS], length: u32, has_duplicate: bool) {
        let [places @ .., _] = &mut self.blocks;
        *places = blocks;
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

    fn push(&mut self, block: Range) {
        self.blocks[self.length as usize] = block;
        self.length += 1;
    }
}

/// An ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The next segment expected.
    pub cumulative: u32,
    /// What lies beyond, if the connection uses SACK.
    pub sack: SackBlocks,
    /// Whether the segment that last moved the cumulative acknowledgement was a retransmission (what RFC 7323's echoed
    /// timestamp tells a sender, in one bit).
    pub echoes_retransmission: bool,
    /// Congestion experienced (ECE, RFC 3168).
    pub ecn_echo: bool,
}

/// What a data segment calls for.
#[derive(Debug)]
pub enum Due {
    /// An ACK at once: [`Receiver::acknowledge`].
    Now,
    /// None yet: see [`Receiver::deadline`].
    Later,
    /// This one, of the segments before (RFC 8257 section 3.2), at once.
    Earlier(Box<Ack>),
}

/// A data segment as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSegment {
    /// Which segment of the flow.
    pub segment: u32,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// Whether the network marked it (CE).
    pub marked: bool,
    /// Whether the sender has answered an earlier mark (CWR).
    pub window_reduced: bool,
    /// Whether it is the flow's last.
    pub last: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    start: u32,
    end: u32,
    /// The earliest arrival number among the segments held here and above: for the reordering extent.
    first_arrival: u32,
}

/// What arrived beyond a hole.
#[derive(Debug, Clone, Default)]
struct Beyond {
    /// Ascending, with holes between them, and never empty.
    held: VecDeque<Held>,
    /// The blocks that changed last, newest first (RFC 2018 section 4). Blocks that have joined stand here more than once; the
    /// place of one that was delivered is [`FREE`] for the next that changes.
    recent: [Range; MAX_SACK_BLOCKS],
}

const FREE: Range = (0, 0);

/// [`ReceiverCounters`] as the receiver keeps them; a flow has no more segments than 32 bits number.
#[derive(Debug, Clone, Default)]
struct Counters {
    arrivals: u32,
    duplicates: u32,
    seldom: Option<Box<Seldom>>,
}

/// What few flows have to count.
#[derive(Debug, Clone, Default)]
struct Seldom {
    reordered: u32,
    reordering_extent_max: u32,
    reordering_extent_sum: u64,
    marked: u32,
}

/// What a receiver counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverCounters {
    /// Data segments that arrived.
    pub arrivals: u64,
    /// Of these, those it had already: each one a spurious retransmission, or a copy made by the network.
    pub duplicates: u64,
    /// Segments sent once that arrived after one with a higher number (RFC 4737 section 3).
    pub reordered: u64,
    /// The greatest reordering extent, in arrivals (RFC 4737 section 4.2.2).
    pub reordering_extent_max: u32,
    /// The sum of all reordering extents.
    pub reordering_extent_sum: u64,
    /// Segments that arrived with a congestion mark.
    pub marked: u64,
}

const NO_DUPLICATE: u32 = u32::MAX;

/// The receiving end of one flow.
pub struct Receiver {
    next: u32,
    last_ack_sent: u32,
    /// The segment of a duplicate to report, or [`NO_DUPLICATE`].
    duplicate: u32,
    sack: bool,
    echoes_retransmission: bool,
    ecn_echo: bool,
    exact_echo: bool,
    /// Only while something is held.
    beyond: Option<Box<Beyond>>,
    /// Unless every segment is acknowledged at once.
    delaying: Option<Box<Delaying>>,
    counters: Counters,
}

/// What a receiver needs that may wait with its ACKs.
struct Delaying {
    policy: Box<dyn AckPolicy>,
    /// When a delayed ACK is due, or [`Time::NEVER`].
    deadline: Time,
}

impl Receiver {
    /// A receiver that waits for segment 0.
    pub fn new(sack: bool, policy: Box<dyn AckPolicy>) -> Receiver {
        Receiver {
            next: 0,
            last_ack_sent: 0,
            duplicate: NO_DUPLICATE,
            sack,
            echoes_retransmission: false,
            ecn_echo: false,
            exact_echo: false,
            beyond: None,
            delaying: (!policy.is_immediate()).then(|| Box::new(Delaying { policy, deadline: Time::NEVER })),
            counters: Counters::default(),
        }
    }

    /// The same, that echoes marks in this way.
    pub fn with_echo(self, echo: EcnEcho) -> Receiver {
        Receiver { exact_echo: echo == EcnEcho::Exact, ..self }
    }

    /// Asks for what it keeps elsewhere of segments beyond a hole.
    #[inline(always)]
    pub fn ask_for_rest(&self) {
        if let Some(beyond) = &self.beyond {
            prefetch(&**beyond);
        }
    }

    /// Segments delivered to the application, in order, each once.
    #[inline]
    pub fn delivered(&self) -> u32 {
        self.next
    }

    /// What it has counted.
    pub fn counters(&self) -> ReceiverCounters {
        let seldom = self.counters.seldom.as_deref().cloned().unwrap_or_default();
        ReceiverCounters {
            arrivals: u64::from(self.counters.arrivals),
            duplicates: u64::from(self.counters.duplicates),
            reordered: u64::from(seldom.reordered),
            reordering_extent_max: seldom.reordering_extent_max,
            reordering_extent_sum: seldom.reordering_extent_sum,
            marked: u64::from(seldom.marked),
        }
    }

    /// When a delayed ACK is due.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        self.delaying.as_ref().map(|delaying| delaying.deadline).filter(|deadline| *deadline != Time::NEVER)
    }

    /// A segment, sent once and without marks, of an undisturbed flow: shorter than [`Self::on_segment`] and to the same effect.
    /// It comes in order, and its ACK is due at once and says no more than its cumulative acknowledgement, which is returned;
    /// `None`, and nothing done, if there is more to it.
    #[inline(always)]
    pub fn take_ordinary(&mut self, segment: u32) -> Option<u32> {
        let is_ordinary = self.is_undisturbed(segment);
        is_ordinary.then(|| {
            self.take_run(1);
            self.next
        })
    }

    /// Whether this segment, and those that come in order behind it, are [ordinary](Self::take_ordinary).
    #[inline(always)]
    pub fn is_undisturbed(&self, segment: u32) -> bool {
        segment == self.next && self.beyond.is_none() && self.delaying.is_none() && !self.ecn_echo
    }

    /// Whether it may wait with an ACK.
    #[inline(always)]
    pub fn may_wait(&self) -> bool {
        self.delaying.is_some()
    }

    /// So many ordinary segments, one after another.
    #[inline(always)]
    pub fn take_run(&mut self, count: u32) {
        self.counters.arrivals += count;
        self.next += count;
        self.last_ack_sent = self.next;
        self.echoes_retransmission = false;
    }

    /// The segment that follows the newest block and all that is held, without marks: shorter than [`Self::on_segment`] and to the
    /// same effect. An ACK with the blocks that [`Self::tell_held`] gives is due at once; `false`, and nothing done, if there is more to it.
    #[inline(always)]
    pub fn take_next_held(&mut self, segment: u32) -> bool {
        let is_plain = self.delaying.is_none() && self.sack && !self.ecn_echo;
        let is_next = is_plain && self.beyond.as_mut().is_some_and(|beyond| beyond.append(segment));
        self.counters.arrivals += u32::from(is_next);
        is_next
    }

    /// Writes down the blocks held that changed last, newest first; returns how many. They are written where they stay, because
    /// copying what was just written word by word stalls the processor.
    #[inline(always)]
    pub fn tell_held(&self, blocks: &mut [Range; MAX_SACK_BLOCKS]) -> u32 {
        self.beyond.as_ref().map_or(0, |beyond| beyond.report(blocks))
    }

    /// See [`Ack::echoes_retransmission`].
    #[inline]
    pub fn echoes_retransmission(&self) -> bool {
        self.echoes_retransmission
    }

    /// Takes a data segment; returns the ACK if one is due at once.
    pub fn on_segment(&mut self, now: Time, data: &DataSegment) -> Option<Ack> {
        match self.take(now, data) {
            Due::Now => Some(self.acknowledge()),
            Due::Later => None,
            Due::Earlier(ack) => Some(*ack),
        }
    }

    /// Takes a data segment; returns what it calls for.
    #[inline(never)]
    pub fn take(&mut self, now: Time, data: &DataSegment) -> Due {
        if (data.marked != self.ecn_echo || data.window_reduced) && self.ends_an_echo(data) {
            return Due::Earlier(Box::new(self.on_turn(now, data)));
        }
        match self.arrive(now, data) {
            When::Now => Due::Now,
            When::By(deadline) => {
                self.wait_until(deadline);
                Due::Later
            }
        }
    }

    /// Notes a mark, or the answer to one. Whether an ACK must go out first, because it owes another echo.
    #[inline(never)]
    fn ends_an_echo(&mut self, data: &DataSegment) -> bool {
        if self.exact_echo && self.deadline().is_some() {
            return data.marked != self.ecn_echo;
        }
        if data.marked || self.exact_echo {
            self.ecn_echo = data.marked;
        } else if data.window_reduced {
            self.ecn_echo = false; // RFC 3168 section 6.1.3
        }
        false
    }

    /// RFC 8257 section 3.2: where marks begin or end, the segments before are acknowledged with their own echo. What the
    /// segment itself asks for follows at once, or when its delay is over.
    #[inline(never)]
    fn on_turn(&mut self, now: Time, data: &DataSegment) -> Ack {
        let earlier = self.acknowledge();
        self.ecn_echo = data.marked;
        let deadline = match self.arrive(now, data) {
            When::Now => now,
            When::By(deadline) => deadline,
        };
        self.wait_until(deadline);
        earlier
    }

    /// Takes the segment in; returns when to acknowledge it.
    #[inline(always)]
    fn arrive(&mut self, now: Time, data: &DataSegment) -> When {
        self.counters.arrivals += 1;
        if data.marked {
            self.counters.seldom.get_or_insert_default().marked += 1;
        }
        let mut arrival = Arrival { now, in_order: false, filled_hole: false, duplicate: false, last: data.last };
        if data.segment == self.next {
            self.next += 1;
            arrival.in_order = self.beyond.is_none();
            arrival.filled_hole = !arrival.in_order;
            if arrival.filled_hole {
                self.pass_held(data);
            }
        } else if data.segment < self.next || !self.hold(data) {
            arrival.duplicate = true;
            self.counters.duplicates += 1;
            self.duplicate = data.segment;
        }
        // RFC 7323 section 4.3 (2): the echo is of the segment that begins where the last ACK ended.
        let begins_there = data.segment <= self.last_ack_sent;
        self.echoes_retransmission = if begins_there { data.retransmission } else { self.echoes_retransmission };
        match &mut self.delaying {
            Some(delaying) => delaying.policy.on_segment(&arrival),
            None => When::Now,
        }
    }

    fn wait_until(&mut self, deadline: Time) {
        if let Some(delaying) = &mut self.delaying {
            delaying.deadline = delaying.deadline.min(deadline);
        }
    }

    /// The delayed ACK is due.
    pub fn on_deadline(&mut self) -> Ack {
        self.acknowledge()
    }

    /// The ACK that is due, if it says no more than the cumulative acknowledgement and the blocks, of which there are some, that
    /// [`Self::tell_held`] gives: to the same effect as [`Self::acknowledge`]; `false`, and nothing done, if there is more or less to it.
    #[inline(always)]
    pub fn acknowledge_held(&mut self) -> bool {
        let is_plain = self.delaying.is_none() && self.sack && !self.ecn_echo && self.duplicate == NO_DUPLICATE;
        let says_no_more =
            is_plain && self.beyond.as_ref().is_some_and(|beyond| beyond.recent != [FREE; MAX_SACK_BLOCKS]);
        self.last_ack_sent = if says_no_more { self.next } else { self.last_ack_sent };
        says_no_more
    }

    /// The ACK that is due.
    #[inline(always)]
    pub fn acknowledge(&mut self) -> Ack {
        if let Some(delaying) = &mut self.delaying {
            delaying.policy.on_ack_sent();
            delaying.deadline = Time::NEVER;
        }
        self.answer()
    }

    #[inline(always)]
    fn answer(&mut self) -> Ack {
        self.last_ack_sent = self.next;
        let mut ack = Ack {
            cumulative: self.next,
            sack: SackBlocks::default(),
            echoes_retransmission: self.echoes_retransmission,
            ecn_echo: self.ecn_echo,
        };
        if self.duplicate != NO_DUPLICATE || self.beyond.is_some() {
            self.tell_blocks(&mut ack.sack);
        }
        ack
    }

    #[inline(never)]
    fn tell_blocks(&mut self, blocks: &mut SackBlocks) {
        let duplicate = std::mem::replace(&mut self.duplicate, NO_DUPLICATE);
        if !self.sack {
            return;
        }
        if duplicate != NO_DUPLICATE {
            blocks.duplicates = 1;
            blocks.push((duplicate, duplicate + 1));
        }
        if let Some(beyond) = &self.beyond {
            let told = blocks.length as usize;
            blocks.length += beyond.report(&mut blocks.blocks[told..]);
        }
    }

    /// Keeps a segment from beyond a hole; `false` if it was there already.
    fn hold(&mut self, data: &DataSegment) -> bool {
        let beyond = self.beyond.get_or_insert_default();
        let Err(position) = beyond.find(data.segment) else { return false };
        self.counters.count_reordering(data, beyond.held.get(position));
        beyond.hold(position, data.segment, self.counters.arrivals);
        true
    }

    /// What was held follows the segment that has just filled the first hole.
    fn pass_held(&mut self, data: &DataSegment) {
        let Some(beyond) = &mut self.beyond else { return };
        self.counters.count_reordering(data, beyond.held.front());
        if let Some(end) = beyond.take_from(self.next) {
            self.next = end;
            if beyond.held.is_empty() {
                self.beyond = None;
            }
        }
    }
}

impl Counters {
    /// A segment came; `above` is the first block held above it.
    fn count_reordering(&mut self, data: &DataSegment, above: Option<&Held>) {
        if let Some(above) = above
            && !data.retransmission
        {
            let extent = self.arrivals - above.first_arrival;
            let seldom = self.seldom.get_or_insert_default();
            seldom.reordered += 1;
            seldom.reordering_extent_sum += u64::from(extent);
            seldom.reordering_extent_max = seldom.reordering_extent_max.max(extent);
        }
    }
}

impl Beyond {
    /// Writes down the blocks that changed last, each once; returns how many.
    #[inline]
    fn report(&self, blocks: &mut [Range]) -> u32 {
        let [first, second, third] = self.recent;
        let mut count = 0;
        let mut add = |block| {
            blocks[count] = block;
            count += 1;
        };
        if first != FREE {
            add(first);
        }
        if second != FREE && second != first {
            add(second);
        }
        if third != FREE && third != first && third != second {
            add(third);
        }
        count as u32
    }

    /// The position of the block that holds a segment, or where one would be inserted.
    fn find(&self, segment: u32) -> Result<usize, usize> {
        if self.held.back().is_none_or(|highest| highest.end <= segment) {
            return Err(self.held.len()); // as new data comes
        }
        let position = self.held.partition_point(|block| block.end <= segment);
        if self.held[position].start <= segment { Ok(position) } else { Err(position) }
    }

    /// Holds a segment that is not held yet, where [`Self::find`] says.
    fn hold(&mut self, position: usize, segment: u32, arrival: u32) {
        let joins_below = position > 0 && self.held[position - 1].end == segment;
        let joins_above = self.held.get(position).is_some_and(|above| above.start == segment + 1);
        let changed = match (joins_below, joins_above) {
            (true, true) => {
                self.held[position - 1].end = self.held[position].end;
                self.held.remove(position);
                position - 1
            }
            (true, false) => {
                self.held[position - 1].end += 1;
                position - 1
            }
            (false, true) => {
                self.held[position].start = segment;
                position
            }
            (false, false) => {
                let above = self.held.get(position).map(|block| block.first_arrival);
                let first_arrival = above.unwrap_or(arrival);
                make_little_room(&mut self.held);
                self.held.insert(position, Held { start: segment, end: segment + 1, first_arrival });
                position
            }
        };
        self.remember_recent((self.held[changed].start, self.held[changed].end));
    }

    /// Holds the segment that follows the newest block, if that is the highest; `false`, and nothing done, for another.
    #[inline(always)]
    fn append(&mut self, segment: u32) -> bool {
        let newest = self.recent[0];
        let Some(highest) = self.held.back_mut().filter(|highest| highest.end == segment && newest.1 == segment) else {
            return false;
        };
        highest.end += 1;
        for block in self.recent.iter_mut().filter(|block| **block == newest) {
            block.1 += 1;
        }
        true
    }

    /// A block has changed. What it was before lies within it.
    fn remember_recent(&mut self, changed: Range) {
        let mut position = MAX_SACK_BLOCKS - 1;
        for (place, block) in self.recent.iter_mut().enumerate().rev() {
            if *block == FREE {
                position = place;
            } else if changed.0 <= block.0 && block.1 <= changed.1 {
                *block = changed;
                position = place;
            }
        }
        self.recent[..=position].rotate_right(1);
        self.recent[0] = changed;
    }

    /// Takes out the first block if it begins here, and returns its end.
    fn take_from(&mut self, start: u32) -> Option<u32> {
        let first = self.held.front().filter(|first| first.start == start)?.end;
        self.held.pop_front();
        self.recent.iter_mut().filter(|block| block.0 == start).for_each(|block| *block = FREE);
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ack::{AckSpec, ReceiverContext, delayed, immediate};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn receiver() -> Receiver {
        Receiver::new(true, AckSpec::Immediate(immediate::Parameters::default()).build(ReceiverContext { window: 100 }))
    }

    fn take(receiver: &mut Receiver, segment: u32) -> Ack {
        let data = DataSegment { segment, retransmission: false, marked: false, window_reduced: false, last: false };
        receiver.on_segment(Time(1), &data).expect("the immediate policy answers every segment")
    }

    #[test]
    fn rfc2018_section_4_the_newest_block_comes_first() {
        let mut receiver = receiver();
        for segment in [0, 2, 4, 6] {
            take(&mut receiver, segment);
        }
        let ack = take(&mut receiver, 8);
        assert_eq!((ack.cumulative, ack.sack.held()), (1, &[(8, 9), (6, 7), (4, 5)][..]));
        assert_eq!(take(&mut receiver, 3).sack.held(), [(2, 5), (8, 9), (6, 7)]);
        assert_eq!(take(&mut receiver, 1).cumulative, 5);
    }

    #[test]
    fn rfc2883_section_4_a_duplicate_is_reported_first() {
        let mut receiver = receiver();
        take(&mut receiver, 0);
        take(&mut receiver, 2);
        let ack = take(&mut receiver, 0);
        assert_eq!((ack.sack.duplicate(), ack.sack.held()), (Some((0, 1)), &[(2, 3)][..]));
        assert_eq!(take(&mut receiver, 3).sack.duplicate(), None);
    }

    #[test]
    fn rfc4737_section_4_2_2_extent_counts_arrivals_since_the_first_later_segment() {
        let mut receiver = receiver();
        for segment in [0, 2, 3, 4, 1] {
            take(&mut receiver, segment);
        }
        let counters = receiver.counters();
        assert_eq!((counters.reordered, counters.reordering_extent_max), (1, 3));
    }

    fn take_marked(receiver: &mut Receiver, now: u64, segment: u32, marked: bool, window_reduced: bool) -> Option<Ack> {
        let data = DataSegment { segment, retransmission: false, marked, window_reduced, last: false };
        receiver.on_segment(Time(now), &data)
    }

    #[test]
    fn rfc3168_section_6_1_3_the_echo_lasts_until_it_is_answered() {
        let mut receiver = receiver();
        let echoes = [(false, false), (true, false), (false, false), (false, true), (false, false)]
            .into_iter()
            .zip(0..)
            .map(|((marked, answered), segment)| {
                take_marked(&mut receiver, 1, segment, marked, answered).expect("at once").ecn_echo
            })
            .collect::<Vec<_>>();
        assert_eq!(echoes, [false, true, true, false, false]);
    }

    #[test]
    fn rfc8257_section_3_2_with_an_ack_per_segment_the_echo_is_the_mark() {
        let mut receiver = receiver().with_echo(EcnEcho::Exact);
        for (segment, marked) in [false, true, true, false, true, false, false].into_iter().enumerate() {
            let ack = take_marked(&mut receiver, 1, segment as u32, marked, false).expect("at once");
            assert_eq!((ack.cumulative, ack.ecn_echo), (segment as u32 + 1, marked));
        }
    }

    #[test]
    fn rfc8257_section_3_2_where_marks_begin_or_end_the_segments_before_are_acknowledged_first() {
        let policy = AckSpec::Delayed(delayed::Parameters::default()).build(ReceiverContext { window: 100 });
        let mut receiver = Receiver::new(true, policy).with_echo(EcnEcho::Exact);
        let told = |ack: Option<Ack>| ack.map(|ack| (ack.cumulative, ack.ecn_echo));
        // Two without marks are one ACK; the third waits, and the fourth, marked, sends it on its way with its own echo.
        assert_eq!(told(take_marked(&mut receiver, 1, 0, false, false)), None);
        assert_eq!(told(take_marked(&mut receiver, 2, 1, false, false)), Some((2, false)));
        assert_eq!(told(take_marked(&mut receiver, 3, 2, false, false)), None);
        assert_eq!(told(take_marked(&mut receiver, 4, 3, true, false)), Some((3, false)));
        assert!(receiver.deadline().is_some(), "the marked one waits");
        assert_eq!(told(take_marked(&mut receiver, 5, 4, true, false)), Some((5, true)));
        // Nothing waits: the change needs no ACK of its own.
        assert_eq!(told(take_marked(&mut receiver, 6, 5, false, false)), None);
        // One beyond a hole wants its ACK at once: both go out.
        assert_eq!(told(take_marked(&mut receiver, 7, 7, true, false)), Some((6, false)));
        assert_eq!(receiver.deadline(), Some(Time(7)));
        assert_eq!(told(Some(receiver.on_deadline())), Some((6, true)));
    }

    proptest! {
        /// In any order, with any duplicates: everything is delivered once, in order, and ACKs tell the truth.
        #[test]
        fn acks_tell_exactly_what_has_arrived(order in prop::collection::vec(0u32..60, 1..300)) {
            let mut receiver = receiver();
            let mut arrived = BTreeSet::new();
            for segment in order {
                let new = arrived.insert(segment);
                let ack = take(&mut receiver, segment);
                let expected = (0u32..).find(|index| !arrived.contains(index)).unwrap();
                prop_assert_eq!(ack.cumulative, expected);
                prop_assert_eq!(ack.sack.duplicate().is_some(), !new);
                for &(start, end) in ack.sack.held() {
                    prop_assert!(start > ack.cumulative && start < end);
                    prop_assert!((start..end).all(|index| arrived.contains(&index)));
                    prop_assert!(!arrived.contains(&(start - 1)) && !arrived.contains(&end), "blocks are maximal");
                }
                if new && segment > expected {
                    prop_assert!(ack.sack.held()[0].0 <= segment && segment < ack.sack.held()[0].1);
                }
            }
        }

        /// The short ways of an undisturbed flow and beyond a hole do what the long way does: two receivers, one of which has only
        /// the long one.
        #[test]
        fn an_ordinary_segment_is_like_any(
            steps in prop::collection::vec((0u8..6, 0u32..80, 0u8..20), 1..200),
            sack: bool, exact: bool, delayed: bool,
        ) {
            let policy = if delayed {
                AckSpec::Delayed(delayed::Parameters::default())
            } else {
                AckSpec::Immediate(immediate::Parameters::default())
            };
            let echo = if exact { EcnEcho::Exact } else { EcnEcho::Classic };
            let build = || Receiver::new(sack, policy.build(ReceiverContext { window: 100 })).with_echo(echo);
            let (mut short, mut long) = (build(), build());
            let mut last = 0;
            for (step, (place, elsewhere, flags)) in steps.into_iter().enumerate() {
                let segment = match place {
                    0 => elsewhere,
                    1 | 2 => long.delivered(),
                    _ => last + 1,
                };
                last = segment;
                let (retransmission, marked, window_reduced) = (flags == 19, flags >= 18, flags == 17);
                let data = DataSegment { segment, retransmission, marked, window_reduced, last: false };
                let ordinary = if flags < 17 { short.take_ordinary(segment) } else { None };
                let ordinary = ordinary.map(|cumulative| {
                    let sack = SackBlocks::default();
                    Ack { cumulative, sack, echoes_retransmission: false, ecn_echo: false }
                });
                let held = || (ordinary.is_none() && !marked && !window_reduced && short.take_next_held(segment)).then(|| {
                    let (mut blocks, mut sack) = ([(0, 0); MAX_SACK_BLOCKS], SackBlocks::default());
                    let length = short.tell_held(&mut blocks);
                    sack.fill(blocks, length, false);
                    let echoes_retransmission = short.echoes_retransmission();
                    Ack { cumulative: short.delivered(), sack, echoes_retransmission, ecn_echo: false }
                });
                let by_a_short_way = ordinary.or_else(held);
                let ack = long.on_segment(Time(step as u64), &data);
                match by_a_short_way {
                    Some(expected) => prop_assert_eq!(ack, Some(expected)),
                    None => prop_assert_eq!(ack, short.on_segment(Time(step as u64), &data)),
                }
                prop_assert_eq!(short.deadline(), long.deadline());
                prop_assert_eq!(short.counters(), long.counters());
            }
        }
    }
}
