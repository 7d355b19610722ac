//! What stands beside a packet: the SACK blocks of ACKs, which most ACKs do not have.

use crate::prefetch::prefetch;
use crate::tcp::receiver::SackBlocks;

/// The SACK blocks of one ACK in flight, and the number that keeps the ACK apart from others of its flow.
#[derive(Debug, Clone, Copy)]
pub struct Beside {
    /// The blocks.
    pub sack: SackBlocks,
    /// The ACK's number.
    pub number: u32,
}

/// A pool with places that are used again.
#[derive(Debug, Default)]
pub struct Pool {
    places: Vec<Beside>,
    free: Vec<u32>,
}

impl Pool {
    /// Stores, and returns the place.
    pub fn put(&mut self, beside: Beside) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = beside;
                place
            }
            None => {
                self.places.push(beside);
                (self.places.len() - 1) as u32
            }
        }
    }

    /// Asks for what is at a place.
    #[inline(always)]
    pub fn ask_for(&self, place: u32) {
        if let Some(beside) = self.places.get(place as usize) {
            prefetch(beside);
        }
    }

    /// Looks at a place.
    pub fn get(&self, place: u32) -> &Beside {
        &self.places[place as usize]
    }

    /// Empties a place.
    pub fn release(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Empties a place, and returns what was there.
    pub fn take(&mut self, place: u32) -> Beside {
        self.release(place);
        self.places[place as usize]
    }
}
