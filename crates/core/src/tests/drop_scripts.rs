//! Lists of lost packets on one path, and the reaction of each detector, with times computed by hand.
//!
//! Data is sent at 8 Mbit/s over 50 ms, so that a segment of 1000 bytes takes 1 ms. ACKs (40 bytes) are sent at 8 Gbit/s over 50 ms and
//! take 40 ns. Ten segments sent at 0 arrive at 51, 52, ... 60 ms, their ACKs at 101, 102, ... 110 ms and 40 ns. Each further turn from
//! data to ACK adds 40 ns.

use crate::packet::Simulation;
use crate::spec::RunSpec;
use serde_json::{Value, json};

const MS: u64 = 1_000_000_000;
const SEGMENT: u64 = 960;

/// A path on which the data packets and ACKs with these numbers (from 1) are lost.
struct Script {
    segments: Option<u64>,
    data: Vec<u64>,
    acks: Vec<u64>,
    stack: Value,
    spec: Value,
}

fn script(segments: u64, data: &[u64]) -> Script {
    Script { segments: Some(segments), data: data.to_vec(), acks: Vec::new(), stack: json!({}), spec: json!({}) }
}

/// The outcome of a script: the table of the flow.
struct Outcome(Simulation);

impl Outcome {
    fn count(&self, name: &str) -> u64 {
        self.0.flow_table().numbers(name)[0] as u64
    }

    /// Delivery time of the last byte, in nanoseconds.
    fn end(&self) -> u64 {
        (self.0.flow_table().numbers("end_s")[0] * 1e9).round() as u64
    }

    fn repairs(&self) -> (u64, u64) {
        (self.count("retransmits"), self.count("timeouts"))
    }
}

fn extend(target: &mut Value, changes: &Value) {
    target.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
}

impl Script {
    fn stack(mut self, changes: Value) -> Script {
        extend(&mut self.stack, &changes);
        self
    }

    fn acks(mut self, lost: &[u64]) -> Script {
        self.acks = lost.to_vec();
        self
    }

    fn run(&self) -> Outcome {
        let loss = |packets: &[u64]| json!({"model": "list", "packets": packets});
        let queue = json!({"discipline": "drop-tail", "limit": {"packets": 1000}});
        let link = |src: u32, dst: u32, rate: u64, loss: Value| json!({"src": src, "dst": dst, "rate": rate, "delay": 50 * MS, "cost": 1.0, "queue": queue, "loss": loss});
        let mut stack = json!({
            "name": "", "congestion": {"name": "newreno"}, "slow_start": {"name": "classic"},
            "detection": {"name": "dup-ack"},
            "ack": {"name": "immediate"}, "sack": true, "spurious": "none", "f_rto": false, "limited_transmit": true,
            "ecn": false, "pacing": false, "handshake": false, "mss": SEGMENT, "header": 40, "initial_window": 10,
            "receive_window": 1_000_000, "min_rto": 200 * MS, "max_rto": 60_000 * MS, "initial_rto": 1000 * MS});
        extend(&mut stack, &self.stack);
        let mut spec = json!({
            "seed": 1, "duration": 30_000 * MS, "warm_up": 0, "sample": null, "nodes": ["a", "b"],
            "links": [link(0, 1, 8_000_000, loss(&self.data)), link(1, 0, 8_000_000_000, loss(&self.acks))],
            "stacks": [stack],
            "routings": [{"name": "", "hops": {"kind": "shortest", "metric": "hop-count"}, "select": {"name": "hash"},
                          "per": {"unit": "flow"}, "hash": [], "acks": null, "reconverge": null}],
            "traffic": [{"name": "", "pairs": [[0, 1]], "flows_per_pair": 1, "transport": {"tcp": {"stack": 0}},
                         "routing": 0, "start": 0, "stagger": 0, "stop": null,
                         "application": {"kind": "bulk", "bytes": self.segments.map(|segments| segments * SEGMENT)}}],
            "events": [], "captures": []});
        extend(&mut spec, &self.spec);
        let spec: RunSpec = serde_json::from_value(spec).expect("a run");
        let mut simulation = Simulation::new(spec).expect("a run that can be");
        while simulation.advance(1 << 20) {}
        Outcome(simulation)
    }
}

