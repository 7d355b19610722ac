//! The fate of each packet on each link within a time span, for a replay.
//!
//! A packet on a link is a *crossing*: it enters the queue, then leaves the far end, or is dropped or lost.

use crate::packet::link::packet::{ACK, LOST, MARK, Packet, RETRANSMISSION};
use crate::packet::output::columns::columns;
use crate::packet::output::table::Table;
use crate::spec::LinkId;
use crate::units::Time;
use std::collections::VecDeque;

/// The fate of a packet on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It has not left the link when the span ends.
    OnItsWay,
    /// It leaves the far end.
    Arrived,
    /// The queue drops it.
    Dropped,
    /// The wire loses it, or the link is down or fails with it.
    Lost,
}

/// A packet on a link.
#[derive(Debug, Clone, Copy)]
pub struct Crossing {
    link: LinkId,
    flow: u32,
    packet: Packet,
    bytes: u32,
    entered: Time,
    departs: Time,
    left: Time,
    fate: Fate,
}

columns! {
    /// One row for each packet and link, in the order in which the crossings end.
    const TRACE of crossing: Crossing {
        /// Number of the link.
        link: Index = crossing.link;
        /// Number of the flow, of a subflow that of its connection.
        flow: Index = crossing.flow;
        /// The data segment; on an ACK, the next segment that the receiver expects.
        segment: Index = crossing.packet.segment();
        /// 1 for ACKs, 0 for data.
        ack: Index = u32::from(crossing.packet.has(ACK));
        /// 1 for segments that are sent again.
        retransmission: Index = u32::from(crossing.packet.has(RETRANSMISSION) && !crossing.packet.has(ACK));
        /// 1 for packets that a queue has marked (ECN).
        marked: Index = u32::from(crossing.packet.has(MARK));
        /// Size on the link.
        bytes: Index in "bytes" = crossing.bytes;
        /// When it came to the queue.
        entered_s: Number in "s" = crossing.entered.as_secs();
        /// When the transmitter has transmitted it.
        departs_s: Number in "s", unknown "it is dropped before, or its queue has not served it when the span ends" =
            known(crossing.departs);
        /// When it left the far end, or was dropped or lost.
        left_s: Number in "s", unknown "it has not left when the span ends" = known(crossing.left);
        /// `arrived`, `dropped` by the queue, `lost` on the wire, or `on its way`.
        fate: Text = match crossing.fate {
            Fate::OnItsWay => "on its way",
            Fate::Arrived => "arrived",
            Fate::Dropped => "dropped",
            Fate::Lost => "lost",
        };
    }
}

/// A time in seconds, or NaN where it is not known.
fn known(time: Time) -> f64 {
    if time == Time::NEVER { f64::NAN } else { time.as_secs() }
}

/// Whether both are one packet, which may have got marks on the way.
fn is_same(one: &Packet, other: &Packet) -> bool {
    let identity = |packet: &Packet| (packet.flow(), packet.segment(), packet.number(), packet.has(ACK));
    identity(one) == identity(other)
}

/// The crossings of a span of time.
pub struct Trace {
    from: Time,
    until: Time,
    /// Packets on each link, in the order in which they came.
    open: Vec<VecDeque<Crossing>>,
    ended: Vec<Crossing>,
}

impl Trace {
    /// A trace of the crossings that overlap this time span.
    pub fn new(from: Time, until: Time, links: usize) -> Trace {
        Trace { from, until, open: vec![VecDeque::new(); links], ended: Vec::new() }
    }

    /// The end of the span.
    pub fn until(&self) -> Time {
        self.until
    }

    /// Records a packet that is offered to a link. It enters the link unless `fate` says that it was dropped.
    pub fn enter(&mut self, now: Time, link: LinkId, packet: Packet, bytes: u32, fate: Option<Fate>) {
        if now >= self.until {
            return;
        }
        let (entered, never) = (now, Time::NEVER);
        let flow = packet.flow();
        let crossing =
            Crossing { link, flow, packet, bytes, entered, departs: never, left: never, fate: Fate::OnItsWay };
        match fate {
            Some(fate) => self.end(crossing, now, fate),
            None => self.open[link as usize].push_back(crossing),
        }
    }

    /// Records that the transmitter of a link takes a packet that waits, and finishes it at `departs`.
    pub fn transmit(&mut self, link: LinkId, packet: Packet, departs: Time) {
        // The waiting packets arrived last. Usually there are few, so the search begins at the end.
        let mut waiting = self.open[link as usize].iter_mut().rev().filter(|crossing| crossing.departs == Time::NEVER);
        if let Some(crossing) = waiting.find(|crossing| is_same(&crossing.packet, &packet)) {
            crossing.departs = departs;
        }
    }

    /// Records that a packet leaves the far end of a link.
    pub fn leave(&mut self, now: Time, link: LinkId, packet: Packet, bytes: u32) {
        let fate = if packet.has(LOST) { Fate::Lost } else { Fate::Arrived };
        self.end_of(now, link, packet, |crossing| Crossing { bytes, fate, ..crossing });
    }

    /// Records that the queue of a link drops a packet that waits.
    pub fn drop_from_queue(&mut self, now: Time, link: LinkId, packet: Packet) {
        self.end_of(now, link, packet, |crossing| Crossing { fate: Fate::Dropped, ..crossing });
    }

    /// Records the end of the first such packet on a link. It may have overtaken others, with jitter or priority.
    fn end_of(&mut self, now: Time, link: LinkId, packet: Packet, ended: impl FnOnce(Crossing) -> Crossing) {
        let open = &mut self.open[link as usize];
        let position = open.iter().position(|crossing| is_same(&crossing.packet, &packet));
        if let Some(mut crossing) = position.and_then(|position| open.remove(position)) {
            crossing.packet = packet;
            let crossing = ended(crossing);
            self.end(crossing, now, crossing.fate);
        }
    }

    /// Records the failure of a link: its packets are lost.
    pub fn fail(&mut self, now: Time, link: LinkId) {
        for crossing in std::mem::take(&mut self.open[link as usize]) {
            self.end(crossing, now, Fate::Lost);
        }
    }

    fn end(&mut self, mut crossing: Crossing, now: Time, fate: Fate) {
        if now >= self.from {
            (crossing.left, crossing.fate) = (now, fate);
            self.ended.push(crossing);
        }
    }

    /// How many crossings have ended.
    pub fn ended(&self) -> usize {
        self.ended.len()
    }

    /// All crossings of the span: first the finished ones, then those in progress, by link. A packet belongs to the flow that `flow_of` its own says.
    pub fn table(&self, flow_of: impl Fn(u32) -> u32) -> Table {
        let rows = self.ended.iter().chain(self.open.iter().flatten());
        let rows: Vec<Crossing> = rows.map(|crossing| Crossing { flow: flow_of(crossing.flow), ..*crossing }).collect();
        Table::of(TRACE, rows.into_iter())
    }
}
