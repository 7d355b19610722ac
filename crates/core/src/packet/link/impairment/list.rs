//! The packets with these numbers are lost, counted from 1.

use super::{Build, LossModel};
use crate::parameters::ParameterInfo;
use crate::rng::Stream;
use serde::{Deserialize, Serialize};

/// The packets to lose. Written out, because a list is no plain number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Their numbers, in any order.
    pub packets: Vec<u64>,
}

impl Parameters {
    /// Public description of the one parameter.
    pub fn describe() -> Vec<ParameterInfo> {
        vec![ParameterInfo {
            name: "packets",
            kind: "integers",
            default: serde_json::Value::Null,
            range: Some((1.0, f64::from(u32::MAX))),
            choices: &[],
            doc: "Their numbers.".into(),
        }]
    }

    /// Refuses a packet number that cannot exist.
    ///
    /// # Errors
    /// The problem, as a text.
    pub fn check(&self) -> Result<(), String> {
        let has_zero = self.packets.contains(&0);
        if has_zero { Err("packets contains 0: packets are counted from 1".into()) } else { Ok(()) }
    }
}

impl Build for Parameters {
    fn build(&self, _losses: Stream, _states: Stream) -> Box<dyn LossModel> {
        let mut packets = self.packets.clone();
        packets.sort_unstable();
        packets.dedup();
        Box::new(List { packets, next: 0, arrivals: 0 })
    }

    fn stationary_ratio(&self) -> f64 {
        0.0
    }
}

#[derive(Debug)]
struct List {
    packets: Vec<u64>,
    next: usize,
    arrivals: u64,
}

impl LossModel for List {
    fn is_lost(&mut self) -> bool {
        self.arrivals += 1;
        let lost = self.packets.get(self.next) == Some(&self.arrivals);
        self.next += usize::from(lost);
        lost
    }

    fn on_dropped(&mut self) {
        self.is_lost();
    }
}
