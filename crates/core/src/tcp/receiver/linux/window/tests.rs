use super::*;
use proptest::prelude::*;
use serde_json::json;

const MSS: u64 = 1448;

fn window(greatest: u64) -> Option<ReceiveWindow> {
    let stack: StackSpec = serde_json::from_value(json!({
        "name": "linux", "congestion": {"name": "newreno"}, "slow_start": {"name": "classic"},
        "detection": {"name": "dup-ack"}, "ack": {"name": "immediate"}, "sack": true, "spurious": "none", "f_rto": false,
        "limited_transmit": true, "ecn": false, "pacing": false, "handshake": true, "mss": MSS, "header": 52,
        "initial_window": 10, "receive_window": greatest, "min_rto": 1, "max_rto": 1, "initial_rto": 1,
        "follows": "linux"}))
    .unwrap();
    ReceiveWindow::of_stack(&stack)
}

/// A receiver without losses, on a path with a round trip of 50 ms and 0.6 ms between segments.
struct Path {
    window: ReceiveWindow,
    next: u32,
    now: Time,
}

impl Path {
    fn new() -> Path {
        Path { window: window(3 << 20).unwrap(), next: 0, now: Time::ZERO }
    }

    /// A round trip with this number of segments.
    fn round(&mut self, segments: u32) {
        let begin = self.now;
        for index in 0..segments {
            let sent = begin + Duration::from_micros(600) * u64::from(index);
            self.now = sent + Duration::from_millis(50);
            let news = News::Passed { from: self.next, to: self.next + 1, held: 0 };
            self.window.on_segment(self.now, timestamp(sent), news);
            self.next += 1;
        }
        self.now = begin + Duration::from_millis(50);
    }
}

/// Windows that Linux 6.1 advertised to a CUBIC flow over 20 Mbit/s and 50 ms. Its rounds had 10, 21, 37 and more than 57 segments.
#[test]
fn the_window_grows_as_that_of_linux_6_1() {
    let mut path = Path::new();
    assert_eq!((path.window.edge, path.window.open), (45, 64_088));
    path.round(10);
    assert_eq!(path.window.open, 64_088, "nothing is known of the round trip");
    path.round(21);
    assert_eq!(path.window.open, 65_988, "11 segments, where 10 were expected");
    path.round(37);
    assert_eq!(path.window.open, 65_988 + 36 * 2 * MSS, "two segments more with each but the first");
    path.round(70);
    assert_eq!(path.window.open, 337_532, "37 segments, after 21");
}

#[test]
fn a_window_that_never_exceeds_the_first_is_open_from_the_start() {
    assert!(window(65_536).is_none() && window(65_537).is_some());
}

/// Ten segments beyond a hole each take half of 2304 bytes. The eleventh fills the hole, and all are unread when its ACK is sent.
#[test]
fn what_is_held_and_unread_takes_room() {
    let at = |milliseconds| Time::ZERO + Duration::from_millis(milliseconds);
    let mut window = ReceiveWindow { room: 200_000, open: 190_000, edge: 0, ..window(3 << 20).unwrap() };
    for held in 1..=10 {
        window.on_segment(at(1), 0, News::Held { held });
    }
    assert_eq!(window.announce(at(1), 0, 0, 10).unwrap().window, ((200_000 - 11_520) / MSS) as u32);
    window.on_segment(at(2), 0, News::Passed { from: 0, to: 11, held: 0 });
    assert_eq!(window.announce(at(2), 11, 11, 0).unwrap().window, ((200_000 - 12_672) / MSS) as u32);
    assert_eq!(window.announce(at(3), 11, 11, 0).unwrap().window, (window.open / MSS) as u32, "all are read");
}

/// After a hole the application reads segment by segment. The first of them ends the measurement, so that the others count in the next.
#[test]
fn what_fills_a_hole_counts_in_the_next_round_trip() {
    let at = |milliseconds| Time::ZERO + Duration::from_millis(milliseconds);
    let mut window = window(3 << 20).unwrap();
    let pass = |window: &mut ReceiveWindow, now, from, to| {
        window.on_segment(now, timestamp(now) - 50, News::Passed { from, to, held: 0 });
    };
    pass(&mut window, at(50), 0, 1);
    pass(&mut window, at(100), 1, 40);
    assert_eq!((window.most_read, window.from), (10, 2));
    pass(&mut window, at(150), 40, 41);
    assert_eq!((window.most_read, window.from), (39, 41));
}

/// A lesser time counts at once, a greater one by an eighth, and each echo once.
#[test]
fn the_round_trip_time_follows_the_least() {
    let mut window = window(3 << 20).unwrap();
    let mut rtt = |now: u64, echo| {
        window.measure_round_trip(Time::ZERO + Duration::from_millis(now), echo);
        window.rtt.unwrap().0 / 1_000_000
    };
    assert_eq!([rtt(50, 1), rtt(59, 2), rtt(80, 2), rtt(90, 50)], [50_000, 51_000, 51_000, 41_000]);
}

proptest! {
    /// For any arrivals, the right edge never moves back, lies within the greatest window, and leaves room for a segment in order.
    #[test]
    fn the_right_edge_never_moves_back(
        greatest in 65_537_u64..4_000_000,
        segments in prop::collection::vec((0_u64..60_000, 0_u32..90, prop::sample::select(vec![0, 0, 1, 2, 30]), any::<bool>()), 1..600),
    ) {
        let mut window = window(greatest).unwrap();
        let (mut now, mut next, mut held, mut edge) = (Time::ZERO, 0, 0, window.edge);
        for (wait, rtt, gap, answers) in segments {
            now += Duration::from_micros(wait);
            let echo = timestamp(now).saturating_sub(rtt);
            if gap > 0 && held + next + gap < edge {
                held += 1;
                window.on_segment(now, echo, News::Held { held });
            } else {
                let to = next + 1 + held;
                window.on_segment(now, echo, News::Passed { from: next, to, held: 0 });
                (next, held) = (to, 0);
            }
            if answers {
                let said = window.announce(now, next, next, held).map_or(window.edge, |said| next + said.window);
                prop_assert!(said >= edge && said > next);
                prop_assert!(u64::from(said - next) * MSS <= greatest);
                edge = said;
            }
        }
    }
}
