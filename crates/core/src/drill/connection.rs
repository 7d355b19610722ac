//! One connection: the simulated sender and receiver, and the layers between them and the bytes of a script. These are
//! handshake, sequence numbers, windows in bytes, Nagle's rule, FIN and timestamps.

use super::outline::Outline;
use super::reordering::Reordering;
use super::settings::{EcnUse, LEAST_MSS, Settings};
use super::streams::{Incoming, Outgoing};
use super::wire::{Ecn, Flags, Segment, TcpOption};
use crate::rng::{Purpose, Stream};
use crate::spec::{SpuriousResponse, StackSpec};
use crate::tcp::ack::ReceiverContext;
use crate::tcp::detection::{DetectionSpec, dup_ack};
use crate::tcp::kernel_clock::TIMESTAMP_TICK;
use crate::tcp::persist::PersistTimer;
use crate::tcp::receiver::{Ack, AckTimestamps, DataSegment, Due, Receiver, SackBlocks};
use crate::tcp::scoreboard::{Delivered, Range};
use crate::tcp::sender::{Sender, Transmission};
use crate::units::Time;
use std::collections::VecDeque;

/// The state of a connection, from listening to closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Waits for a SYN.
    Listening,
    /// Has sent a SYN.
    SynSent,
    /// Has answered a SYN.
    SynReceived,
    /// Both ends have agreed on the connection. This phase lasts until both have closed.
    Established,
    /// A RST ended it.
    Reset,
    /// The connection is closed and forgotten: every arriving segment is answered with a RST.
    Gone,
}

/// The options of the peer's SYN.
#[derive(Debug, Clone, Copy, Default)]
struct Peer {
    isn: u32,
    window_scale: Option<u32>,
}

/// A connection.
pub struct Connection {
    settings: Settings,
    phase: Phase,
    isn: u32,
    peer: Peer,
    /// The stack, without options that the peer did not agree to.
    stack: StackSpec,
    timestamps: bool,
    sender: Sender,
    receiver: Receiver,
    outgoing: Outgoing,
    incoming: Incoming,
    /// When SYNs were sent.
    syns: Vec<Time>,
    /// The byte behind the last that the peer's window allows.
    edge: u64,
    peer_window: u64,
    persist: PersistTimer,
    reordering: Reordering,
    nagle: bool,
    cork: bool,
    /// The end of the last short segment.
    short_end: u64,
    peer_fin: bool,
    /// The first consecutive duplicate segments in the packet that last brought one (RFC 2883 section 4).
    duplicate: Range,
    /// The longest segment that has arrived, bytes; at first, the default segment size.
    received_mss: u32,
    /// The application closed after the peer.
    closed_second: bool,
    /// Bytes that the application has read.
    read: u64,
    /// The timestamp of the peer that we echo (TS.Recent of RFC 7323).
    recent_timestamp: u32,
    /// Our timestamp clock: its first value, and the time of this value.
    first_timestamp: (u32, Option<Time>),
    /// For each segment, the timestamp of its first retransmission.
    retransmitted_at: Vec<Option<u32>>,
    last_ack_sent: u32,
    sent: VecDeque<(Time, Segment)>,
}

/// Sent segments that may wait for a line that expects them.
pub const MOST_WAITING: usize = 100_000;
/// Room that a timestamp takes in every segment (RFC 7323 appendix A).
const TIMESTAMP_BYTES: u32 = 12;
/// The segment size of a peer that announces none (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u32 = 536;

fn build(stack: &StackSpec) -> (Sender, Receiver) {
    let sender = Sender::new(stack, 1, Stream::new(1, Purpose::Congestion, 0));
    (sender, Receiver::new(stack.sack, stack.ack.build(ReceiverContext::of_stack(stack))))
}

