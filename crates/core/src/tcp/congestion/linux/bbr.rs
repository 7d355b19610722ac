//! Features of Linux's BBR that the draft does not have (net/ipv4/tcp_bbr.c): it detects policers, and it sees the sender's episodes only
//! after an ACK is processed.
//!
//! An ACK that ends an episode may begin the next one, for segments that are still lost. Then Linux's BBR sees no end: it neither
//! restores the window nor conserves packets again. With many losses, one recovery follows the other in this way.

use super::LinuxControl;
use super::policer::{Evidence, Policer, Totals};
use crate::tcp::congestion::FlowContext;
use crate::tcp::congestion::rate_based::bbr::{BANDWIDTH_ROUNDS, BbrOf, Mode, Recovery, Version, min_quantum};
use crate::tcp::congestion::rate_based::model::FullPipe;
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind, RateSample};
use crate::units::{Rate, Time};

pub use crate::tcp::congestion::rate_based::bbr::Parameters;

/// BBR of Linux.
pub type LinuxBbr = BbrOf<Linux>;

/// Most bytes of a quantum (GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER), and most segments.
const GREATEST_QUANTUM: (u64, u64) = (65_536 - 1 - 320, 127);

/// Segments that go out at once: those of a 1024th of a second (`bbr_tso_segs_goal`). Linux's pacing rate counts payload
/// (`bbr_rate_bytes_per_sec`).
fn quantum(pacing: Rate, payload: u32, wire_bytes: u32) -> f64 {
    let rate = pacing.share(payload, wire_bytes);
    let (most_bytes, most_segments) = GREATEST_QUANTUM;
    let segments = (rate.0 / 8 / 1024).min(most_bytes) / u64::from(payload);
    segments.clamp(min_quantum(rate).into(), most_segments) as f64
}

/// The sender's episode; Linux's "Disorder" and "CWR" are like `Open` for BBR (`icsk_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Episode {
    #[default]
    Open,
    Recovery,
    Loss,
}

/// Linux's version.
#[derive(Debug, Clone, Default)]
pub struct Linux {
    policer: Policer,
    /// Payload of a segment, bytes.
    payload: u32,
    totals: Totals,
    /// The sender's episode, when it is in one.
    episode: Episode,
    /// The episode that the last ACK left (`prev_ca_state`).
    seen: Episode,
    /// The retransmission timer expired, and no ACK has come since.
    expired: bool,
}

impl LinuxBbr {
    /// Ends a round in which the policer's rate was in use.
    fn end_round_of_policer(&mut self) {
        if matches!(self.mode, Mode::ProbeBw(_)) && self.version.policer.end_round_of_use() {
            self.find_product();
            self.enter_probe_bw();
        }
    }

    fn sample_policer(&mut self, loses: bool, app_limited: bool, round_start: bool) {
        let evidence = Evidence { totals: self.version.totals, loses, app_limited, round_start };
        self.version.policer.sample(&evidence, self.version.payload);
        if self.version.policer.bandwidth().is_some() {
            self.find_product();
        }
    }
}

impl Version for Linux {
    const BANDWIDTH_ROUNDS: u64 = BANDWIDTH_ROUNDS + 1; // as long as none is older

    fn new(flow: &FlowContext) -> Linux {
        Linux { payload: flow.payload, ..Linux::default() }
    }

    /// (`bbr_bw`).
    #[inline(always)]
    fn imposed_bandwidth(&self) -> Option<f64> {
        self.policer.bandwidth()
    }

    fn counted_rate(&self, pacing: Rate, wire_bytes: u32) -> Rate {
        pacing.share(self.payload, wire_bytes)
    }

    fn quantum(&self, pacing: Rate, wire_bytes: u32) -> f64 {
        quantum(pacing, self.payload, wire_bytes)
    }

    /// (`bbr_packets_in_net_at_edt`).
    #[inline(always)]
    fn next_in_flight(in_flight: f64, quantum: f64) -> f64 {
        in_flight + quantum
    }

    /// (`bbr_lt_bw_sampling`).
    #[inline(always)]
    fn on_rate(bbr: &mut LinuxBbr, ack: &AckEvent, rate: &RateSample, round_start: bool, app_limited: bool) {
        let lost = rate.total_lost.wrapping_add(ack.newly_lost);
        bbr.version.totals = Totals { now: ack.now, delivered: rate.total_delivered, lost };
        if bbr.version.policer.bandwidth().is_none() {
            bbr.sample_policer(ack.newly_lost > 0, app_limited, round_start);
        } else if round_start {
            bbr.end_round_of_policer();
        }
    }

