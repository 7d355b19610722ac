//! Congestion control: how much to have in flight, and how fast to send it.
//!
//! To add one: a file in the folder of its family with its formulas, its [`crate::parameters!`] and its state machine, and one line
//! in the registry below.

use super::events::{AckEvent, CongestionEvent};
use super::rtt::RttEstimate;
use crate::rng::Stream;
use crate::units::{Duration, Rate, Time};
use cached_control::Output;
use coupled::Coupling;
use linux::LinuxControl;
pub use linux::program::ProgramSpec;
use occupancy::StateTime;
use slow_start::SlowStartSpec;

pub mod cached_control;
pub mod choice;
pub mod coupled;
pub mod custom;
pub mod delay_based;
pub mod linux;
pub mod loss_based;
pub mod occupancy;
pub mod rate_based;
pub mod slow_start;
pub mod supervision;
#[cfg(test)]
mod testing;

/// A congestion control of a paper or an RFC. It sees ACKs, congestion and idle times, and never duplicate ACKs, SACK blocks, timers,
/// sequence numbers or the connection. Controls as Linux has them see more: [`LinuxControl`].
///
/// Windows are in segments. The sender calls `on_congestion` at most once per episode. During recovery it spreads the reduction
/// to `cwnd` by PRR (RFC 6937), unless the algorithm [owns its recovery](Demands::owns_recovery).
///
/// The calls for one ACK have this order: `undo` or `on_recovered`, `on_echo`, `on_congestion`, then `on_ack`. The event of `on_ack`
/// already counts the losses that the ACK revealed.
pub trait CongestionControl: Send + Sync {
    /// Called for every ACK that delivers something or ends a round.
    fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate);

    /// Called for an ACK with an echo of congestion before it may shrink the window. The reduction may thus depend on that ACK's marks.
    fn on_echo(&mut self, _ack: &AckEvent) {}

    /// Called when the window must shrink. Afterwards `cwnd` is the window to reach.
    fn on_congestion(&mut self, event: &CongestionEvent, rtt: &RttEstimate);

    /// Restores the window before the last reduction, which was spurious.
    fn undo(&mut self) {}

    /// Recovery ended: everything sent before it began is acknowledged.
    fn on_recovered(&mut self) {}

    /// Called when the connection is established. There is a smoothed RTT if the handshake gave a sample.
    fn on_established(&mut self, _now: Time, _rtt: &RttEstimate) {}

    /// Restart after idling: nothing is in flight, the last segment was sent `idle` ago, and the sender is about to send. Its window
    /// began with `initial_window` segments.
    fn on_idle(&mut self, _now: Time, _idle: Duration, _initial_window: u32, _rtt: &RttEstimate) {}

    /// Congestion window, segments; the sender uses its whole part, and never less than one.
    fn cwnd(&self) -> f64;

    /// Slow-start threshold, segments; infinite before the first congestion, and for algorithms that have none.
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    /// Pacing rate; without one the sender sends when the window allows. A control gives one always or never.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// How long it has been in each of its named states, up to the last event, for results; nothing if it has none to report.
    fn state_times(&self) -> &[StateTime] {
        &[]
    }

    /// What it asks of its sender, always the same.
    fn demands(&self) -> Demands {
        Demands::default()
    }
}

/// What a congestion control asks of its sender; a control from a paper mostly nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Demands {
    /// ACK events carry a [`RateSample`](super::events::RateSample).
    pub rate_samples: bool,
    /// The control sets its window in recovery itself, so that the sender does not run PRR.
    pub owns_recovery: bool,
    /// Fast recovery without SACK ends at the first partial acknowledgement (RFC 5681 section 3.2 step 6), and not when everything sent
    /// before it is acknowledged (RFC 6582). Each further loss of the window is then an episode of its own.
    pub ends_recovery_at_partial_ack: bool,
    /// ACKs with marks may grow the window as others do. Otherwise they never do (RFC 3168 section 6.1.2).
    pub grows_beside_marks: bool,
}