impl Connection {
    /// A connection that waits for a SYN or for [`Self::open`].
    pub fn new(settings: &Settings, outline: Outline) -> Connection {
        let mut stack = settings.stack.clone();
        (stack.handshake, stack.mss) = (true, settings.mss);
        let (sender, receiver) = build(&stack);
        Connection {
            settings: settings.clone(),
            phase: Phase::Listening,
            isn: outline.isn,
            peer: Peer { isn: outline.peer_isn, window_scale: None },
            timestamps: settings.timestamps,
            outgoing: Outgoing::new(stack.mss),
            stack,
            sender,
            receiver,
            incoming: outline.incoming,
            syns: Vec::new(),
            edge: 0,
            peer_window: 0,
            persist: PersistTimer::default(),
            reordering: Reordering::default(),
            nagle: true,
            cork: false,
            short_end: 0,
            peer_fin: false,
            duplicate: (0, 0),
            received_mss: DEFAULT_MSS.min(settings.mss),
            closed_second: false,
            read: 0,
            recent_timestamp: 0,
            first_timestamp: (outline.timestamp, None),
            retransmitted_at: Vec::new(),
            last_ack_sent: 0,
            sent: VecDeque::new(),
        }
    }

    /// The phase of the connection.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The settings that the script has chosen.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The sender of the connection.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The peer's segment size as far as its segments show it, bytes.
    pub fn received_mss(&self) -> u32 {
        self.received_mss
    }

    /// The connection's record of reordering.
    pub fn reordering(&self) -> &Reordering {
        &self.reordering
    }

    /// The connection's stack, without options that the peer did not agree to.
    pub fn stack(&self) -> &StackSpec {
        &self.stack
    }

    /// Probes of a closed window.
    pub fn window_probes(&self) -> u32 {
        self.persist.probes()
    }

    /// Whether the peer has closed and all its data has arrived.
    pub fn peer_has_closed(&self) -> bool {
        self.peer_fin
    }

    /// Whether the application has closed.
    pub fn has_closed(&self) -> bool {
        self.outgoing.is_finished()
    }

    /// Whether all that was written is acknowledged, the FIN too.
    pub fn is_all_acknowledged(&self) -> bool {
        self.outgoing.is_all_cut() && self.sender.is_done()
    }

    /// Removes and returns the next sent segment, with its time.
    pub fn take_sent(&mut self) -> Option<(Time, Segment)> {
        self.sent.pop_front()
    }

    /// Whether so much was sent that no line expects that no more is.
    pub fn is_flooded(&self) -> bool {
        self.sent.len() >= MOST_WAITING
    }

    /// Sends a SYN.
    pub fn open(&mut self, now: Time) {
        self.phase = Phase::SynSent;
        self.pump(now);
    }

    /// Writes this number of bytes for the application; `more` if it will write again at once.
    pub fn write(&mut self, now: Time, bytes: u64, more: bool) {
        self.outgoing.write(bytes);
        let cork = self.cork;
        self.cork |= more;
        self.pump(now);
        self.cork = cork;
    }

    /// Ends the application's data: sends a FIN after it.
    pub fn finish(&mut self, now: Time) {
        self.closed_second |= self.peer_fin && !self.outgoing.is_finished();
        self.outgoing.finish();
        self.pump(now);
    }

    /// Forgets a connection that was closed before it was established, or after both ends have closed.
    pub fn forget(&mut self) {
        self.phase = Phase::Gone;
    }

    /// Closes the connection for an application that has not read all data: the peer gets a RST (RFC 2525 section
    /// 2.17).
    pub fn abort(&mut self, now: Time) {
        let flags = Flags { rst: true, ack: true, ..Flags::default() };
        self.emit(now, flags, 1 + self.outgoing.cut_end(), 0, Vec::new());
        self.phase = Phase::Reset;
    }

    /// Bytes that have arrived in order and that the application has not read.
    pub fn readable(&self) -> u64 {
        let arrived = self.incoming.start(self.receiver.delivered()) - u64::from(self.peer_fin);
        arrived - self.read
    }