#[test]
fn nothing_lost() {
    let outcome = script(10, &[]).run();
    assert_eq!((outcome.end(), outcome.repairs()), (60_000_000, (0, 0)));
}

#[test]
fn dup_ack_with_sack_repairs_two_holes_at_their_third_sacks() {
    let outcome = script(10, &[3, 7]).run();
    // 2 is lost when 3, 4, 5 are sacked, at 106 ms; 6 when 7, 8, 9 are, at 110 ms. PRR allows both: at 106 ms six were
    // in flight, ssthresh is 3; at 110 ms only the retransmission of 2 is. 110 + 1 + 50 ms and 40 ns.
    assert_eq!((outcome.end(), outcome.repairs()), (161_000_040, (2, 0)));
    assert_eq!(outcome.count("recoveries"), 1);
}

#[test]
fn dup_ack_without_sack_repairs_one_hole_a_round_trip() {
    let outcome = script(10, &[3, 7]).stack(json!({"sack": false})).run();
    // 2 again at 106 ms, there at 157, its partial ACK (RFC 6582) at 207 ms and 80 ns: 6 again, there 51 ms later.
    assert_eq!((outcome.end(), outcome.repairs()), (258_000_080, (2, 0)));
    assert_eq!(outcome.count("recoveries"), 1);
}

#[test]
fn a_lost_tail_waits_for_the_retransmission_timer_without_a_probe() {
    let outcome = script(10, &[10]).run();
    // The ACK of 8 restarts the timer at 109 ms and 40 ns. RTTVAR has shrunk: the RTO is the least, 200 ms. 309 + 51 ms.
    assert_eq!((outcome.end(), outcome.repairs()), (360_000_040, (1, 1)));
}

/// SRTT (RFC 6298) after ACKs of the first `acks` segments, in nanoseconds.
fn smoothed(acks: u64) -> f64 {
    (1..=acks)
        .map(|number| (100.0 + number as f64) * 1e6 + 40.0)
        .reduce(|srtt, rtt| 0.875 * srtt + 0.125 * rtt)
        .unwrap()
}

#[test]
fn rack_tlp_probes_two_lost_at_the_tail_after_two_round_trips() {
    let outcome = script(10, &[9, 10]).stack(json!({"detection": {"name": "rack-tlp"}, "min_rto": 1000 * MS})).run();
    // The last ACK, of 7, arrives at 108 ms and 40 ns. The probe, 9 again, is sent two SRTTs later (RFC 8985 section 7.2; two are
    // outstanding). Its SACK, 101 ms later, shows that 8, sent before it, is lost. The retransmission of 8 arrives 51 ms later.
    let expected = 108_000_040.0 + 2.0 * smoothed(8) + 101_000_040.0 + 51_000_000.0;
    assert!((outcome.end() as f64 - expected).abs() <= 2.0, "{} and not {expected}", outcome.end());
    assert_eq!(outcome.repairs(), (2, 0));
}

