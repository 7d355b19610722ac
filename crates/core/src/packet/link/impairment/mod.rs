//! Loss on a wire, as a function of the link and of how many packets have arrived at it.
//!
//! The draw for a packet is a hash of the link and the packet's arrival index ([`crate::rng`]): it does not depend on
//! what happens elsewhere, nor on the order in which an engine visits the links.

use crate::rng::{Purpose, Stream};
use crate::spec::{LinkId, LossSpec, stationary_bad};

/// Decides for the packets of one link, in the order of their arrival, which are lost.
#[derive(Debug, Clone)]
pub struct LossProcess(Model);

#[derive(Debug, Clone)]
enum Model {
    None,
    Bernoulli { chance: Chance, stream: Stream, arrivals: u64 },
    GilbertElliott(GilbertElliott),
    Periodic { every: u64, until_next: u64 },
    List { packets: Vec<u64>, next: usize, arrivals: u64 },
}

impl LossProcess {
    /// The process of `link` in the run of this `seed`. The spec must have passed [`check`].
    pub fn new(spec: &LossSpec, seed: u64, link: LinkId) -> LossProcess {
        LossProcess::after_changes(spec, seed, link, 0)
    }

    /// The process of `link` after its loss has changed so many times: with draws of its own.
    pub fn after_changes(spec: &LossSpec, seed: u64, link: LinkId, changes: u32) -> LossProcess {
        let owner = u64::from(changes) << 32 | u64::from(link);
        let stream = Stream::new(seed, Purpose::Loss, owner);
        LossProcess(match spec {
            LossSpec::None => Model::None,
            LossSpec::Bernoulli { ratio } => Model::Bernoulli { chance: Chance::new(*ratio), stream, arrivals: 0 },
            LossSpec::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let states = Stream::new(seed, Purpose::LossState, owner);
                Model::GilbertElliott(GilbertElliott {
                    good_to_bad: Chance::new(*good_to_bad),
                    bad_to_good: Chance::new(*bad_to_good),
                    loss_good: Chance::new(*loss_good),
                    loss_bad: Chance::new(*loss_bad),
                    bad: Chance::new(stationary_bad(*good_to_bad, *bad_to_good)).hits(states.bits(0)),
                    losses: stream,
                    states,
                    arrivals: 0,
                })
            }
            LossSpec::Periodic { every } => Model::Periodic { every: *every, until_next: *every },
            LossSpec::List { packets } => Model::List { packets: packets.clone(), next: 0, arrivals: 0 },
        })
    }

    /// Whether the next packet to arrive is lost. To be called exactly once per packet.
    #[inline(never)]
    pub fn is_lost(&mut self) -> bool {
        match &mut self.0 {
            Model::None => false,
            Model::Bernoulli { chance, stream, arrivals } => {
                *arrivals += 1;
                chance.hits(stream.bits(*arrivals))
            }
            Model::GilbertElliott(model) => model.is_lost(),
            Model::Periodic { every, until_next } => {
                *until_next -= 1;
                let lost = *until_next == 0;
                if lost {
                    *until_next = *every;
                }
                lost
            }
            Model::List { packets, next, arrivals } => {
                *arrivals += 1;
                let lost = packets.get(*next) == Some(arrivals);
                *next += usize::from(lost);
                lost
            }
        }
    }
}

/// The two-state channel. A packet meets the state that the packets before it left behind; the first one meets a state
/// drawn from the stationary law, so that the loss ratio does not depend on the position in the run.
#[derive(Debug, Clone)]
struct GilbertElliott {
    good_to_bad: Chance,
    bad_to_good: Chance,
    loss_good: Chance,
    loss_bad: Chance,
    bad: bool,
    losses: Stream,
    states: Stream,
    arrivals: u64,
}

impl GilbertElliott {
    fn is_lost(&mut self) -> bool {
        self.arrivals += 1;
        let (loss, leave) =
            if self.bad { (self.loss_bad, self.bad_to_good) } else { (self.loss_good, self.good_to_bad) };
        let lost = loss.hits(self.losses.bits(self.arrivals));
        self.bad ^= leave.hits(self.states.bits(self.arrivals));
        lost
    }
}