    /// Reads at most `most` bytes for the application. Returns the number of bytes read.
    pub fn read(&mut self, most: u64) -> u64 {
        let bytes = self.readable().min(most);
        self.read += bytes;
        bytes
    }

    /// Whether short segments wait for acknowledgements (Nagle), and whether they wait for more data at all.
    pub fn set_coalescing(&mut self, now: Time, nagle: Option<bool>, cork: Option<bool>) {
        self.nagle = nagle.unwrap_or(self.nagle);
        self.cork = cork.unwrap_or(self.cork);
        // Switching Nagle's rule off sends the waiting data, corked or not.
        let cork = self.cork;
        self.cork &= nagle != Some(false);
        self.pump(now);
        self.cork = cork;
    }

    /// The next time at which the connection must be woken, if nothing happens before.
    pub fn deadline(&self) -> Option<Time> {
        let sender = match self.phase {
            Phase::Listening | Phase::Reset | Phase::Gone => return None,
            Phase::SynSent | Phase::SynReceived | Phase::Established => self.sender.deadline(),
        };
        let others = [self.receiver.deadline(), self.persist.deadline(self.sender.rtt())];
        others.into_iter().flatten().chain(sender).min()
    }

    /// Processes a deadline of the connection.
    pub fn on_deadline(&mut self, now: Time) {
        if self.sender.deadline().is_some_and(|deadline| deadline <= now) {
            self.sender.on_deadline(now);
        }
        if self.persist.deadline(self.sender.rtt()).is_some_and(|deadline| deadline <= now) {
            // An acknowledged byte's number makes the receiver answer without giving it data that it has no room for.
            self.emit(now, Flags { ack: true, ..Flags::default() }, self.outgoing.cut_end(), 0, Vec::new());
            self.persist.on_probe(now);
        }
        if self.receiver.deadline().is_some_and(|deadline| deadline <= now) {
            let ack = self.receiver.acknowledge(now);
            self.acknowledge(now, &ack);
        }
        self.pump(now);
    }

