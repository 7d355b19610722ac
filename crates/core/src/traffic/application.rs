//! The writes of one flow's application.

use crate::rng::{Sequence, Stream};
use crate::spec::ApplicationSpec;
use crate::traffic::distribution::EmpiricalDistribution;
use crate::units::{Duration, Rate, Time};

/// The writes of one flow's application, one after another.
#[derive(Debug, Clone)]
pub struct Application(Model);

#[derive(Debug, Clone)]
enum Model {
    /// All data is written at the start.
    Bulk,
    Constant(Clock),
    Poisson {
        mean_interval: f64,
        draws: Sequence,
    },
    ParetoOnOff(ParetoOnOff),
}

impl Application {
    /// The application of a flow whose unit (the payload of a full segment, or a datagram) has `unit_bytes`. The spec must
    /// have passed [`check`]. The draws are the flow's, for [`crate::rng::Purpose::Application`].
    pub fn new(spec: &ApplicationSpec, unit_bytes: u32, stream: Stream) -> Application {
        let clock = |rate: Rate| Clock { rate, unit_bytes: u64::from(unit_bytes), ticks: 0 };
        let mut draws = Sequence::new(stream);
        Application(match *spec {
            ApplicationSpec::Bulk { .. } | ApplicationSpec::ShortFlows { .. } | ApplicationSpec::Trace { .. } => {
                Model::Bulk
            }
            ApplicationSpec::Constant { rate } => Model::Constant(clock(rate)),
            ApplicationSpec::Poisson { rate } => {
                Model::Poisson { mean_interval: f64::from(unit_bytes) * 8.0 / rate.as_bps(), draws }
            }
            ApplicationSpec::ParetoOnOff { peak, on, off, shape } => {
                let begins_on = draws.uniform() * (on.as_secs() + off.as_secs()) < on.as_secs();
                Model::ParetoOnOff(ParetoOnOff {
                    clock: clock(peak),
                    on: on.as_secs(),
                    off: off.as_secs(),
                    shape,
                    phase: if begins_on { Phase::BeforeOn } else { Phase::BeforeOff },
                    draws,
                })
            }
        })
    }

    /// The time from the previous write (at first: from the flow's start) to the next one, of one unit. `None` for a bulk, short or
    /// traced flow, which writes all at its start, and for a write later than [`Time::NEVER`].
    pub fn next_write(&mut self) -> Option<Duration> {
        let gap = match &mut self.0 {
            Model::Bulk => return None,
            Model::Constant(clock) => clock.next_interval(),
            Model::Poisson { mean_interval, draws } => Duration::from_secs_f64(draws.exponential(*mean_interval)),
            Model::ParetoOnOff(model) => model.next_interval(),
        };
        (gap.0 < Time::NEVER.0).then_some(gap)
    }
}

/// Writes at a constant rate, the first at once. The n-th is due when the rate has carried n units, so rounding to
/// picoseconds does not accumulate.
#[derive(Debug, Clone)]
struct Clock {
    rate: Rate,
    unit_bytes: u64,
    ticks: u64,
}

impl Clock {
    fn next_interval(&mut self) -> Duration {
        let due = |ticks: u64| self.rate.serialization_delay(ticks * self.unit_bytes);
        let interval = due(self.ticks) - due(self.ticks.saturating_sub(1));
        self.ticks += 1;
        interval
    }
}

/// A clock that stops while the source is off. An interval between writes may extend over off periods. So the mean rate is
/// peak x on / (on + off) even if few writes fit into an on period.
#[derive(Debug, Clone)]
struct ParetoOnOff {
    clock: Clock,
    on: f64,
    off: f64,
    shape: f64,
    phase: Phase,
    draws: Sequence,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    BeforeOff,
    BeforeOn,
    On { left: Duration },
}

impl ParetoOnOff {
    fn next_interval(&mut self) -> Duration {
        let mut on_needed = self.clock.next_interval();
        let mut gap = Duration::ZERO;
        while gap.0 < Time::NEVER.0 {
            self.phase = match self.phase {
                Phase::BeforeOff => {
                    gap = gap + self.draw(self.off);
                    Phase::BeforeOn
                }
                Phase::BeforeOn => Phase::On { left: self.draw(self.on) },
                Phase::On { left } if left < on_needed => {
                    on_needed = on_needed - left;
                    gap = gap + left;
                    Phase::BeforeOff
                }
                Phase::On { left } => {
                    self.phase = Phase::On { left: left - on_needed };
                    return gap + on_needed;
                }
            }
        }
        gap
    }

