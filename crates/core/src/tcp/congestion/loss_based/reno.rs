//! Reno's window, which is NewReno's, and the end of its fast recovery.
//!
//! The two differ only in recovery without SACK. Reno's ends at the first acknowledgement of new data (RFC 5681 section 3.2 step
//! 6), NewReno's when all outstanding data is acknowledged (RFC 6582 section 3.2 step 3). Each further loss of a window is then
//! an episode of its own. It takes three more duplicate ACKs and another reduction, or a timeout. The flight then exceeds the
//! window, and half the flight remains (FlightSize of RFC 5681 equation 4). So the reductions of one window do not add up. With
//! SACK both recover by RFC 6675.

use super::newreno::Aimd;
pub use super::newreno::Parameters;
use super::{IncreaseDecrease, LossBased};
use crate::tcp::events::{AckEvent, CongestionEvent};

/// Reno's state.
pub type Reno = LossBased<AimdOfReno>;

/// NewReno's additive increase and multiplicative decrease, with Reno's recovery.
#[derive(Debug, Clone)]
pub struct AimdOfReno(Aimd);

impl IncreaseDecrease for AimdOfReno {
    type Parameters = Parameters;

    const ENDS_RECOVERY_AT_PARTIAL_ACK: bool = true;

    fn new(parameters: Parameters) -> AimdOfReno {
        AimdOfReno(Aimd::new(parameters))
    }

    #[inline]
    fn increase(&mut self, cwnd: f64, ack: &AckEvent) -> f64 {
        self.0.increase(cwnd, ack)
    }

    fn decrease(&mut self, _window: f64, event: &CongestionEvent) -> f64 {
        self.0.decrease(f64::from(event.prior_in_flight.max(1)), event)
    }
}
