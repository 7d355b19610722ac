//! Functions of Linux that programs may call: functions of its TCP, socket options, the clock and random numbers.

use super::socket::{BOOT, Slot, SocketLayout, jiffies};
use crate::rng::Stream;
use crate::tcp::congestion::supervision::Supervision;
use crate::units::{Duration, Time};
use anabranch_bpf::{Kernel, Memory};

/// The functions by their names in Linux.
const FUNCTIONS: [(&str, Function); 8] = [
    ("tcp_slow_start", |kernel, memory, arguments| Ok(kernel.slow_start(memory, arguments[1] as u32).into())),
    ("tcp_cong_avoid_ai", |kernel, memory, arguments| kernel.grow(memory, arguments[1] as u32, arguments[2] as u32)),
    ("tcp_reno_cong_avoid", |kernel, memory, arguments| kernel.grow_as_reno(memory, arguments[2] as u32)),
    ("tcp_reno_ssthresh", |kernel, memory, _| Ok((kernel.window.cwnd.read(memory, kernel.socket) / 2).max(2))),
    ("tcp_reno_undo_cwnd", |kernel, memory, _| {
        let WindowSlots { cwnd, prior_cwnd, .. } = kernel.window;
        Ok(cwnd.read(memory, kernel.socket).max(prior_cwnd.read(memory, kernel.socket)))
    }),
    ("bpf_skc_to_tcp_sock", |_, _, arguments| Ok(arguments[0])),
    ("bpf_setsockopt", |kernel, memory, arguments| kernel.set_option(memory, arguments)),
    ("bpf_getsockopt", |_, _, arguments| {
        Err(format!("bpf_getsockopt of option {}: the simulator has none", arguments[2]))
    }),
];

type Function = fn(&mut ProgramKernel, &mut Memory, &[u64; 5]) -> Result<u64, String>;

/// Options that `bpf_setsockopt` may set (Linux, `tcp.h` and `bpf.h`).
const LEVEL_TCP: u64 = 6;
const DELACK_MAX: u64 = 1003;
const RTO_MIN: u64 = 1004;

/// The greatest value of both, microseconds (`TCP_RTO_MIN`, `TCP_DELACK_MAX`).
const GREATEST_TIMER_US: u64 = 200_000;

/// Jumps of a program, with the instructions between them, that take about as long as an event of the packet engine.
const JUMPS_OF_AN_EVENT: u64 = 8;

/// Linux's return value for an argument out of range.
const INVALID: u64 = -22i64 as u64;

/// Whether programs can call a function.
pub fn provides(name: &str) -> bool {
    FUNCTIONS.iter().any(|(one, _)| *one == name)
}

/// The places of a window.
#[derive(Debug, Clone, Copy)]
pub struct WindowSlots {
    pub cwnd: Slot,
    pub count: Slot,
    pub ssthresh: Slot,
    pub prior_cwnd: Slot,
    pub prior_ssthresh: Slot,
    pub clamp: Slot,
    pub is_limited: Slot,
    pub max_packets_out: Slot,
}

impl WindowSlots {
    /// The slots of this layout.
    pub fn new(layout: &SocketLayout) -> WindowSlots {
        WindowSlots {
            cwnd: layout.kept("snd_cwnd"),
            count: layout.kept("snd_cwnd_cnt"),
            ssthresh: layout.kept("snd_ssthresh"),
            prior_cwnd: layout.kept("prior_cwnd"),
            prior_ssthresh: layout.kept("prior_ssthresh"),
            clamp: layout.kept("snd_cwnd_clamp"),
            is_limited: layout.kept("is_cwnd_limited"),
            max_packets_out: layout.kept("max_packets_out"),
        }
    }
}

/// The kernel of one flow.
#[derive(Debug)]
pub struct ProgramKernel {
    /// The time of the flow's latest event.
    pub now: Time,
    /// The least retransmission timeout that the program has set.
    pub min_rto: Option<Duration>,
    /// The functions by their indexes in the program; none of the others.
    functions: Vec<Option<Function>>,
    window: WindowSlots,
    /// The fields of the least timeout and the greatest delay of ACKs.
    options: [Slot; 2],
    socket: u64,
    hz: u32,
    random: Stream,
    draws: u64,
    supervision: Supervision,
}

impl ProgramKernel {
    /// The kernel for a program that calls these functions.
    pub fn new(
        functions: &[String],
        layout: &SocketLayout,
        hz: u32,
        random: Stream,
        supervision: &Supervision,
    ) -> ProgramKernel {
        let find = |name: &String| FUNCTIONS.iter().find(|(one, _)| one == name).map(|(_, function)| *function);
        ProgramKernel {
            now: Time::ZERO,
            min_rto: None,
            functions: functions.iter().map(find).collect(),
            window: WindowSlots::new(layout),
            options: layout.options,
            socket: layout.socket,
            hz,
            random,
            draws: 0,
            supervision: supervision.clone(),
        }
    }

