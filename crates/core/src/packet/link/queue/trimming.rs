//! Two classes with strict priority, and a full queue that cuts payload: Ultra Ethernet Specification 1.0 (packet trimming), and NDP (Handley et
//! al., SIGCOMM 2017, section 3.1), whose fair coin avoids phase effects.
//!
//! Control packets have no payload: ACKs, and data that a queue has cut. They go first. Each class has its own limit, in which its packet in
//! transmission counts. A control packet that finds no room is dropped.

use super::{Admission, AtService, Build, Coming, Dequeued, Discipline, Place};
use crate::packet::link::packet::{ACK, AT_LAST_HOP, Packet, TRIMMED, flag_if};
use crate::packet::link::packet_sizes::FlowSizes;
use crate::parameters::Share;
use crate::rng::{Sequence, Stream};
use crate::spec::QueueLimit;
use crate::units::Time;
use std::collections::VecDeque;

crate::parameters! {
    /// The limit of control packets, the cut, and the marks.
    pub struct Parameters {
        /// Cuts the payload of message data that finds the queue full, or of the queue's last data packet, by a fair coin. `false` drops it.
        pub trim: bool = true;
        /// Limit of packets without payload, as a multiple of `limit`, which is that of data.
        pub control: u32 = 2, in 1..=1000;
        /// Data behind the packet that is dequeued, as a share of `limit`, up to which no packet is marked.
        pub mark_from: Share = Share(0.2), in 0.0..=1.0;
        /// The same share above which every ECN-capable packet is marked; the probability is linear between the two.
        pub mark_to: Share = Share(0.8), in 0.0..=1.0;
    }
    check is_ordered
}

fn is_ordered(parameters: &Parameters) -> Result<(), String> {
    let Parameters { mark_from: Share(from), mark_to: Share(to), .. } = *parameters;
    if from > to { Err(format!("mark_from {from} must not exceed mark_to {to}")) } else { Ok(()) }
}

impl Build for Parameters {
    fn build(&self, place: Place) -> Discipline {
        Discipline::AtService(Box::new(Trimming::new(*self, place.limit, place.draws)))
    }

    fn marks(&self) -> bool {
        // A queue never has more data behind a packet than its limit.
        self.mark_from.0 < 1.0
    }
}

/// The class of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Without payload.
    Control,
    Data,
}

impl Class {
    fn of(packet: &Packet) -> Class {
        if packet.has(ACK | TRIMMED) { Class::Control } else { Class::Data }
    }
}

/// The waiting packets of one class.
struct Line {
    /// Since when each packet waits.
    waiting: VecDeque<(Time, Packet)>,
    bytes: u64,
    limit: QueueLimit,
}

impl Line {
    fn new(limit: QueueLimit) -> Line {
        Line { waiting: VecDeque::new(), bytes: 0, limit }
    }

    fn push(&mut self, since: Time, packet: Packet, size: u32) {
        self.waiting.push_back((since, packet));
        self.bytes += u64::from(size);
    }
}

/// The state of one queue.
struct Trimming {
    settings: Parameters,
    control: Line,
    data: Line,
    /// The class of the packet that was transmitted last.
    transmitted: Class,
    draws: Sequence,
}

impl Trimming {
    fn new(settings: Parameters, limit: QueueLimit, draws: Stream) -> Trimming {
        let control = match limit {
            QueueLimit::Packets(packets) => QueueLimit::Packets(packets.saturating_mul(settings.control)),
            QueueLimit::Bytes(bytes) => QueueLimit::Bytes(bytes.saturating_mul(u64::from(settings.control))),
        };
        let (control, data) = (Line::new(control), Line::new(limit));
        Trimming { settings, control, data, transmitted: Class::Data, draws: Sequence::new(draws) }
    }

    fn line(&mut self, class: Class) -> &mut Line {
        match class {
            Class::Control => &mut self.control,
            Class::Data => &mut self.data,
        }
    }

    fn has_room(&mut self, class: Class, size: u32, coming: &Coming) -> bool {
        let transmitting = coming.transmitting.filter(|_| self.transmitted == class);
        let line = self.line(class);
        let packets = line.waiting.len() as u32 + u32::from(transmitting.is_some());
        line.limit.has_room(packets, line.bytes + u64::from(transmitting.unwrap_or(0)), size)
    }

