//! COBALT, the control of each queue of CAKE: CoDel with another way into and out of its episodes, and BLUE against flows that do not respond
//! (Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", 2018, section 3.3), as in Linux's `sch_cake.c`.

use crate::packet::link::queue::codel::control_law;
use crate::rng::Sequence;
use crate::units::{Duration, Time};

/// By how much BLUE raises its probability of 2^-32 when the queue overflows, and lowers it when the queue is empty.
const P_INC: u32 = 1 << 24;
const P_DEC: u32 = 1 << 20;

/// The settings of all queues.
#[derive(Debug, Clone, Copy)]
pub struct Control {
    /// Acceptable standing wait; BLUE changes its probability at most once in it.
    pub target: Duration,
    /// The wait must stay above target this long.
    pub interval: Duration,
    /// The transmission time of the largest packet.
    pub mtu_time: Duration,
}

/// The decision about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    pub drops: bool,
    pub marks: bool,
}

/// The state of one queue; the names of its fields are those of Linux's `struct cobalt_vars`.
#[derive(Debug, Clone, Default)]
pub struct Cobalt {
    count: u32,
    /// The count from which Linux has computed `rec_inv_sqrt` last. Before the first time the intervals are zero: the second packet of a flow that
    /// waits too long is dropped.
    count_of_root: Option<u32>,
    drop_next: Time,
    blue_timer: Time,
    p_drop: u32,
    dropping: bool,
}

impl Cobalt {
    /// Whether the queue is forgotten when it is empty.
    pub fn is_at_rest(&self, now: Time) -> bool {
        self.p_drop == 0 && self.count == 0 && now >= self.drop_next
    }

    fn after(&self, from: Time, control: &Control) -> Time {
        self.count_of_root.map_or(from, |count| control_law(from, control.interval, count.max(1)))
    }

    /// Counts and schedules the next drop.
    fn set_count(&mut self, count: u32, control: &Control) {
        (self.count, self.count_of_root) = (count, Some(count));
        self.drop_next = self.after(self.drop_next, control);
    }

    /// A packet was dropped because there was no room.
    pub fn on_full(&mut self, now: Time, control: &Control) {
        if now.since(self.blue_timer) > control.target {
            self.p_drop = self.p_drop.saturating_add(P_INC);
            self.blue_timer = now;
        }
        (self.dropping, self.drop_next) = (true, now);
        self.count = self.count.max(1);
    }

    /// It was the queue's turn, and it had no packet.
    pub fn on_empty(&mut self, now: Time, control: &Control) {
        if self.p_drop > 0 && now.since(self.blue_timer) > control.target {
            self.p_drop = self.p_drop.saturating_sub(P_DEC);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.set_count(self.count - 1, control);
        }
    }

    /// Decides about a packet that is dequeued after a wait.
    pub fn decide(
        &mut self,
        now: Time,
        wait: Duration,
        control: &Control,
        ecn_capable: bool,
        draws: &mut Sequence,
    ) -> Verdict {
        let mut verdict = Verdict { drops: false, marks: false };
        let is_over_target = wait > control.target && wait > control.mtu_time * 4;
        let mut is_due = self.count > 0 && now >= self.drop_next;
        let mut is_late = now > self.drop_next;
        if is_over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.after(now, control);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if is_due && self.dropping {
            verdict = Verdict { drops: !ecn_capable, marks: ecn_capable };
            self.set_count(self.count.saturating_add(1), control);
            is_late = now > self.drop_next;
        } else {
            while is_due {
                self.set_count(self.count - 1, control);
                is_late = now > self.drop_next;
                is_due = self.count > 0 && now >= self.drop_next;
            }
        }
        if self.p_drop > 0 {
            verdict.drops |= draws.below(1 << 32) < u64::from(self.p_drop);
        }
        if self.count == 0 {
            self.drop_next = now + control.interval;
        } else if is_late && !verdict.drops {
            self.drop_next = now;
        }
        verdict
    }
}
