//! Random numbers as pure functions of their purpose.
//!
//! A draw is a hash of the run's seed, the purpose, the owner (a link, a flow) and an index (an arrival, a transmission). No
//! generator is shared, so no draw depends on the order in which an engine visits the network.

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection of 64-bit words that passes BigCrush as a counter hash.
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The purpose of a draw. Draws of different purposes are independent under one seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Whether a link loses a packet.
    Loss = 1,
    /// The state changes of a Gilbert-Elliott link.
    LossState = 2,
    /// Which next hop or path a packet takes.
    Forwarding = 3,
    /// Early drops and marks of active queue management.
    QueueManagement = 4,
    /// When an application writes, and how much.
    Application = 5,
    /// When flows arrive, between which pair and how large.
    Arrival = 6,
    /// Choices inside a congestion control.
    Congestion = 7,
    /// The moves of a local search.
    Planning = 8,
    /// The jitter of a link.
    Jitter = 9,
    /// Which entropy values a sender chooses.
    Entropy = 10,
}

/// A stream of draws for one purpose and one owner (a link, a flow), addressed by index.
#[derive(Debug, Clone, Copy)]
pub struct Stream(u64);

impl Stream {
    /// The stream of `owner` for `purpose` under the run's `seed`.
    pub fn new(seed: u64, purpose: Purpose, owner: u64) -> Stream {
        let base = mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
        Stream(mix(base ^ mix((purpose as u64) << 56 ^ owner)))
    }

    /// The draw number `index`: 64 uniform bits.
    #[inline]
    pub fn bits(self, index: u64) -> u64 {
        mix(self.0.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// The draw number `index`, uniform in [0, 1).
    #[inline]
    pub fn uniform(self, index: u64) -> f64 {
        (self.bits(index) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// The draw number `index`, uniform in 0..`n` (bias below n/2^64). `n` must not be zero.
    #[inline]
    pub fn below(self, index: u64, n: u64) -> u64 {
        ((u128::from(self.bits(index)) * u128::from(n)) >> 64) as u64
    }

    /// The draw number `index`, exponential with the given mean.
    pub fn exponential(self, index: u64, mean: f64) -> f64 {
        -mean * libm::log1p(-self.uniform(index))
    }

    /// The draw number `index`, Pareto with the given mean and shape (> 1).
    pub fn pareto(self, index: u64, mean: f64, shape: f64) -> f64 {
        let scale = mean * (shape - 1.0) / shape;
        scale / libm::pow(1.0 - self.uniform(index), 1.0 / shape)
    }
}

/// A counter over a [`Stream`], for draws that come one after another.
#[derive(Debug, Clone, Copy)]
pub struct Sequence {
    stream: Stream,
    next: u64,
}

impl Sequence {
    /// Starts at the stream's first draw.
    pub fn new(stream: Stream) -> Sequence {
        Sequence { stream, next: 0 }
    }

    fn advance(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// The next draw, uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        let index = self.advance();
        self.stream.uniform(index)
    }

    /// The next draw, uniform in 0..`n`.
    pub fn below(&mut self, n: u64) -> u64 {
        let index = self.advance();
        self.stream.below(index, n)
    }

    /// The next draw, exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        let index = self.advance();
        self.stream.exponential(index, mean)
    }

    /// The next draw, Pareto with the given mean and shape (> 1).
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        let index = self.advance();
        self.stream.pareto(index, mean, shape)
    }
}

/// A stateless hash of some words, as a router hashes header fields.
pub fn hash_words(salt: u64, words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(mix(salt ^ 0x9e37_79b9_7f4a_7c15), |state, word| mix(state ^ mix(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_uniform_in_mean_and_variance() {
        let stream = Stream::new(1, Purpose::Loss, 7);
        let draws: Vec<f64> = (0..100_000).map(|index| stream.uniform(index)).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005, "mean {mean}");
        assert!((variance - 1.0 / 12.0).abs() < 0.002, "variance {variance}");
    }

    #[test]
    fn streams_of_different_owners_purposes_and_seeds_differ() {
        let draw = |seed, purpose, owner| Stream::new(seed, purpose, owner).bits(0);
        let base = draw(1, Purpose::Loss, 1);
        assert_ne!(base, draw(2, Purpose::Loss, 1));
        assert_ne!(base, draw(1, Purpose::Forwarding, 1));
        assert_ne!(base, draw(1, Purpose::Loss, 2));
    }

    #[test]
    fn pareto_has_its_mean() {
        let stream = Stream::new(3, Purpose::Application, 0);
        let mean = (0..200_000).map(|index| stream.pareto(index, 2.0, 3.0)).sum::<f64>() / 2e5;
        assert!((mean - 2.0).abs() < 0.03, "mean {mean}");
    }
}
