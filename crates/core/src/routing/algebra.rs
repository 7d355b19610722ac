//! The laws that a metric needs for Dijkstra's method and for hop-by-hop forwarding.
//!
//! A routing algebra (Sobrinho 2005; Yang and Wang 2008) has weights, a neutral one, a way to extend a path, and an order.
//! All algebras here commute: the order of a path's links does not change its weight, so extending at the front and at the end are
//! equal. Two laws decide where an algebra can be used:
//!
//! - **monotone**: a path is never better than its part, `a <= a + c`;
//! - **isotone**: the better of two paths stays better when both are extended by the same path, `a <= b` implies `a + c <= b + c`.
//!
//! With both laws, Dijkstra's method finds the best paths, and every part of a best path is a best path. So routers that forward along
//! their own best paths agree. The tests below check both laws for every metric.

use std::fmt::Debug;

/// The weight of a path in a routing algebra; less is better.
///
/// The order includes tie-breakers, at least the number of hops: every link makes a path strictly heavier.
pub trait PathWeight: Copy + Ord + Debug {
    /// The weight of a path of no links.
    const IDENTITY: Self;

    /// The weight of this path and another, one after the other.
    fn extend(self, by: Self) -> Self;

    /// Whether both are equally good by the metric, without tie-breakers.
    fn ties(self, other: Self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::super::Link;
    use super::super::lexicographic::{Lexicographic, link_weight};
    use super::super::metric::{Weight, metric_value};
    use super::super::tcpbp::Label;
    use super::super::test_support::link;
    use super::*;
    use crate::spec::{LossSpec, Metric};
    use crate::units::{Duration, Rate};
    use proptest::prelude::*;
    use std::cmp::Ordering;

    /// Order by the metric alone.
    fn compare<W: PathWeight>(a: W, b: W) -> Ordering {
        if a.ties(b) { Ordering::Equal } else { a.cmp(&b) }
    }

    /// Whether `a` and `b`, extended by `c`, contradict isotonicity.
    fn breaks_isotonicity<W: PathWeight>(a: W, b: W, c: W) -> bool {
        let (a, b) = if compare(a, b).is_gt() { (b, a) } else { (a, b) };
        compare(a.extend(c), b.extend(c)).is_gt()
    }

    fn breaks_monotonicity<W: PathWeight>(a: W, c: W) -> bool {
        compare(a.extend(c), a).is_lt()
    }

    /// Links of few different values, so that ties are frequent.
    fn any_link() -> impl Strategy<Value = Link> {
        let loss = prop_oneof![Just(0.0), Just(1e-4), Just(0.01), 1e-6..0.5];
        (1..8_u64, loss, 1..8_u64, 1..8_u32).prop_map(|(delay, loss, rate, cost)| {
            let mut spec = link(0, 1);
            spec.delay = Duration::from_millis(delay);
            spec.rate = Rate(rate * 30_000_000);
            spec.cost = f64::from(cost);
            spec.loss = Some(LossSpec::bernoulli(loss));
            Link::from(&spec)
        })
    }

    /// Paths of up to three links.
    fn any_path() -> impl Strategy<Value = Vec<Link>> {
        prop::collection::vec(any_link(), 1..4)
    }

    fn weight_of<W: PathWeight>(path: &[Link], of_link: impl Fn(&Link) -> W) -> W {
        path.iter().fold(W::IDENTITY, |weight, link| weight.extend(of_link(link)))
    }

    fn of_kind(bottleneck: bool) -> Vec<Metric> {
        Metric::ALL.iter().copied().filter(|metric| metric.is_bottleneck() == bottleneck).collect()
    }

    fn additive(metric: Metric) -> impl Fn(&Link) -> Weight {
        move |link| Weight::of_link(metric_value(0, link, metric).unwrap())
    }

    fn lexicographic(metrics: &[Metric]) -> impl Fn(&Link) -> Lexicographic + '_ {
        |link| link_weight(0, link, metrics).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn additive_metrics_are_isotone_and_monotone(a in any_path(), b in any_path(), c in any_path()) {
            for metric in of_kind(false) {
                let [a, b, c] = [&a, &b, &c].map(|path| weight_of(path, additive(metric)));
                prop_assert!(!breaks_isotonicity(a, b, c), "{metric:?}");
                prop_assert!(!breaks_monotonicity(a, c), "{metric:?}");
            }
        }

        #[test]
        fn widest_and_what_has_it_last_are_isotone_and_monotone(
            a in any_path(), b in any_path(), c in any_path(), mut metrics in Just(of_kind(false)).prop_shuffle(),
            before in 0..4_usize,
        ) {
            metrics.truncate(before);
            metrics.push(Metric::Widest);
            let [a, b, c] = [&a, &b, &c].map(|path| weight_of(path, lexicographic(&metrics)));
            prop_assert!(!breaks_isotonicity(a, b, c), "{metrics:?}");
            prop_assert!(!breaks_monotonicity(a, c), "{metrics:?}");
        }

        #[test]
        fn sums_one_after_the_other_are_isotone_and_monotone(
            a in any_path(), b in any_path(), c in any_path(), metrics in Just(of_kind(false)).prop_shuffle(),
        ) {
            let [a, b, c] = [&a, &b, &c].map(|path| weight_of(path, lexicographic(&metrics)));
            prop_assert!(!breaks_isotonicity(a, b, c), "{metrics:?}");
            prop_assert!(!breaks_monotonicity(a, c), "{metrics:?}");
        }

        #[test]
        fn tcpbp_is_monotone(a in any_path(), c in any_path()) {
            let [a, c] = [&a, &c].map(|path| weight_of(path, Label::of_link));
            prop_assert!(!breaks_monotonicity(a, c));
        }
    }

    fn a_link(milliseconds: u64, loss: f64, rate: u64) -> Link {
        Link { delay: Duration::from_millis(milliseconds), loss, rate: Rate(rate), ..Link::from(&link(0, 1)) }
    }

    #[test]
    fn tcpbp_is_not_isotone() {
        // 1 ms at 9 % costs 0.3, 2 ms at 3 % costs 0.346; after 10 ms at 0.1 % the second is the better: 2.11 against 3.32.
        let [a, b, c] =
            [a_link(1, 0.09, 1), a_link(2, 0.03, 1), a_link(10, 0.001, 1)].map(|link| Label::of_link(&link));
        assert!(a < b && breaks_isotonicity(a, b, c));
    }

    #[test]
    fn what_follows_widest_is_not_isotone() {
        // 20 Mbit/s in 2 ms is wider than 10 Mbit/s in 1 ms; behind a link of 5 Mbit/s both are as wide, the second is faster.
        let metrics = [Metric::Widest, Metric::Delay];
        let of_link = lexicographic(&metrics);
        let [a, b, c] = [a_link(2, 0.0, 20_000_000), a_link(1, 0.0, 10_000_000), a_link(1, 0.0, 5_000_000)]
            .map(|link| of_link(&link));
        assert!(a < b && breaks_isotonicity(a, b, c));
    }
}