    fn get(&self, memory: &Memory, slot: Slot) -> u32 {
        slot.read(memory, self.socket) as u32
    }

    /// `tcp_slow_start`: returns the segments that remain for congestion avoidance. A window above the threshold falls to it.
    fn slow_start(&self, memory: &mut Memory, acked: u32) -> u32 {
        let before = self.get(memory, self.window.cwnd);
        let after = before.wrapping_add(acked).min(self.get(memory, self.window.ssthresh));
        self.set_window(memory, after);
        acked.wrapping_sub(after.wrapping_sub(before))
    }

    /// `tcp_reno_cong_avoid`: grows only where the window is the limit (`tcp_is_cwnd_limited`).
    fn grow_as_reno(&self, memory: &mut Memory, acked: u32) -> Result<u64, String> {
        let WindowSlots { cwnd, ssthresh, is_limited, max_packets_out, .. } = self.window;
        let window = self.get(memory, cwnd);
        let starts = window < self.get(memory, ssthresh);
        let most = u64::from(self.get(memory, max_packets_out));
        if self.get(memory, is_limited) == 0 && !(starts && u64::from(window) < 2 * most) {
            return Ok(0);
        }
        let acked = if starts { self.slow_start(memory, acked) } else { acked };
        if acked > 0 { self.grow(memory, self.get(memory, cwnd), acked) } else { Ok(0) }
    }

    fn set_window(&self, memory: &mut Memory, window: u32) {
        let WindowSlots { cwnd, clamp, .. } = self.window;
        let most = clamp.read(memory, self.socket);
        cwnd.write(memory, self.socket, u64::from(window).min(most));
    }

    /// `tcp_cong_avoid_ai`: adds a segment for every `per_increase` segments acknowledged.
    fn grow(&self, memory: &mut Memory, per_increase: u32, acked: u32) -> Result<u64, String> {
        let WindowSlots { cwnd, count, .. } = self.window;
        if per_increase == 0 {
            return Err("adds a segment for every 0 acknowledged ones (tcp_cong_avoid_ai): Linux would divide by zero and crash".into());
        }
        let (mut window, mut credit) = (self.get(memory, cwnd), self.get(memory, count));
        if credit >= per_increase {
            credit = 0;
            window = window.wrapping_add(1);
        }
        credit = credit.wrapping_add(acked);
        if credit >= per_increase {
            window = window.wrapping_add(credit / per_increase);
            credit %= per_increase;
        }
        self.set_window(memory, window);
        count.write(memory, self.socket, credit.into());
        Ok(0)
    }

    /// `bpf_setsockopt`: the least retransmission timeout, in whole jiffies as Linux has it. The greatest delay of ACKs means nothing
    /// here: a sender of data sends none.
    fn set_option(&mut self, memory: &mut Memory, arguments: &[u64; 5]) -> Result<u64, String> {
        let [_, level, option, address, length] = *arguments;
        match (level, option) {
            (LEVEL_TCP, RTO_MIN | DELACK_MAX) if length == 4 => {
                let value = memory.read(address, 4);
                let ticks = (value * u64::from(self.hz)).div_ceil(1_000_000);
                if ticks < 2 || value > GREATEST_TIMER_US {
                    return Ok(INVALID);
                }
                self.options[usize::from(option == DELACK_MAX)].write(memory, self.socket, ticks);
                if option == RTO_MIN {
                    self.min_rto = Some(Duration(ticks * Duration::from_secs(1).0 / u64::from(self.hz)));
                }
                Ok(0)
            }
            _ => Err(format!("bpf_setsockopt of level {level}, option {option}: the simulator has none")),
        }
    }
}

impl Kernel for ProgramKernel {
    fn time_ns(&mut self) -> u64 {
        (self.now.0 + BOOT.0) / 1000
    }

    fn jiffies(&mut self) -> u64 {
        jiffies(Duration(self.now.0 + BOOT.0), self.hz)
    }

    fn random(&mut self) -> u32 {
        self.draws += 1;
        (self.random.bits(self.draws) >> 32) as u32
    }

    fn call(&mut self, function: usize, arguments: &[u64; 5], memory: &mut Memory) -> Result<u64, String> {
        match self.functions.get(function).copied().flatten() {
            Some(function) => function(self, memory, arguments),
            None => Err("calls a function that the simulator lacks".into()),
        }
    }

    fn may_go_on(&mut self, jumps: u32) -> bool {
        self.supervision.spend(u64::from(jumps).div_ceil(JUMPS_OF_AN_EVENT));
        !self.supervision.is_stopped()
    }
}
