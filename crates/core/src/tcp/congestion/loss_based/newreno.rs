//! NewReno's window: slow start, additive increase, multiplicative decrease (RFC 5681; recovery itself, RFC 6582, is the
//! sender's).

use super::{IncreaseDecrease, LossBased};
use crate::tcp::events::{AckEvent, CongestionEvent};

crate::parameters! {
    /// NewReno's constants.
    pub struct Parameters {
        /// Segments by which the window grows per round trip in congestion avoidance (RFC 5681 section 3.1: 1).
        pub alpha: f64 = 1.0, in 0.0..=1000.0;
        /// What remains of the window after a loss (RFC 5681 equation 4: 0.5).
        pub beta: f64 = 0.5, in 0.01..=0.99;
    }
}

/// NewReno's state.
pub type NewReno = LossBased<Aimd>;

/// Additive increase, multiplicative decrease.
#[derive(Debug, Clone)]
pub struct Aimd(Parameters);

impl IncreaseDecrease for Aimd {
    type Parameters = Parameters;

    fn new(parameters: Parameters) -> Aimd {
        Aimd(parameters)
    }

    #[inline]
    fn increase(&mut self, _cwnd: f64, _ack: &AckEvent) -> f64 {
        self.0.alpha
    }

    fn decrease(&mut self, window: f64, _event: &CongestionEvent) -> f64 {
        window * self.0.beta
    }
}
