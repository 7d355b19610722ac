//! Reno with timeouts and a receiver's window: Padhye, Firoiu, Towsley, Kurose, "Modeling TCP throughput: a simple model and its
//! empirical validation", SIGCOMM 1998 ("PFTK").
//!
//! Both functions return the sending rate, which includes retransmissions. About (1 - p) B of a sending rate B arrives.

use super::Flow;

/// Arguments of the model besides the flow and its path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Packets that one ACK acknowledges, at least 1 (b).
    pub packets_per_ack: f64,
    /// The first timeout of a sequence, seconds (T0).
    pub timeout_s: f64,
}

/// Mean window at the end of a period without timeouts (section 2.1, `E[W]`). It has no upper bound as the loss tends to 0.
pub fn unlimited_window(loss: f64, packets_per_ack: f64) -> f64 {
    let offset = (2.0 + packets_per_ack) / (3.0 * packets_per_ack);
    offset + (8.0 * (1.0 - loss) / (3.0 * packets_per_ack * loss) + offset * offset).sqrt()
}

/// Probability that a loss in a window of this size ends in a timeout (section 2.2, Q): about 3 / window.
pub fn timeout_probability(loss: f64, window: f64) -> f64 {
    if window <= 3.0 {
        return 1.0;
    }
    let passes = libm::log1p(-loss);
    let one_of_three = -libm::expm1(3.0 * passes);
    let one_of_the_rest = -libm::expm1((window - 3.0) * passes);
    let one_of_all = -libm::expm1(window * passes);
    (one_of_three * (1.0 + (1.0 - one_of_three) * one_of_the_rest) / one_of_all).min(1.0)
}

/// Mean duration of a sequence of timeouts, in units of the first timeout, times (1 - p) (section 2.2, f(p)). Each timeout
/// doubles, up to 64.
pub fn backoff(loss: f64) -> f64 {
    let doubled = 2.0 * loss;
    1.0 + loss * (1.0 + doubled * (1.0 + doubled * (1.0 + doubled * (1.0 + doubled * (1.0 + doubled)))))
}

/// The sending rate by the full model with the receiver's window (section 2.3), bit/s.
///
/// The rate has a step where the window begins to limit: the two formulas for round trips in a period differ there by (2 - b) /
/// 4.
pub fn full(flow: Flow, timing: Timing) -> f64 {
    let Flow { rtt_s, loss, max_window, .. } = flow;
    // For smaller losses, 1 / p overflows. The limit of the rate is then set by the window.
    if loss < f64::MIN_POSITIVE {
        return flow.rate_of_window(f64::INFINITY);
    }
    let Timing { packets_per_ack, timeout_s } = timing;
    let unlimited = unlimited_window(loss, packets_per_ack);
    let before_loss = (1.0 - loss) / loss;
    let (window, round_trips) = if unlimited < max_window {
        (unlimited, packets_per_ack / 2.0 * unlimited + 1.0)
    } else {
        (max_window, packets_per_ack / 8.0 * max_window + before_loss / max_window + 2.0)
    };
    let into_timeout = timeout_probability(loss, window);
    let packets = before_loss + window + into_timeout / (1.0 - loss);
    let seconds = rtt_s * round_trips + into_timeout * timeout_s * backoff(loss) / (1.0 - loss);
    (packets / seconds * flow.bits()).min(flow.rate_of_window(max_window))
}

