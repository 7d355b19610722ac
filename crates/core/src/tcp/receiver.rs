//! The receiver: records arrivals, decides when to acknowledge, and makes ACKs.

mod beyond;
mod blocks;
mod counters;
mod linux;

use super::accecn::{Feedback, MarkCounter};
use super::ack::immediate::Immediate;
use super::ack::{AckPolicy, Arrival, ReceiverContext, When};
use super::scoreboard::Range;
use crate::prefetch::prefetch;
use crate::spec::{EcnEcho, StackSpec};
use crate::tcp::kernel_clock::{LastAnswer, round_trip_by_timestamp};
use crate::units::Time;
use beyond::Beyond;
pub use blocks::{MAX_SACK_BLOCKS, SackBlocks};
use counters::Counters;
pub use counters::ReceiverCounters;
use linux::timestamps::Timestamps;
pub use linux::timestamps::{AckTimestamps, Timestamp};
pub use linux::window::Announcement;
use linux::window::{News, ReceiveWindow};

/// An ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The next segment expected.
    pub cumulative: u32,
    /// Blocks beyond it, if the connection uses SACK.
    pub sack: SackBlocks,
    /// Whether the segment that last moved the cumulative acknowledgement was a retransmission. A sender learns this from RFC
    /// 7323's echoed timestamp.
    pub echoes_retransmission: bool,
    /// Its timestamps, unless they are not modelled, or the cumulative acknowledgement implies what it echoes.
    pub timestamps: Option<AckTimestamps>,
    /// Congestion experienced (ECE, RFC 3168).
    pub ecn_echo: bool,
    /// The receiver's counters of marks, if it reports them by AccECN. Then it echoes nothing.
    pub accecn: Option<Feedback>,
}

/// Acknowledgement that a data segment requires.
#[derive(Debug)]
pub enum Due {
    /// An ACK at once: [`Receiver::acknowledge`].
    Now,
    /// No ACK yet: see [`Receiver::deadline`].
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
    /// Whether the segment is the flow's last, or marked with PSH.
    pub push: bool,
    /// Its timestamp, for a receiver that judges by timestamps.
    pub timestamp: Option<Timestamp>,
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

/// State of a receiver that may delay its ACKs, judges by timestamps, opens its window by and by, or counts marks.
struct Delaying {
    policy: Box<dyn AckPolicy>,
    /// When a delayed ACK is due, or [`Time::NEVER`].
    deadline: Time,
    answered: LastAnswer,
    /// When the last SYN-ACK was sent, until the handshake ends.
    syn_acked: Option<Time>,
    timestamps: Option<Timestamps>,
    window: Option<Box<ReceiveWindow>>,
    /// With AccECN.
    marks: Option<MarkCounter>,
}

impl Delaying {
    fn new(policy: Box<dyn AckPolicy>) -> Delaying {
        Delaying {
            policy,
            deadline: Time::NEVER,
            answered: LastAnswer::default(),
            syn_acked: None,
            timestamps: None,
            window: None,
            marks: None,
        }
    }

