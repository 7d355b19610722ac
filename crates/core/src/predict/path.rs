//! RTT and loss ratio that TCP sees, from the delays and losses of both directions of a path.

use super::models::{Argument, Domain};

/// The arguments of [`round_trip`].
pub const ARGUMENTS: [Argument; 4] = [
    Argument { name: "delay_forward", domain: Domain::NotNegative },
    Argument { name: "loss_forward", domain: Domain::Loss },
    Argument { name: "delay_back", domain: Domain::NotNegative },
    Argument { name: "loss_back", domain: Domain::Loss },
];

/// Delay and loss of both directions together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundTrip {
    /// Round-trip time, seconds: the sum of both delays.
    pub rtt_s: f64,
    /// Ratio of packets that are lost or whose answer is lost: 1 - (1 - p_forward) (1 - p_back).
    pub loss: f64,
}

/// The round trip of a path and the path back (Vilela, Fonseca, Fonseca, TCPBP, section 2.3 iii and iv), seconds and ratios.
///
/// The function adds logarithms of survival probabilities, because this keeps its precision at small losses.
pub fn round_trip(delay_forward: f64, loss_forward: f64, delay_back: f64, loss_back: f64) -> RoundTrip {
    let survival = libm::log1p(-loss_forward) + libm::log1p(-loss_back);
    RoundTrip { rtt_s: delay_forward + delay_back, loss: -libm::expm1(survival) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(links: &[(f64, f64)]) -> (f64, f64) {
        links.iter().fold((0.0, 0.0), |(delay, loss), (d, p)| (delay + d, 1.0 - (1.0 - loss) * (1.0 - p)))
    }

    /// 1 / (RTT sqrt(P)) of a symmetric path.
    fn quality(links: &[(f64, f64)]) -> f64 {
        let (delay, loss) = over(links);
        let trip = round_trip(delay, loss, delay, loss);
        1.0 / (trip.rtt_s * trip.loss.sqrt())
    }

    #[test]
    fn tcpbp_table_4_from_the_matrices_of_figures_3_and_4() {
        let tcpbp = [(0.0085, 0.003), (0.0018, 0.0002), (0.003, 0.0037)];
        let hop_count = [(0.004, 0.0181), (0.005, 0.0039)];
        let delay = [(0.004, 0.0181), (0.0005, 0.0005), (0.003, 0.0037)];
        for (links, expected) in [(&tcpbp[..], 320.86), (&hop_count, 266.74), (&delay, 318.00)] {
            assert!((quality(links) - expected).abs() < 0.005, "{}", quality(links));
        }
    }

    #[test]
    fn both_ways_count() {
        let trip = round_trip(0.01, 0.1, 0.03, 0.2);
        assert!((trip.rtt_s - 0.04).abs() < 1e-15);
        assert!((trip.loss - 0.28).abs() < 1e-15);
    }

    #[test]
    fn small_losses_do_not_cancel() {
        assert!((round_trip(1.0, 1e-18, 1.0, 1e-18).loss / 2e-18 - 1.0).abs() < 1e-12);
        assert_eq!(round_trip(1.0, 0.0, 1.0, 0.0).loss, 0.0);
    }
}
