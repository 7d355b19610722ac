//! Probability that a sender takes a packet for lost because later packets overtake it on shorter paths.

/// Logarithm of a probability that counts as 0. No control answers events so rare.
const NEVER: f64 = -40.0;

/// Probability that `threshold` duplicate ACKs arrive for a packet that is not lost. Each packet takes a random path. The sender sends `rate` packets a
/// second at random times. A path is a pair: its share of the packets and its delay in seconds.
///
/// The derivation looks back in time from the arrival of one packet. Earlier arrivals also come at this rate. Some of them arrived `t` before the packet,
/// over a path that is shorter by more than `t`. They were sent after the packet, so each causes a duplicate ACK. All others were sent before it: until
/// they arrived, duplicate ACKs were for other packets. So the last `threshold` arrivals must all be of the first kind.
///
/// With one kind of short path of share s, and delay differences that are long compared with `threshold / rate`, the result is (1 - s) s^threshold. This
/// is the probability of Fukushima et al. 2016, section 4.2.
pub fn probability(paths: &[(f64, f64)], rate: f64, threshold: usize) -> f64 {
    let mut leads = Vec::with_capacity(paths.len());
    paths.iter().map(|(share, delay_s)| share * for_one(paths, *delay_s, rate, threshold, &mut leads)).sum()
}

/// Returns this probability for a packet whose path has the delay `delay_s`.
fn for_one(paths: &[(f64, f64)], delay_s: f64, rate: f64, threshold: usize, leads: &mut Vec<(f64, f64)>) -> f64 {
    leads.clear();
    leads.extend(paths.iter().map(|(share, other_s)| (delay_s - other_s, *share)).filter(|(lead_s, _)| *lead_s > 0.0));
    leads.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let mut later: f64 = leads.iter().map(|(_, share)| share).sum();
    let longest_s = leads.last().map_or(0.0, |(lead_s, _)| *lead_s);
    // The computation takes the square of `threshold`. High thresholds seldom need it.
    if log_bound(later, rate * longest_s, threshold as f64) < NEVER {
        return 0.0;
    }
    // At index n: the probability that there were n arrivals until now, and that all of them caused a duplicate ACK.
    let mut so_many = vec![0.0; threshold];
    so_many[0] = 1.0;
    let (mut found, mut until_s) = (0.0, 0.0);
    for (lead_s, share) in leads.iter() {
        let arrivals = rate * (lead_s - until_s);
        let step: Vec<f64> = poisson(arrivals, threshold).collect();
        for known in (0..threshold).rev() {
            let missing = threshold - known;
            let enough = 1.0 - step[..missing].iter().sum::<f64>();
            found += so_many[known] * later.powi(missing as i32) * enough.max(0.0);
            so_many[known] = (0..=known).map(|more| so_many[known - more] * later.powi(more as i32) * step[more]).sum();
        }
        until_s = *lead_s;
        later -= share;
    }
    found
}

/// Upper bound of the logarithm of the probability: all `threshold` arrivals come over shorter paths, which have the share `later`. They all come within a
/// time in which `mean` arrivals are expected (Chernoff's bound of a Poisson distribution).
fn log_bound(later: f64, mean: f64, threshold: f64) -> f64 {
    let enough = if threshold > mean { threshold - mean + threshold * libm::log(mean / threshold) } else { 0.0 };
    threshold * libm::log(later) + enough
}

/// The Poisson probabilities of 0, 1, ... events with the mean `mean`.
fn poisson(mean: f64, count: usize) -> impl Iterator<Item = f64> {
    (1..=count).scan(libm::exp(-mean), move |next, events| {
        let this = *next;
        *next *= mean / events as f64;
        Some(this)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Stream};

    /// `short` of four paths at 2 ms, the others `d_s` longer.
    fn mix(short: usize, d_s: f64) -> Vec<(f64, f64)> {
        (0..4).map(|path| (0.25, if path < short { 2e-3 } else { 2e-3 + d_s })).collect()
    }

    #[test]
    fn with_long_differences_it_is_the_papers_probability() {
        // Printed: about 0.012 for SLLL, 0.063 for SSLL and 0.11 for SSSL.
        for (short, printed) in [(1, 0.012), (2, 0.063), (3, 0.11)] {
            let found = probability(&mix(short, 1.0), 2500.0, 3);
            assert!((found / printed - 1.0).abs() < 0.06, "{short} short paths: {found}");
        }
    }

    #[test]
    fn a_threshold_that_no_packet_reaches_needs_no_computation() {
        // Without the bound, a million duplicate ACKs would take hours.
        assert!(probability(&mix(2, 1.0), 2500.0, 1_000_000) < 1e-15);
        assert!(probability(&[(0.999, 0.0), (1e-3, 1.0)], 2500.0, 1_000_000) < 1e-15);
        // The bound leaves what counts: here all later arrivals take the shorter path.
        for threshold in [10, 40] {
            let expected = 0.1 * 0.9_f64.powi(threshold);
            let found = probability(&[(0.9, 0.0), (0.1, 1.0)], 2500.0, threshold as usize);
            assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
        }
    }

    #[test]
    fn equal_paths_never_overtake() {
        assert!(probability(&mix(4, 1.0), 2500.0, 3) < 1e-15);
        assert!(probability(&mix(2, 0.0), 2500.0, 3) < 1e-15);
    }

    #[test]
    fn it_is_the_share_of_packets_with_so_many_duplicate_acks() {
        let paths = [(0.2, 2e-3), (0.3, 3e-3), (0.5, 4.1e-3)];
        let (rate, packets) = (2000.0, 100_000_u64);
        let (gaps, choices) = (Stream::new(1, Purpose::Loss, 0), Stream::new(1, Purpose::Loss, 1));
        let mut sent_s = 0.0;
        let mut arrivals: Vec<(f64, u64)> = (0..packets)
            .map(|number| {
                sent_s -= (1.0 - gaps.uniform(number)).ln() / rate;
                let draw = choices.uniform(number);
                let path = if draw < 0.2 { 0 } else { 1 + usize::from(draw >= 0.5) };
                (sent_s + paths[path].1, number)
            })
            .collect();
        arrivals.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let (mut expected, mut duplicates, mut taken_for_lost) = (0, 0, 0.0);
        let mut waiting = std::collections::BTreeSet::new();
        for (_, number) in arrivals {
            if number != expected {
                waiting.insert(number);
                duplicates += 1;
                continue;
            }
            taken_for_lost += f64::from(u8::from(duplicates >= 3));
            duplicates = 0;
            expected += 1;
            while waiting.remove(&expected) {
                expected += 1;
            }
        }
        let (counted, found) = (taken_for_lost / packets as f64, probability(&paths, rate, 3));
        assert!((counted / found - 1.0).abs() < 0.05, "{counted} counted, {found} by the formula");
    }
}
