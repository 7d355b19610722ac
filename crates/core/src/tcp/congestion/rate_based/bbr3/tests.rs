//! BBR version 3: worked numbers of the draft, and trajectories over one bottleneck.

use super::*;
use crate::tcp::congestion::testing::bottleneck::{Bench, Observed, Path, calls, check_calls, flow, rtt_estimate};
use proptest::prelude::*;

/// 10 Mbit/s of payload and headers, 50 ms: a product of 50 segments.
const PATH: Path = Path { rate: 1000.0, delay: Duration::from_millis(50), buffer: 500.0, loss: 0.0 };

fn bench(path: Path) -> Bench<Bbr3> {
    Bench::new(Bbr3::new(Parameters::default(), flow(1)), path)
}

fn near(actual: f64, expected: f64, share: f64) {
    assert!((actual - expected).abs() <= share * expected, "{actual} is not {expected}");
}

/// Ten segments of 1250 bytes in 40 ms are 2.5 Mbit/s. Pacing begins with 4 ln 2 of it, less one percent. The flow starts late, and
/// the RTT of larger segments, 52 ms, does not replace that of the handshake.
#[test]
fn section_5_2_1_the_handshake_gives_the_first_minimum_rtt_and_pacing_rate() {
    let at = |milliseconds| Time::ZERO + Duration::from_millis(milliseconds);
    let (mut bbr, mut rtt) = (Bbr3::new(Parameters::default(), flow(1)), rtt_estimate());
    rtt.sample(Duration::from_millis(40));
    bbr.on_established(at(60_040), &rtt);
    near(bbr.pacing_rate().unwrap().as_bps(), 2.5e6 * 2.7726 * 0.99, 1e-3);
    bbr.on_ack(&AckEvent { now: at(60_092), rtt: Some(Duration::from_millis(52)), ..AckEvent::PREDICTED }, &rtt);
    assert_eq!(bbr.min_rtt, Some(Duration::from_millis(40)));
}

/// The states within this number of seconds, sampled every 5 ms.
fn states(bench: &mut Bench<Bbr3>, seconds: f64) -> Vec<Mode> {
    let mut seen = vec![bench.control.mode];
    for _ in 0..(seconds / 0.005) as u32 {
        bench.run(0.005);
        if seen.last() != Some(&bench.control.mode) {
            seen.push(bench.control.mode);
        }
    }
    seen
}

#[test]
fn section_2_8_more_than_two_percent_is_too_high() {
    assert!(!too_high(2, 100, 0.02));
    assert!(too_high(3, 100, 0.02));
}

#[test]
fn section_5_5_10_2_losses_cross_the_threshold_within_the_newly_lost() {
    // 90 before, none of them lost: (0.02 * 90 - 0) / 0.98 more.
    near(in_flight_at_loss(100, 10, 10, 0.02), 90.0 + 1.8 / 0.98, 1e-12);
    assert_eq!(in_flight_at_loss(100, 10, 5, 0.02), 95.0); // crossed before
    assert_eq!(in_flight_at_loss(100, 3, 0, 0.02), 100.0);
}

#[test]
fn section_5_3_3_9_headroom_is_15_percent_at_least_a_segment() {
    assert_eq!(with_headroom(100.0, 0.15), 85.0);
    assert_eq!(with_headroom(6.0, 0.15), 5.0);
    assert_eq!(with_headroom(4.0, 0.15), 4.0);
    assert_eq!(with_headroom(f64::INFINITY, 0.15), f64::INFINITY);
}

#[test]
fn section_5_5_10_3_a_round_with_loss_lowers_the_bounds_to_the_latest_or_beta() {
    let mut bbr = Bbr3::new(Parameters::default(), flow(1));
    bbr.mode = Mode::Cruise;
    bbr.max_bandwidth.update(0, 1000.0, BANDWIDTH_CYCLES);
    bbr.cwnd = 100.0;
    bbr.latest = Latest { bandwidth: 900.0, delivered: 50.0, lost: true, losses: 1 };
    bbr.adapt_lower_bounds();
    near(bbr.bounds.bandwidth_shortterm, 900.0, 1e-12);
    near(bbr.bounds.inflight_shortterm, 70.0, 1e-12);
    bbr.adapt_lower_bounds(); // no loss since
    near(bbr.bounds.inflight_shortterm, 70.0, 1e-12);
}

#[test]
fn section_5_3_3_5_the_long_term_bound_rises_by_1_2_4_8_per_round() {
    let mut bbr = Bbr3::new(Parameters::default(), flow(1));
    (bbr.cwnd, bbr.bounds.inflight_longterm) = (64.0, 64.0);
    bbr.steepen_raise();
    for expected in [1.0, 2.0, 4.0, 8.0, 16.0] {
        let before = bbr.bounds.inflight_longterm;
        for left in (0..before as u32).rev() {
            let signals = Signals {
                bandwidth: None,
                app_limited: false,
                round_start: left == 0,
                loss_round_start: false,
                cwnd_limited: true,
            };
            bbr.cwnd = bbr.bounds.inflight_longterm;
            bbr.raise_long_term_bound(&ack(Time::ZERO, 1, 64), &signals);
        }
        let rise = bbr.bounds.inflight_longterm - before;
        assert!((rise - expected).abs() <= 1.0, "{rise} is not {expected}");
    }
}