/// What a sender calls: window and rate in one virtual call. Every [`LinuxControl`] has it.
pub trait Snapshot: LinuxControl {
    /// Window and rate now.
    fn output(&self) -> Output {
        Output::of(self)
    }

    /// Processes an ACK, then writes window and rate to `output`. It returns nothing, because a returned copy costs time for every ACK.
    fn on_ack_with_output(&mut self, ack: &AckEvent, rtt: &RttEstimate, output: &mut Output) {
        self.on_ack(ack, rtt);
        *output = self.output();
    }
}

impl<C: LinuxControl> Snapshot for C {}

/// Properties of the flow that a congestion control may need when it starts.
#[derive(Debug, Clone)]
pub struct FlowContext {
    /// Initial window, segments.
    pub initial_window: u32,
    /// Growth of the window below ssthresh.
    pub slow_start: SlowStartSpec,
    /// Payload of a full segment, bytes.
    pub payload: u32,
    /// Bytes on the wire of a full segment: a pacing rate of `r` sends r / (8 * wire_bytes) segments per second.
    pub wire_bytes: u32,
    /// Whether the stack paces.
    pub pacing: bool,
    /// Ticks of the kernel's clock a second, for controls of Linux.
    pub hz: u32,
    /// Random draws of this flow.
    pub random: Stream,
    /// Its place among the subflows of its connection, if it is one.
    pub coupling: Option<Coupling>,
}