    /// Removes the last data packet if this packet has room in its place.
    fn take_last(&mut self, size: u32, coming: &Coming, sizes: &FlowSizes) -> Option<(Time, Packet)> {
        let (since, last) = self.data.waiting.pop_back()?;
        let size_of_last = sizes[last.flow() as usize].of(&last);
        self.data.bytes -= u64::from(size_of_last);
        if self.has_room(Class::Data, size, coming) {
            return Some((since, last));
        }
        self.data.push(since, last, size_of_last);
        None
    }

    /// Cuts the payload of data; `false` if that is not possible, or the control class has no room for the header.
    fn cut(&mut self, packet: &mut Packet, coming: &Coming, sizes: &FlowSizes) -> bool {
        let sizes = &sizes[packet.flow() as usize];
        if !self.settings.trim || !sizes.trimmable {
            return false;
        }
        packet.set_flags(TRIMMED | flag_if(AT_LAST_HOP, coming.at_last_hop));
        self.has_room(Class::Control, sizes.of(packet), coming)
    }

    /// Whether the packet that is dequeued now is marked.
    fn marks(&mut self) -> bool {
        let share = match self.data.limit {
            QueueLimit::Packets(limit) => self.data.waiting.len() as f64 / f64::from(limit),
            QueueLimit::Bytes(limit) => self.data.bytes as f64 / limit as f64,
        };
        let Parameters { mark_from: Share(from), mark_to: Share(to), .. } = self.settings;
        share > to || share > from && self.draws.uniform() < (share - from) / (to - from)
    }
}

impl AtService for Trimming {
    fn admit(
        &mut self,
        packet: &mut Packet,
        coming: &Coming,
        sizes: &FlowSizes,
        dropped: &mut Vec<Packet>,
    ) -> Admission {
        let class = Class::of(packet);
        let size = sizes[packet.flow() as usize].of(packet);
        if self.has_room(class, size, coming) {
            return Admission::Accepted;
        }
        if class == Class::Control {
            return Admission::Refused;
        }
        let spares_the_last = self.draws.below(2) == 0;
        let last = if spares_the_last { None } else { self.take_last(size, coming, sizes) };
        let Some((since, mut last)) = last else {
            return if self.cut(packet, coming, sizes) { Admission::AcceptedAndCut } else { Admission::Refused };
        };
        if self.cut(&mut last, coming, sizes) {
            self.control.push(since, last, sizes[last.flow() as usize].of(&last));
            Admission::AcceptedAndCut
        } else {
            dropped.push(last);
            Admission::Accepted
        }
    }

    fn enqueue(&mut self, packet: Packet, size: u32, coming: &Coming) {
        self.line(Class::of(&packet)).push(coming.now, packet, size);
    }

    fn pass(&mut self, packet: Packet, _size: u32, _coming: &Coming, _sizes: &FlowSizes) {
        self.transmitted = Class::of(&packet);
    }

    fn dequeue(&mut self, _now: Time, sizes: &FlowSizes, _dropped: &mut Vec<Packet>) -> Option<Dequeued> {
        let class = if self.control.waiting.is_empty() { Class::Data } else { Class::Control };
        let line = self.line(class);
        let (since, packet) = line.waiting.pop_front()?;
        let sizes = &sizes[packet.flow() as usize];
        line.bytes -= u64::from(sizes.of(&packet));
        self.transmitted = class;
        Some(Dequeued { packet, since, marks: sizes.may_be_marked(&packet) && self.marks() })
    }

    fn backlog(&self) -> (u32, u64) {
        let packets = self.control.waiting.len() + self.data.waiting.len();
        (packets as u32, self.control.bytes + self.data.bytes)
    }

    fn drain(&mut self) -> Vec<Packet> {
        (self.control.bytes, self.data.bytes) = (0, 0);
        let packets = self.control.waiting.drain(..).chain(self.data.waiting.drain(..));
        packets.map(|(_, packet)| packet).collect()
    }
}
