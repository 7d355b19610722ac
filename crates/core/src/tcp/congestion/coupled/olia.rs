//! OLIA, the opportunistic linked increases algorithm (Khalili, Gast, Popovic and Le Boudec, CoNEXT 2012; draft-khalili-mptcp-congestion-control-05).
//! It balances congestion optimally, and moves traffic to the best paths if their windows are not the largest.

pub use super::Parameters;
use super::{Coupled, Path, Rule, total_rate};
use crate::tcp::congestion::loss_based::LossBased;

/// The state of one subflow.
pub type Olia = LossBased<Coupled<Opportunistic>>;

/// Opportunistic linked increases.
pub struct Opportunistic;

/// The share of a segment by which a path's window grows or shrinks beside the linked increase (equation 6 of the paper, section 3 of the draft). Best
/// paths that have not the largest window gain what those with the largest window lose.
pub fn alpha(paths: &[Path], own: usize) -> f64 {
    let quality = |path: &Path| path.loss_interval / (path.rtt * path.rtt);
    let best = paths.iter().map(quality).fold(0.0, f64::max);
    let largest = paths.iter().map(|path| path.cwnd).fold(0.0, f64::max);
    let is_largest = |path: &Path| path.cwnd == largest;
    let is_collected = |path: &Path| quality(path) == best && !is_largest(path);
    let count = |is_in: &dyn Fn(&Path) -> bool| paths.iter().filter(|path| is_in(path)).count() as f64;
    let (collected, all) = (count(&is_collected), paths.len() as f64);
    if collected == 0.0 {
        0.0
    } else if is_collected(&paths[own]) {
        1.0 / (all * collected)
    } else if is_largest(&paths[own]) {
        -1.0 / (all * count(&is_largest))
    } else {
        0.0
    }
}

impl Rule for Opportunistic {
    /// Equation 5 of the paper, for the segments of a whole window: `cwnd * (cwnd / rtt^2) / (sum of cwnd / rtt)^2 + alpha`.
    fn increase(paths: &[Path], own: usize) -> f64 {
        let Path { cwnd, rtt, .. } = paths[own];
        cwnd * cwnd / (rtt * rtt) / total_rate(paths).powi(2) + alpha(paths, own)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::paths;
    use super::*;

    /// Windows 20 and 10, 100 ms: rates 200 and 100. The second path lost less: its loss interval 400 is the best. It gains 1/(2 * 1), the other loses it.
    #[test]
    fn the_best_path_gains_what_the_largest_window_loses() {
        let paths = paths(&[(20.0, 0.1, 100.0), (10.0, 0.1, 400.0)]);
        assert_eq!([alpha(&paths, 0), alpha(&paths, 1)], [-0.5, 0.5]);
        // 20 * 2000 / 300^2 = 4/9, and 10 * 1000 / 300^2 = 1/9.
        assert!((Opportunistic::increase(&paths, 0) - (4.0 / 9.0 - 0.5)).abs() < 1e-12);
        assert!((Opportunistic::increase(&paths, 1) - (1.0 / 9.0 + 0.5)).abs() < 1e-12);
    }

    /// The quality of a path is its loss interval over the square of its round trip: 100 / 0.01 against 400 / 0.09. If the best path has the largest window, nothing moves.
    #[test]
    fn nothing_moves_while_the_best_path_has_the_largest_window() {
        let paths = paths(&[(20.0, 0.1, 100.0), (10.0, 0.3, 400.0), (5.0, 0.2, 100.0)]);
        assert_eq!([alpha(&paths, 0), alpha(&paths, 1), alpha(&paths, 2)], [0.0; 3]);
    }

    /// Two of three paths have the largest window; the third is best: each gives half of the third that it gains.
    #[test]
    fn all_largest_windows_give() {
        let paths = paths(&[(20.0, 0.1, 10.0), (20.0, 0.1, 10.0), (5.0, 0.1, 90.0)]);
        assert_eq!([alpha(&paths, 0), alpha(&paths, 1), alpha(&paths, 2)], [-1.0 / 6.0, -1.0 / 6.0, 1.0 / 3.0]);
    }
}
