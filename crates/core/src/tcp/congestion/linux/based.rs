//! Common to Linux's window-based congestion controls: slow start, reduction, undo and restart in whole segments. A control is
//! then a growth and a threshold, [`Rules`].

use super::LinuxControl;
use super::window::Window;
use crate::tcp::congestion::{CongestionControl, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time};

/// The state of the sender before an ACK (`icsk_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// All arrives in order.
    Open,
    /// Segments arrived out of order, and none is known to be lost.
    Disorder,
    /// An episode is in progress, or ends with this ACK.
    Episode,
}

/// The difference between Linux's controls. Windows are in whole segments.
pub trait Rules: Send + Sync {
    /// Parameters of the algorithm.
    type Parameters;

    /// Whether the algorithm itself checks that the window was the limit. Then [`Self::grow`] sees all ACKs that might grow the
    /// window.
    const JUDGES_LIMIT: bool = false;

    /// The state of a flow that has not sent yet.
    fn new(parameters: Self::Parameters, flow: &FlowContext) -> Self;

    /// The initial window, where the stack has `of_stack`.
    fn initial_window(&self, of_stack: u32) -> u32 {
        of_stack
    }

    /// Measures an ACK before it grows the window. Recovery's ACKs come here too.
    fn observe(&mut self, _window: &mut Window, _ack: &AckEvent, _state: State, _rtt: &RttEstimate) {}

    /// See [`CongestionControl::on_echo`].
    fn on_echo(&mut self, _ack: &AckEvent) {}

    /// Grows the window for `acked` segments, at least one. Congestion avoidance counts the segments that slow start leaves over.
    fn grow(&mut self, window: &mut Window, acked: u32, ack: &AckEvent, _rtt: &RttEstimate) {
        let rest = if window.in_slow_start() { window.slow_start(acked) } else { acked };
        if rest > 0 {
            self.avoid(window, rest, ack);
        }
    }

    /// Congestion avoidance: `acked` segments grow the window.
    fn avoid(&mut self, window: &mut Window, acked: u32, _ack: &AckEvent) {
        window.grow(window.cwnd, acked);
    }

    /// See [`LinuxControl::backs_off`].
    fn backs_off(&self) -> Option<bool> {
        None
    }

    /// The slow-start threshold after a congestion with this window.
    fn ssthresh(&mut self, cwnd: u32, event: &CongestionEvent) -> u32;

    /// Called when a timeout began an episode. `new` is set if no episode was in progress; then [`Self::ssthresh`] was called
    /// before.
    fn on_timeout(&mut self, _window: &mut Window, _new: bool) {}

    /// Called when an episode is over, or segments arrive in order again (`TCP_CA_Open`).
    fn on_open(&mut self) {}

    /// Called when segments arrive out of order, outside of episodes (`TCP_CA_Disorder`).
    fn on_disorder(&mut self) {}

    /// Called when an episode that no timeout had begun is over and all segments sent before it are acknowledged
    /// (`CA_EVENT_COMPLETE_CWR`).
    fn on_recovered(&mut self, _window: &mut Window) {}

    /// Called before an idle time of more than a timeout reduces the window (`CA_EVENT_CWND_RESTART`).
    fn on_window_restart(&mut self, _window: &Window) {}

    /// Called when sending begins with nothing in flight (`CA_EVENT_TX_START`): after idling, or after a timeout.
    fn on_restart(&mut self) {}

    /// Called when the connection is established. There is a smoothed RTT if the handshake gave a sample.
    fn on_established(&mut self, _window: &mut Window, _rtt: &RttEstimate) {}

    /// Called for a loss within the reduction after a mark (`tcp_enter_recovery`), when the window has shrunk to `reached`.
    fn on_loss_in_reduction(&mut self, _window: &mut Window, _reached: u32) {}

    /// Restores what the last reduction, which was spurious, has changed besides the window.
    fn undo(&mut self) {}
}

/// The kind of episode in which the flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Episode {
    None,
    /// A loss or a congestion mark.
    Reduction,
    Timeout,
    /// Over with the present ACK, which has not been observed. `completed` unless a timeout had begun it, or an undo ended it early.
    Ending {
        completed: bool,
    },
}