/// Segments 0 to 15 are packets 1 to 16, and the third packet is lost. The ACKs of 0 and 1 open the window by one each. Limited transmit
/// adds 14 and 15 for the SACKs of 3 and 4. Segment 2 is retransmitted as packet 17, with the SACK of 5 at 106 ms and 40 ns. The window
/// was 12: PRR allows 16 with the second SACK after that, at 108 ms.
#[test]
fn rack_finds_a_lost_retransmission_where_dup_ack_needs_the_timer() {
    let run = |detection: &str, lost: &[u64]| {
        script(17, lost).stack(json!({"detection": {"name": detection}, "min_rto": 1000 * MS})).run()
    };
    for detection in ["rack-tlp", "dup-ack"] {
        let once = run(detection, &[3]);
        assert_eq!((once.end(), once.repairs()), (159_000_040, (1, 0)), "{detection}"); // 16 arrives after 2
    }
    // Segment 16 was sent after the retransmission. Its SACK arrives 101 ms and 40 ns later: 2 is lost again (RFC 8985 section 6.2 step
    // 5; in recovery without reordering seen there is no reordering window, step 4). Its next copy arrives 51 ms later.
    let outcome = run("rack-tlp", &[3, 17]);
    assert_eq!((outcome.end(), outcome.repairs(), outcome.count("recoveries")), (260_000_080, (2, 0), 1));
    // The timer runs from the fast retransmission (RFC 6675 section 6) for a second.
    let outcome = run("dup-ack", &[3, 17]);
    assert_eq!((outcome.end(), outcome.repairs()), (1_157_000_040, (2, 1)));
}

/// Without reordering the adaptive thresholds are 3, and over one path that of the number of paths is as well.
#[test]
fn thresholds_that_have_seen_no_reordering_do_as_dup_ack_does() {
    for detection in ["path-count", "rr-tcp", "tcp-ba"] {
        let outcome = script(10, &[3, 7]).stack(json!({"detection": {"name": detection}})).run();
        assert_eq!((outcome.end(), outcome.repairs()), (161_000_040, (2, 0)), "{detection}");
    }
}

/// The third of twenty segments is lost. The window is 12 when 3 is sacked, at 104 ms. The SACKs of 3 to 9 arrive until 110 ms. Segments
/// 10 to 13 are sent two at a time at 101 and 102 ms; their SACKs arrive from 202 to 205 ms. The SACK of 14 arrives at 206 ms. Each of
/// these times is 80 ns later.
#[test]
fn tcp_ncr_waits_for_the_share_of_a_flight_that_it_lets_grow() {
    let run =
        |variant: &str| script(20, &[3]).stack(json!({"detection": {"name": "tcp-ncr", "variant": variant}})).run();
    // Careful: 14 to 19 are sent with every second SACK, the last with the eleventh. Two thirds of 18 outstanding segments are 12, which
    // the SACK of 14 reaches. 206 + 51 ms.
    let careful = run("careful");
    assert_eq!((careful.end(), careful.repairs()), (257_000_080, (1, 0)));
    // Aggressive: all of 14 to 19 until 109 ms. Half of 18 is 9: the SACK of 11, at 203 ms.
    let aggressive = run("aggressive");
    assert_eq!((aggressive.end(), aggressive.repairs()), (254_000_080, (1, 0)));
}

#[test]
fn tcp_pr_resends_at_three_times_the_greatest_rtt() {
    let outcome = script(10, &[3]).stack(json!({"detection": {"name": "tcp-pr"}})).run();
    // Sent at 0; the greatest RTT is that of 9, 110 ms and 40 ns. 330 + 51 ms.
    assert_eq!((outcome.end(), outcome.repairs()), (381_000_120, (1, 0)));
}

#[test]
fn tcp_ba_with_a_time_delay_resends_half_an_rtt_after_the_first_duplicate_ack() {
    let detection = json!({"detection": {"name": "tcp-ba", "variant": "time-delay"}});
    let outcome = script(10, &[3]).stack(detection).run();
    // The first duplicate ACK, of 3, comes at 104 ms and 40 ns and is the third RTT sample.
    let srtt = [101_000_040.0, 102_000_040.0, 104_000_040.0].into_iter().reduce(|srtt, rtt| 0.875 * srtt + 0.125 * rtt);
    let expected = 104_000_040.0 + srtt.unwrap() / 2.0 + 51_000_000.0;
    assert!((outcome.end() as f64 - expected).abs() <= 2.0, "{} and not {expected}", outcome.end());
    assert_eq!(outcome.repairs(), (1, 0));
}

