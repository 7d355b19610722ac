//! Response functions: the mean window of a congestion control at a loss ratio, without timeouts.

use super::Flow;
use crate::tcp::congestion::loss_based::{
    cubic as cubic_control, highspeed as highspeed_control, scalable as scalable_control,
};

/// A response function R(p) = c / p^y segments a round trip (Xu, Harfoush, Rhee 2004, "BIC", section II).
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct ResponseLaw {
    /// Segments at p = 1, where the curve is extrapolated to.
    pub c: f64,
    /// Exponent: the window falls with this power of the loss ratio.
    pub y: f64,
}

impl ResponseLaw {
    /// Mean window, segments; infinite without loss.
    pub fn window(self, loss: f64) -> f64 {
        self.c / libm::pow(loss, self.y)
    }

    /// Response function of Reno with increase 1, decrease 1/2 and `packets_per_ack`: sqrt(3/2b) / sqrt(p) (Mathis, Semke, Mahdavi,
    /// Ott 1997, equation 3).
    pub fn reno(packets_per_ack: f64) -> ResponseLaw {
        ResponseLaw { c: (1.5 / packets_per_ack).sqrt(), y: 0.5 }
    }

    /// Response function of HighSpeed TCP through (38, 1e-3) and (83000, 1e-7) (RFC 3649 section 5): about 0.12 / p^0.835.
    pub fn highspeed() -> ResponseLaw {
        let parameters = highspeed_control::Parameters::default();
        let c = highspeed_control::response(1.0, &parameters);
        ResponseLaw { c, y: libm::log10(highspeed_control::response(0.1, &parameters) / c) }
    }

    /// Response function of Scalable TCP: growth by `a` per ACK balances a decrease by `b` W per loss (Kelly 2003 section 2), a / (b
    /// p) = 0.08 / p.
    ///
    /// This holds for random losses. With losses at even distances, the window is b / -ln(1 - b) times this, 6 % less.
    pub fn scalable() -> ResponseLaw {
        let parameters = scalable_control::Parameters::default();
        ResponseLaw { c: parameters.increase / parameters.decrease, y: 1.0 }
    }
}

/// The rate of any response function, bit/s.
pub fn response(flow: Flow, law: ResponseLaw) -> f64 {
    flow.rate_of_window(law.window(flow.loss))
}

/// The inverse-square-root law, bit/s: MSS / RTT * sqrt(3/2b) / sqrt(p) (Mathis et al. 1997, equation 3; TCPBP equation 1).
pub fn mathis(flow: Flow, packets_per_ack: f64) -> f64 {
    flow.rate_of_window(reno_window(flow.loss, packets_per_ack))
}

/// The window of [`ResponseLaw::reno`], with a square root because its result is exact and that of a power is not.
fn reno_window(loss: f64, packets_per_ack: f64) -> f64 {
    ResponseLaw::reno(packets_per_ack).c / loss.sqrt()
}

/// CUBIC's rate, bit/s: the greater rate of its two regions (RFC 9438 section 5 equation 5, and section 4.3).
///
/// In the Reno-friendly region the window grows by 3 (1 - beta) / (1 + beta) segments per round trip. By equation 3, the mean window
/// then equals Reno's for every `beta`. CUBIC counts segments, so the number of ACKs does not matter.
pub fn cubic(flow: Flow, c: f64, beta: f64) -> f64 {
    above_reno(flow, cubic_control::average_window(c, beta, flow.rtt_s, flow.loss))
}

/// HighSpeed TCP's rate, bit/s: [`ResponseLaw::highspeed`] where it exceeds Reno (RFC 3649 section 5), which is below p = 1e-3.
pub fn highspeed(flow: Flow) -> f64 {
    above_reno(flow, highspeed_control::response(flow.loss, &highspeed_control::Parameters::default()))
}

/// Scalable TCP's rate, bit/s: [`ResponseLaw::scalable`] where it exceeds Reno (Kelly 2003 section 2), which is below p = 0.004.
pub fn scalable(flow: Flow) -> f64 {
    above_reno(flow, ResponseLaw::scalable().window(flow.loss))
}

fn above_reno(flow: Flow, window: f64) -> f64 {
    flow.rate_of_window(window.max(reno_window(flow.loss, 1.0)))
}

