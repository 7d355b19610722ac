//! Values that change over time at known instants: the rate of a transmitter, the delay of a wire.
//!
//! All arithmetic is exact. *Work* is counted in bits times picoseconds per second, so that a rate times a duration is a whole number.

use crate::spec::ScheduleSpec;
use crate::units::{Duration, Rate, Time};

/// The work of a byte: eight bits, times the picoseconds of a second.
const BYTE: u128 = 8_000_000_000_000;

/// The work of this number of bytes.
pub fn work(bytes: u64) -> u128 {
    u128::from(bytes) * BYTE
}

/// The instants and the work of one period, and its repetition.
#[derive(Debug)]
struct Period {
    /// The length, picoseconds; `u64::MAX` without repetition.
    length: u64,
    /// The work in one period, or in all time.
    work: u128,
}

impl Period {
    /// The number of whole periods before an instant, and the time since the last of them.
    fn split(&self, time: Time) -> (u128, u64) {
        (u128::from(time.0 / self.length), time.0 % self.length)
    }
}

/// A value that holds from one instant to the next, or changes to the next along a straight line.
#[derive(Debug)]
pub struct Steps {
    /// When each value begins, picoseconds; the first is 0.
    at: Vec<u64>,
    values: Vec<u64>,
    /// The work before each instant, if the values are rates.
    before: Vec<u128>,
    period: Period,
    linear: bool,
}

impl Steps {
    /// Steps of a schedule that has passed [`ScheduleSpec::check`].
    pub fn new(at: &[u64], values: &[u64], repeat: Option<Duration>, linear: bool) -> Steps {
        let mut before = Vec::with_capacity(at.len());
        let mut sum = 0;
        for (index, begin) in at.iter().enumerate() {
            before.push(sum);
            let end = at.get(index + 1).copied().or(repeat.map(|length| length.0)).unwrap_or(*begin);
            sum += u128::from(values[index]) * u128::from(end - begin);
        }
        let period = match repeat {
            Some(length) => Period { length: length.0, work: sum },
            None => Period { length: u64::MAX, work: u128::MAX },
        };
        Steps { at: at.to_vec(), values: values.to_vec(), before, period, linear }
    }

    /// One value at all times.
    pub fn constant(value: u64) -> Steps {
        Steps::new(&[0], &[value], None, false)
    }

    /// The value at an instant.
    pub fn value(&self, time: Time) -> u64 {
        let (_, within) = self.period.split(time);
        let step = self.at.partition_point(|begin| *begin <= within) - 1;
        let (begin, value) = (self.at[step], self.values[step]);
        let (end, next) = match self.at.get(step + 1) {
            Some(end) => (*end, self.values[step + 1]),
            None => (self.period.length, self.values[0]),
        };
        if !self.linear || end == u64::MAX {
            return value;
        }
        let change = u128::from(value.abs_diff(next)) * u128::from(within - begin) / u128::from(end - begin);
        if next < value { value - change as u64 } else { value + change as u64 }
    }

    /// The least value.
    pub fn least(&self) -> u64 {
        self.values.iter().min().copied().unwrap_or(0)
    }

    /// The greatest value.
    pub fn greatest(&self) -> u64 {
        self.values.iter().max().copied().unwrap_or(0)
    }

    fn work_by(&self, time: Time) -> u128 {
        let (periods, within) = self.period.split(time);
        let step = self.at.partition_point(|begin| *begin <= within) - 1;
        let since = u128::from(self.values[step]) * u128::from(within - self.at[step]);
        periods * if periods > 0 { self.period.work } else { 0 } + self.before[step] + since
    }

    fn done(&self, work: u128) -> Time {
        let periods = (work - 1) / self.period.work;
        let rest = work - periods * self.period.work;
        let step = self.before.partition_point(|before| *before < rest) - 1;
        let time = u128::from(self.at[step]) + (rest - self.before[step]).div_ceil(u128::from(self.values[step]));
        instant(periods * u128::from(self.period.length) + time)
    }
}