#[test]
fn fast_rto_resends_by_age_alone_and_doubles_while_nothing_is_delivered() {
    // gamma makes RTOest more than the bound: FastRTO is 150 ms exactly.
    let detection = json!({"detection": {"name": "fast-rto", "gamma": 100.0, "max_rto": 150 * MS}});
    let outcome = script(10, &[10]).stack(detection.clone()).run();
    // Sent at 0, lost at 150 ms, there at 201.
    assert_eq!((outcome.end(), outcome.repairs()), (201_000_000, (1, 0)));
    let outcome = script(10, &[10, 11]).stack(detection.clone()).run();
    // Lost again: the timeout doubles for segments sent after the first expiry. 150 + 300 + 51 ms.
    assert_eq!((outcome.end(), outcome.repairs()), (501_000_000, (2, 0)));
    let outcome = script(10, &[3, 7]).stack(detection).run();
    // Neither waits for duplicates: both are lost at 150 ms. PRR allows one without an ACK (RFC 6937: its slow-start bound is one more
    // than was delivered), and the other with the ACK of the first, 101 ms later.
    assert_eq!((outcome.end(), outcome.repairs()), (302_000_040, (2, 0)));
}

/// Slow start overflows the queue, and hundreds of segments expire, most of which had arrived. Each spurious retransmission causes a
/// duplicate ACK, which must not make room a second time. The link carries 1000 segments a second, and the sender must send no more than
/// that.
#[test]
fn fast_rto_without_sack_does_not_flood_a_path_that_it_has_overflowed() {
    let queue = json!({"discipline": "drop-tail", "limit": {"packets": 100}});
    let link = |src: u32, dst: u32| json!({"src": src, "dst": dst, "rate": 8_000_000, "delay": 50 * MS, "cost": 1.0, "queue": queue, "loss": null});
    let spec = json!({"links": [link(0, 1), link(1, 0)]});
    let stack = json!({"detection": {"name": "fast-rto"}, "sack": false, "receive_window": 64_000_000});
    let outcome = Script { segments: None, spec, ..script(0, &[]) }.stack(stack).run();
    assert!(outcome.count("segments_sent") < 31_000, "{} segments in 30 s", outcome.count("segments_sent"));
    let delivered = outcome.count("delivered_bytes") / SEGMENT;
    assert!(delivered > 28_000, "{delivered} of some 30000 segments");
}

#[test]
fn a_dead_link_is_tried_at_doubled_intervals() {
    let outcome = script(1, &[1, 2, 3]).run();
    // RFC 6298 (5.5): at 0, 1, 3 and 7 s.
    assert_eq!((outcome.end(), outcome.repairs()), (7_051_000_000, (3, 3)));
    let outcome = script(1, &[1, 2, 3]).stack(json!({"max_rto": 1500 * MS})).run();
    assert_eq!(outcome.end(), 4_051_000_000); // 0, 1, 2.5, 4 s
}

#[test]
fn limited_transmit_saves_a_small_window_from_the_timer() {
    let small = |limited: bool| script(5, &[1]).stack(json!({"initial_window": 3, "limited_transmit": limited})).run();
    // The ACKs of 1 and 2 arrive at 102 and 103 ms. Each allows a new segment, which arrives at 153 and 154 ms. The ACK of the first new
    // segment, at 203 ms and 80 ns, is the third duplicate. It causes the retransmission of 0, which arrives 51 ms later.
    let outcome = small(true);
    assert_eq!((outcome.end(), outcome.repairs()), (254_000_080, (1, 0)));
    assert_eq!(small(false).repairs(), (1, 1));
}

