//! Instants, durations and rates as types, so that no sum mixes them.
//!
//! Time is counted in whole picoseconds: a 64-byte ACK at 400 Gbit/s lasts 1280 ps, which nanoseconds would round.
//! A [`Time`] fits in 56 bits (20 hours), because the packet engine keeps flags in the upper byte.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant of virtual time: picoseconds since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

/// A span of virtual time, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration(pub u64);

/// A bit rate, in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub u64);

/// A number of this size or more has no fraction bits, so adding this constant rounds, half to even.
const NO_FRACTION: f64 = (1u64 << 52) as f64;

/// `value.round()` of a number from 0 to 2^52, without a call.
#[inline]
pub fn nearest_whole(value: f64) -> f64 {
    nearest_whole_plus(value, 0.0)
}

/// `value.round() + whole` of a number and a whole number, both from 0 to 2^52, without a call. The sum is ready one step earlier than with two calls.
#[inline]
pub fn nearest_whole_plus(value: f64, whole: f64) -> f64 {
    let rounded = value + NO_FRACTION; // a half to even
    let sum = rounded + (whole - NO_FRACTION);
    if value - (rounded - NO_FRACTION) >= 0.5 { one_more(sum) } else { sum }
}

/// A call instead of a conditional move: the condition is almost always false, so a branch costs nothing.
#[cold]
#[inline(never)]
fn one_more(sum: f64) -> f64 {
    sum + 1.0
}

/// `value.min(limit)` of numbers, which are never NaN: one instruction.
#[inline(always)]
pub fn at_most(value: f64, limit: f64) -> f64 {
    if value < limit { value } else { limit }
}

/// `value.max(limit)` of numbers, which are never NaN: one instruction.
#[inline(always)]
pub fn at_least(value: f64, limit: f64) -> f64 {
    if value > limit { value } else { limit }
}

/// The nearest whole number, a half upwards; negative and NaN give zero. It is `value.round() as u64`, without a call where
/// that is possible.
#[inline]
fn nearest(value: f64) -> u64 {
    if !(0.0..NO_FRACTION).contains(&value) {
        return value.round() as u64;
    }
    let sum = value + NO_FRACTION;
    let rounded = sum.to_bits() - NO_FRACTION.to_bits();
    rounded + u64::from(value - (sum - NO_FRACTION) >= 0.5)
}

/// `value as f64`, as a signed number where possible, whose conversion is faster.
#[inline]
fn real(value: u64) -> f64 {
    i64::try_from(value).map_or_else(|_| real_of_large(value), |value| value as f64)
}

#[cold]
#[inline(never)] // or both conversions would become one again
fn real_of_large(value: u64) -> f64 {
    value as f64
}

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than any instant of a run.
    pub const NEVER: Time = Time((1 << 56) - 1);

    /// Seconds since the start of the run.
    pub fn as_secs(self) -> f64 {
        real(self.0) / 1e12
    }

    /// The time from `earlier` to `self`, zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);

    /// A whole number of seconds.
    pub const fn from_secs(seconds: u64) -> Duration {
        Duration(seconds * 1_000_000_000_000)
    }

    /// A whole number of milliseconds.
    pub const fn from_millis(milliseconds: u64) -> Duration {
        Duration(milliseconds * 1_000_000_000)
    }

    /// A whole number of microseconds.
    pub const fn from_micros(microseconds: u64) -> Duration {
        Duration(microseconds * 1_000_000)
    }

    /// The nearest whole picosecond to a number of seconds; negative and NaN give zero.
    pub fn from_secs_f64(seconds: f64) -> Duration {
        Duration(nearest(seconds * 1e12))
    }

    /// Seconds.
    pub fn as_secs(self) -> f64 {
        real(self.0) / 1e12
    }

    /// This duration times a factor, to the nearest picosecond.
    pub fn scale(self, factor: f64) -> Duration {
        Duration(nearest(real(self.0) * factor))
    }
}

