//! Differences of RACK-TLP in Linux (`net/ipv4/tcp_recovery.c`): the DSACKs of a round trip widen the window at its end, and only after
//! reordering was seen. Transmissions are judged when there is new evidence.

use super::{PERSIST, RackTlp};
use crate::tcp::detection::{DetectorContext, EpisodeEnd};
use crate::tcp::kernel_clock::KernelClock;
use crate::tcp::scoreboard::Delivered;
use crate::units::{Duration, Time};

/// The greatest multiplier.
const MOST_STEPS: u32 = 255;
/// A timer for a probe or for late segments waits for this number of ticks longer (`TCP_TIMEOUT_MIN_US`).
const EXTRA_TICKS: u64 = 2;

/// Expiry of a timer for a probe or for late segments.
pub(super) fn expiry(clock: KernelClock, start: Time, wait: Duration) -> Time {
    clock.expiry(start, wait + clock.tick * EXTRA_TICKS)
}

/// State of a detector whose sender follows Linux.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinuxRack {
    /// A DSACK waits to be taken into account (`dsack_seen`).
    dsack: bool,
    /// When the window was last widened: only segments sent later say more (`last_delivered`).
    widened: Time,
    /// Whether transmissions must be judged again, after new evidence or an undo (`advanced`).
    look: bool,
}

impl LinuxRack {
    pub(super) fn of(flow: DetectorContext) -> Option<LinuxRack> {
        flow.evidence.then(LinuxRack::default)
    }

    pub(super) fn has_news(&self) -> bool {
        self.dsack || self.look
    }

    /// Whether transmissions must be judged now.
    pub(super) fn take_look(&mut self) -> bool {
        std::mem::take(&mut self.look)
    }

    /// Records a DSACK, and whether it may widen the window.
    pub(super) fn on_duplicate(&mut self, widens: bool) {
        self.dsack |= widens;
    }

    pub(super) fn on_episode_end(&mut self, end: EpisodeEnd) {
        self.look |= end != EpisodeEnd::Repaired;
    }
}

impl RackTlp {
    /// Steps 1 to 3 of section 6.2 (`tcp_rack_advance`, `tcp_rack_update_reo_wnd`).
    pub(super) fn take_evidence(&mut self, now: Time, delivered: &Delivered) {
        let Some(linux) = &mut self.linux else { return };
        if let Some(evidence) = delivered.evidence {
            self.rtt = evidence.rtt;
            self.newest = self.newest.max(evidence.newest);
            linux.look = true;
        }
        let Some((sent, _)) = delivered.newest() else { return };
        linux.dsack &= sent >= linux.widened;
        if linux.dsack {
            (linux.dsack, linux.widened) = (false, now);
            self.multiplier = (self.multiplier + 1).min(MOST_STEPS);
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.multiplier = 1;
        }
    }
}
