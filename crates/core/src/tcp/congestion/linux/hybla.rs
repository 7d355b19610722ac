//! Hybla (Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", 2004) as Linux has it, in whole segments.
//! A flow with a long RTT grows as fast as a flow with an RTT of 25 ms. It counts in 8ths of rho and in 128ths of a segment.
//!
//! Differences from the paper:
//! - Every ACK counts once, whatever number of segments it acknowledges. So delayed ACKs halve the growth.
//! - 2^rho of a fraction of rho comes from a table of eight steps.
//! - rho follows the least smoothed RTT.
//! - The window begins with rho segments, and with two until the first RTT is known.
//! - During recovery after a timeout, and while segments arrive out of order, it is Reno.

use super::based::{LinuxBased, Rules, State};
use super::window::Window;
use crate::tcp::congestion::FlowContext;
use crate::tcp::events::{AckEvent, CongestionEvent};
use crate::tcp::rtt::RttEstimate;
use crate::units::Duration;

crate::parameters! {
    /// Nothing to choose.
    pub struct Parameters {}
}

/// The RTT of the flow whose growth it imitates (RTT0).
const REFERENCE_RTT: Duration = Duration::from_millis(25);
/// A segment.
const ONE: u32 = 128;
/// The greatest window.
const CLAMP: u32 = 65535;
/// 2^(i/8) in 128ths.
const POWERS: [u32; 8] = [128, 139, 152, 165, 181, 197, 215, 234];

/// rho in 8ths: the RTT over the reference, at least one.
pub fn rho(rtt: Duration) -> u32 {
    u32::try_from(8 * rtt.0 / REFERENCE_RTT.0).unwrap_or(u32::MAX).max(8)
}

/// Growth for an ACK in slow start, in 128ths of a segment: 2^rho - 1 (Caini and Firrincieli 2004, equation 8).
pub fn slow_start_increment(rho: u32) -> u32 {
    (POWERS[(rho % 8) as usize] << (rho / 8).min(16)) - ONE
}

/// Growth for an ACK in congestion avoidance, in 128ths of a segment: rho^2 / W (equation 8).
pub fn avoidance_increment(rho: u32, cwnd: u32) -> u32 {
    u32::try_from(2 * u64::from(rho) * u64::from(rho) / u64::from(cwnd)).unwrap_or(u32::MAX)
}

/// The algorithm's state.
pub type LinuxHybla = LinuxBased<Equalised>;

/// rho, and the remainder of the increments.
#[derive(Debug, Clone)]
pub struct Equalised {
    /// In 8ths; none before the first RTT.
    rho: Option<u32>,
    least_srtt: Duration,
    /// 128ths of a segment.
    rest: u32,
    is_reno: bool,
}

impl Equalised {
    /// rho is that of the least smoothed RTT.
    fn follow(&mut self, rtt: &RttEstimate) {
        if let Some(srtt) = rtt.smoothed()
            && srtt < self.least_srtt
        {
            self.least_srtt = srtt;
            self.rho = Some(rho(srtt));
        }
    }
}

impl Rules for Equalised {
    type Parameters = Parameters;

    fn new(_parameters: Parameters, _flow: &FlowContext) -> Equalised {
        let least_srtt = Duration(u64::MAX);
        Equalised { rho: None, least_srtt, rest: 0, is_reno: false }
    }

    fn initial_window(&self, _of_stack: u32) -> u32 {
        2
    }

    fn on_established(&mut self, window: &mut Window, rtt: &RttEstimate) {
        self.follow(rtt);
        if let Some(rho) = self.rho {
            window.cwnd = (rho / 8).min(CLAMP);
        }
    }

    fn observe(&mut self, _window: &mut Window, _ack: &AckEvent, _state: State, rtt: &RttEstimate) {
        self.follow(rtt);
    }

    fn grow(&mut self, window: &mut Window, acked: u32, _ack: &AckEvent, _rtt: &RttEstimate) {
        let Some(rho) = self.rho.filter(|_| !self.is_reno) else {
            window.grow_as_reno(acked);
            return;
        };
        let slow_start = window.in_slow_start();
        let increment = if slow_start { slow_start_increment(rho) } else { avoidance_increment(rho, window.cwnd) };
        if !slow_start && increment < ONE {
            window.credit += 1;
        }
        self.rest += increment % ONE;
        window.cwnd = window.cwnd.saturating_add(increment / ONE + self.rest / ONE);
        if self.rest >= ONE {
            (self.rest, window.credit) = (self.rest % ONE, 0);
        }
        if increment == 0 && window.credit >= window.cwnd {
            window.cwnd += 1;
            window.credit = 0;
        }
        window.cwnd = window.cwnd.min(if slow_start { window.ssthresh } else { CLAMP }).min(CLAMP);
    }

    fn ssthresh(&mut self, cwnd: u32, _event: &CongestionEvent) -> u32 {
        self.is_reno = true;
        cwnd / 2
    }

    fn on_open(&mut self) {
        self.is_reno = false;
    }

    fn on_disorder(&mut self) {
        self.is_reno = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::flow;
    use crate::tcp::congestion::testing::ideal::Ideal;
    use crate::tcp::events::CongestionKind;

    #[test]
    fn rho_is_the_rtt_over_25_ms_and_at_least_one() {
        let of = |millis| rho(Duration::from_millis(millis));
        assert_eq!([of(10), of(25), of(60), of(150)], [8, 8, 19, 48]);
    }

    /// 2^2 - 1 = 3 segments at rho = 2; 2^2.375 - 1 = 4.19 at rho = 19/8. 4 / 100 of a segment in congestion avoidance.
    #[test]
    fn increments_at_twice_the_reference() {
        assert_eq!([slow_start_increment(8), slow_start_increment(16), slow_start_increment(19)], [128, 384, 532]);
        assert_eq!(avoidance_increment(16, 100), 5); // of 128: 0.04
    }

    /// rho of 160 s is 6400.
    #[test]
    fn an_rtt_of_minutes_overflows_nothing() {
        assert_eq!(avoidance_increment(rho(Duration::from_secs(160)), 1), u32::MAX);
        assert_eq!(avoidance_increment(rho(Duration::from_secs(160)), 1000), 5_242_880);
    }

    /// An RTT of 100 ms is four times the reference: the window grows by 16 segments per round trip. Rounding to 128ths takes up to a
    /// tenth.
    #[test]
    fn it_grows_by_rho_squared_in_a_round_trip() {
        let mut path = Ideal::new(LinuxHybla::new(Parameters::default(), flow(1)));
        path.ack(1);
        assert_eq!(path.control.cwnd(), 17.0);
        path.grow_to(400.0);
        path.congestion(CongestionKind::Loss);
        path.control.on_recovered();
        let before = path.control.cwnd();
        (0..before as u32).for_each(|_| path.ack(1));
        let growth = path.control.cwnd() - before;
        assert!((14.0..=16.0).contains(&growth), "{growth}");
        // Linux leaves it to Reno while a segment is late (`TCP_CA_Disorder`).
        path.sacked = 1;
        let before = path.control.cwnd();
        (0..before as u32 + 1).for_each(|_| path.ack(1));
        assert_eq!(path.control.cwnd(), before + 1.0);
    }
}