/// Instants at which a number of bytes may be transmitted.
#[derive(Debug)]
pub struct Opportunities {
    /// In one period, ascending, picoseconds; the last may be its end.
    at: Vec<u64>,
    /// The work of one opportunity.
    each: u128,
    period: Period,
}

impl Opportunities {
    fn work_by(&self, time: Time) -> u128 {
        let (periods, within) = self.period.split(time);
        periods * self.period.work + self.at.partition_point(|at| *at <= within) as u128 * self.each
    }

    fn done(&self, work: u128) -> Time {
        let before = work.div_ceil(self.each) - 1;
        let (periods, index) = (before / self.at.len() as u128, before % self.at.len() as u128);
        instant(periods * u128::from(self.period.length) + u128::from(self.at[index as usize]))
    }
}

/// An instant; one beyond the clock is never.
fn instant(picoseconds: u128) -> Time {
    Time(u64::try_from(picoseconds).unwrap_or(u64::MAX)).min(Time::NEVER)
}

/// The capacity of a transmitter over time.
#[derive(Debug)]
pub enum Capacity {
    /// A rate that holds from one instant to the next.
    Rate(Steps),
    /// Bytes at certain instants. Opportunities that no packet uses are lost.
    Opportunities(Opportunities),
}

impl Capacity {
    /// Capacity of a schedule that has passed [`ScheduleSpec::check`].
    pub fn new(spec: &ScheduleSpec) -> Capacity {
        match spec {
            ScheduleSpec::Steps { at, values, repeat, .. } => Capacity::Rate(Steps::new(at, values, *repeat, false)),
            ScheduleSpec::Opportunities { at, bytes, repeat } => {
                let each = work(u64::from(*bytes));
                let period = Period { length: repeat.0, work: each * at.len() as u128 };
                Capacity::Opportunities(Opportunities { at: at.clone(), each, period })
            }
        }
    }

    /// A constant rate.
    pub fn constant(rate: Rate) -> Capacity {
        Capacity::Rate(Steps::constant(rate.0))
    }

    /// The most work by an instant, and at it.
    pub fn work_by(&self, time: Time) -> u128 {
        match self {
            Capacity::Rate(steps) => steps.work_by(time),
            Capacity::Opportunities(opportunities) => opportunities.work_by(time),
        }
    }

    /// The most work before an instant.
    pub fn work_before(&self, time: Time) -> u128 {
        match self {
            Capacity::Rate(steps) => steps.work_by(time),
            Capacity::Opportunities(_) if time == Time::ZERO => 0,
            Capacity::Opportunities(opportunities) => opportunities.work_by(Time(time.0 - 1)),
        }
    }

    /// Time at which the transmitter begins the work after `work`.
    pub fn begins(&self, work: u128) -> Time {
        match self {
            // Any rate does more than a unit of work in a picosecond.
            Capacity::Rate(steps) => Time(steps.done(work + 1).0 - 1),
            Capacity::Opportunities(opportunities) => opportunities.done(work + 1),
        }
    }

    /// Returns the first instant by which this work can be done, and the transmitter's position in its work at that instant. The next
    /// packet begins at a whole picosecond.
    pub fn ends(&self, work: u128) -> (Time, u128) {
        match self {
            Capacity::Rate(steps) => {
                let end = steps.done(work);
                (end, steps.work_by(end))
            }
            Capacity::Opportunities(opportunities) => (opportunities.done(work), work),
        }
    }

    /// The least time that any packet of this size takes.
    pub fn least_transmission(&self, bytes: u64) -> Duration {
        match self {
            Capacity::Rate(steps) => Rate(steps.greatest()).serialization_delay(bytes),
            Capacity::Opportunities(_) => Duration::ZERO,
        }
    }
}

/// The delays of a schedule that has passed [`ScheduleSpec::check`].
pub fn delays(spec: &ScheduleSpec) -> Steps {
    match spec {
        ScheduleSpec::Steps { at, values, repeat, linear } => Steps::new(at, values, *repeat, *linear),
        ScheduleSpec::Opportunities { .. } => unreachable!("refused: opportunities are no delays"),
    }
}
