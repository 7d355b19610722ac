use super::*;
use crate::rng::{Purpose, Sequence, Stream};
use crate::tcp::congestion::loss_based::newreno::{self, NewReno};
use crate::tcp::congestion::testing::bottleneck::{Bench, Path, flow, rtt_estimate};

fn near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected}");
}

#[test]
fn figure_4_s2_holds_nine_tenths_when_ten_acks_come_for_a_duplicate() {
    // 1 : 10/11 : 100/11 : 100 for S0, S1, S3, S2, of a sum of 111.
    let expected = [1.0 / 111.0, 10.0 / 1221.0, 100.0 / 111.0, 100.0 / 1221.0];
    for (share, expected) in equilibrium(10.0, 1.0).into_iter().zip(expected) {
        near(share, expected, 1e-12);
    }
    near(equilibrium(20.0, 1.0)[2], 0.95, 0.003);
    assert_eq!(equilibrium(1.0, 1.0), [1.0 / 3.0, 1.0 / 6.0, 1.0 / 3.0, 1.0 / 6.0]);
}

#[test]
fn equations_1_to_4_hold_in_equilibrium() {
    for (lambda, mu) in [(1.0, 1.0), (10.0, 1.0), (30.0, 1.5), (0.2, 3.0)] {
        let [s0, s1, s2, s3] = equilibrium(lambda, mu);
        near(lambda * s0, (mu + lambda) * s1, 1e-12); // (1)
        near(mu * s2, (mu + lambda) * s3, 1e-12); // (2), with P(L,1) on its left
        near(lambda * s0, mu * s1 + mu * s3, 1e-12); // (3)
        near(mu * s2, lambda * s1 + lambda * s3, 1e-12); // (4)
        near(s0 + s1 + s2 + s3, 1.0, 1e-12);
    }
}

#[test]
fn table_1_regions_and_factors() {
    let parameters = Parameters::default();
    assert_eq!(region(99.9, 100.0, 0.005), Region::SlowStart);
    assert_eq!(region(100.0, 100.0, 0.005), Region::RampUp);
    assert_eq!(region(100.5, 100.0, 0.005), Region::Additive);
    assert_eq!(remainder(Region::SlowStart, &parameters), 0.95);
    assert_eq!(remainder(Region::RampUp, &parameters), 0.85);
    assert_eq!(remainder(Region::Additive, &parameters), 0.75);
    near(increase(100.0, Region::RampUp, &parameters, 1.0, 1), 100.04, 1e-12);
    near(increase(100.0, Region::RampUp, &parameters, 0.85, 1), 100.034, 1e-12);
    near(increase(100.0, Region::Additive, &parameters, 1.0, 1), 100.01, 1e-12);
    near(increase(100.0, Region::Additive, &parameters, 0.85, 2), 100.017, 1e-12);
    let table = Parameters { ramp_up: RampUp::Table, ..parameters };
    near(increase(100.0, Region::RampUp, &table, 1.0, 1), 101.04, 1e-12);
    near(increase(100.0, Region::RampUp, &table, 0.85, 2), 102.068, 1e-12);
    near(increase(100.0, Region::Additive, &table, 1.0, 1), 100.01, 1e-12);
}

#[test]
fn with_ssthresh_at_half_of_the_window_a_window_of_75_is_beyond_the_ramp_up_after_a_loss_at_100() {
    let mut flow = HandDriven::new(Parameters { threshold: Threshold::Half, ..Parameters::default() });
    (0..90).for_each(|_| flow.ack(true));
    flow.congestion(CongestionKind::Loss);
    near(flow.kikolo.cwnd(), 95.0, 1e-9); // from slow start
    near(flow.kikolo.ssthresh(), 50.0, 1e-9);
    assert_eq!(flow.kikolo.region(), Region::Additive);
    flow.congestion(CongestionKind::Loss);
    near(flow.kikolo.cwnd(), 0.75 * 95.0, 1e-9);
    near(flow.kikolo.ssthresh(), 47.5, 1e-9);
    flow.congestion(CongestionKind::Timeout { repeated: false });
    near(flow.kikolo.ssthresh(), 0.375 * 95.0, 1e-9);
}

