//! CAKE (Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", 2018), as in Linux's `sch_cake.c`: flow queues with [COBALT](cobalt), found by a
//! set-associative hash, that take turns. New flows go first, and the state of flows that have ended decays.
//!
//! CAKE's shaper has no burst: the link's transmitter is that shaper. Left out are classes of service (`diffserv`), fairness between hosts
//! (`triple-isolate`), the ACK filter, and overheads of link layers. `limit` counts packets or their bytes, not Linux's buffers.

mod cobalt;

use self::cobalt::{Cobalt, Control};
use super::line::{Held, Line};
use super::{Admission, AtService, Build, Coming, Dequeued, Discipline, FlowKey, Place};
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::rng::{Sequence, Stream};
use crate::spec::QueueLimit;
use crate::units::{Duration, Rate, Time};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::VecDeque;

crate::parameters! {
    /// The time scale.
    pub struct Parameters {
        /// Round-trip time for which the control is meant. The acceptable wait is its twentieth, but at least one and a half of the longest transmission.
        pub rtt: Duration as "positive duration" = Duration::from_millis(100);
    }
}

impl Build for Parameters {
    fn build(&self, place: Place) -> Discipline {
        Discipline::AtService(Box::new(Cake::new(*self, place)))
    }

    /// Linux's least buffer, in bytes of packets.
    fn default_limit(&self) -> QueueLimit {
        QueueLimit::Bytes(4 << 20)
    }

    fn marks(&self) -> bool {
        true
    }
}

const QUEUES: u32 = 1024;
/// Queues of a set.
const WAYS: u32 = 8;

/// The part that a queue has in the rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Set {
    #[default]
    None,
    Sparse,
    /// It was sparse and is empty, in the rotation of the bulk flows.
    SparseWait,
    Bulk,
    /// It is empty, and its control still decays.
    Decaying,
}

#[derive(Default)]
struct Queue {
    line: Line,
    cobalt: Cobalt,
    deficit: i64,
    set: Set,
    /// The hash of the flow for which the queue is reserved.
    tag: u64,
}

/// The state of one link's queue.
struct Cake {
    settings: Parameters,
    limit: QueueLimit,
    rate: Rate,
    quantum: i64,
    stream: Stream,
    draws: Sequence,
    /// The queues that have been used, by their number.
    queues: FxHashMap<u32, Queue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    decaying: VecDeque<u32>,
    packets: u32,
    bytes: u64,
}