crate::algorithm_registry! {
    /// A congestion control by name, with its parameters.
    pub enum CongestionSpec builds dyn Snapshot from FlowContext {
        /// Reno: NewReno's window; without SACK, fast recovery ends at the first partial ACK (RFC 5681).
        Reno = "reno": reno::Reno in loss_based without LinuxControl,
        /// NewReno: slow start, additive increase, halving (RFC 5681, RFC 6582).
        NewReno = "newreno": newreno::NewReno in loss_based without LinuxControl,
        /// CUBIC: a cubic function of the time since the last loss (RFC 9438).
        Cubic = "cubic": cubic::Cubic in loss_based without LinuxControl,
        /// BIC: a binary search for the window of the last loss (Xu, Harfoush, Rhee 2004; Linux).
        Bic = "bic": bic::Bic in loss_based without LinuxControl,
        /// HighSpeed TCP: faster growth and smaller decrease at large windows (RFC 3649).
        HighSpeed = "highspeed": highspeed::HighSpeed in loss_based without LinuxControl,
        /// Scalable TCP: a fixed growth for every segment acknowledged (Kelly 2003).
        Scalable = "scalable": scalable::Scalable in loss_based without LinuxControl,
        /// H-TCP: growth by the time since the last congestion (draft-leith-tcp-htcp-06).
        Htcp = "htcp": htcp::Htcp in loss_based without LinuxControl,
        /// Westwood+: after a loss, the window that the measured bandwidth needs (Grieco and Mascolo 2004).
        Westwood = "westwood": westwood::Westwood in loss_based without LinuxControl,
        /// TCP-Illinois: growth and decrease by queueing delay (Liu, Basar, Srikant 2008).
        Illinois = "illinois": illinois::Illinois in loss_based without LinuxControl,
        /// Reno as Linux has it, in whole segments.
        LinuxReno = "linux-reno": reno::LinuxReno in linux,
        /// CUBIC as Linux has it, with HyStart, in whole segments.
        LinuxCubic = "linux-cubic": cubic::LinuxCubic in linux,
        /// BIC as Linux has it, in whole segments.
        LinuxBic = "linux-bic": bic::LinuxBic in linux,
        /// Scalable TCP as Linux has it, in whole segments.
        LinuxScalable = "linux-scalable": scalable::LinuxScalable in linux,
        /// Westwood+ as Linux has it, in whole segments.
        LinuxWestwood = "linux-westwood": westwood::LinuxWestwood in linux,
        /// Vegas as Linux has it, in whole segments.
        LinuxVegas = "linux-vegas": vegas::LinuxVegas in linux,
        /// HighSpeed TCP as Linux has it, in whole segments.
        LinuxHighSpeed = "linux-highspeed": highspeed::LinuxHighSpeed in linux,
        /// H-TCP as Linux has it, in whole segments.
        LinuxHtcp = "linux-htcp": htcp::LinuxHtcp in linux,
        /// TCP-Illinois as Linux has it, in whole segments.
        LinuxIllinois = "linux-illinois": illinois::LinuxIllinois in linux,
        /// DCTCP as Linux has it, in whole segments.
        LinuxDctcp = "linux-dctcp": dctcp::LinuxDctcp in linux,
        /// Hybla as Linux has it: a long path grows as fast as one of 25 ms (Caini and Firrincieli 2004).
        LinuxHybla = "linux-hybla": hybla::LinuxHybla in linux,
        /// YeAH as Linux has it: Scalable TCP until a queue builds up, then Reno (Baiocchi, Castellani and Vacirca 2007).
        LinuxYeah = "linux-yeah": yeah::LinuxYeah in linux,
        /// CDG as Linux has it: Reno that also backs off by chance when the RTT rises (Hayes and Armitage 2011).
        LinuxCdg = "linux-cdg": cdg::LinuxCdg in linux,
        /// Veno as Linux has it: Reno that judges by the queue whether a loss is congestion (Fu and Liew 2003).
        LinuxVeno = "linux-veno": veno::LinuxVeno in linux,
        /// BBR version 1: paces at the measured bandwidth (draft-cardwell-iccrg-bbr-congestion-control-00, Linux).
        Bbr = "bbr": bbr::Bbr in rate_based,
        /// BBR version 1 as Linux has it, with its detection of policers.
        LinuxBbr = "linux-bbr": bbr::LinuxBbr in linux,
        /// BBR version 3: as version 1, bounded by the loss that it causes (draft-ietf-ccwg-bbr).
        Bbr3 = "bbr3": bbr3::Bbr3 in rate_based without LinuxControl,
        /// DCTCP: shrinks by the share of marked segments; needs ecn and its exact echo (RFC 8257).
        Dctcp = "dctcp": dctcp::Dctcp in loss_based without LinuxControl,
        /// Prague: DCTCP for the Internet, with L4S and AccECN (draft-briscoe-iccrg-prague-congestion-control-04).
        Prague = "prague": prague::Prague in loss_based without LinuxControl,
        /// Vegas: keeps a few segments in the queue (Brakmo and Peterson 1995).
        Vegas = "vegas": vegas::Vegas in delay_based without LinuxControl,
        /// Compound: Reno's window and one that follows the delay (Tan, Song, Zhang and Sridharan 2006).
        Compound = "compound": compound::Compound in delay_based without LinuxControl,
        /// Swift: keeps the round trip of a data center's paths at a target (Kumar et al. 2020).
        Swift = "swift": swift::Swift in delay_based without LinuxControl,
        /// LIA: the coupled increase of Multipath TCP's subflows (RFC 6356).
        Lia = "lia": lia::Lia in coupled without LinuxControl,
        /// OLIA: coupled, with windows that move to the best paths (Khalili et al. 2012).
        Olia = "olia": olia::Olia in coupled without LinuxControl,
        /// BALIA: coupled, between friendliness and responsiveness (Peng, Walid, Hwang and Low 2016).
        Balia = "balia": balia::Balia in coupled without LinuxControl,
        /// Kikolo: gentle reductions and a steeper growth after them, over four states (Kiryowa, Granelli and Kliazovich).
        Kikolo = "kikolo": kikolo::Kikolo in loss_based without LinuxControl,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::bottleneck::{calls, check_calls_of, flow};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_window_stays_finite_and_at_least_one(calls in calls()) {
            for info in CongestionSpec::describe() {
                let spec: CongestionSpec = serde_json::from_value(serde_json::json!({ "name": info.name })).expect("defaults suffice");
                check_calls_of(&mut *spec.build(flow(1)), &calls).map_err(|error| TestCaseError::fail(format!("{}: {error}", info.name)))?;
            }
        }
    }
}