/// The sending rate by the model's approximation (section 2.3, last equation), bit/s.
///
/// RFC 5348 section 3.1 prints it without the receiver's window. It also omits the bound of 1 on the probability of a timeout,
/// which matters from p = 8 / 27 b on. For b from 1 to 2, T0 from 1 to 20 RTT and p up to 0.03, the result differs from [`full`]
/// by at most 0.3 sqrt(p).
pub fn short(flow: Flow, timing: Timing) -> f64 {
    let Flow { rtt_s, loss, max_window, .. } = flow;
    let Timing { packets_per_ack, timeout_s } = timing;
    let into_timeout = (3.0 * (3.0 * packets_per_ack * loss / 8.0).sqrt()).min(1.0);
    let seconds_per_packet = rtt_s * (2.0 * packets_per_ack * loss / 3.0).sqrt()
        + timeout_s * into_timeout * loss * (1.0 + 32.0 * loss * loss);
    (flow.bits() / seconds_per_packet).min(flow.rate_of_window(max_window))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing { packets_per_ack: 1.0, timeout_s: 0.2 };

    fn path(loss: f64) -> Flow {
        Flow { mss_bytes: 0.125, rtt_s: 0.1, loss, max_window: f64::INFINITY }
    }

    fn near(value: f64, expected: f64, relative: f64) {
        assert!((value / expected - 1.0).abs() <= relative, "{value}, not {expected}");
    }

    #[test]
    fn the_parts_by_hand() {
        near(unlimited_window(0.01, 1.0), 1.0 + 265_f64.sqrt(), 1e-12);
        near(unlimited_window(0.01, 2.0), 2.0 / 3.0 + (132.0 + 4.0 / 9.0_f64).sqrt(), 1e-12);
        assert_eq!(timeout_probability(0.1, 3.0), 1.0);
        near(timeout_probability(1e-12, 30.0), 0.1, 1e-9);
        assert_eq!((backoff(0.0), backoff(0.5), backoff(1.0)), (1.0, 4.0, 64.0));
    }

    #[test]
    fn the_full_model_by_hand() {
        // W = 17.2788. A loss among three has probability 0.029701, among the other 14.28 0.13368, among all 0.15941: Q = 0.2105.
        let into_timeout = 0.029_701 * (1.0 + 0.970_299 * 0.133_68) / 0.159_41;
        let packets = 99.0 + 17.2788 + into_timeout / 0.99;
        let seconds = 0.1 * 9.6394 + into_timeout * 0.2 * 1.010_204_08 / 0.99;
        near(full(path(0.01), TIMING), packets / seconds, 1e-3);
    }

    #[test]
    fn a_window_that_limits_by_hand() {
        // Without this limit, the window would be 164.3. Q is about 3/20, slightly more because of the loss. The period has 20/8
        // + 9999/20 + 2 round trips.
        let flow = Flow { max_window: 20.0, ..path(1e-4) };
        let into_timeout = timeout_probability(1e-4, 20.0);
        near(into_timeout, 0.1504, 1e-3);
        let packets = 9999.0 + 20.0 + into_timeout / 0.9999;
        let seconds = 0.1 * (2.5 + 499.95 + 2.0) + into_timeout * 0.2 * 1.0001 / 0.9999;
        near(full(flow, TIMING), packets / seconds, 1e-6);
        assert!(full(flow, TIMING) < 200.0);
    }

    #[test]
    fn the_window_begins_to_limit_with_a_quarter_of_a_round_trip() {
        let window = unlimited_window(1e-3, 1.0);
        let timing = Timing { timeout_s: 1e-9, ..TIMING };
        let rate = |max_window| full(Flow { max_window, ..path(1e-3) }, timing);
        let round_trips = window / 2.0 + 1.0;
        near(rate(window * (1.0 + 1e-9)) / rate(window * (1.0 - 1e-9)), (round_trips + 0.25) / round_trips, 1e-7);
    }

    #[test]
    fn the_short_form_is_rfc_5348s() {
        // s = 1000 bytes, R = 0.1, t_RTO = 4 R, p = 0.01: 1000 / (0.1 * 0.0816497 + 0.4 * 0.183712 * 0.01 * 1.0032) bytes/s.
        let flow = Flow { mss_bytes: 1000.0, ..path(0.01) };
        let timing = Timing { timeout_s: 0.4, ..TIMING };
        near(short(flow, timing), 8.0 * 1000.0 / (0.008_164_97 + 0.000_737_2), 1e-4);
    }

    #[test]
    fn without_loss_the_window_is_the_limit() {
        for model in [full, short] {
            assert_eq!(model(path(0.0), TIMING), f64::INFINITY);
            assert_eq!(model(Flow { max_window: 50.0, ..path(0.0) }, TIMING), 500.0);
            assert_eq!(model(Flow { max_window: 50.0, ..path(5e-324) }, TIMING), 500.0);
        }
    }
}