impl Cake {
    fn new(settings: Parameters, place: Place) -> Cake {
        Cake {
            settings,
            limit: place.limit,
            rate: place.rate,
            // Linux: a 4096th of the bytes of a second.
            quantum: (place.rate.0 / 8 >> 12).clamp(300, 1514) as i64,
            stream: place.draws,
            draws: Sequence::new(place.draws),
            queues: FxHashMap::default(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    /// `cake_set_rate`.
    fn control(&self, sizes: &FlowSizes) -> Control {
        let mtu_time = self.rate.serialization_delay(sizes.largest().into());
        let wanted = Duration(self.settings.rtt.0 / 20);
        let target = Duration(mtu_time.0 * 3 / 2).max(wanted);
        let interval = (self.settings.rtt + target - wanted).max(target * 2);
        Control { target, interval, mtu_time }
    }

    fn queue(&mut self, number: u32) -> &mut Queue {
        self.queues.entry(number).or_default()
    }

    /// Reserves a queue for a flow: the one that it had, or a free one of its set, or else the one to which its hash points (`cake_hash`).
    fn reserve(&mut self, flow: FlowKey) -> u32 {
        let tag = flow.hash(self.stream);
        let direct = (tag % u64::from(QUEUES)) as u32;
        let first = direct - direct % WAYS;
        let ways = || (0..WAYS).map(|way| first + (direct + way) % WAYS);
        let is = |number: u32, wanted: &dyn Fn(&Queue) -> bool| self.queues.get(&number).is_none_or(wanted);
        let own = ways().find(|number| self.queues.get(number).is_some_and(|queue| queue.tag == tag));
        let free = || ways().find(|number| is(*number, &|queue| queue.set == Set::None));
        let number = own.or_else(free).unwrap_or(direct);
        self.queue(number).tag = tag;
        number
    }

    /// Drops the first packet of the queue with the most bytes. Returns whether the packet that comes to queue `coming` remains: it may be the only one
    /// of its queue.
    fn drop_from_fattest(
        &mut self,
        now: Time,
        coming: u32,
        size: u32,
        control: &Control,
        dropped: &mut Vec<Packet>,
    ) -> bool {
        let bytes = |(number, queue): (&u32, &Queue)| {
            (queue.line.bytes() + if *number == coming { u64::from(size) } else { 0 }, Reverse(*number))
        };
        let Some((_, Reverse(fattest))) = self.queues.iter().map(bytes).max() else { return false };
        let queue = self.queue(fattest);
        queue.cobalt.on_full(now, control);
        let Some(held) = queue.line.pop() else { return false };
        self.count_out(&held);
        dropped.push(held.packet);
        true
    }

    fn count_out(&mut self, held: &Held) {
        self.packets -= 1;
        self.bytes -= u64::from(held.size);
    }

    /// The list from which a flow is taken. Decaying flows come first once in a service.
    fn list(&mut self, decays: bool) -> &mut VecDeque<u32> {
        let Cake { new, old, decaying, .. } = self;
        if decays && !decaying.is_empty() {
            decaying
        } else if !new.is_empty() {
            new
        } else if !old.is_empty() {
            old
        } else {
            decaying
        }
    }
}

impl AtService for Cake {
    fn admit(
        &mut self,
        packet: &mut Packet,
        coming: &Coming,
        sizes: &FlowSizes,
        dropped: &mut Vec<Packet>,
    ) -> Admission {
        let size = sizes[packet.flow() as usize].of(packet);
        let number = self.reserve(coming.flow);
        let control = self.control(sizes);
        while !coming.has_room(self.limit, self.backlog(), size) {
            if !self.drop_from_fattest(coming.now, number, size, &control, dropped) {
                return Admission::Refused;
            }
        }
        Admission::Accepted
    }

    fn enqueue(&mut self, packet: Packet, size: u32, coming: &Coming) {
        let (number, quantum) = (self.reserve(coming.flow), self.quantum);
        let queue = self.queue(number);
        queue.line.push(Held { packet, since: coming.now, size });
        let before = queue.set;
        match before {
            Set::None | Set::Decaying => (queue.set, queue.deficit) = (Set::Sparse, quantum),
            Set::SparseWait => queue.set = Set::Bulk,
            Set::Sparse | Set::Bulk => {}
        }
        if before == Set::Decaying {
            self.decaying.retain(|other| *other != number);
        }
        if matches!(before, Set::None | Set::Decaying) {
            self.new.push_back(number);
        }
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    fn pass(&mut self, packet: Packet, size: u32, coming: &Coming, sizes: &FlowSizes) {
        self.enqueue(packet, size, coming);
        self.dequeue(coming.now, sizes, &mut Vec::new());
    }

    fn dequeue(&mut self, now: Time, sizes: &FlowSizes, dropped: &mut Vec<Packet>) -> Option<Dequeued> {
        let control = self.control(sizes);
        let mut decays = true;
        while self.packets > 0 {
            let quantum = self.quantum;
            let list = self.list(std::mem::take(&mut decays));
            let number = list.pop_front()?;
            let queue = self.queue(number);
            if queue.deficit <= 0 {
                if queue.set == Set::Sparse {
                    queue.set = if queue.line.is_empty() { Set::SparseWait } else { Set::Bulk };
                }
                queue.deficit += quantum;
                self.old.push_back(number);
                continue;
            }
            loop {
                let Some(held) = self.queue(number).line.pop() else {
                    let queue = self.queue(number);
                    queue.cobalt.on_empty(now, &control);
                    let rests = queue.cobalt.is_at_rest(now);
                    queue.set = if rests { Set::None } else { Set::Decaying };
                    if !rests {
                        self.decaying.push_back(number);
                    }
                    break;
                };
                self.count_out(&held);
                let ecn_capable = sizes[held.packet.flow() as usize].may_be_marked(&held.packet);
                let Cake { queues, draws, .. } = self;
                let queue = queues.entry(number).or_default();
                let verdict = queue.cobalt.decide(now, now - held.since, &control, ecn_capable, draws);
                if verdict.drops && !queue.line.is_empty() {
                    dropped.push(held.packet);
                    continue;
                }
                queue.deficit -= i64::from(held.size);
                // The flow stays at the head of its list.
                match queue.set {
                    Set::Bulk | Set::SparseWait => self.old.push_front(number),
                    _ => self.new.push_front(number),
                }
                return Some(Dequeued { packet: held.packet, since: held.since, marks: verdict.marks });
            }
        }
        None
    }

    fn backlog(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    fn drain(&mut self) -> Vec<Packet> {
        let mut queues: Vec<_> = self.queues.drain().collect();
        queues.sort_by_key(|(number, _)| *number);
        for list in [&mut self.new, &mut self.old, &mut self.decaying] {
            list.clear();
        }
        (self.packets, self.bytes) = (0, 0);
        queues.iter_mut().flat_map(|(_, queue)| queue.line.drain()).collect()
    }
}