    /// (`bbr_set_cwnd`, `bbr_set_cwnd_to_recover_or_restore`).
    #[inline(always)]
    fn set_cwnd(bbr: &mut LinuxBbr, ack: &AckEvent) {
        if std::mem::take(&mut bbr.version.expired) {
            bbr.cwnd = f64::from(ack.prior_in_flight.max(1)); // as after `tcp_enter_loss`, with what was sent again
        }
        let episode = if ack.in_recovery { bbr.version.episode } else { Episode::Open };
        let seen = std::mem::replace(&mut bbr.version.seen, episode);
        let conserved = f64::from(ack.in_flight + ack.delivered);
        bbr.cwnd = (bbr.cwnd - f64::from(ack.newly_lost)).max(1.0);
        if episode == Episode::Recovery && seen != Episode::Recovery {
            bbr.recovery = Recovery::Conserving;
            bbr.rounds.restart(bbr.total_delivered);
            bbr.cwnd = conserved;
        } else if seen > Episode::Open && episode == Episode::Open {
            bbr.recovery = Recovery::None;
            bbr.cwnd = bbr.cwnd.max(bbr.prior_cwnd);
        }
        bbr.cwnd = bbr.next_cwnd(ack, conserved);
    }

    /// (`bbr_save_cwnd`).
    fn has_good_cwnd(bbr: &LinuxBbr) -> bool {
        bbr.version.seen == Episode::Open
    }

    /// (`bbr_ssthresh`, `bbr_set_state`).
    fn on_congestion(bbr: &mut LinuxBbr, event: &CongestionEvent) {
        if event.kind != (CongestionKind::Timeout { repeated: true }) {
            bbr.save_cwnd();
        }
        match event.kind {
            CongestionKind::Loss => Linux::on_loss_in_reduction(bbr),
            CongestionKind::Timeout { .. } => {
                (bbr.version.episode, bbr.version.seen) = (Episode::Loss, Episode::Loss);
                bbr.version.expired = true;
                bbr.pipe.forget_baseline();
                bbr.cwnd = 1.0; // until the answer tells what was in flight
                if bbr.version.policer.bandwidth().is_none() {
                    bbr.sample_policer(true, false, true);
                } else {
                    bbr.end_round_of_policer(); // a timeout counts as the end of a round
                }
            }
            CongestionKind::EcnEcho => bbr.version.episode = Episode::Open,
        }
    }

    /// (`bbr_undo_cwnd`).
    fn undo(bbr: &mut LinuxBbr) {
        bbr.pipe = FullPipe::default();
        bbr.version.policer = Policer::default();
        bbr.find_product();
    }

    /// Begins a recovery: packets are conserved from the next ACK on.
    fn on_loss_in_reduction(bbr: &mut LinuxBbr) {
        bbr.version.episode = Episode::Recovery;
    }
}

impl<V: Version> LinuxControl for BbrOf<V> {
    fn on_loss_in_reduction(&mut self, _reached: u32) {
        V::on_loss_in_reduction(self);
    }