    /// A Pareto duration, at most as long as any run.
    fn draw(&mut self, mean: f64) -> Duration {
        Duration::from_secs_f64(self.draws.pareto(mean, self.shape)).min(Duration(Time::NEVER.0))
    }
}

/// Refuses an application that cannot run.
///
/// # Errors
/// A sentence that names the field, its value and its range.
pub fn check(spec: &ApplicationSpec) -> Result<(), String> {
    let positive = |name: &str, value: u64, unit: &str| match value {
        0 => Err(format!("{name} is 0 {unit}: it must be positive")),
        _ => Ok(()),
    };
    match spec {
        ApplicationSpec::Bulk { bytes } => positive("bytes", bytes.unwrap_or(1), "bytes"),
        ApplicationSpec::Constant { rate } | ApplicationSpec::Poisson { rate } => positive("rate", rate.0, "bit/s"),
        ApplicationSpec::ParetoOnOff { peak, on, shape, .. } => {
            positive("peak", peak.0, "bit/s")?;
            positive("on", on.0, "s")?;
            if shape.is_finite() && *shape > 1.0 {
                Ok(())
            } else {
                Err(format!("shape is {shape}: it must be greater than 1, for a mean to exist"))
            }
        }
        ApplicationSpec::ShortFlows { arrivals, sizes } => {
            if !(arrivals.is_finite() && *arrivals > 0.0) {
                return Err(format!("arrivals is {arrivals}: it must be a positive number of flows per second"));
            }
            EmpiricalDistribution::new(sizes).map(|_| ()).map_err(|problem| format!("sizes: {problem}"))
        }
        ApplicationSpec::Trace { flows, after } => {
            if let Some(number) = flows.iter().position(|(_, _, bytes)| *bytes == 0) {
                return Err(format!("flow {number} of the trace has 0 bytes: it must have a byte at least"));
            }
            match after.iter().find(|(flow, earlier)| earlier >= flow || *flow as usize >= flows.len()) {
                Some((flow, earlier)) => {
                    Err(format!("flow {flow} of {} waits for flow {earlier}: it must be an earlier one", flows.len()))
                }
                None => Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;
    use proptest::prelude::*;

    fn application(spec: &ApplicationSpec, unit_bytes: u32, flow: u64) -> Application {
        check(spec).unwrap();
        Application::new(spec, unit_bytes, Stream::new(1, Purpose::Application, flow))
    }

    fn intervals(spec: &ApplicationSpec, unit_bytes: u32, writes: usize) -> Vec<Duration> {
        let mut application = application(spec, unit_bytes, 0);
        (0..writes).map(|_| application.next_write().unwrap()).collect()
    }

    #[test]
    fn constant_writes_at_once_and_then_at_the_rate() {
        let spec = ApplicationSpec::Constant { rate: Rate(8_000_000) };
        let millisecond = Duration::from_millis(1);
        assert_eq!(intervals(&spec, 1000, 3), [Duration::ZERO, millisecond, millisecond]);
    }

    #[test]
    fn constant_does_not_drift_where_an_interval_is_no_whole_picosecond() {
        // Three units of a byte take 8 s at 3 bit/s.
        let spec = ApplicationSpec::Constant { rate: Rate(3) };
        let total: u64 = intervals(&spec, 1, 3001).iter().map(|interval| interval.0).sum();
        assert_eq!(Duration(total), Duration::from_secs(8000));
    }

    #[test]
    fn poisson_intervals_have_the_mean_and_variance_of_an_exponential() {
        let seconds: Vec<f64> = intervals(&ApplicationSpec::Poisson { rate: Rate(8_000_000) }, 1000, 200_000)
            .iter()
            .map(|interval| interval.as_secs() * 1e3)
            .collect();
        let mean = seconds.iter().sum::<f64>() / 2e5;
        let variance = seconds.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 2e5;
        assert!((mean - 1.0).abs() < 0.01, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.03, "variance {variance}");
    }

    #[test]
    fn pareto_on_off_has_its_mean_rate_even_if_on_times_are_shorter_than_an_interval() {
        for (on, off) in [(20, 30), (1, 4)] {
            let spec = ApplicationSpec::ParetoOnOff {
                peak: Rate(4_000_000),
                on: Duration::from_millis(on),
                off: Duration::from_millis(off),
                shape: 2.5,
            };
            // 1000 bytes at 4 Mbit/s: 2 ms of on time for each write.
            let total: f64 = intervals(&spec, 1000, 300_000).iter().map(|interval| interval.as_secs()).sum();
            let rate = 299_999.0 * 8000.0 / total;
            let expected = 4e6 * on as f64 / (on + off) as f64;
            assert!((rate / expected - 1.0).abs() < 0.03, "{rate} for {expected}");
        }
    }

    #[test]
    fn pareto_on_off_writes_at_its_peak_while_on() {
        let spec = ApplicationSpec::ParetoOnOff {
            peak: Rate(8_000_000),
            on: Duration::from_millis(100),
            off: Duration::from_millis(100),
            shape: 1.5,
        };
        let intervals = intervals(&spec, 1000, 10_000);
        let peak = intervals.iter().filter(|interval| **interval == Duration::from_millis(1)).count();
        // The least on time is a third of the mean: at least 33 writes between two off times.
        assert!(peak > 9_600, "{peak} of 10000 at the peak rate");
        assert!(intervals[1..].iter().all(|interval| *interval >= Duration::from_millis(1)));
    }

    #[test]
    fn sources_begin_on_as_often_as_they_are_on() {
        let spec = ApplicationSpec::ParetoOnOff {
            peak: Rate(8_000_000),
            on: Duration::from_millis(100),
            off: Duration::from_millis(300),
            shape: 1.5,
        };
        let at_once = (0..10_000).filter(|flow| application(&spec, 1000, *flow).next_write() == Some(Duration::ZERO));
        let share = at_once.count() as f64 / 1e4;
        assert!((share - 0.25).abs() < 0.02, "{share}");
    }

    #[test]
    fn bulk_writes_nothing_after_its_start() {
        assert_eq!(application(&ApplicationSpec::Bulk { bytes: None }, 1000, 0).next_write(), None);
    }

    #[test]
    fn check_names_the_field_and_its_value() {
        let error = |spec| check(&spec).unwrap_err();
        assert!(error(ApplicationSpec::Constant { rate: Rate(0) }).contains("rate is 0 bit/s"));
        assert!(error(ApplicationSpec::Bulk { bytes: Some(0) }).contains("bytes is 0"));
        let pareto = |on, shape| ApplicationSpec::ParetoOnOff { peak: Rate(1), on, off: Duration::ZERO, shape };
        assert!(error(pareto(Duration::ZERO, 1.5)).contains("on is 0"));
        assert!(error(pareto(Duration(1), 1.0)).contains("shape is 1"));
        let short = |arrivals, sizes| ApplicationSpec::ShortFlows { arrivals, sizes };
        assert!(error(short(f64::NAN, vec![(1.0, 1.0)])).contains("arrivals is NaN"));
        assert!(error(short(1.0, vec![])).contains("sizes: the distribution has no points"));
        let trace = vec![(0, Duration::ZERO, 1), (0, Duration::ZERO, 0)];
        assert!(
            error(ApplicationSpec::Trace { flows: trace, after: Vec::new() })
                .contains("flow 1 of the trace has 0 bytes")
        );
    }

    proptest! {
        #[test]
        fn no_spec_within_its_range_panics_or_writes_beyond_the_end_of_time(
            rate in 1u64..1_000_000_000_000, on in 1u64..1 << 50, off in 0u64..1 << 50, shape in 1.000_001f64..10.0,
            unit_bytes in 1u32..100_000,
        ) {
            // On times of much less than an interval only make the test long.
            let on = Duration(on).max(Duration(Rate(rate).serialization_delay(u64::from(unit_bytes)).0 / 100));
            let specs = [
                ApplicationSpec::Constant { rate: Rate(rate) },
                ApplicationSpec::Poisson { rate: Rate(rate) },
                ApplicationSpec::ParetoOnOff { peak: Rate(rate), on, off: Duration(off), shape },
            ];
            for spec in specs {
                let mut application = application(&spec, unit_bytes, 0);
                for _ in 0..50 {
                    if let Some(gap) = application.next_write() {
                        prop_assert!(gap.0 < Time::NEVER.0);
                    }
                }
            }
        }
    }
}