/// Table I for windows below ssthresh: one segment for each ACK, and beta_3 at a loss.
#[test]
fn with_ssthresh_at_the_window_of_the_loss_the_first_column_of_table_1_follows_every_loss() {
    let mut flow = HandDriven::new(Parameters { threshold: Threshold::Unreduced, ..Parameters::default() });
    (0..90).for_each(|_| flow.ack(true));
    flow.congestion(CongestionKind::Loss);
    assert_eq!((flow.kikolo.cwnd(), flow.kikolo.ssthresh()), (95.0, 100.0));
    flow.ack(true);
    near(flow.kikolo.cwnd(), 96.0, 1e-9);
    flow.congestion(CongestionKind::Loss);
    near(flow.kikolo.cwnd(), 0.95 * 96.0, 1e-9);
    near(flow.kikolo.ssthresh(), 96.0, 1e-9);
}

#[test]
fn ssthresh_may_be_set_by_the_first_loss_and_by_timeouts_only() {
    let mut flow = HandDriven::new(Parameters { threshold_by: ThresholdBy::First, ..Parameters::default() });
    (0..90).for_each(|_| flow.ack(true));
    flow.congestion(CongestionKind::Loss);
    assert_eq!((flow.kikolo.cwnd(), flow.kikolo.ssthresh()), (95.0, 95.0));
    flow.congestion(CongestionKind::Loss);
    near(flow.kikolo.cwnd(), 0.85 * 95.0, 1e-9);
    assert_eq!(flow.kikolo.ssthresh(), 95.0);
    flow.congestion(CongestionKind::Loss); // below ssthresh
    near(flow.kikolo.cwnd(), 0.95 * 0.85 * 95.0, 1e-9);
    assert_eq!(flow.kikolo.ssthresh(), 95.0);
    flow.congestion(CongestionKind::Timeout { repeated: false });
    near(flow.kikolo.ssthresh(), 0.95 * 0.95 * 0.85 * 95.0, 1e-9);
}

/// HyStart++ (RFC 9406) sets ssthresh at its end, which is no reduction.
#[test]
fn the_first_loss_sets_ssthresh_also_behind_a_slow_start_that_has_set_it() {
    let mut flow = HandDriven::new(Parameters { threshold_by: ThresholdBy::First, ..Parameters::default() });
    (0..90).for_each(|_| flow.ack(true));
    flow.kikolo.window.ssthresh = 100.0;
    flow.congestion(CongestionKind::Loss);
    near(flow.kikolo.ssthresh(), 85.0, 1e-9);
    flow.congestion(CongestionKind::Loss);
    near(flow.kikolo.ssthresh(), 85.0, 1e-9);
}

#[test]
fn figure_1_transitions() {
    use State::{S0, S1, S2, S3};
    assert_eq!([S0, S1, S2, S3].map(State::on_ack), [S1, S2, S2, S2]);
    assert_eq!([S0, S1, S2, S3].map(State::on_signal), [S0, S0, S3, S3]);
    assert_eq!([S0, S1, S2, S3].map(|state| state.on_third_duplicate(ThirdDuplicate::ToS0)), [S0, S1, S2, S0]);
    assert_eq!([S0, S1, S2, S3].map(|state| state.on_third_duplicate(ThirdDuplicate::ToS1)), [S0, S1, S2, S1]);
}

/// A flow whose events the test triggers one by one.
struct HandDriven {
    kikolo: Kikolo,
    now: Time,
}

impl HandDriven {
    fn new(parameters: Parameters) -> HandDriven {
        HandDriven { kikolo: Kikolo::new(parameters, flow(1)), now: Time::ZERO }
    }

    fn ack(&mut self, advanced: bool) {
        let ack = AckEvent {
            now: self.now,
            delivered: 1,
            cumulative: 1,
            growth: u32::from(advanced),
            may_grow: u32::from(advanced),
            advanced,
            duplicate: !advanced,
            newly_lost: 0,
            prior_in_flight: 10,
            in_flight: 9,
            outstanding: 9,
            rtt: None,
            rate: None,
            round_start: false,
            in_recovery: false,
            ecn_echo: false,
            marked: 0,
        };
        self.kikolo.on_ack(&ack, &rtt_estimate());
    }

    fn congestion(&mut self, kind: CongestionKind) {
        self.kikolo.on_congestion(&CongestionEvent { now: self.now, kind, prior_in_flight: 10 }, &rtt_estimate());
    }

    /// A duplicate ACK of the model: it signals in level L, and is the third one in S3.
    fn model_duplicate(&mut self) {
        match self.kikolo.state() {
            State::S1 | State::S2 => self.congestion(CongestionKind::Loss),
            State::S0 | State::S3 => self.ack(false),
        }
    }
}