/// The linear regime, bit/s: 1/p up to `p_max`, the inverse-square-root law above (TCPBP section 3, which cites Zaragoza 2006).
///
/// The paper gives no constant. Ours is sqrt(3/2b) sqrt(p_max), the only one for which the two laws meet at `p_max`. Below `p_max`,
/// the flow then loses as many packets per second as at `p_max`: p * rate is constant.
pub fn linear(flow: Flow, packets_per_ack: f64, p_max: f64) -> f64 {
    let square_root = reno_window(flow.loss, packets_per_ack);
    let linear = reno_window(p_max, packets_per_ack) * (p_max / flow.loss);
    flow.rate_of_window(square_root.max(linear))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the window: with one bit per segment and an RTT of 1 s, the rate equals the window.
    fn window_of(rate: impl Fn(Flow) -> f64, loss: f64, rtt_s: f64) -> f64 {
        rate(Flow { mss_bytes: 0.125, rtt_s, loss, max_window: f64::INFINITY }) * rtt_s
    }

    fn near(value: f64, expected: f64, relative: f64) {
        assert!((value / expected - 1.0).abs() <= relative, "{value}, not {expected}");
    }

    #[test]
    fn mathis_at_one_percent_over_100_ms() {
        // 1460 * 8 / 0.1 * 1.224745 / 0.1
        let flow = Flow { mss_bytes: 1460.0, rtt_s: 0.1, loss: 0.01, max_window: f64::INFINITY };
        near(mathis(flow, 1.0), 1_430_502.0, 1e-6);
        near(mathis(flow, 2.0), 1_011_518.0, 1e-6); // C = 0.866025
        assert_eq!(mathis(Flow { max_window: 5.0, ..flow }, 1.0), 584_000.0);
    }

    #[test]
    fn rfc9438_table_1_at_100_ms_and_table_2_at_10_ms() {
        // Columns C = 0.04, 0.4, 4. The RFC rounds Reno's constant to 1.2 (2 % below) and eq. 6 to whole segments.
        let tables = [
            (0.1, 1e-2, [12.0, 12.0, 12.0]),
            (0.1, 1e-3, [38.0, 38.0, 59.0]),
            (0.1, 1e-4, [120.0, 187.0, 333.0]),
            (0.1, 1e-5, [593.0, 1054.0, 1874.0]),
            (0.1, 1e-6, [3332.0, 5926.0, 10_538.0]),
            (0.1, 1e-7, [18_740.0, 33_325.0, 59_261.0]),
            (0.1, 1e-8, [105_383.0, 187_400.0, 333_250.0]),
            (0.01, 1e-2, [12.0, 12.0, 12.0]),
            (0.01, 1e-3, [38.0, 38.0, 38.0]),
            (0.01, 1e-4, [120.0, 120.0, 120.0]),
            (0.01, 1e-5, [379.0, 379.0, 379.0]),
            (0.01, 1e-6, [1200.0, 1200.0, 1874.0]),
            (0.01, 1e-7, [3795.0, 5926.0, 10_538.0]),
            (0.01, 1e-8, [18_740.0, 33_325.0, 59_261.0]),
        ];
        for (rtt, p, windows) in tables {
            for (c, expected) in [0.04, 0.4, 4.0].into_iter().zip(windows) {
                let window = window_of(|flow| cubic(flow, c, 0.7), p, rtt);
                let printed_as_reno = (expected / (1.2 / p.sqrt()) - 1.0_f64).abs() < 0.01;
                let rounding = 0.5 / expected;
                near(window, expected, rounding + if printed_as_reno { 0.025 } else { 1e-4 });
            }
        }
    }

    #[test]
    fn rfc9438_table_3_what_10_gbit_s_at_100_ms_takes() {
        let flow = |loss| Flow { mss_bytes: 1500.0, rtt_s: 0.1, loss, max_window: f64::INFINITY };
        // The RFC prints two digits of the loss. The tolerance is half of the last digit, to the power of the law.
        for (rate, reno, highspeed_p, cubic_p) in
            [(1e8, 2.0e-6, 2.5e-5, 1.4e-5), (1e9, 2.0e-8, 1.5e-6, 6.3e-7), (1e10, 2.0e-10, 1.0e-7, 2.9e-8)]
        {
            near(mathis(flow(reno), 1.0), rate, 0.05);
            near(highspeed(flow(highspeed_p)), rate, 0.05);
            near(cubic(flow(cubic_p), 0.4, 0.7), rate, 0.05);
        }
    }

    #[test]
    fn rfc3649_section_5_table_and_its_printed_law() {
        let law = ResponseLaw::highspeed();
        near(law.c, 0.12, 0.01);
        near(law.y, 0.835, 0.001);
        let table =
            [(1e-3, 38.0), (1e-4, 263.0), (1e-5, 1795.0), (1e-6, 12_279.0), (1e-7, 83_981.0), (1e-10, 26_864_653.0)];
        for (p, segments) in table {
            near(window_of(highspeed, p, 1.0), segments, 0.02);
            near(law.window(p), segments, 0.015);
        }
        near(window_of(highspeed, 1e-2, 1.0), 12.0, 0.025);
    }

    #[test]
    fn the_presets_are_the_controls_own_functions() {
        let parameters = highspeed_control::Parameters::default();
        for p in [1e-9, 1e-7, 3e-5, 1e-3] {
            near(ResponseLaw::highspeed().window(p), highspeed_control::response(p, &parameters), 1e-12);
        }
        assert_eq!(ResponseLaw::scalable(), ResponseLaw { c: 0.08, y: 1.0 });
        near(scalable_control::average_window(0.01, 0.125, 1e-4) / ResponseLaw::scalable().window(1e-4), 0.9361, 1e-3);
    }

    #[test]
    fn scalable_leaves_reno_at_0_43_percent() {
        // 0.08 / p = 1.2247 / sqrt(p) at p = (0.08 / 1.2247)^2
        near(window_of(scalable, 0.005, 1.0), 1.224_745 / 0.005_f64.sqrt(), 1e-6);
        near(window_of(scalable, 0.004, 1.0), 20.0, 1e-12);
    }

    #[test]
    fn the_linear_regime_meets_the_square_root_at_p_max() {
        let window = |p| window_of(|flow| linear(flow, 1.0, 1e-4), p, 1.0);
        let reno = |p| window_of(|flow| mathis(flow, 1.0), p, 1.0);
        near(window(1e-4), reno(1e-4), 1e-12);
        near(window(1e-2), reno(1e-2), 1e-12);
        near(window(1e-6), 100.0 * window(1e-4), 1e-12);
        near(1e-6 * window(1e-6), 1e-4 * window(1e-4), 1e-12);
    }

    #[test]
    fn any_response_function() {
        // 2 / 0.01^0.5 = 20 segments a second
        near(window_of(|flow| response(flow, ResponseLaw { c: 2.0, y: 0.5 }), 0.01, 1.0), 20.0, 1e-12);
    }
}
