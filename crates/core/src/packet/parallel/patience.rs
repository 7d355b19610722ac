//! How long a thread looks for the others before it sleeps, and the CPU time that it works.
//!
//! A sleep costs some tens of microseconds, so a thread first looks whether the others come. While other programs use the cores, the others may
//! come only after milliseconds. A thread that still looked would take the core that they need.

use std::time::Duration;

/// The most checks before a sleep: some tenths of a millisecond.
const MOST: u32 = 20_000;
/// The fewest, unless there are fewer cores than threads.
const LEAST: u32 = 100;
/// A wait that is longer than this would not have been worth a look.
const LONG: Duration = Duration::from_micros(200);

/// The number of checks before a sleep. It halves with each wait that was long, and grows with each that was short.
#[derive(Debug, PartialEq, Eq)]
pub struct Patience {
    spins: u32,
    most: u32,
}

impl Patience {
    /// For one of this number of threads. It sleeps at once if the process has fewer cores: the others need the one that it has.
    pub fn new(threads: usize) -> Patience {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Patience::on(cores, threads)
    }

    fn on(cores: usize, threads: usize) -> Patience {
        let most = if cores < threads { 0 } else { MOST };
        Patience { spins: most, most }
    }

    /// Checks whether a wait is over, at most the present number of times.
    pub fn look(&mut self, is_over: impl Fn() -> bool) -> bool {
        for _ in 0..self.spins {
            if is_over() {
                self.spins = (self.spins + self.spins / 8).min(self.most);
                return true;
            }
            std::hint::spin_loop();
        }
        false
    }

    /// Notes a wait that ended with a sleep.
    pub fn has_slept(&mut self, waited: Duration) {
        let spins = if waited > LONG { self.spins / 2 } else { self.spins * 2 };
        self.spins = spins.max(LEAST).min(self.most);
    }
}

/// The CPU time of a thread, without the time in which it only looked for others.
pub struct Worked {
    began: Option<Duration>,
    looked: Duration,
}

impl Worked {
    /// Starts now.
    pub fn begin() -> Worked {
        Worked { began: cpu_time(), looked: Duration::ZERO }
    }

    /// Leaves out a time in which the thread looked for others.
    pub fn without(&mut self, looked: Duration) {
        self.looked += looked;
    }

    /// The CPU time since the start; `None` where the system does not say it.
    pub fn end(self) -> Option<Duration> {
        Some(cpu_time()?.saturating_sub(self.began?).saturating_sub(self.looked))
    }
}

/// The CPU time of this thread so far (`Documentation/scheduler/sched-stats.rst` of Linux); `None` where the system does not say it.
fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::{LEAST, LONG, MOST, Patience, Worked};
    use std::cell::Cell;
    use std::time::Duration;

    /// The checks of one wait that does not end.
    fn checks(patience: &mut Patience) -> u32 {
        let count = Cell::new(0);
        assert!(!patience.look(|| {
            count.set(count.get() + 1);
            false
        }));
        count.get()
    }

    #[test]
    fn threads_without_a_core_each_sleep_at_once() {
        let mut patience = Patience::on(1, 2);
        assert_eq!(checks(&mut patience), 0);
        patience.has_slept(Duration::ZERO);
        assert_eq!(checks(&mut patience), 0, "a short sleep does not change that");
    }

    #[test]
    fn long_waits_shorten_the_look_and_short_ones_lengthen_it() {
        let mut patience = Patience::on(2, 2);
        assert_eq!(checks(&mut patience), MOST);
        patience.has_slept(LONG * 2);
        assert_eq!(checks(&mut patience), MOST / 2);
        for _ in 0..20 {
            patience.has_slept(LONG * 2);
        }
        assert_eq!(checks(&mut patience), LEAST);
        for _ in 0..100 {
            patience.has_slept(LONG / 2);
        }
        assert_eq!(checks(&mut patience), MOST);
    }

    #[test]
    fn a_look_that_finds_the_others_lengthens_the_next() {
        let mut patience = Patience::on(2, 2);
        patience.has_slept(LONG * 2);
        let before = checks(&mut patience);
        assert!(patience.look(|| true));
        assert_eq!(checks(&mut patience), before + before / 8);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_sleeping_thread_does_not_work() {
        let worked = Worked::begin();
        std::thread::sleep(Duration::from_millis(30));
        assert!(worked.end().expect("Linux says it") < Duration::from_millis(20));
    }
}