    /// Processes an arriving segment.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        if segment.flags.rst {
            self.take_reset(now, segment);
            return;
        }
        match self.phase {
            Phase::Gone => self.refuse(now, segment),
            Phase::Listening if segment.flags.syn && !segment.flags.ack => {
                self.phase = Phase::SynReceived;
                self.agree(segment);
                self.pump(now);
            }
            Phase::SynSent if segment.flags.syn && segment.flags.ack => {
                self.agree(segment);
                self.establish(now, segment);
                let flags = Flags { ack: true, ..Flags::default() };
                self.emit(now, flags, 1, 0, Vec::new());
                self.pump(now);
            }
            Phase::SynReceived if segment.flags.syn => {
                // The peer has not seen our answer.
                self.emit_syn(now);
            }
            Phase::SynReceived if segment.flags.ack => {
                self.establish(now, segment);
                self.take(now, segment);
            }
            Phase::Established => self.take(now, segment),
            _ => {}
        }
    }

    /// RFC 9293 section 3.10.7: before the connection is established, a RST must acknowledge our SYN if it was sent first. After, it counts at
    /// the next expected byte, and an ACK challenges it elsewhere in the window (RFC 5961 section 3.2).
    fn take_reset(&mut self, now: Time, segment: &Segment) {
        let ahead = segment.seq.wrapping_sub(self.next_expected());
        let counts = match self.phase {
            Phase::SynSent => segment.ack == Some(self.isn.wrapping_add(1)),
            Phase::SynReceived | Phase::Established => ahead == 0,
            Phase::Listening | Phase::Reset | Phase::Gone => false,
        };
        if counts {
            self.phase = Phase::Reset;
        } else if self.phase == Phase::Established && u64::from(ahead) < self.stack.receive_window {
            let ack = self.receiver.acknowledge(now);
            self.acknowledge(now, &ack);
        }
    }

    /// RFC 9293 section 3.10.7.1: the RST has the number that the segment acknowledges.
    fn refuse(&mut self, now: Time, segment: &Segment) {
        let flags = Flags { rst: true, ack: segment.ack.is_none(), ..Flags::default() };
        let seq = segment.ack.unwrap_or(0);
        let ack = flags.ack.then(|| segment.end().wrapping_add(u32::from(segment.flags.syn)));
        self.sent.push_back((
            now,
            Segment { flags, seq, length: 0, ack, window: None, options: Some(Vec::new()), ecn: None },
        ));
    }

    /// Records the options of the peer's SYN, and removes all others from our stack.
    fn agree(&mut self, syn: &Segment) {
        self.peer = Peer { isn: syn.seq, window_scale: None };
        let (mut mss, mut sack, mut timestamps) = (DEFAULT_MSS, false, false);
        for option in syn.options.iter().flatten() {
            match option {
                TcpOption::Mss(announced) => mss = *announced,
                TcpOption::SackPermitted => sack = true,
                TcpOption::WindowScale(scale) => self.peer.window_scale = Some(*scale.min(&14)),
                TcpOption::Timestamp { value, .. } => {
                    timestamps = true;
                    self.recent_timestamp = *value;
                }
                TcpOption::Padding | TcpOption::Sack(_) => {}
            }
        }
        let wants_ecn = if syn.flags.ack {
            self.settings.ecn == EcnUse::On && syn.flags.ece && !syn.flags.cwr
        } else {
            self.settings.ecn != EcnUse::Off && syn.flags.ece && syn.flags.cwr
        };
        self.timestamps &= timestamps;
        self.stack.sack &= sack;
        self.stack.ecn = wants_ecn;
        let options = if self.timestamps { TIMESTAMP_BYTES } else { 0 };
        self.stack.mss = mss.min(self.settings.mss).max(LEAST_MSS) - options;
        if self.stack.spurious == SpuriousResponse::Eifel && !self.timestamps {
            self.stack.spurious = SpuriousResponse::Dsack;
        }
        if let (DetectionSpec::RackTlp(parameters), false) = (self.stack.detection, self.stack.sack) {
            // RFC 8985 section 4 requires SACK; without it Linux, too, counts duplicate ACKs.
            let parameters = dup_ack::Parameters { threshold: parameters.threshold };
            self.stack.detection = DetectionSpec::DupAck(parameters);
        }
        (self.sender, self.receiver) = build(&self.stack);
        self.outgoing = Outgoing::new(self.stack.mss);
        // Replays to the new sender what the old one has sent.
        for at in &self.syns {
            if self.sender.deadline().is_some_and(|deadline| deadline <= *at) {
                self.sender.on_deadline(*at);
            }
            self.sender.poll_transmit(*at);
        }
    }

    fn establish(&mut self, now: Time, segment: &Segment) {
        self.phase = Phase::Established;
        let echo = segment.timestamp().filter(|_| self.timestamps).map(|(_, echo)| echo);
        let number = (0..self.syns.len()).find(|number| Some(self.timestamp(self.syns[*number])) == echo);
        self.sender.on_established(now, number.map(|number| number as u32));
        // The window of a SYN is not scaled (RFC 7323 section 2.2).
        self.peer_window = self.window_of(segment);
        self.edge = self.peer_window;
    }

    fn window_of(&self, segment: &Segment) -> u64 {
        let scale = if segment.flags.syn { 0 } else { self.peer_scale() };
        u64::from(segment.window.unwrap_or(0)) << scale
    }

    fn peer_scale(&self) -> u32 {
        self.peer.window_scale.unwrap_or(0)
    }

    /// A segment of an established connection: its acknowledgement, then its data.
    fn take(&mut self, now: Time, segment: &Segment) {
        if segment.flags.syn {
            let ack = self.receiver.acknowledge(now);
            self.acknowledge(now, &ack); // RFC 9293 section 3.10.7.4: an ACK answers a SYN that comes late
            return;
        }
        if segment.ack.is_some_and(|ack| self.acknowledged_byte(ack).is_some_and(|byte| byte > self.outgoing.cut_end()))
        {
            return; // an acknowledgement of what was never sent: nothing in the segment is to be believed
        }
        if let Some((value, _)) = segment.timestamp()
            && self.timestamps
            && self.is_recent(segment, value)
        {
            self.recent_timestamp = value;
        }
        if let Some(ack) = segment.ack {
            self.take_ack(now, segment, ack);
        }
        let ack = self.take_data(now, segment);
        let segments_before = self.sender.scoreboard().next_transmission();
        self.pump(now);
        if let Some(ack) = ack
            && self.sender.scoreboard().next_transmission() == segments_before
        {
            self.acknowledge(now, &ack);
        }
    }

    /// RFC 7323 section 4.3 (2).
    fn is_recent(&self, segment: &Segment, value: u32) -> bool {
        let is_newer = value.wrapping_sub(self.recent_timestamp) as i32 >= 0;
        is_newer && segment.seq.wrapping_sub(self.last_ack_sent) as i32 <= 0
    }

    /// The byte of data that an acknowledgement number stands before; `None` for one before our SYN.
    fn acknowledged_byte(&self, ack: u32) -> Option<u64> {
        ack.wrapping_sub(self.isn).checked_sub(1).map(u64::from)
    }

    fn take_ack(&mut self, now: Time, segment: &Segment, ack: u32) {
        let Some(byte) = self.acknowledged_byte(ack) else { return };
        let window = self.window_of(segment);
        let cumulative = self.outgoing.segment_at(byte);
        let una = self.sender.scoreboard().una();
        let changes_window = window != self.peer_window;
        if cumulative >= una {
            self.edge = byte + window;
            self.peer_window = window;
        }
        let sack = self.sack_blocks(segment, byte);
        let brings_data = segment.length > 0 || segment.flags.fin;
        // RFC 5681 section 2: an ACK with data or another window is no duplicate.
        if cumulative == una && sack.is_empty() && (brings_data || changes_window) && !segment.flags.ece {
            return;
        }
        let ack = Ack {
            cumulative,
            sack,
            echoes_retransmission: self.echoes_retransmission(segment, una),
            timestamps: Some(AckTimestamps { sent: segment.timestamp().map_or(0, |(value, _)| value), echoed: None }),
            ecn_echo: self.stack.ecn && segment.flags.ece,
            accecn: None,
        };
        let sacked_end = self.sender.scoreboard().sacked_end();
        let mut delivered = Delivered::default();
        self.sender.on_ack_reporting(now, &ack, Some(&mut delivered));
        if self.peer_fin && self.closed_second && self.is_all_acknowledged() {
            self.forget(); // the peer, who closed first, waits; we need not
        }
        self.reordering.on_ack(&delivered, sacked_end);
    }

    fn sack_blocks(&self, segment: &Segment, acknowledged: u64) -> SackBlocks {
        let mut blocks = segment.options.iter().flatten().filter_map(|option| match option {
            TcpOption::Sack(blocks) if self.stack.sack => Some(blocks),
            _ => None,
        });
        let Some(blocks) = blocks.next() else { return SackBlocks::default() };
        let byte = |number: u32| u64::from(number.wrapping_sub(self.isn).wrapping_sub(1));
        let mut bytes = blocks.iter().map(|(start, end)| (byte(*start), byte(*end))).peekable();
        // RFC 2883 section 4: a duplicate stands first, below the acknowledgement or within the second block.
        let second = blocks.get(1).map(|(start, end)| (byte(*start), byte(*end)));
        let is_duplicate = |(start, end): (u64, u64)| {
            end <= acknowledged
                || second.is_some_and(|(outer_start, outer_end)| outer_start <= start && end <= outer_end)
        };
        let first = bytes.next_if(|block| is_duplicate(*block));
        let duplicate =
            first.map(|(start, end)| self.outgoing.segments_within(start, end)).filter(|(start, end)| start < end);
        let held: Vec<(u32, u32)> = bytes
            .map(|(start, end)| self.outgoing.segments_within(start, end))
            .filter(|(start, end)| start < end)
            .collect();
        SackBlocks::new(duplicate, &held)
    }

    /// RFC 3522: whether the echoed timestamp is that of the retransmission, and not of an earlier transmission.
    fn echoes_retransmission(&self, segment: &Segment, una: u32) -> bool {
        let again = self.retransmitted_at.get(una as usize).copied().flatten();
        match (segment.timestamp(), again) {
            (Some((_, echo)), Some(again)) if self.timestamps => echo.wrapping_sub(again) as i32 >= 0,
            _ => true,
        }
    }

    fn take_data(&mut self, now: Time, segment: &Segment) -> Option<Ack> {
        let start = u64::from(segment.seq.wrapping_sub(self.peer.isn).wrapping_sub(1));
        let end = start + u64::from(segment.length) + u64::from(segment.flags.fin);
        let size = segment.length.min(self.settings.joined_mss.unwrap_or(u32::MAX)).min(self.settings.mss);
        self.received_mss = self.received_mss.max(size);
        let pieces = self.incoming.pieces(start, end);
        if let Some(first) = pieces.clone().find(|piece| self.receiver.has(*piece)) {
            let length = (first..pieces.end).take_while(|piece| self.receiver.has(*piece)).count() as u32;
            self.duplicate = (first, first + length);
        }
        let (mut answer, mut is_due) = (None, false);
        for piece in pieces {
            let data = DataSegment {
                segment: piece,
                retransmission: false,
                marked: self.stack.ecn && segment.ecn == Some(Ecn::Experienced),
                window_reduced: segment.flags.cwr,
                push: segment.flags.fin,
                timestamp: None,
            };
            match self.receiver.take(now, &data) {
                Due::Now => is_due = true,
                Due::Later => {}
                Due::Earlier(earlier) => answer = Some(*earlier),
            }
        }
        if is_due {
            answer = Some(self.receiver.acknowledge(now)); // one for all that the packet brought
        }
        self.peer_fin |= segment.flags.fin && self.incoming.start(self.receiver.delivered()) >= end;
        if self.peer_fin && segment.flags.fin {
            answer = Some(answer.unwrap_or_else(|| self.receiver.acknowledge(now)));
        }
        answer
    }

    /// Sends all segments that may be sent now.
    fn pump(&mut self, now: Time) {
        if matches!(self.phase, Phase::Listening | Phase::Reset | Phase::Gone) {
            return;
        }
        if self.phase == Phase::Established {
            let una = self.sender.scoreboard().una();
            let short_is_out = una < self.outgoing.segment_at(self.short_end);
            let more = self.outgoing.announce(self.cork || (self.nagle && short_is_out));
            if more > 0 {
                self.sender.write(now, more);
            }
            self.sender.set_receive_window(self.outgoing.segments_until(una, self.edge));
        }
        while !self.is_flooded()
            && let Some(transmission) = self.sender.poll_transmit(now)
        {
            match transmission {
                Transmission::Syn => self.emit_syn(now),
                Transmission::Answer { .. } => {
                    let ack = self.receiver.acknowledge(now);
                    self.acknowledge(now, &ack);
                }
                Transmission::Data { segment, retransmission, window_reduced, .. } => {
                    self.emit_data(now, segment, retransmission, window_reduced);
                }
            }
        }
        let board = self.sender.scoreboard();
        let is_closed = self.phase == Phase::Established
            && board.outstanding() == 0
            && self.outgoing.is_waiting()
            && self.outgoing.segments_until(board.una(), self.edge) == 0;
        self.persist.update(now, is_closed);
    }

    fn emit_syn(&mut self, now: Time) {
        self.syns.push(now);
        let answers = self.phase == Phase::SynReceived;
        let mut options = vec![TcpOption::Mss(self.settings.mss)];
        if self.stack.sack {
            options.push(TcpOption::SackPermitted);
        }
        if !answers || self.peer.window_scale.is_some() {
            options.push(TcpOption::WindowScale(self.settings.window_scale));
        }
        let ecn = if answers { self.stack.ecn } else { self.settings.ecn == EcnUse::On };
        let flags = Flags { syn: true, ack: answers, ece: ecn, cwr: ecn && !answers, ..Flags::default() };
        self.emit(now, flags, 0, 0, options);
    }

    fn emit_data(&mut self, now: Time, segment: u32, retransmission: bool, window_reduced: bool) {
        let piece = self.outgoing.piece(segment);
        if piece.length < self.stack.mss && piece.length > 0 {
            self.short_end = self.short_end.max(piece.end());
        }
        if retransmission {
            let timestamp = self.timestamp(now);
            self.retransmitted_at.resize(self.retransmitted_at.len().max(segment as usize + 1), None);
            self.retransmitted_at[segment as usize].get_or_insert(timestamp);
        }
        let flags = Flags { ack: true, fin: piece.fin, cwr: window_reduced, ..Flags::default() };
        let mut options = Vec::new();
        if self.receiver.deadline().is_some() {
            let ack = self.receiver.acknowledge(now); // the segment carries the acknowledgement that was to come
            options.extend(self.sack_option(&ack));
        }
        self.emit(now, flags, 1 + piece.start, piece.length, options);
        if self.stack.ecn && !retransmission && piece.length > 0 {
            self.sent.back_mut().expect("it was just sent").1.ecn = Some(Ecn::Capable0);
        }
    }

    fn acknowledge(&mut self, now: Time, ack: &Ack) {
        let flags = Flags { ack: true, ece: self.stack.ecn && ack.ecn_echo, ..Flags::default() };
        let options = self.sack_option(ack).into_iter().collect();
        self.emit(now, flags, 1 + self.outgoing.cut_end(), 0, options);
    }

    fn sack_option(&self, ack: &Ack) -> Option<TcpOption> {
        let number = |piece: u32| self.peer.isn.wrapping_add(1 + self.incoming.start(piece) as u32);
        let duplicate = ack.sack.duplicate().map(|_| self.duplicate);
        let blocks: Vec<(u32, u32)> =
            duplicate.iter().chain(ack.sack.held()).map(|(start, end)| (number(*start), number(*end))).collect();
        (!blocks.is_empty()).then_some(TcpOption::Sack(blocks))
    }

    /// The number of the next byte that is to arrive.
    fn next_expected(&self) -> u32 {
        self.peer.isn.wrapping_add(1).wrapping_add(self.incoming.start(self.receiver.delivered()) as u32)
    }

    fn timestamp(&mut self, now: Time) -> u32 {
        let start = *self.first_timestamp.1.get_or_insert(now);
        self.first_timestamp.0.wrapping_add(((now - start).0 / TIMESTAMP_TICK.0) as u32)
    }

    /// Sends a segment; `offset` counts from our initial sequence number.
    fn emit(&mut self, now: Time, flags: Flags, offset: u64, length: u32, mut options: Vec<TcpOption>) {
        if self.timestamps {
            let echo = if flags.ack { self.recent_timestamp } else { 0 };
            let value = self.timestamp(now);
            options.push(TcpOption::Timestamp { value, echo });
        }
        options.sort_by_key(TcpOption::rank);
        let ack = flags.ack.then(|| self.next_expected());
        self.last_ack_sent = ack.unwrap_or(self.last_ack_sent);
        let seq = self.isn.wrapping_add(offset as u32);
        let segment = Segment { flags, seq, length, ack, window: None, options: Some(options), ecn: None };
        self.sent.push_back((now, segment));
    }
}