fn ack(now: Time, delivered: u32, in_flight: u32) -> AckEvent {
    AckEvent {
        now,
        delivered,
        cumulative: delivered,
        growth: 0,
        may_grow: 0,
        advanced: true,
        duplicate: false,
        newly_lost: 0,
        prior_in_flight: in_flight + delivered,
        in_flight,
        outstanding: in_flight,
        rtt: Some(PATH.delay),
        rate: None,
        round_start: false,
        in_recovery: true,
        ecn_echo: false,
        marked: 0,
    }
}

#[test]
fn it_converges_to_the_rate_without_a_standing_queue() {
    let mut bench = bench(PATH);
    bench.run(3.0);
    let Observed { goodput, mean_rtt, loss_ratio, .. } = bench.run(6.0);
    near(goodput, PATH.rate, 0.05);
    near(bench.control.max_bandwidth.get(), PATH.rate, 0.05);
    assert!(mean_rtt < 1.25 * PATH.delay.as_secs(), "{mean_rtt}");
    assert_eq!(loss_ratio, 0.0);
}

#[test]
fn it_starts_drains_and_cycles_through_probe_bw() {
    let mut bench = bench(PATH);
    let seen = states(&mut bench, 4.5);
    let expected = [Mode::Startup, Mode::Drain, Mode::Down, Mode::Cruise, Mode::Refill, Mode::Up, Mode::Down];
    assert!(seen.len() >= expected.len(), "{seen:?}");
    // Drain leaves so little in flight that Down may end with the ACK that began it.
    let without_down: Vec<Mode> = seen.iter().copied().filter(|mode| *mode != Mode::Down).collect();
    assert_eq!(without_down[..5], [Mode::Startup, Mode::Drain, Mode::Cruise, Mode::Refill, Mode::Up]);
}

#[test]
fn it_follows_the_rate_down_and_up() {
    let mut bench = bench(PATH);
    bench.run(5.0);
    for rate in [500.0, 1000.0, 2000.0] {
        bench.path.rate = rate;
        bench.run(15.0);
        near(bench.run(5.0).goodput, rate, 0.06);
    }
}

#[test]
fn probe_rtt_comes_every_five_seconds_at_half_the_product() {
    let mut bench = bench(PATH);
    bench.run(4.5);
    let mut times = Vec::new();
    for step in 0..1300 {
        bench.run(0.01);
        if bench.control.mode == Mode::ProbeRtt {
            times.push(step);
            assert!(bench.control.cwnd() <= 0.55 * 50.0, "{}", bench.control.cwnd());
        }
    }
    let episodes: Vec<i32> = times.chunk_by(|a, b| b - a == 1).map(|episode| episode.len() as i32).collect();
    assert!((2..=3).contains(&episodes.len()), "{times:?}");
    assert!(episodes.iter().all(|length| (20..=40).contains(length)), "{episodes:?}");
}

#[test]
fn a_short_queue_bounds_what_is_in_flight_and_loses_little() {
    let mut bench = bench(Path { buffer: 20.0, ..PATH });
    bench.run(5.0);
    let Observed { goodput, loss_ratio, .. } = bench.run(10.0);
    assert!(goodput > 0.85 * PATH.rate, "{goodput}");
    assert!(loss_ratio < 0.02, "{loss_ratio}");
}

#[test]
fn random_loss_below_the_threshold_costs_little() {
    let mut bench = bench(Path { loss: 0.005, ..PATH });
    bench.run(5.0);
    assert!(bench.run(10.0).goodput > 0.85 * PATH.rate);
}

#[test]
fn section_5_6_4_4_a_timeout_leaves_one_segment_and_its_undo_brings_all_back() {
    let mut bench = bench(PATH);
    bench.run(5.0);
    let (mut bbr, rtt, now) = (bench.control, rtt_estimate(), bench.now);
    let (cwnd, bounds) = (bbr.cwnd(), format!("{:?}", bbr.bounds));
    let kind = CongestionKind::Timeout { repeated: false };
    bbr.on_congestion(&CongestionEvent { now, kind, prior_in_flight: 50 }, &rtt);
    assert_eq!(bbr.cwnd(), 1.0);
    bbr.on_ack(&ack(now, 1, 0), &rtt);
    assert_eq!(bbr.cwnd(), 4.0);
    bbr.undo();
    assert_eq!((bbr.cwnd(), format!("{:?}", bbr.bounds)), (cwnd, bounds));
}

#[test]
fn section_5_5_11_2_undo_returns_to_the_probe_that_a_loss_ended() {
    let mut bench = bench(PATH);
    while bench.control.mode != Mode::Up {
        bench.run(0.005);
    }
    let (mut bbr, rtt, now) = (bench.control, rtt_estimate(), bench.now);
    bbr.on_congestion(&CongestionEvent { now, kind: CongestionKind::Loss, prior_in_flight: 60 }, &rtt);
    let rate = RateSample {
        delivered: 50,
        interval: PATH.delay,
        prior_delivered: bbr.total_delivered,
        total_delivered: bbr.total_delivered + 1,
        app_limited: false,
        sent_in_flight: 60,
        lost: 5,
        total_lost: 0,
    };
    bbr.on_ack(&AckEvent { newly_lost: 5, rate: Some(rate), ..ack(now, 1, 54) }, &rtt);
    assert_eq!(bbr.mode, Mode::Down);
    assert!(bbr.bounds.inflight_longterm < 60.0);
    bbr.undo();
    assert_eq!(bbr.mode, Mode::Refill);
    assert!(bbr.bounds.inflight_longterm.is_infinite());
}

proptest! {
    #[test]
    fn window_and_pacing_stay_usable(calls in calls(), seed in 0..8u64) {
        check_calls(Bbr3::new(Parameters::default(), flow(seed)), &calls)?;
    }
}
