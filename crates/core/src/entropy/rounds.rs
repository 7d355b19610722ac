//! Rounds over all values, each in an order of its own.

use crate::rng::Sequence;

/// Visits the values 0 to n - 1, all of them in each round. A round begins with a draw: its order is `index XOR draw`, over the next power of two.
#[derive(Debug, Clone)]
pub struct Rounds {
    draws: Sequence,
    values: u32,
    index: u32,
    order: u32,
}

impl Rounds {
    /// The rounds of a flow over `values` values, at least one.
    pub fn new(mut draws: Sequence, values: u32) -> Rounds {
        let order = draws.below(u64::from(values.next_power_of_two())) as u32;
        Rounds { draws, values, index: 0, order }
    }

    /// The next value.
    pub fn next(&mut self) -> u32 {
        loop {
            let value = self.index ^ self.order;
            self.index += 1;
            if self.index == self.values.next_power_of_two() {
                self.index = 0;
                self.order = self.draws.below(u64::from(self.values.next_power_of_two())) as u32;
            }
            if value < self.values {
                return value;
            }
        }
    }
}