impl Rate {
    /// The time of a byte at one bit per second.
    const BYTE_PICOSECONDS: u64 = 8 * 1_000_000_000_000;

    /// A rate from bits per second; negative and NaN give zero.
    pub fn from_bps(bits_per_second: f64) -> Rate {
        Rate(nearest(bits_per_second))
    }

    /// Bits per second.
    pub fn as_bps(self) -> f64 {
        real(self.0)
    }

    /// The rate of `part` of every `whole` bytes.
    pub fn share(self, part: u32, whole: u32) -> Rate {
        Rate((u128::from(self.0) * u128::from(part) / u128::from(whole)) as u64)
    }

    /// The time to put `bytes` on a wire of this rate, rounded up to a picosecond. The rate must not be zero.
    pub fn serialization_delay(self, bytes: u64) -> Duration {
        match bytes.checked_mul(Rate::BYTE_PICOSECONDS) {
            Some(product) => Duration(product.div_ceil(self.0)),
            None => {
                Duration((u128::from(bytes) * u128::from(Rate::BYTE_PICOSECONDS)).div_ceil(u128::from(self.0)) as u64)
            }
        }
    }

    /// The time to put a byte on a wire of this rate, if it is a whole number of picoseconds.
    pub fn byte_time(self) -> Option<Duration> {
        let byte = Rate::BYTE_PICOSECONDS;
        (self.0 > 0 && byte.is_multiple_of(self.0)).then(|| Duration(byte / self.0))
    }

    /// Whole bytes that this rate carries in `duration`.
    pub fn bytes_in(self, duration: Duration) -> u64 {
        (u128::from(self.0) * u128::from(duration.0) / 8_000_000_000_000) as u64
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, rhs: Duration) -> Time {
        Time(self.0 + rhs.0)
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, rhs: Duration) -> Time {
        Time(self.0.saturating_sub(rhs.0))
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    fn sub(self, rhs: Time) -> Duration {
        self.since(rhs)
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, rhs: Duration) -> Duration {
        Duration(self.0 + rhs.0)
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, rhs: Duration) -> Duration {
        Duration(self.0.saturating_sub(rhs.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, rhs: u64) -> Duration {
        Duration(self.0 * rhs)
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, rhs: u64) -> Duration {
        Duration(self.0 / rhs)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs())
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn serialization_delay_is_exact_where_the_rate_divides_it() {
        assert_eq!(Rate(1_000_000_000).serialization_delay(1000), Duration::from_micros(8));
        assert_eq!(Rate(400_000_000_000).serialization_delay(64), Duration(1280));
        assert_eq!(Rate(3).serialization_delay(3), Duration::from_secs(8));
    }

    proptest! {
        #[test]
        fn the_nearest_whole_number_is_what_round_gives(bits: u64, small in -3.0..1e7f64, near in 0u64..1 << 53, ulps in -2i64..=2) {
            let half = near as f64 + 0.5;
            let beside = f64::from_bits((half.to_bits() as i64 + ulps) as u64);
            for value in [f64::from_bits(bits), small, beside, -beside] {
                prop_assert_eq!(nearest(value), value.round() as u64, "{}", value);
                if (0.0..NO_FRACTION).contains(&value) {
                    prop_assert_eq!(nearest_whole(value), value.round(), "{}", value);
                    let whole = (near >> 1) as f64;
                    prop_assert_eq!(nearest_whole_plus(value, whole), value.round() + whole, "{} {}", value, whole);
                }
            }
        }
    }

    #[test]
    fn a_product_beyond_64_bits_gives_an_exact_delay_too() {
        assert_eq!(Rate(8_000_000_000).serialization_delay(1 << 40), Duration(1000 << 40));
    }

    #[test]
    fn bytes_in_undoes_serialization_delay() {
        assert_eq!(Rate(10_000_000).bytes_in(Duration::from_millis(1)), 1250);
    }

    #[test]
    fn a_difference_of_instants_never_goes_below_zero() {
        assert_eq!(Time(3) - Time(5), Duration::ZERO);
    }
}
