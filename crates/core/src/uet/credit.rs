//! RCCC, receiver credit congestion control: what one message may send by its receiver's grants, at both ends.
//!
//! Credit is counted in units of 256 bytes since the start, at the sender as the credit granted, and at the receiver as the credit that the sender
//! wants. Grants of all messages to a host come one after another from its [pacer](crate::packet), in turn.

use super::packets::QUANTUM;

/// Credit at the sender, bytes.
#[derive(Debug, Clone)]
pub struct Granted {
    /// What it may still send; a packet may exceed it.
    left: i64,
    /// Units granted so far.
    units: u32,
    /// The first packets have credit that nobody granted.
    speculates: bool,
    most: i64,
}

impl Granted {
    /// Speculative credit of `most` bytes, which is also the most that a sender ever holds.
    pub fn new(most: u64) -> Granted {
        Granted { left: most as i64, units: 0, speculates: true, most: most as i64 }
    }

    /// Whether a packet may be sent.
    pub fn allows(&self) -> bool {
        self.left > 0
    }

    /// Whether its credit is still speculative.
    pub fn speculates(&self) -> bool {
        self.speculates
    }

    /// Spends the credit of a packet.
    pub fn spend(&mut self, bytes: u32) {
        self.left -= i64::from(bytes);
    }

    /// The receiver has answered: speculative credit expires.
    pub fn stop_speculating(&mut self) {
        if std::mem::take(&mut self.speculates) {
            self.left = self.left.min(0);
        }
    }

    /// Takes a grant up to this number of units.
    pub fn grant(&mut self, units: u32) {
        let more = units.saturating_sub(self.units);
        self.units += more;
        self.left = (self.left + i64::from(more) * QUANTUM as i64).min(self.most);
    }

    /// The units up to which grants are wanted for these bytes, of a host on which `senders` messages wait. A sender that still speculates wants
    /// at least a packet if there is new data.
    pub fn wanted(&self, bytes: u64, packet: u32, has_new: bool, senders: usize) -> u32 {
        let mut wanted = (bytes as i64).min(self.most) - self.left;
        if self.speculates && has_new {
            wanted = wanted.max(i64::from(packet));
        }
        let share = wanted / senders.max(1) as i64;
        (i64::from(self.units) + (share + QUANTUM as i64 - 1).div_euclid(QUANTUM as i64)).max(0) as u32
    }
}

/// Credit of a message at its receiver, units.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    wanted: u32,
    granted: u32,
}

impl Demand {
    /// Takes the sender's wish. Returns whether it wants more than before.
    pub fn want(&mut self, wanted: u32) -> bool {
        let more = wanted > self.wanted;
        self.wanted = self.wanted.max(wanted);
        more
    }

    /// Units that are wanted and not granted.
    pub fn open(&self) -> u32 {
        self.wanted.saturating_sub(self.granted)
    }

    /// Units granted beyond what was wanted.
    pub fn ahead(&self) -> u32 {
        self.granted.saturating_sub(self.wanted)
    }

    /// Grants at most `most` of what is wanted. Returns how many units that is.
    pub fn grant(&mut self, most: u32) -> u32 {
        let units = self.open().min(most);
        self.granted += units;
        units
    }

    /// Grants units to a sender that wants none.
    pub fn grant_ahead(&mut self, units: u32) {
        self.granted += units;
    }

    /// Units granted so far.
    pub fn granted(&self) -> u32 {
        self.granted
    }
}
