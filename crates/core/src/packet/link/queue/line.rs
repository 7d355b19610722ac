//! Packets that wait in a line, and since when.

use crate::packet::link::packet::Packet;
use crate::units::Time;
use std::collections::VecDeque;

/// A packet that waits.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    pub packet: Packet,
    /// Since when it waits.
    pub since: Time,
    /// Its size on the wire, bytes.
    pub size: u32,
}

/// A line of packets, first in, first out.
#[derive(Debug, Default)]
pub struct Line {
    held: VecDeque<Held>,
    bytes: u64,
}

impl Line {
    /// Puts a packet behind all others.
    pub fn push(&mut self, held: Held) {
        self.bytes += u64::from(held.size);
        self.held.push_back(held);
    }

    /// The first packet.
    pub fn first(&self) -> Option<&Held> {
        self.held.front()
    }

    /// Removes the first packet.
    pub fn pop(&mut self) -> Option<Held> {
        let held = self.held.pop_front()?;
        self.bytes -= u64::from(held.size);
        Some(held)
    }

    /// Removes the last packet.
    pub fn pop_last(&mut self) -> Option<Held> {
        let held = self.held.pop_back()?;
        self.bytes -= u64::from(held.size);
        Some(held)
    }

    /// Removes all packets.
    pub fn drain(&mut self) -> impl Iterator<Item = Packet> {
        self.bytes = 0;
        self.held.drain(..).map(|held| held.packet)
    }

    pub fn packets(&self) -> u32 {
        self.held.len() as u32
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}