/// A control of Linux.
#[derive(Debug, Clone)]
pub struct LinuxBased<R> {
    rules: R,
    window: Window,
    before_reduction: Window,
    episode: Episode,
    /// Segments have arrived out of order, outside of episodes.
    disorder: bool,
}

impl<R: Rules> LinuxBased<R> {
    /// A flow that has not sent yet.
    pub fn new(parameters: R::Parameters, flow: FlowContext) -> LinuxBased<R> {
        let rules = R::new(parameters, &flow);
        let window = Window::new(rules.initial_window(flow.initial_window));
        LinuxBased { rules, window, before_reduction: window, episode: Episode::None, disorder: false }
    }

    /// Ends an episode after the ACK that did was observed.
    fn end_episode(&mut self) {
        if let Episode::Ending { completed } = self.episode {
            self.rules.on_open();
            if completed {
                self.rules.on_recovered(&mut self.window);
            }
            self.episode = Episode::None;
        }
    }

    /// Follows the order of arrivals outside of episodes (`tcp_try_keep_open`).
    fn follow_order(&mut self, ack: &AckEvent) {
        let disorder = self.episode == Episode::None && ack.outstanding > ack.in_flight;
        if std::mem::replace(&mut self.disorder, disorder) != disorder {
            if disorder { self.rules.on_disorder() } else { self.rules.on_open() }
        }
    }
}

impl<R: Rules> CongestionControl for LinuxBased<R> {
    fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate) {
        let state = match self.episode {
            Episode::None if self.disorder => State::Disorder,
            Episode::None if !ack.in_recovery => State::Open,
            _ => State::Episode,
        };
        self.rules.observe(&mut self.window, ack, state, rtt);
        self.end_episode();
        self.follow_order(ack);
        let acked = if R::JUDGES_LIMIT { ack.may_grow } else { ack.growth };
        if acked > 0 {
            self.rules.grow(&mut self.window, acked, ack, rtt);
        }
    }

    fn on_echo(&mut self, ack: &AckEvent) {
        self.rules.on_echo(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _rtt: &RttEstimate) {
        self.end_episode();
        self.disorder = false;
        let is_timeout = matches!(event.kind, CongestionKind::Timeout { .. });
        let is_new = event.kind != CongestionKind::Timeout { repeated: true };
        let mut ssthresh = self.window.ssthresh;
        if is_new {
            self.before_reduction = Window { ssthresh: self.window.remembered_threshold(), ..self.window };
            ssthresh = self.rules.ssthresh(self.window.cwnd, event);
        }
        self.episode = if is_timeout { Episode::Timeout } else { Episode::Reduction };
        self.window.reduce(ssthresh, is_timeout);
        if is_timeout {
            self.rules.on_timeout(&mut self.window, is_new);
            self.rules.on_restart(); // the retransmission finds nothing in flight
        }
    }

    fn undo(&mut self) {
        self.window.cwnd = self.window.cwnd.max(self.before_reduction.cwnd);
        self.window.ssthresh = self.window.ssthresh.max(self.before_reduction.ssthresh);
        self.episode = Episode::Ending { completed: false };
        self.rules.undo();
    }

    fn on_recovered(&mut self) {
        self.episode = Episode::Ending { completed: self.episode != Episode::Timeout };
    }

    fn on_established(&mut self, _now: Time, rtt: &RttEstimate) {
        self.rules.on_established(&mut self.window, rtt);
    }

    fn on_idle(&mut self, _now: Time, idle: Duration, initial_window: u32, rtt: &RttEstimate) {
        if idle > rtt.rto() {
            self.rules.on_window_restart(&self.window);
        }
        self.window.restart(idle, initial_window, rtt);
        self.rules.on_restart();
    }

    fn cwnd(&self) -> f64 {
        f64::from(self.window.cwnd)
    }

    fn ssthresh(&self) -> f64 {
        self.window.threshold()
    }
}

impl<R: Rules> LinuxControl for LinuxBased<R> {
    fn on_reopened(&mut self) {
        self.episode = Episode::Ending { completed: false };
    }

    fn on_loss_in_reduction(&mut self, reached: u32) {
        self.rules.on_loss_in_reduction(&mut self.window, reached);
    }

    fn backs_off(&self) -> Option<bool> {
        self.rules.backs_off()
    }
}