#[test]
fn the_initial_window_takes_a_round_trip_for_each_doubling() {
    // 1, 2, 4, 8: fifteen segments in four round trips. The first of each flight is acknowledged 101 ms and 40 ns after it
    // was sent; the last one's eight segments take 8 ms.
    let outcome = script(15, &[]).stack(json!({"initial_window": 1})).run();
    assert_eq!(outcome.end(), 3 * 101_000_040 + 58_000_000);
    let outcome = script(15, &[]).stack(json!({"initial_window": 15})).run();
    assert_eq!(outcome.end(), 65_000_000);
}

#[test]
fn a_handshake_is_a_round_trip_and_a_lost_syn_a_second() {
    // 40 bytes last 40 us on the way there and 40 ns back.
    let handshake = 50_040_000 + 50_000_040;
    let outcome = script(1, &[]).stack(json!({"handshake": true})).run();
    assert_eq!(outcome.end(), handshake + 51_000_000);
    let outcome = script(1, &[1]).stack(json!({"handshake": true})).run();
    assert_eq!(outcome.end(), 1_000_000_000 + handshake + 51_000_000);
    // A lost SYN-ACK costs the same.
    let outcome = script(1, &[]).acks(&[1]).stack(json!({"handshake": true})).run();
    assert_eq!(outcome.end(), 1_000_000_000 + handshake + 51_000_000);
}

#[test]
fn a_lone_segment_waits_for_the_delayed_ack_timer() {
    let stack = json!({"initial_window": 1, "ack": {"name": "delayed"}});
    let outcome = script(2, &[]).stack(stack).run();
    // 0 arrives at 51 ms and is acknowledged 200 ms later: 1 leaves at 301 ms and 40 ns.
    assert_eq!(outcome.end(), 352_000_040);
    // The second of two segments triggers the ACK at once: 52 + 50 ms.
    let outcome = script(4, &[]).stack(json!({"initial_window": 2, "ack": {"name": "delayed"}})).run();
    assert_eq!(outcome.end(), 102_000_040 + 52_000_000);
}

#[test]
fn the_receive_window_is_carried_once_a_round_trip() {
    let mut script = script(1, &[]).stack(json!({"receive_window": 5 * SEGMENT}));
    script.segments = None;
    script.spec = json!({"warm_up": 1000 * MS});
    let goodput = script.run().0.flow_table().numbers("goodput_bps")[0];
    let expected = 5.0 * 960.0 * 8.0 / 0.101_000_04;
    assert!((goodput / expected - 1.0).abs() < 0.01, "{goodput} and not {expected}");
}

#[test]
fn lost_acks_cost_nothing_while_a_later_one_comes() {
    let outcome = script(10, &[]).acks(&[1, 2, 3, 4, 5, 6, 7, 8, 9]).run();
    assert_eq!((outcome.end(), outcome.repairs()), (60_000_000, (0, 0)));
    // Without the last ACK, the sender retransmits; the application already has all data.
    let outcome = script(10, &[]).acks(&[10]).run();
    assert_eq!((outcome.end(), outcome.repairs()), (60_000_000, (1, 1)));
    assert_eq!(outcome.count("spurious_retransmits"), 1);
}

#[test]
fn rfc3168_section_6_1_4_an_ack_is_never_marked() {
    let mut script = script(200, &[]).stack(json!({"ecn": true}));
    let queue = json!({"discipline": "ecn-threshold", "limit": {"packets": 1000}, "mark": 0});
    script.spec = json!({"links": [
        {"src": 0, "dst": 1, "rate": 8_000_000, "delay": 50 * MS, "cost": 1.0, "loss": null,
         "queue": {"discipline": "drop-tail", "limit": {"packets": 1000}}},
        {"src": 1, "dst": 0, "rate": 8_000_000, "delay": 50 * MS, "cost": 1.0, "loss": null,
         "queue": queue}]});
    let outcome = script.run();
    assert_eq!(outcome.0.link_table().numbers("marks"), [0.0, 0.0]);
    assert!(outcome.count("cwnd_segments") > 100, "no echo has come, slow start goes on");
}
