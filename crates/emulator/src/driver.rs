//! Moves packets between devices in real time.
//!
//! A packet enters the network when it is read, and is written when it is due. The network computes with due times, so a late packet does not delay its
//! next hop. Only the reading and the writing of packets can be late.

use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::network::{Network, Output};
use anabranch_core::units::{Duration, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use nix::unistd::{self, gettid};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The largest IPv4 packet.
const LARGEST_PACKET: usize = 65_535;
/// Packets read from a device before others, and packets that are due, have their turn.
const READS_AT_ONCE: usize = 32;
/// Interval between two reports to other threads.
const REPORT_INTERVAL: Duration = Duration(100_000_000_000);

/// A device of Linux.
pub struct Device {
    /// The network's number of it.
    pub number: u32,
    /// A TUN or TAP device without packet information, which does not block.
    pub descriptor: OwnedFd,
}

/// Writes packets to devices, and records how late they are.
struct Devices<'run> {
    clock: &'run Clock,
    devices: &'run [Device],
    lateness: Lateness,
    /// Packets that a device did not take.
    refused: u64,
}

impl Output for Devices<'_> {
    fn write(&mut self, due: Time, device: u32, packet: &[u8]) {
        let late = self.clock.now();
        self.lateness.record(if late > due { late - due } else { Duration::ZERO });
        let device = self.devices.iter().find(|other| other.number == device);
        let written = device.map(|device| unistd::write(&device.descriptor, packet));
        self.refused += u64::from(!matches!(written, Some(Ok(_))));
    }
}

/// The results of a run.
pub struct Driven<N> {
    /// The network at the end.
    pub network: N,
    /// Lateness of all packets that were written.
    pub lateness: Lateness,
    /// Packets that a device did not take.
    pub refused: u64,
}

/// Moves packets until this time, or until `stop`. `look` sees the network now and then, and at the end.
///
/// # Errors
/// Linux does not watch the devices.
pub fn drive<N: Network>(
    mut network: N,
    devices: &[Device],
    clock: &Clock,
    end: Time,
    stop: &AtomicBool,
    mut look: impl FnMut(&mut N),
) -> nix::Result<Driven<N>> {
    // Removes the slack of 50 us by which Linux may delay a timer. A kernel that refuses this call wakes the thread later, which the lateness shows.
    let _ = prctl::set_timerslack(1);
    let watched = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    for (index, device) in (0..).zip(devices) {
        watched.add(&device.descriptor, EpollEvent::new(EpollFlags::EPOLLIN, index))?;
    }
    let mut ready = vec![EpollEvent::empty(); devices.len().max(1)];
    let mut output = Devices { clock, devices, lateness: Lateness::default(), refused: 0 };
    let mut buffer = vec![0; LARGEST_PACKET];
    let mut next_report = Time::ZERO + REPORT_INTERVAL;
    while clock.now() < end && !stop.load(Ordering::Relaxed) {
        // A signal ends the look early: the next one follows.
        let count = watched.wait(&mut ready, EpollTimeout::ZERO).unwrap_or(0);
        for event in &ready[..count] {
            let device = &devices[event.data() as usize];
            for _ in 0..READS_AT_ONCE {
                let Ok(size) = unistd::read(&device.descriptor, &mut buffer) else { break };
                network.send(clock.now(), device.number, &buffer[..size], &mut output);
            }
        }
        network.advance(clock.now(), &mut output);
        if clock.now() >= next_report {
            look(&mut network);
            next_report = clock.now() + REPORT_INTERVAL;
        }
        if count == 0 {
            wait(&watched, clock.until(network.next_event().min(next_report)));
        }
    }
    network.advance(clock.now().min(end), &mut output);
    look(&mut network);
    let Devices { lateness, refused, .. } = output;
    Ok(Driven { network, lateness, refused })
}

/// Waits until a device has a packet, at most for `longest`. The thread always sleeps: Linux takes the processor from a SCHED_FIFO thread that does not
/// sleep, for 50 ms in every second.
fn wait(watched: &Epoll, longest: std::time::Duration) {
    if longest.is_zero() {
        return;
    }
    // A signal ends the wait early, as a packet does.
    let devices = PollFd::new(watched.0.as_fd(), PollFlags::POLLIN);
    let _ = ppoll(&mut [devices], Some(TimeSpec::from_duration(longest)), None);
}

/// Linux's number of the calling thread, for its scheduling.
pub fn this_thread() -> i32 {
    gettid().as_raw()
}