/// A probability in units of 2^-63, so that 0 never hits and 1 always does.
#[derive(Debug, Clone, Copy)]
struct Chance(u64);

impl Chance {
    fn new(probability: f64) -> Chance {
        Chance((probability * (1u64 << 63) as f64) as u64)
    }

    #[inline]
    fn hits(self, bits: u64) -> bool {
        (bits >> 1) < self.0
    }
}

/// Refuses what is no loss model.
///
/// # Errors
/// A sentence that names the field, its value and its range.
pub fn check(spec: &LossSpec) -> Result<(), String> {
    match spec {
        LossSpec::None => Ok(()),
        LossSpec::Bernoulli { ratio } if (0.0..=1.0).contains(ratio) => Ok(()),
        LossSpec::Bernoulli { ratio } => Err(format!("ratio is {ratio}: it must be between 0 and 1")),
        LossSpec::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
            let fields = [
                ("good_to_bad", good_to_bad),
                ("bad_to_good", bad_to_good),
                ("loss_good", loss_good),
                ("loss_bad", loss_bad),
            ];
            for (name, value) in fields {
                if !(0.0..=1.0).contains(value) {
                    return Err(format!("{name} is {value}: it must be between 0 and 1"));
                }
            }
            Ok(())
        }
        LossSpec::Periodic { every: 0 } => Err("every is 0: it must be at least 1".into()),
        LossSpec::Periodic { .. } => Ok(()),
        LossSpec::List { packets } => {
            if packets.first() == Some(&0) {
                return Err("packets contains 0: packets are counted from 1".into());
            }
            match packets.windows(2).find(|pair| pair[0] >= pair[1]) {
                Some(pair) => {
                    Err(format!("packets has {} before {}: the numbers must be ascending, each once", pair[0], pair[1]))
                }
                None => Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn losses(spec: &LossSpec, seed: u64, link: LinkId, packets: usize) -> Vec<bool> {
        let mut process = LossProcess::new(spec, seed, link);
        (0..packets).map(|_| process.is_lost()).collect()
    }

    fn ratio(lost: &[bool]) -> f64 {
        lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
    }

    #[test]
    fn bernoulli_loses_its_ratio_and_one_loss_says_nothing_about_the_next() {
        let lost = losses(&LossSpec::Bernoulli { ratio: 0.02 }, 5, 3, 1_000_000);
        // Five standard deviations of the binomial: 5 sqrt(0.02 * 0.98 / 1e6).
        assert!((ratio(&lost) - 0.02).abs() < 7e-4, "{}", ratio(&lost));
        let after_a_loss: Vec<bool> = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
        assert!((ratio(&after_a_loss) - 0.02).abs() < 5e-3, "{}", ratio(&after_a_loss));
    }

    #[test]
    fn bernoulli_with_ratio_zero_loses_nothing() {
        assert_eq!(ratio(&losses(&LossSpec::Bernoulli { ratio: 0.0 }, 1, 0, 100_000)), 0.0);
    }

    #[test]
    fn losses_differ_between_links_and_seeds_and_repeat_otherwise() {
        let spec = LossSpec::Bernoulli { ratio: 0.5 };
        assert_eq!(losses(&spec, 1, 1, 64), losses(&spec, 1, 1, 64));
        assert_ne!(losses(&spec, 1, 1, 64), losses(&spec, 1, 2, 64));
        assert_ne!(losses(&spec, 1, 1, 64), losses(&spec, 2, 1, 64));
    }

    #[test]
    fn gilbert_bursts_are_geometric_with_the_mean_of_the_bad_state() {
        // Gilbert's channel with certain loss in the bad state: a loss burst is a stay in the bad state.
        let spec = LossSpec::GilbertElliott { good_to_bad: 0.01, bad_to_good: 0.25, loss_good: 0.0, loss_bad: 1.0 };
        let lost = losses(&spec, 9, 1, 2_000_000);
        assert!((spec.stationary_ratio() - 0.01 / 0.26).abs() < 1e-12);
        assert!((ratio(&lost) / spec.stationary_ratio() - 1.0).abs() < 0.03, "{}", ratio(&lost));
        let bursts: Vec<usize> = lost.split(|lost| !lost).map(<[bool]>::len).filter(|length| *length > 0).collect();
        let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
        assert!((mean - 4.0).abs() < 0.12, "mean burst {mean}");
        let single = bursts.iter().filter(|length| **length == 1).count() as f64 / bursts.len() as f64;
        assert!((single - 0.25).abs() < 0.02, "bursts of one: {single}");
    }

    #[test]
    fn gilbert_elliott_mixes_the_loss_ratios_of_its_states() {
        let spec = LossSpec::GilbertElliott { good_to_bad: 0.02, bad_to_good: 0.08, loss_good: 0.01, loss_bad: 0.3 };
        // A fifth of the time bad: 0.8 * 0.01 + 0.2 * 0.3.
        assert!((spec.stationary_ratio() - 0.068).abs() < 1e-12);
        let lost = losses(&spec, 2, 4, 1_000_000);
        assert!((ratio(&lost) - 0.068).abs() < 0.003, "{}", ratio(&lost));
    }

    #[test]
    fn gilbert_elliott_meets_its_stationary_law_from_the_first_packet() {
        let spec = LossSpec::GilbertElliott { good_to_bad: 0.001, bad_to_good: 0.003, loss_good: 0.0, loss_bad: 1.0 };
        let first: Vec<bool> = (0..20_000).map(|link| losses(&spec, 1, link, 1)[0]).collect();
        assert!((ratio(&first) - 0.25).abs() < 0.02, "{}", ratio(&first));
    }

    #[test]
    fn periodic_loses_every_nth_packet() {
        let lost = losses(&LossSpec::Periodic { every: 3 }, 1, 1, 9);
        assert_eq!(lost, [false, false, true, false, false, true, false, false, true]);
    }

    #[test]
    fn a_list_loses_exactly_the_packets_it_names_counted_from_one() {
        let lost = losses(&LossSpec::List { packets: vec![1, 4, 5] }, 1, 1, 7);
        assert_eq!(lost, [true, false, false, true, true, false, false]);
    }

    #[test]
    fn an_outage_is_a_loss_of_one() {
        let bad = LossSpec::GilbertElliott { good_to_bad: 1.0, bad_to_good: 0.0, loss_good: 1.0, loss_bad: 1.0 };
        for spec in [LossSpec::Bernoulli { ratio: 1.0 }, LossSpec::Periodic { every: 1 }, bad] {
            assert_eq!(check(&spec), Ok(()));
            assert_eq!(spec.stationary_ratio(), 1.0);
            assert!(losses(&spec, 1, 1, 1000).into_iter().all(|lost| lost), "{spec:?}");
        }
    }

    #[test]
    fn check_names_the_field_and_its_value() {
        let error = |spec| check(&spec).unwrap_err();
        assert!(error(LossSpec::Bernoulli { ratio: 1.5 }).contains("ratio is 1.5"));
        assert!(error(LossSpec::Bernoulli { ratio: f64::NAN }).contains("ratio is NaN"));
        assert!(error(LossSpec::Periodic { every: 0 }).contains("every is 0"));
        assert!(error(LossSpec::List { packets: vec![0, 1] }).contains("counted from 1"));
        assert!(error(LossSpec::List { packets: vec![3, 3] }).contains("3 before 3"));
        let channel = |bad_to_good, loss_good| LossSpec::GilbertElliott {
            good_to_bad: 0.1,
            bad_to_good,
            loss_good,
            loss_bad: 1.0,
        };
        assert!(error(channel(0.5, -0.1)).contains("loss_good is -0.1"));
        assert_eq!(check(&channel(0.5, 0.0)), Ok(()));
    }

    proptest! {
        #[test]
        fn a_list_loses_what_it_names_as_far_as_packets_arrive(
            packets in proptest::collection::btree_set(1u64..200, 0..40), arriving in 0usize..250,
        ) {
            let spec = LossSpec::List { packets: packets.iter().copied().collect() };
            prop_assert_eq!(check(&spec), Ok(()));
            let lost: Vec<u64> = losses(&spec, 1, 1, arriving)
                .iter().zip(1u64..).filter(|(lost, _)| **lost).map(|(_, number)| number).collect();
            let expected: Vec<u64> = packets.into_iter().filter(|number| *number <= arriving as u64).collect();
            prop_assert_eq!(lost, expected);
        }
    }
}
