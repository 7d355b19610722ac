//! A threshold of duplicate ACKs by the number of paths over which packets are sprayed (Lee, Park and Choi, "Improving TCP
//! Performance in Multipath Packet Forwarding Networks"). With more paths, more segments may overtake a late one.
//!
//! The routing defines the number of paths when the flow starts; a flow on a single path has one.

use super::DetectorContext;
use super::dup_ack::{DuplicateAcks, Fixed, LEAST_THRESHOLD};

crate::parameters! {
    /// The threshold of one path.
    pub struct Parameters {
        /// Duplicate ACKs that make a loss on a single path (DupThresh, RFC 5681 section 3.2: 3).
        pub threshold: u32 = LEAST_THRESHOLD, in 1..=1_000_000;
    }
}

/// `threshold (1 + floor(log2 N))` for N paths.
pub fn threshold(threshold: u32, paths: u32) -> u32 {
    threshold * (1 + paths.max(1).ilog2())
}

/// The threshold is fixed once the paths are counted.
pub struct PathCount;

impl PathCount {
    /// A flow that has not sent yet.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(parameters: Parameters, flow: DetectorContext) -> DuplicateAcks<Fixed> {
        DuplicateAcks::with_policy(Fixed(threshold(parameters.threshold, flow.paths)), flow)
    }
}

#[cfg(test)]
mod tests {
    use super::super::DetectionSpec;
    use super::super::script::{Driver, ms, stream};
    use super::*;
    use crate::units::Duration;

    #[test]
    fn the_papers_thresholds() {
        let thresholds = [1, 2, 3, 4, 7, 8, 15].map(|paths| threshold(3, paths));
        assert_eq!(thresholds, [3, 6, 6, 9, 9, 12, 12]);
        assert_eq!(threshold(3, 0), 3);
    }

    /// Two paths (the driver's flow): six segments above a hole make it lost, five do not.
    #[test]
    fn over_two_paths_the_sixth_segment_above_makes_a_loss() {
        let mut driver = Driver::of(&DetectionSpec::PathCount(Parameters::default()), true);
        (0..10).for_each(|_| driver.send_new());
        driver.now = ms(100);
        driver.acknowledge(0, &[(1, 6)]);
        assert_eq!(driver.decisions, []);
        driver.acknowledge(0, &[(1, 7)]);
        assert_eq!(driver.decisions[0].lost, [0]);
    }

    /// Segments on the longer of two paths are overtaken by five others: too many for three duplicate ACKs, and not for six.
    #[test]
    fn what_two_paths_reorder_is_no_loss_for_the_threshold_of_two_paths() {
        let decisions = |spec: &DetectionSpec| {
            let mut driver = Driver::of(spec, true);
            let fate = |segment: u32, _| Some(Duration::from_micros(50_000 + if segment % 8 == 3 { 5_500 } else { 0 }));
            stream(&mut driver, 480, Duration::from_millis(1), fate);
            driver.decisions.len()
        };
        assert_eq!(decisions(&DetectionSpec::PathCount(Parameters::default())), 0);
        assert!(decisions(&DetectionSpec::PathCount(Parameters { threshold: 1 })) > 20);
    }
}
