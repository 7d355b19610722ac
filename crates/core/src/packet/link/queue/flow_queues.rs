//! Queues of flows that take turns: deficit round robin with new and old flows (RFC 8290, section 4.2), in the order of Linux's `sch_fq_codel.c` and
//! `sch_fq_pie.c`.
//!
//! A hash chooses the queue of a packet. So flows may share one, and then have one share of the link.

use super::line::{Held, Line};
use super::{Coming, FlowKey};
use crate::packet::link::packet::Packet;
use crate::rng::Stream;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// The queue of a flow, and the state `S` of its control.
#[derive(Default)]
pub struct FlowQueue<S> {
    pub line: Line,
    pub state: S,
    /// Bytes that the flow may still send in its turn.
    pub deficit: i64,
    /// Whether the flow is in a list.
    is_listed: bool,
}

/// The queues, the new flows and the old ones.
pub struct FlowQueues<S> {
    /// The queues that have been used, by their number.
    queues: FxHashMap<u32, FlowQueue<S>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u32,
    bytes: u64,
    /// The number of queues.
    flows: u32,
    quantum: i64,
    draws: Stream,
}

impl<S: Default> FlowQueues<S> {
    /// `flows` empty queues, each of which sends `quantum` bytes in its turn.
    pub fn new(flows: u32, quantum: u32, draws: Stream) -> FlowQueues<S> {
        FlowQueues {
            queues: FxHashMap::default(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            flows,
            quantum: quantum.into(),
            draws,
        }
    }

    /// The number of a flow's queue.
    pub fn number(&self, flow: FlowKey) -> u32 {
        ((u128::from(flow.hash(self.draws)) * u128::from(self.flows)) >> 64) as u32
    }

    /// The queue with this number.
    pub fn queue(&mut self, number: u32) -> &mut FlowQueue<S> {
        self.queues.entry(number).or_default()
    }

    /// Puts a packet into its flow's queue. A flow that is in no list becomes a new one, and has a quantum.
    pub fn push_with_quantum(&mut self, packet: Packet, size: u32, coming: &Coming) {
        let quantum = self.quantum;
        self.push(packet, size, coming, |_| quantum);
    }

    /// Puts a packet into its flow's queue. A flow that is in no list becomes a new one, with a deficit of `credit`.
    pub fn push(&mut self, packet: Packet, size: u32, coming: &Coming, credit: impl FnOnce(&FlowQueue<S>) -> i64) {
        let number = self.number(coming.flow);
        let queue = self.queue(number);
        queue.line.push(Held { packet, since: coming.now, size });
        let is_listed = std::mem::replace(&mut queue.is_listed, true);
        if !is_listed {
            queue.deficit = credit(queue);
            self.new.push_back(number);
        }
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// The number of the queue whose turn it is. It may be empty: then [`Self::leave`] ends its turn.
    pub fn turn(&mut self) -> Option<u32> {
        loop {
            let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            let number = *list.front()?;
            let queue = self.queues.get_mut(&number)?;
            if queue.deficit > 0 {
                return Some(number);
            }
            queue.deficit += self.quantum;
            list.pop_front();
            self.old.push_back(number);
        }
    }

    /// Ends the turn of an empty queue. A new flow passes through the list of old ones if there are any, or it would starve them.
    pub fn leave(&mut self) {
        let was_new = !self.new.is_empty();
        let list = if was_new { &mut self.new } else { &mut self.old };
        let Some(number) = list.pop_front() else { return };
        if was_new && !self.old.is_empty() {
            self.old.push_back(number);
        } else {
            self.queue(number).is_listed = false;
        }
    }

    /// Removes the first packet of a queue.
    pub fn pop(&mut self, number: u32) -> Option<Held> {
        let held = self.queue(number).line.pop()?;
        self.packets -= 1;
        self.bytes -= u64::from(held.size);
        Some(held)
    }

    /// Charges a packet to the queue that sends it.
    pub fn charge(&mut self, number: u32, size: u32) {
        self.queue(number).deficit -= i64::from(size);
    }

    /// The number of the queue with the most bytes, and these, if `size` bytes came into queue `coming`. The first of several.
    pub fn fattest(&self, coming: u32, size: u32) -> (u32, u64) {
        let of_coming = self.queues.get(&coming).map_or(0, |queue| queue.line.bytes()) + u64::from(size);
        let others = self.queues.iter().filter(|(number, _)| **number != coming);
        let bytes = others.map(|(number, queue)| (queue.line.bytes(), Reverse(*number)));
        let (most, Reverse(number)) = bytes.chain([(of_coming, Reverse(coming))]).max().unwrap_or_default();
        (number, most)
    }

    /// Packets that wait, and their bytes.
    pub fn backlog(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    /// Removes all packets and all state: the link has failed.
    pub fn drain(&mut self) -> Vec<Packet> {
        let mut queues: Vec<_> = self.queues.drain().collect();
        queues.sort_by_key(|(number, _)| *number);
        self.new.clear();
        self.old.clear();
        (self.packets, self.bytes) = (0, 0);
        queues.iter_mut().flat_map(|(_, queue)| queue.line.drain()).collect()
    }
}
