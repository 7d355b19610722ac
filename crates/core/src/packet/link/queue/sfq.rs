//! Stochastic fairness queueing (McKenney 1990), as in Linux's `sch_sfq.c`: few short queues, to which a hash assigns flows, take turns. A full
//! queue drops from the longest one.

use super::line::{Held, Line};
use super::{Admission, AtService, Build, Coming, Dequeued, Discipline, FlowKey, Place};
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::rng::{Stream, hash_words};
use crate::spec::QueueLimit;
use crate::units::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

crate::parameters! {
    /// The queues and their turns.
    pub struct Parameters {
        /// Values of the hash.
        pub divisor: u32 = 1024, in 1..=65536;
        /// Flows that may have packets at a time.
        pub flows: u32 = 127, in 1..=65408;
        /// Packets that the queue of a flow holds.
        pub depth: u32 = 127, in 1..=u32::MAX;
        /// Bytes that a flow sends in its turn.
        pub quantum: u32 = 1514, in 1..=1048576;
        /// How often the hash changes; zero for never.
        pub perturb: Duration = Duration::ZERO;
    }
}

impl Build for Parameters {
    fn build(&self, place: Place) -> Discipline {
        Discipline::AtService(Box::new(Sfq {
            settings: *self,
            limit: place.limit,
            draws: place.draws,
            perturbations: 0,
            slots: BTreeMap::new(),
            turns: VecDeque::new(),
            packets: 0,
            bytes: 0,
            changes: 0,
        }))
    }

    fn default_limit(&self) -> QueueLimit {
        QueueLimit::Packets(127)
    }
}

/// The queue of the flows with one hash.
#[derive(Default)]
struct Slot {
    line: Line,
    /// The flows of its packets, in the order of these.
    flows: VecDeque<FlowKey>,
    allot: i64,
    /// The number of the last change of its length: of several longest queues, the one that changed last drops.
    changed: u64,
}

struct Sfq {
    settings: Parameters,
    limit: QueueLimit,
    draws: Stream,
    /// How often the hash has changed.
    perturbations: u64,
    /// The slots with packets, by their hash.
    slots: BTreeMap<u32, Slot>,
    turns: VecDeque<u32>,
    packets: u32,
    bytes: u64,
    changes: u64,
}

impl Sfq {
    fn hash(&self, flow: FlowKey) -> u32 {
        let bits = hash_words(self.perturbations, [flow.hash(self.draws)]);
        (bits % u64::from(self.settings.divisor)) as u32
    }

    /// Changes the hash as often as that was due, and puts the packets that wait into their new slots (`sfq_rehash`).
    fn perturb(&mut self, now: Time, dropped: &mut Vec<Packet>) {
        let period = self.settings.perturb;
        let due = if period == Duration::ZERO { 0 } else { now.0 / period.0 };
        if std::mem::replace(&mut self.perturbations, due) == due {
            return;
        }
        self.turns.clear();
        (self.packets, self.bytes) = (0, 0);
        for mut slot in std::mem::take(&mut self.slots).into_values() {
            while let (Some(held), Some(flow)) = (slot.line.pop(), slot.flows.pop_front()) {
                if self.has_slot(flow) {
                    self.push(held, flow);
                } else {
                    dropped.push(held.packet);
                }
            }
        }
    }

    /// Whether there is a slot for another packet of a flow, and it is not full.
    fn has_slot(&self, flow: FlowKey) -> bool {
        match self.slots.get(&self.hash(flow)) {
            Some(slot) => slot.line.packets() < self.settings.depth,
            None => self.slots.len() < self.settings.flows as usize,
        }
    }

    fn push(&mut self, held: Held, flow: FlowKey) {
        let hash = self.hash(flow);
        self.changes += 1;
        self.packets += 1;
        self.bytes += u64::from(held.size);
        let (quantum, changes) = (self.settings.quantum.into(), self.changes);
        let turns = &mut self.turns;
        let slot = self.slots.entry(hash).or_insert_with(|| {
            turns.push_back(hash);
            Slot { allot: quantum, ..Slot::default() }
        });
        slot.line.push(held);
        slot.flows.push_back(flow);
        slot.changed = changes;
    }

    fn count_out(&mut self, hash: u32, held: &Held) {
        self.packets -= 1;
        self.bytes -= u64::from(held.size);
        self.changes += 1;
        let changes = self.changes;
        if let Some(slot) = self.slots.get_mut(&hash) {
            slot.changed = changes;
            if slot.line.is_empty() {
                self.slots.remove(&hash);
                self.turns.retain(|other| *other != hash);
            }
        }
    }

    /// Drops the last packet of the longest slot; `false` if the packet that comes to slot `coming` would be that one.
    fn drop_from_longest(&mut self, coming: u32, dropped: &mut Vec<Packet>) -> bool {
        let length = |hash: u32, slot: &Slot| slot.line.packets() + u32::from(hash == coming);
        let longest = self.slots.iter().max_by_key(|(hash, slot)| (length(**hash, slot), slot.changed));
        let of_coming = self.slots.get(&coming).map_or(1, |slot| length(coming, slot));
        let Some((&hash, slot)) = longest else { return false };
        // If all have one packet, Linux drops that of the flow whose turn is next.
        let (hash, most) = match length(hash, slot) {
            1 => (*self.turns.front().unwrap_or(&hash), 2),
            most => (hash, most),
        };
        if of_coming >= most {
            return false;
        }
        let Some(slot) = self.slots.get_mut(&hash) else { return false };
        let Some(held) = slot.line.pop_last() else { return false };
        slot.flows.pop_back();
        self.count_out(hash, &held);
        dropped.push(held.packet);
        true
    }
}

impl AtService for Sfq {
    fn admit(
        &mut self,
        packet: &mut Packet,
        coming: &Coming,
        sizes: &FlowSizes,
        dropped: &mut Vec<Packet>,
    ) -> Admission {
        self.perturb(coming.now, dropped);
        let size = sizes[packet.flow() as usize].of(packet);
        if !self.has_slot(coming.flow) {
            return Admission::Refused;
        }
        let hash = self.hash(coming.flow);
        while !coming.has_room(self.limit, self.backlog(), size) {
            if !self.drop_from_longest(hash, dropped) {
                return Admission::Refused;
            }
        }
        Admission::Accepted
    }

    fn enqueue(&mut self, packet: Packet, size: u32, coming: &Coming) {
        self.push(Held { packet, since: coming.now, size }, coming.flow);
    }

    fn dequeue(&mut self, now: Time, _sizes: &FlowSizes, dropped: &mut Vec<Packet>) -> Option<Dequeued> {
        self.perturb(now, dropped);
        loop {
            let hash = *self.turns.front()?;
            let slot = self.slots.get_mut(&hash)?;
            if slot.allot <= 0 {
                slot.allot += i64::from(self.settings.quantum);
                self.turns.rotate_left(1);
                continue;
            }
            let held = slot.line.pop()?;
            slot.flows.pop_front();
            slot.allot -= i64::from(held.size);
            self.count_out(hash, &held);
            return Some(Dequeued { packet: held.packet, since: held.since, marks: false });
        }
    }

    fn backlog(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.turns.clear();
        (self.packets, self.bytes) = (0, 0);
        std::mem::take(&mut self.slots)
            .into_values()
            .flat_map(|mut slot| slot.line.drain().collect::<Vec<_>>())
            .collect()
    }
}