    /// Ends the handshake, if it has not ended.
    fn establish(&mut self, now: Time) {
        if let Some(sent) = self.syn_acked.take() {
            let round_trip = round_trip_by_timestamp(sent, now);
            self.policy.on_handshake(round_trip);
            if let Some(window) = &mut self.window {
                window.establish(now, round_trip);
            }
        }
    }
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
            delaying: (!policy.is_immediate()).then(|| Box::new(Delaying::new(policy))),
            counters: Counters::default(),
        }
    }

    /// The receiver for this stack.
    pub fn of_stack(stack: &StackSpec) -> Receiver {
        let policy = stack.ack.build(ReceiverContext::of_stack(stack));
        Receiver::new(stack.sack, policy).with_echo(stack.ecn_echo, stack.mss).with_rules(stack)
    }

    fn delaying(&mut self) -> &mut Delaying {
        self.delaying.get_or_insert_with(|| Box::new(Delaying::new(Box::new(Immediate))))
    }

    fn has_timestamps(&self) -> bool {
        self.delaying.as_ref().is_some_and(|delaying| delaying.timestamps.is_some())
    }

    /// The segment behind the window, if that opens by and by.
    pub fn window_edge(&self) -> Option<u32> {
        Some(self.delaying.as_ref()?.window.as_ref()?.edge())
    }

    /// The window that the SYN-ACK announces, as [`Self::announce`].
    pub fn open(&mut self, now: Time) -> Option<Announcement> {
        self.delaying.as_mut()?.syn_acked = Some(now);
        self.announce(now, 0)
    }

    /// Processes an ACK of the sender, which stands before this segment. The one that answers the SYN-ACK ends the handshake; if it is lost, the first
    /// segment does. Returns whether the ACK is to be answered: it is if data has overtaken it, so that it stands before what is acknowledged
    /// (RFC 9293 section 3.10.7.4; Linux's `tcp_send_dupack` answers at most one in half a second).
    pub fn on_bare_ack(&mut self, now: Time, segment: u32) -> bool {
        let is_overtaken = segment < self.last_ack_sent;
        let Some(delaying) = &mut self.delaying else { return is_overtaken };
        delaying.establish(now);
        is_overtaken && delaying.answered.allows(now)
    }

    /// The window that an ACK announces. `None` if the window never changes, or earlier ACKs have announced it.
    #[inline]
    pub fn announce(&mut self, now: Time, cumulative: u32) -> Option<Announcement> {
        let held = self.counters.held(self.next);
        self.delaying.as_mut()?.window.as_mut()?.announce(now, cumulative, self.next, held)
    }

    /// The receiver, with this echo of the marks of segments with `mss` bytes.
    pub fn with_echo(mut self, echo: EcnEcho, mss: u32) -> Receiver {
        match echo {
            EcnEcho::Classic => {}
            EcnEcho::Exact => self.exact_echo = true,
            EcnEcho::Accecn | EcnEcho::Ace => {
                self.delaying().marks = Some(MarkCounter::new(mss, echo == EcnEcho::Accecn));
            }
        }
        self
    }

    /// Prefetches the record of segments beyond a hole.
    #[inline(always)]
    pub fn prefetch_parts(&self) {
        if let Some(beyond) = &self.beyond {
            prefetch(&**beyond);
        }
    }

    /// Segments delivered to the application, in order, each once.
    #[inline]
    pub fn delivered(&self) -> u32 {
        self.next
    }

    /// Its counters.
    pub fn counters(&self) -> ReceiverCounters {
        let counters = self.counters.report();
        ReceiverCounters { reassembly_max: counters.reassembly_max.max(self.counters.held(self.next)), ..counters }
    }

    /// Forgets peaks, as when the warm-up ends.
    pub fn forget_peaks(&mut self) {
        self.counters.forget_peaks();
    }

    /// Whether a segment has arrived.
    pub fn has(&self, segment: u32) -> bool {
        segment < self.next || self.beyond.as_ref().is_some_and(|beyond| beyond.find(segment).is_ok())
    }

    /// Time at which a delayed ACK is due.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        self.delaying.as_ref().map(|delaying| delaying.deadline).filter(|deadline| *deadline != Time::NEVER)
    }

    /// Whether this segment, and the segments in order behind it, are predicted if they are sent once and without marks. The ACK of each is due at
    /// once and has a cumulative acknowledgement only.
    #[inline(always)]
    pub fn predicts(&self, segment: u32) -> bool {
        segment == self.next && self.beyond.is_none() && self.delaying.is_none() && !self.ecn_echo
    }

    /// Whether the receiver may delay an ACK.
    #[inline(always)]
    pub fn may_wait(&self) -> bool {
        self.delaying.is_some()
    }

    /// The short path of [`Self::on_segment`] for this number of [predicted](Self::predicts) segments.
    #[inline(always)]
    pub fn on_predicted_burst(&mut self, count: u32) {
        self.counters.arrivals += count;
        self.next += count;
        self.last_ack_sent = self.next;
        self.echoes_retransmission = false;
    }

    /// Fast path of [`Self::on_segment`] for a segment without marks that follows the newest block and all held segments. Returns whether it
    /// applied: an ACK with the blocks of [`Self::write_blocks`] is then due at once. Otherwise nothing has changed.
    #[inline(always)]
    pub fn take_next_held(&mut self, segment: u32) -> bool {
        let has_no_other_news = self.delaying.is_none() && self.sack && !self.ecn_echo;
        let is_next = has_no_other_news && self.beyond.as_mut().is_some_and(|beyond| beyond.append(segment));
        self.counters.arrivals += u32::from(is_next);
        is_next
    }

    /// Writes the held blocks to `blocks`, the one that changed last first. Returns their number. They are written in place,
    /// because copying fresh data word by word stalls the processor.
    #[inline(always)]
    pub fn write_blocks(&self, blocks: &mut [Range; MAX_SACK_BLOCKS]) -> u32 {
        self.beyond.as_ref().map_or(0, |beyond| beyond.report(blocks))
    }

    /// See [`Ack::echoes_retransmission`].
    #[inline]
    pub fn echoes_retransmission(&self) -> bool {
        self.echoes_retransmission
    }

    /// Processes a data segment. Returns the ACK if one is due at once.
    pub fn on_segment(&mut self, now: Time, data: &DataSegment) -> Option<Ack> {
        match self.take(now, data) {
            Due::Now => Some(self.acknowledge(now)),
            Due::Later => None,
            Due::Earlier(ack) => Some(*ack),
        }
    }

    /// Processes a data segment. Returns the acknowledgement that it requires.
    #[inline(never)]
    pub fn take(&mut self, now: Time, data: &DataSegment) -> Due {
        let turns = self.exact_echo && data.marked != self.ecn_echo;
        if (data.marked != self.ecn_echo || data.window_reduced) && self.ends_an_echo(data) {
            return Due::Earlier(Box::new(self.on_turn(now, data, data.marked)));
        }
        if self.beyond.is_some() && data.segment > self.next && self.would_lack_a_block(data) {
            return Due::Earlier(Box::new(self.on_third_block(now, data)));
        }
        match self.arrive(now, data) {
            When::By(deadline) if !turns => {
                self.wait_until(deadline);
                Due::Later
            }
            _ => Due::Now,
        }
    }

    /// Records a mark, or the answer to one. Returns whether an ACK with another echo must be sent first.
    #[inline(never)]
    fn ends_an_echo(&mut self, data: &DataSegment) -> bool {
        if self.delaying.as_ref().is_some_and(|delaying| delaying.marks.is_some()) {
            return false; // with AccECN there is no echo
        }
        let begins = data.marked && !self.exact_echo && (!self.ecn_echo || data.window_reduced);
        if let Some(delaying) = &mut self.delaying
            && (begins || data.window_reduced)
        {
            delaying.policy.on_echo_change(begins);
        }
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

    /// Whether an ACK is pending for several segments, and would lack a SACK block if it also acknowledged this segment
    /// (`tcp_sack_compress_send_ack`).
    #[inline(never)]
    fn would_lack_a_block(&self, data: &DataSegment) -> bool {
        let compressing = self.delaying.as_ref().is_some_and(|delaying| delaying.policy.is_compressing());
        compressing && self.beyond.as_ref().is_some_and(|beyond| beyond.changes_third(data.segment))
    }

    /// Acknowledges the segments before this one, because the ACK would lack a block. That ACK clears the one that this segment has
    /// scheduled (`tcp_ack_snd_check`), so the ACK of the next segment acknowledges this one as well.
    #[inline(never)]
    fn on_third_block(&mut self, now: Time, data: &DataSegment) -> Ack {
        let earlier = self.acknowledge(now);
        self.arrive(now, data);
        if let Some(delaying) = &mut self.delaying {
            delaying.policy.on_unanswered();
        }
        self.duplicate = NO_DUPLICATE; // the earlier ACK has reported it, without the block around it
        earlier
    }

    /// Acknowledges the segments before this one where marks begin or end, with their own echo. The ACK of the segment itself, with this echo,
    /// follows at once (RFC 8257 section 3.2).
    #[inline(never)]
    fn on_turn(&mut self, now: Time, data: &DataSegment, echo: bool) -> Ack {
        let earlier = self.acknowledge(now);
        self.ecn_echo = echo;
        self.arrive(now, data);
        self.wait_until(now);
        earlier
    }

    /// Records the segment. Returns when to acknowledge it.
    #[inline(always)]
    fn arrive(&mut self, now: Time, data: &DataSegment) -> When {
        self.counters.arrivals += 1;
        if data.marked {
            self.counters.count_mark();
        }
        // RFC 7323 section 4.3 (2): the echo is of the segment that begins where the last ACK ended.
        let mut begins_there = data.segment <= self.last_ack_sent;
        if let Some(timestamp) = data.timestamp
            && let Some(delaying) = &mut self.delaying
            && let Some(timestamps) = &mut delaying.timestamps
        {
            if timestamps.rejects(timestamp) {
                return self.reject(now, data);
            }
            // A segment before the window is answered, but its timestamp does not count (`tcp_sequence`).
            begins_there = begins_there && data.segment + 1 >= self.last_ack_sent && timestamps.take(timestamp);
            if data.retransmission || self.beyond.is_some() {
                timestamps.doubt();
            }
        }
        let mut arrival = Arrival { now, in_order: false, filled_hole: false, duplicate: false, push: data.push };
        let mut repeats = false;
        if data.segment == self.next {
            self.next += 1;
            arrival.in_order = self.beyond.is_none();
            arrival.filled_hole = !arrival.in_order;
            if arrival.filled_hole {
                self.pass_held(data);
            }
        } else if data.segment < self.next || !self.hold(data) {
            // A copy of a held segment does not begin quick ACKs (`tcp_data_queue_ofo`).
            arrival.duplicate = data.segment < self.next || !self.has_timestamps();
            repeats = true;
            self.counters.duplicates += 1;
            self.duplicate = data.segment;
        }
        self.echoes_retransmission = if begins_there { data.retransmission } else { self.echoes_retransmission };
        match &mut self.delaying {
            Some(delaying) => {
                delaying.establish(now);
                if let Some(window) = &mut delaying.window {
                    let echo = data.timestamp.map_or(0, |timestamp| timestamp.echo);
                    let held = self.counters.held(self.next);
                    let news = if arrival.in_order || arrival.filled_hole {
                        News::Passed { from: data.segment, to: self.next, held }
                    } else if repeats || !self.sack {
                        News::Nothing
                    } else {
                        if let Some(round_trip) = window.round_trip() {
                            delaying.policy.on_round_trip(round_trip);
                        }
                        News::Held { held }
                    };
                    if window.on_segment(now, echo, news) {
                        delaying.policy.on_window_growth();
                    }
                }
                let mut when = delaying.policy.on_segment(&arrival);
                if let Some(marks) = &mut delaying.marks
                    && marks.count(data.marked)
                {
                    when = When::Now;
                }
                if arrival.filled_hole && self.beyond.is_some() {
                    let moves_edge =
                        |window: &ReceiveWindow| window.moves_edge(self.last_ack_sent, self.counters.held(self.next));
                    if self.next - self.last_ack_sent <= 1 || !delaying.window.as_deref().is_none_or(moves_edge) {
                        delaying.policy.on_repeated();
                    }
                }
                when
            }
            None => When::Now,
        }
    }

    /// Discards and answers a segment that a later retransmission has overtaken (RFC 7323 section 5.3).
    fn reject(&mut self, now: Time, data: &DataSegment) -> When {
        self.counters.duplicates += 1;
        if data.segment < self.next {
            self.duplicate = data.segment;
            let arrival = Arrival { now, in_order: false, filled_hole: false, duplicate: true, push: data.push };
            if let Some(delaying) = &mut self.delaying {
                delaying.policy.on_segment(&arrival);
            }
        }
        When::Now
    }

    fn wait_until(&mut self, deadline: Time) {
        if let Some(delaying) = &mut self.delaying {
            delaying.deadline = delaying.deadline.min(deadline);
        }
    }

    /// The short path of [`Self::acknowledge`] for an ACK with nothing but the cumulative acknowledgement and at least one block
    /// of [`Self::write_blocks`]. Returns whether it applied. Otherwise nothing has changed.
    #[inline(always)]
    pub fn acknowledge_held(&mut self) -> bool {
        let has_no_other_news =
            self.delaying.is_none() && self.sack && !self.ecn_echo && self.duplicate == NO_DUPLICATE;
        let applies = has_no_other_news && self.beyond.as_ref().is_some_and(|beyond| !beyond.has_no_recent());
        self.last_ack_sent = if applies { self.next } else { self.last_ack_sent };
        applies
    }

    /// Returns the ACK of all that has arrived: the one that is due, or an earlier one.
    #[inline(always)]
    pub fn acknowledge(&mut self, now: Time) -> Ack {
        let mut accecn = None;
        if let Some(delaying) = &mut self.delaying {
            delaying.policy.on_ack_sent(now);
            delaying.deadline = Time::NEVER;
            accecn = delaying.marks.as_mut().map(MarkCounter::acknowledge);
        }
        self.last_ack_sent = self.next;
        let mut ack = Ack {
            cumulative: self.next,
            sack: SackBlocks::default(),
            echoes_retransmission: self.echoes_retransmission,
            timestamps: None,
            ecn_echo: self.ecn_echo,
            accecn,
        };
        if self.duplicate != NO_DUPLICATE || self.beyond.is_some() {
            self.add_blocks(&mut ack.sack);
        }
        if let Some(Delaying { timestamps: Some(timestamps), .. }) = self.delaying.as_deref_mut() {
            ack.timestamps = timestamps.of_ack(now, !ack.sack.is_empty());
        }
        ack
    }

    #[inline(never)]
    fn add_blocks(&mut self, blocks: &mut SackBlocks) {
        let duplicate = std::mem::replace(&mut self.duplicate, NO_DUPLICATE);
        if !self.sack {
            return;
        }
        if duplicate != NO_DUPLICATE {
            blocks.duplicates = 1;
            blocks.push((duplicate, duplicate + 1));
        }
        if let Some(beyond) = &self.beyond {
            let used = blocks.length as usize;
            blocks.length += beyond.report(&mut blocks.blocks[used..]);
        }
        if self.has_timestamps() {
            blocks.truncate();
            blocks.doubt_duplicate(self.next);
        }
    }

    /// Keeps a segment from beyond a hole; `false` if it was there already.
    fn hold(&mut self, data: &DataSegment) -> bool {
        let beyond = self.beyond.get_or_insert_default();
        let position = match beyond.find(data.segment) {
            Err(position) => position,
            Ok(position) => {
                beyond.touch(position);
                return false;
            }
        };
        self.counters.count_reordering(data, beyond.held.get(position));
        beyond.hold(position, data.segment, self.counters.arrivals);
        true
    }

    /// Delivers the held segments behind the one that has just filled the first hole.
    fn pass_held(&mut self, data: &DataSegment) {
        let Some(beyond) = &mut self.beyond else { return };
        self.counters.count_held(self.counters.held(self.next));
        self.counters.count_reordering(data, beyond.held.front());
        if let Some(end) = beyond.take_from(self.next) {
            self.next = end;
            if beyond.held.is_empty() {
                self.beyond = None;
            }
        }
    }
}

#[cfg(test)]
mod tests;
