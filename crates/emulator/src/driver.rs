//! Moves packets between the TUN devices of hosts in real time.
//!
//! A packet enters the network when it is read, and is written when it is due. The network computes with due times, so that a late
//! packet does not delay its next hop: only the reading and the writing of packets can be late.

use crate::clock::Clock;
use crate::emulator::{Emulator, Output};
use crate::lateness::Lateness;
use anabranch_core::packet::output::table::Table;
use anabranch_core::spec::{LinkId, NodeId};
use anabranch_core::units::{Duration, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use nix::unistd;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// The largest IPv4 packet.
const LARGEST_PACKET: usize = 65_535;
/// Packets read from a device before others, and packets that are due, have their turn.
const READS_AT_ONCE: usize = 32;
/// A thread that sleeps is woken some 50 us too late. So the last part of a wait is spent awake.
const AWAKE: Duration = Duration(30_000_000);
/// How often others learn what has happened.
const REPORT_INTERVAL: Duration = Duration(100_000_000_000);

/// The device of a host.
pub struct Device {
    /// The host.
    pub node: NodeId,
    /// A TUN device without packet information, which does not block.
    pub descriptor: OwnedFd,
}

/// What has happened since the last report.
pub struct Report {
    /// The time reached.
    pub now: Time,
    /// Packets that have crossed a link.
    pub packet_hops: u64,
    /// Samples of links.
    pub link_series: Table,
    /// Samples of routings that measure links.
    pub link_state: Table,
    /// Pieces of captures.
    pub captures: Vec<(LinkId, Vec<u8>)>,
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
    fn write(&mut self, due: Time, host: NodeId, packet: &[u8]) {
        let late = self.clock.now();
        self.lateness.record(if late > due { late - due } else { Duration::ZERO });
        let device = self.devices.iter().find(|device| device.node == host);
        let written = device.map(|device| unistd::write(&device.descriptor, packet));
        self.refused += u64::from(!matches!(written, Some(Ok(_))));
    }
}

/// What is left of a run.
pub struct Driven {
    /// The network at the end.
    pub emulator: Emulator,
    /// Of all packets that were written.
    pub lateness: Lateness,
    /// Packets that a device did not take.
    pub refused: u64,
}

/// Moves packets until this time, or until `stop`.
pub fn drive(
    mut emulator: Emulator,
    devices: &[Device],
    clock: &Clock,
    end: Time,
    stop: &AtomicBool,
    reports: &Sender<Report>,
) -> Driven {
    // Of 50 us, by which Linux may delay a timer. A kernel that refuses this wakes the thread later, which the lateness shows.
    let _ = prctl::set_timerslack(1);
    let mut output = Devices { clock, devices, lateness: Lateness::default(), refused: 0 };
    let mut buffer = vec![0; LARGEST_PACKET];
    let mut next_report = Time::ZERO + REPORT_INTERVAL;
    while clock.now() < end && !stop.load(Ordering::Relaxed) {
        let mut has_read = false;
        for device in devices {
            for _ in 0..READS_AT_ONCE {
                let Ok(size) = unistd::read(&device.descriptor, &mut buffer) else { break };
                has_read = true;
                emulator.send(clock.now(), &buffer[..size], &mut output);
            }
        }
        emulator.advance(clock.now(), &mut output);
        if clock.now() >= next_report {
            // Nobody takes it if the run is being stopped.
            let _ = reports.send(report(&mut emulator));
            next_report = clock.now() + REPORT_INTERVAL;
        }
        if !has_read {
            wait(devices, clock, emulator.next_event().min(next_report));
        }
    }
    emulator.advance(clock.now().min(end), &mut output);
    let Devices { lateness, refused, .. } = output;
    let _ = reports.send(report(&mut emulator));
    Driven { emulator, lateness, refused }
}

/// Waits until a device has a packet, or almost until this time.
fn wait(devices: &[Device], clock: &Clock, until: Time) {
    let left = clock.until(Time(until.0.saturating_sub(AWAKE.0)));
    if left.is_zero() {
        return;
    }
    let mut polled: Vec<PollFd> =
        devices.iter().map(|device| PollFd::new(device.descriptor.as_fd(), PollFlags::POLLIN)).collect();
    // A signal ends the wait early, as a packet does.
    let _ = ppoll(&mut polled, Some(TimeSpec::from_duration(left)), None);
}

fn report(emulator: &mut Emulator) -> Report {
    let captured = emulator.network().spec().captures.clone();
    let network = emulator.network_mut();
    Report {
        now: network.now(),
        packet_hops: network.packet_hops(),
        link_series: network.take_link_series(),
        link_state: network.take_link_state(),
        captures: captured.into_iter().map(|link| (link, emulator.take_capture(link))).collect(),
    }
}
