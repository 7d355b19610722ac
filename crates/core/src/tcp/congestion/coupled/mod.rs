//! Coupled congestion controls of Multipath TCP: a subflow's window grows by the windows and round trips of all subflows of its connection, so that
//! the connection takes no more from a shared bottleneck than one TCP flow.
//!
//! Each subflow has a control of its own, and all controls of a connection share a table of [`Path`]s. Slow start and everything else is that of
//! [`LossBased`](super::loss_based::LossBased). A flow without siblings grows as NewReno.

pub mod balia;
pub mod lia;
pub mod olia;

use crate::tcp::congestion::FlowContext;
use crate::tcp::congestion::loss_based::IncreaseDecrease;
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

crate::parameters! {
    /// No parameter: the papers fix all constants.
    pub struct Parameters {}
}

/// What the controls of a connection know of a subflow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Path {
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Smoothed round-trip time, seconds; zero while there is none. Then the path does not count yet.
    pub rtt: f64,
    /// Segments acknowledged since the last loss, or between the last two losses if these are more (`l_r` of OLIA).
    pub loss_interval: f64,
}

/// A subflow's place among the subflows of its connection.
#[derive(Debug, Clone)]
pub struct Coupling {
    paths: Arc<Mutex<Vec<Path>>>,
    own: usize,
}

impl Default for Coupling {
    /// The place of a flow without siblings.
    fn default() -> Coupling {
        Coupling { paths: Arc::new(Mutex::new(vec![Path::default()])), own: 0 }
    }
}

impl Coupling {
    /// The places of the subflows of a connection.
    pub fn of_connection(subflows: usize) -> impl Iterator<Item = Coupling> {
        let paths = Arc::new(Mutex::new(vec![Path::default(); subflows]));
        (0..subflows).map(move |own| Coupling { paths: paths.clone(), own })
    }

    /// Calls with all paths and the index of the own one.
    fn with<T>(&self, call: impl FnOnce(&mut [Path], usize) -> T) -> T {
        call(&mut self.paths.lock().unwrap_or_else(PoisonError::into_inner), self.own)
    }
}

/// The difference between coupled controls. `own` is the path that grows or shrinks. Every path has a round-trip time.
pub trait Rule: Send + Sync {
    /// Segments by which the path's window grows in a round trip of congestion avoidance.
    fn increase(paths: &[Path], own: usize) -> f64;

    /// What a congestion leaves of the path's window.
    fn decrease(_paths: &[Path], _own: usize, window: f64) -> f64 {
        window / 2.0 // RFC 5681 equation 4
    }
}

/// The control of one subflow.
pub struct Coupled<R> {
    coupling: Coupling,
    /// Segments acknowledged since the last loss, and between the two before.
    since_loss: f64,
    between_losses: f64,
    rule: PhantomData<R>,
}

impl<R: Rule> Coupled<R> {
    /// Calls with the paths that have a round-trip time; `None` if the own one has none yet.
    fn with_measured<T>(&self, call: impl FnOnce(&[Path], usize) -> T) -> Option<T> {
        self.coupling.with(|paths, own| {
            if paths.iter().all(|path| path.rtt > 0.0) {
                return Some(call(paths, own));
            }
            let place = paths[..own].iter().filter(|path| path.rtt > 0.0).count();
            let measured: Vec<Path> = paths.iter().filter(|path| path.rtt > 0.0).copied().collect();
            (paths[own].rtt > 0.0).then(|| call(&measured, place))
        })
    }
}

impl<R: Rule> IncreaseDecrease for Coupled<R> {
    type Parameters = Parameters;

    fn new(_parameters: Parameters) -> Coupled<R> {
        Coupled { coupling: Coupling::default(), since_loss: 0.0, between_losses: 0.0, rule: PhantomData }
    }

    fn of_flow(self, flow: &FlowContext) -> Coupled<R> {
        let coupling = flow.coupling.clone().unwrap_or(self.coupling);
        Coupled { coupling, ..self }
    }

    fn observe(&mut self, cwnd: f64, ack: &AckEvent, rtt: &RttEstimate) {
        self.since_loss += f64::from(ack.cumulative);
        let loss_interval = self.since_loss.max(self.between_losses);
        let rtt = rtt.smoothed().map_or(0.0, |rtt| rtt.as_secs());
        self.coupling.with(|paths, own| paths[own] = Path { cwnd, rtt, loss_interval });
    }

    fn increase(&mut self, cwnd: f64, ack: &AckEvent) -> f64 {
        self.coupling.with(|paths, own| paths[own].cwnd = cwnd);
        let growth = self.with_measured(R::increase).unwrap_or(1.0);
        // A window that shrinks keeps one segment.
        growth.max((1.0 - cwnd) * cwnd / f64::from(ack.growth.max(1)))
    }

    fn decrease(&mut self, window: f64, event: &CongestionEvent) -> f64 {
        if self.since_loss > 0.0 {
            self.between_losses = std::mem::take(&mut self.since_loss);
        }
        let left = self.with_measured(|paths, own| R::decrease(paths, own, window)).unwrap_or(window / 2.0);
        let is_timeout = matches!(event.kind, CongestionKind::Timeout { .. });
        self.coupling.with(|paths, own| paths[own].cwnd = if is_timeout { 1.0 } else { left });
        left
    }
}

/// Segments per second over a path.
fn rate(path: &Path) -> f64 {
    path.cwnd / path.rtt
}

/// Segments per second over all paths.
fn total_rate(paths: &[Path]) -> f64 {
    paths.iter().map(rate).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths by window (segments), round-trip time (seconds) and loss interval (segments).
    pub fn paths(of: &[(f64, f64, f64)]) -> Vec<Path> {
        of.iter()
            .map(|(cwnd, rtt, loss_interval)| Path { cwnd: *cwnd, rtt: *rtt, loss_interval: *loss_interval })
            .collect()
    }

    /// Alone, each is additive increase by one segment a round trip, at any window and round trip.
    #[test]
    fn one_path_grows_as_one_tcp_flow() {
        for (cwnd, rtt) in [(2.0, 0.1), (50.0, 0.001), (1000.0, 2.0)] {
            let alone = paths(&[(cwnd, rtt, 7.0)]);
            for growth in [
                lia::Linked::increase(&alone, 0),
                olia::Opportunistic::increase(&alone, 0),
                balia::Balanced::increase(&alone, 0),
            ] {
                assert!((growth - 1.0).abs() < 1e-12, "{growth}");
            }
        }
    }

    /// Two equal paths together grow by less than one flow, and each by more than nothing.
    #[test]
    fn equal_paths_share_the_growth_of_one_flow() {
        let equal = paths(&[(10.0, 0.05, 100.0), (10.0, 0.05, 100.0)]);
        // LIA: alpha = 20 (10 / 0.0025) / (400 * 400) = 1/2, growth 10 * 1/2 / 20; OLIA: 10 (10 / 0.0025) / (400 * 400); BALIA: 10 (200 / 0.05) / (400 * 400).
        for growth in [
            lia::Linked::increase(&equal, 0),
            olia::Opportunistic::increase(&equal, 0),
            balia::Balanced::increase(&equal, 0),
        ] {
            assert!((growth - 0.25).abs() < 1e-12, "{growth}");
        }
    }
}
