//! LIA, the linked increases algorithm (RFC 6356): a connection takes as much as one TCP flow would on its best path, and shifts load to less congested
//! paths.

pub use super::Parameters;
use super::{Coupled, Path, Rule, total_rate};
use crate::tcp::congestion::loss_based::LossBased;

/// The state of one subflow.
pub type Lia = LossBased<Coupled<Linked>>;

/// Linked increases.
pub struct Linked;

/// How aggressive the connection is (RFC 6356 equation 2): `total * max(cwnd / rtt^2) / (sum of cwnd / rtt)^2`.
pub fn alpha(paths: &[Path]) -> f64 {
    let total: f64 = paths.iter().map(|path| path.cwnd).sum();
    let best = paths.iter().map(|path| path.cwnd / (path.rtt * path.rtt)).fold(0.0, f64::max);
    total * best / total_rate(paths).powi(2)
}

impl Rule for Linked {
    /// RFC 6356 equation 1, for the segments of a whole window: `min(alpha * cwnd / total, 1)`.
    fn increase(paths: &[Path], own: usize) -> f64 {
        let total: f64 = paths.iter().map(|path| path.cwnd).sum();
        (alpha(paths) * paths[own].cwnd / total).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::paths;
    use super::*;

    /// Windows 20 and 10, round trips 100 and 50 ms: rates 200 and 200, `cwnd / rtt^2` 2000 and 4000. So alpha is 30 * 4000 / 400^2 = 0.75.
    #[test]
    fn equations_1_and_2_by_hand() {
        let paths = paths(&[(20.0, 0.1, 0.0), (10.0, 0.05, 0.0)]);
        assert!((alpha(&paths) - 0.75).abs() < 1e-12);
        assert!((Linked::increase(&paths, 0) - 0.5).abs() < 1e-12);
        assert!((Linked::increase(&paths, 1) - 0.25).abs() < 1e-12);
    }

    /// RFC 6356 section 3: no path grows faster than a TCP flow there would, even if alpha is large: windows 2 and 20, 10 and 1000 ms.
    #[test]
    fn no_path_is_more_aggressive_than_tcp() {
        let paths = paths(&[(2.0, 0.01, 0.0), (20.0, 1.0, 0.0)]);
        // 22 * 20000 / 220^2 = 9.09: the second path would grow by 8.3 segments.
        assert!((alpha(&paths) - 9.0909).abs() < 1e-4);
        assert_eq!(Linked::increase(&paths, 1), 1.0);
        assert!((Linked::increase(&paths, 0) - 0.82645).abs() < 1e-5);
    }
}
