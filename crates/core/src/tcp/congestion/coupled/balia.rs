//! BALIA, the balanced linked adaptation (Peng, Walid, Hwang and Low, IEEE/ACM Transactions on Networking 2016;
//! draft-walid-mptcp-congestion-control-04): between the friendliness of LIA and the responsiveness of uncoupled flows.

pub use super::Parameters;
use super::{Coupled, Path, Rule, rate, total_rate};
use crate::tcp::congestion::loss_based::LossBased;

/// The state of one subflow.
pub type Balia = LossBased<Coupled<Balanced>>;

/// Balanced linked adaptation.
pub struct Balanced;

/// How far the fastest path is ahead of this one: `max(x) / x` with rates `x = cwnd / rtt` (section 2 of the draft).
pub fn alpha(paths: &[Path], own: usize) -> f64 {
    paths.iter().map(rate).fold(0.0, f64::max) / rate(&paths[own])
}

impl Rule for Balanced {
    /// Section 2 of the draft, for the segments of a whole window: `cwnd * x / (rtt * (sum of x)^2) * (1 + alpha) / 2 * (4 + alpha) / 5`.
    fn increase(paths: &[Path], own: usize) -> f64 {
        let (Path { cwnd, rtt, .. }, alpha) = (paths[own], alpha(paths, own));
        cwnd * rate(&paths[own]) / (rtt * total_rate(paths).powi(2)) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0
    }

    /// Section 2 of the draft: the window shrinks by `cwnd / 2 * min(alpha, 1.5)`.
    fn decrease(paths: &[Path], own: usize, window: f64) -> f64 {
        window - window / 2.0 * alpha(paths, own).min(1.5)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::paths;
    use super::*;

    /// Rates 200 and 100: alpha is 1 and 2. Growth 20 * 200 / (0.1 * 300^2) = 4/9, and 10 * 100 / (0.1 * 300^2) * 3/2 * 6/5 = 1/9 * 9/5.
    #[test]
    fn increase_and_decrease_by_hand() {
        let paths = paths(&[(20.0, 0.1, 0.0), (10.0, 0.1, 0.0)]);
        assert_eq!([alpha(&paths, 0), alpha(&paths, 1)], [1.0, 2.0]);
        assert!((Balanced::increase(&paths, 0) - 4.0 / 9.0).abs() < 1e-12);
        assert!((Balanced::increase(&paths, 1) - 0.2).abs() < 1e-12);
        // The faster path halves; the slower one keeps a quarter, because alpha counts at most 1.5.
        assert_eq!([Balanced::decrease(&paths, 0, 20.0), Balanced::decrease(&paths, 1, 10.0)], [10.0, 2.5]);
    }
}
