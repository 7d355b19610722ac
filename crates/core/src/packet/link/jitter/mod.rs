//! Jitter: the extra delay of each packet beyond the delay of the wire, as a function of the link and the number of packets transmitted
//! before.
//!
//! To add a distribution: a file here with its parameters and its [`Distribution`], and a line in the registry [`DistributionSpec`].

mod normal;
mod pareto;
mod uniform;

use crate::rng::{Purpose, Stream};
use crate::spec::LinkId;
use crate::units::Duration;
use serde::{Deserialize, Serialize};

crate::algorithm_registry! {
    /// The distribution of jitter. Draws are independent, and never negative.
    pub enum DistributionSpec by "distribution", parameters as dyn Distribution {
        /// Uniform from 0 to a bound.
        Uniform = "uniform": uniform,
        /// Normal; a negative draw counts as 0.
        Normal = "normal": normal,
        /// Pareto, moved to begin at 0: mostly small, at times very large (Lomax 1954).
        Pareto = "pareto": pareto,
    }
}

/// The draws of a distribution.
trait Distribution {
    /// Draw number `index`.
    fn draw(&self, draws: Stream, index: u64) -> Duration;

    /// No draw exceeds this.
    fn longest(&self) -> Duration;
}

/// The longest draw, and the longest parameter.
const LONGEST: Duration = Duration::from_secs(3600);

fn check_duration(name: &str, duration: Duration) -> Result<(), String> {
    if duration > LONGEST { Err(format!("{name} {duration}: must be at most an hour")) } else { Ok(()) }
}

/// The jitter of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JitterSpec {
    /// Whether packets overtake those ahead of them that have a longer delay; else they wait for these.
    pub reorder: bool,
    /// How long it delays.
    #[serde(flatten)]
    pub distribution: DistributionSpec,
}

impl JitterSpec {
    /// Refuses parameters out of their range.
    pub(in crate::packet) fn check(&self) -> Result<(), String> {
        self.distribution.check()
    }
}

/// The jitter of one link.
#[derive(Debug)]
pub(super) struct Jitter {
    spec: JitterSpec,
    draws: Stream,
    drawn: u64,
}

impl Jitter {
    /// Jitter of a link in the run with this `seed`.
    pub fn new(spec: JitterSpec, seed: u64, link: LinkId) -> Jitter {
        Jitter { spec, draws: Stream::new(seed, Purpose::Jitter, u64::from(link)), drawn: 0 }
    }

    pub fn reorders(&self) -> bool {
        self.spec.reorder
    }

    /// The jitter of the next packet.
    pub fn draw(&mut self) -> Duration {
        self.drawn += 1;
        self.spec.distribution.parameters().draw(self.draws, self.drawn)
    }

    /// No jitter exceeds this.
    pub fn longest(&self) -> Duration {
        self.spec.distribution.parameters().longest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// The mean and the standard deviation of many draws, milliseconds, and the share of zeros.
    fn moments(spec: Value) -> (f64, f64, f64) {
        let spec: JitterSpec = serde_json::from_value(spec).unwrap();
        spec.check().unwrap();
        let mut jitter = Jitter::new(spec, 3, 1);
        let draws: Vec<Duration> = (0..200_000).map(|_| jitter.draw()).collect();
        assert!(draws.iter().all(|draw| *draw <= jitter.longest()));
        let zeros = draws.iter().filter(|draw| **draw == Duration::ZERO).count() as f64 / 2e5;
        let ms: Vec<f64> = draws.iter().map(|draw| draw.as_secs() * 1e3).collect();
        let mean = ms.iter().sum::<f64>() / 2e5;
        (mean, (ms.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 2e5).sqrt(), zeros)
    }

    const MS: u64 = 1_000_000_000;

    #[test]
    fn each_distribution_has_its_moments() {
        let (mean, deviation, _) = moments(json!({"distribution": "uniform", "up_to": 6 * MS, "reorder": false}));
        // Within five standard errors.
        assert!((mean - 3.0).abs() < 0.02 && (deviation - 3f64.sqrt()).abs() < 0.02, "{mean} {deviation}");
        let (mean, deviation, zeros) =
            moments(json!({"distribution": "normal", "mean": 8 * MS, "deviation": 2 * MS, "reorder": true}));
        assert!((mean - 8.0).abs() < 0.03 && (deviation - 2.0).abs() < 0.03, "{mean} {deviation}");
        assert!(zeros < 2e-4, "4 standard deviations from 0: {zeros}");
        let (.., zeros) = moments(json!({"distribution": "normal", "mean": 0, "deviation": 2 * MS, "reorder": true}));
        assert!((zeros - 0.5).abs() < 0.006, "half are negative: {zeros}");
        // Lomax with shape a: mean m, standard deviation m sqrt(a / (a - 2)).
        let (mean, deviation, _) =
            moments(json!({"distribution": "pareto", "mean": 2 * MS, "shape": 6.0, "reorder": true}));
        assert!((mean - 2.0).abs() < 0.03 && (deviation - 6f64.sqrt()).abs() < 0.1, "{mean} {deviation}");
    }
}