#[test]
fn under_poisson_acks_and_duplicates_the_occupancy_is_the_equilibrium() {
    for lambda in [1.0, 3.0, 10.0, 30.0] {
        let mut flow = HandDriven::new(Parameters::default());
        let mut random = Sequence::new(Stream::new(7, Purpose::Congestion, 0));
        for _ in 0..400_000 {
            flow.now += Duration::from_secs_f64(random.exponential(1.0 / (lambda + 1.0)));
            if random.uniform() < 1.0 / (lambda + 1.0) { flow.model_duplicate() } else { flow.ack(true) }
        }
        let times = flow.kikolo.state_times();
        let total: f64 = times.iter().map(|(_, time)| time.as_secs()).sum();
        for ((name, time), expected) in times.iter().zip(equilibrium(lambda, 1.0)) {
            let share = time.as_secs() / total;
            assert!((share - expected).abs() < 0.01, "lambda {lambda}: {name} {share} is not {expected}");
        }
    }
}

#[test]
fn a_loss_cuts_by_the_region_and_the_ramp_up_follows() {
    let mut flow = HandDriven::new(Parameters::default());
    (0..90).for_each(|_| flow.ack(true));
    near(flow.kikolo.cwnd(), 100.0, 1e-9); // slow start from 10
    flow.congestion(CongestionKind::Loss);
    near(flow.kikolo.cwnd(), 95.0, 1e-9);
    assert_eq!(flow.kikolo.state(), State::S3);
    flow.now += Duration::from_millis(100);
    flow.ack(true);
    near(flow.kikolo.cwnd(), 95.0, 1e-9); // the step out of S3 adds nothing
    flow.ack(true);
    near(flow.kikolo.cwnd(), 95.0 + 4.0 / 95.0, 1e-9); // the ramp-up, coarse: below the last loss
    while flow.kikolo.region() == Region::RampUp {
        flow.ack(true);
    }
    let before = flow.kikolo.cwnd();
    flow.ack(true);
    near(flow.kikolo.cwnd(), before + 1.0 / before, 1e-9);
    while flow.kikolo.cwnd() <= 100.0 {
        flow.ack(true);
    }
    let before = flow.kikolo.cwnd();
    flow.ack(true);
    near(flow.kikolo.cwnd(), before + 0.85 / before, 1e-9); // refined: beyond the last loss
    let before = flow.kikolo.cwnd();
    flow.congestion(CongestionKind::Loss);
    near(flow.kikolo.cwnd(), 0.75 * before, 1e-9);
}

#[test]
fn a_timeout_keeps_the_state_and_slow_start_leads_back_to_ssthresh() {
    let mut flow = HandDriven::new(Parameters::default());
    (0..90).for_each(|_| flow.ack(true));
    flow.congestion(CongestionKind::Timeout { repeated: false });
    assert_eq!((flow.kikolo.cwnd(), flow.kikolo.ssthresh(), flow.kikolo.state()), (1.0, 95.0, State::S2));
    (0..94).for_each(|_| flow.ack(true));
    assert_eq!((flow.kikolo.cwnd(), flow.kikolo.region()), (95.0, Region::RampUp));
}

#[test]
fn only_a_later_duplicate_is_the_third() {
    for (third_duplicate, state) in [(ThirdDuplicate::ToS0, State::S0), (ThirdDuplicate::ToS1, State::S1)] {
        let mut flow = HandDriven::new(Parameters { third_duplicate, ..Parameters::default() });
        flow.ack(true);
        flow.ack(true);
        flow.now += Duration::from_millis(1);
        flow.congestion(CongestionKind::Loss);
        flow.ack(false); // the same ACK, which was the second duplicate
        assert_eq!(flow.kikolo.state(), State::S3);
        flow.now += Duration::from_millis(1);
        flow.ack(false);
        assert_eq!(flow.kikolo.state(), state);
    }
}

fn goodput_under_random_loss(control: impl CongestionControl) -> f64 {
    let path = Path { rate: 1000.0, delay: Duration::from_millis(100), buffer: 100.0, loss: 3e-3 };
    let mut bench = Bench::new(control, path);
    bench.run(10.0);
    bench.run(100.0).goodput
}

#[test]
fn section_iv_random_loss_costs_it_less_than_a_flow_that_halves() {
    let kikolo = goodput_under_random_loss(Kikolo::new(Parameters::default(), flow(1)));
    let newreno = goodput_under_random_loss(NewReno::new(newreno::Parameters::default(), flow(1)));
    assert!(kikolo > 1.2 * newreno, "{kikolo} against {newreno}");
}