    fn min_quantum(&mut self, _now: Time) -> u32 {
        min_quantum(self.version.counted_rate(self.pacing, self.wire_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::{Bench, Path, flow, rtt_estimate};
    use crate::units::Duration;

    /// A product of 50 segments.
    const PATH: Path = Path { rate: 1000.0, delay: Duration::from_millis(50), buffer: 500.0, loss: 0.0 };

    fn after_startup() -> Bench<LinuxBbr> {
        let mut bench = Bench::new(LinuxBbr::new(Parameters::default(), flow(1)), PATH);
        bench.run(5.0);
        bench
    }

    fn ack(bench: &Bench<LinuxBbr>, newly_lost: u32, in_flight: u32, in_recovery: bool) -> AckEvent {
        AckEvent {
            now: bench.now,
            newly_lost,
            in_flight,
            prior_in_flight: in_flight + 1 + newly_lost,
            in_recovery,
            ..AckEvent::PREDICTED
        }
    }

    fn lose(bench: &mut Bench<LinuxBbr>) {
        let event = CongestionEvent { now: bench.now, kind: CongestionKind::Loss, prior_in_flight: 50 };
        bench.control.on_congestion(&event, &rtt_estimate());
    }

    /// 1448 of 1500 bytes are payload. 1.24 Mbit/s carry 1.197 of payload, and 100 Mbit/s carry 11,784 bytes in 1/1024 s. 45 such
    /// segments have 65,160 bytes.
    #[test]
    fn a_quantum_is_counted_in_payload() {
        let segments = |rate| quantum(Rate(rate), 1448, 1500);
        assert_eq!([1_240_000, 1_250_000, 100_000_000, 110_000_000].map(segments), [1.0, 2.0, 8.0, 8.0]);
        assert_eq!(segments(10_000_000_000), 45.0);
        assert_eq!(quantum(Rate(10_000_000_000), 100, 152), 127.0);
    }

    /// Recovery begins with 40 segments in flight and one delivered, so the window is 41. The end of recovery restores the earlier
    /// window.
    #[test]
    fn the_end_of_recovery_restores_the_window() {
        let mut bench = after_startup();
        let before = bench.control.cwnd();
        lose(&mut bench);
        let (first, last) = (ack(&bench, 5, 40, true), ack(&bench, 0, 40, false));
        bench.control.on_ack(&first, &rtt_estimate());
        assert_eq!(bench.control.cwnd(), 41.0);
        bench.control.on_recovered();
        bench.control.on_ack(&last, &rtt_estimate());
        assert!((bench.control.cwnd() - before).abs() <= 2.0, "{} is not {before}", bench.control.cwnd());
    }

    /// A mark changes nothing. The loss behind it conserves packets as any other.
    #[test]
    fn a_loss_in_the_reduction_after_a_mark_conserves_packets() {
        let mut bench = after_startup();
        let before = bench.control.cwnd();
        let event = CongestionEvent { now: bench.now, kind: CongestionKind::EcnEcho, prior_in_flight: 50 };
        bench.control.on_congestion(&event, &rtt_estimate());
        let (marked, lost) = (ack(&bench, 0, 40, true), ack(&bench, 5, 40, true));
        bench.control.on_ack(&marked, &rtt_estimate());
        assert!((bench.control.cwnd() - before).abs() <= 2.0);
        bench.control.on_loss_in_reduction(50);
        bench.control.on_ack(&lost, &rtt_estimate());
        assert_eq!(bench.control.cwnd(), 41.0);
    }

    /// The same ACK ends one recovery and begins the next. Packet conservation continues, and with 30 segments in flight the window does
    /// not change.
    #[test]
    fn a_recovery_that_follows_at_once_is_the_same_for_the_window() {
        let mut bench = after_startup();
        lose(&mut bench);
        let (first, next) = (ack(&bench, 5, 40, true), ack(&bench, 0, 30, true));
        bench.control.on_ack(&first, &rtt_estimate());
        bench.control.on_recovered();
        lose(&mut bench);
        bench.control.on_ack(&next, &rtt_estimate());
        assert_eq!(bench.control.cwnd(), 41.0);
    }

    /// A timeout leaves 20 segments in flight, and the first segment is retransmitted: the window is 21. It grows by the number of
    /// delivered segments.
    #[test]
    fn a_timeout_leaves_what_is_in_flight_and_one() {
        let mut bench = after_startup();
        let kind = CongestionKind::Timeout { repeated: false };
        bench.control.on_congestion(&CongestionEvent { now: bench.now, kind, prior_in_flight: 50 }, &rtt_estimate());
        let answer = ack(&bench, 0, 20, true);
        bench.control.on_ack(&answer, &rtt_estimate());
        assert_eq!(bench.control.cwnd(), 22.0);
    }

    /// A third of the packets is lost, so losses are half of the deliveries. Linux's BBR paces at the delivery rate; BBR of the draft
    /// paces at the path's rate.
    #[test]
    fn it_paces_at_the_rate_of_a_policer() {
        let mut bench = Bench::new(LinuxBbr::new(Parameters::default(), flow(1)), Path { loss: 1.0 / 3.0, ..PATH });
        let policed = (0..40).any(|_| {
            bench.run(0.25);
            bench.control.version.policer.bandwidth().is_some()
        });
        assert!(policed);
        assert_eq!(bench.control.used_bandwidth(), bench.control.version.policer.bandwidth().unwrap());
        assert!(bench.control.used_bandwidth() < 0.9 * PATH.rate);
    }
}
