//! Properties of every registered detector; [`Driver`] checks them at each step.

use super::DetectorContext;
use super::script::{Driver, every_detector, transfer};
use crate::units::Duration;
use proptest::prelude::*;

/// A random number in 0..1000, always the same for the same transmission.
fn draw(seed: u64, segment: u32, nth: u32) -> u64 {
    crate::rng::Stream::new(seed, crate::rng::Purpose::Loss, u64::from(segment)).below(u64::from(nth), 1000)
}

/// With SACK, thresholds of duplicate ACKs learn only from holes; TCP-NCR also learns from the ACKs of its episodes. Detectors with a clock have
/// deadlines besides the retransmission timer's.
#[test]
fn with_sack_thresholds_learn_from_holes_only_and_clocks_have_their_own_deadlines() {
    let (only_the_timer, from_holes) = (true, false);
    for (name, expected) in [
        ("dup-ack", (only_the_timer, from_holes)),
        ("path-count", (only_the_timer, from_holes)),
        ("rr-tcp", (only_the_timer, from_holes)),
        ("tcp-ba", (!only_the_timer, from_holes)),
        ("tcp-ncr", (only_the_timer, !from_holes)),
        ("tcp-pr", (!only_the_timer, !from_holes)),
        ("rack-tlp", (!only_the_timer, !from_holes)),
        ("fast-rto", (!only_the_timer, !from_holes)),
    ] {
        let spec = every_detector().into_iter().find(|spec| spec.name() == name).expect("a detector of the registry");
        let detector = spec.build(DetectorContext { sack: true, evidence: false, paths: 2 });
        assert_eq!((detector.has_only_the_timer(), detector.learns_from_predicted_acks()), expected, "{name}");
    }
}

proptest! {
    /// For random sends, ACKs, SACKs, retransmissions, DSACKs and pauses: no delivered segment is marked. Data in flight always
    /// has a deadline, and each deadline makes progress.
    #[test]
    fn any_events_keep_the_rules(
        sack: bool,
        steps in prop::collection::vec((0u8..8, 0u32..30, 0u32..6, 0u64..400), 1..150),
    ) {
        for spec in every_detector() {
            let mut driver = Driver::of(&spec, sack);
            let mut probed = 0;
            for &(action, position, length, pause) in &steps {
                driver.pass_until(driver.now + Duration::from_millis(pause / 4));
                let (una, next) = (driver.board.una(), driver.board.next());
                match action {
                    0 | 1 => (0..length).for_each(|_| driver.send_new()),
                    2 => driver.acknowledge((una + length).min(next), &[]),
                    3 | 4 => {
                        let start = una + 1 + position;
                        driver.acknowledge(una, &[(start, start + length)]);
                    }
                    5 | 6 => (0..length).for_each(|_| { driver.retransmit(); }),
                    _ => {
                        let (now, board) = (driver.now, &driver.board);
                        driver.detector.on_spurious(now, una.saturating_sub(position), board);
                    }
                }
                let asked = driver.decisions.iter().filter(|decision| decision.verdict.probe).count();
                let highest = driver.board.next().wrapping_sub(1);
                if asked > probed && driver.board.outstanding() > 0 && !driver.board.is_sacked(highest) {
                    driver.probe(length % 2 == 0);
                }
                probed = asked;
                driver.board.check();
            }
        }
    }

    /// With losses and reordering, the short path of predicted ACKs decides as the general one does, at the same instants.
    #[test]
    fn the_short_path_of_predicted_acks_changes_nothing(
        steps in prop::collection::vec((0u8..10, 0u32..8, 0u32..4, 0u64..60), 1..200),
    ) {
        for spec in every_detector() {
            let mut drivers = [Driver::of(&spec, true), Driver::of(&spec, true)];
            drivers[1].takes_short_path = true;
            for &(action, position, length, pause) in &steps {
                for driver in &mut drivers {
                    driver.pass_until(driver.now + Duration::from_millis(pause));
                    let (una, next) = (driver.board.una(), driver.board.next());
                    match action {
                        0 | 1 => (0..position).for_each(|_| driver.send_new()),
                        2..7 if una < next => (0..length).for_each(|_| {
                            driver.acknowledge((driver.board.una() + 1).min(next), &[]);
                            driver.send_new();
                        }),
                        7 => driver.acknowledge(una, &[(una + 1 + position, una + 1 + position + length)]),
                        8 => driver.acknowledge((una + length).min(next), &[]),
                        _ => while driver.retransmit() {},
                    }
                }
                prop_assert_eq!(drivers[0].deadline(), drivers[1].deadline(), "{:?}", spec);
            }
            prop_assert_eq!(&drivers[0].decisions, &drivers[1].decisions, "{:?}", spec);
        }
    }

    /// With any losses and reordering, each detector finds every loss: the transfer ends.
    #[test]
    fn every_loss_is_found(seed: u64, sack: bool, loss in 0u64..300, spread in 1u64..150, window in 1u32..40) {
        for spec in every_detector() {
            let mut driver = Driver::of(&spec, sack);
            let fate = |segment, nth| {
                let draw = draw(seed, segment, nth);
                (draw >= loss).then(|| Duration::from_millis(50 + draw % spread))
            };
            transfer(&mut driver, 60, window, fate, 20_000);
        }
    }
}
