//! A run: one thread moves packets, another one has the traffic.

use crate::clock::Clock;
use crate::driver::{Device, Driven, drive};
use crate::emulator::{Emulator, Report};
use crate::traffic::records::{FlowRecord, FlowSample};
use crate::traffic::{StackOptions, Traffic};
use anabranch_core::spec::{NodeId, RunSpec};
use anabranch_core::units::Time;
use nix::unistd::{Pid, gettid};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time from the call until time zero, so that both threads are ready for it.
const LEAD: Duration = Duration::from_millis(50);

/// The device and the namespace of a host.
pub struct Host {
    /// Node of the host.
    pub node: NodeId,
    /// A TUN device in the namespace, without packet information, which does not block.
    pub device: OwnedFd,
    /// The network namespace.
    pub namespace: OwnedFd,
}

/// A run in progress.
pub struct Run {
    clock: Clock,
    end: Time,
    stop: Arc<AtomicBool>,
    /// The thread that moves packets, and the thread that runs the traffic.
    threads: [Pid; 2],
    packets: JoinHandle<nix::Result<Driven<Emulator>>>,
    traffic: JoinHandle<Vec<FlowRecord>>,
    reports: Mutex<Receiver<Report>>,
    samples: Mutex<Receiver<FlowSample>>,
}

/// A run that has ended.
pub struct Ended {
    /// The time reached.
    pub now: Time,
    /// The network, its links and its lateness.
    pub driven: Driven<Emulator>,
    /// Records by flow.
    pub flows: Vec<FlowRecord>,
}

impl Run {
    /// Begins a run of these hosts, with the options of each stack. The hosts must be all that send or receive.
    ///
    /// # Errors
    /// The error of the packet engine or of Linux.
    pub fn begin(spec: RunSpec, hosts: Vec<Host>, stacks: Vec<StackOptions>) -> Result<Run, String> {
        let end = Time::ZERO + spec.duration;
        let emulator = Emulator::new(spec).map_err(|error| error.to_string())?;
        let (mut devices, mut namespaces) = (Vec::new(), HashMap::new());
        for Host { node, device, namespace } in hosts {
            devices.push(Device { number: node, descriptor: device });
            namespaces.insert(node, namespace);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let ((reporter, reports), (sampler, samples)) = (channel(), channel());
        let ((tell_thread, thread), (tell_traffic, traffic_begun)) = (channel(), channel());
        let clock = Clock::beginning(Instant::now() + LEAD);
        // Sockets are opened in namespaces, which a thread enters: a thread of its own does.
        let traffic = {
            let network = emulator.network();
            let flows = network.flows().filter(|flow| network.connection_of(*flow).is_none());
            let planned = flows.map(|flow| (network.plan(flow), network.endpoints(flow))).collect();
            let (stop, spec) = (stop.clone(), network.spec().clone());
            std::thread::spawn(move || match Traffic::new(spec, planned, stacks, namespaces) {
                Ok(traffic) => {
                    let _ = tell_traffic.send(Ok(gettid()));
                    traffic.run(&clock, end, &stop, &sampler)
                }
                Err(problem) => {
                    let _ = tell_traffic.send(Err(problem));
                    Vec::new()
                }
            })
        };
        let traffic_thread = traffic_begun.recv().map_err(|_| "the traffic's thread has ended".to_string())??;
        let packets = {
            let stop = stop.clone();
            std::thread::spawn(move || {
                let _ = tell_thread.send(gettid());
                drive(emulator, &devices, &clock, end, &stop, |emulator| {
                    // The receiver is gone if the run is being stopped.
                    let _ = reporter.send(emulator.report());
                })
            })
        };
        let packet_thread = thread.recv().map_err(|_| "the thread of packets has ended".to_string())?;
        let threads = [packet_thread, traffic_thread];
        Ok(Run { clock, end, stop, threads, packets, traffic, reports: reports.into(), samples: samples.into() })
    }

    /// The thread that moves packets, and the one that has the traffic, for their scheduling.
    pub fn threads(&self) -> [Pid; 2] {
        self.threads
    }

    /// The time of the run.
    pub fn now(&self) -> Time {
        self.clock.now().min(self.end)
    }

    /// Whether both threads have ended.
    pub fn has_ended(&self) -> bool {
        self.packets.is_finished() && self.traffic.is_finished()
    }

    /// Reports of the network's events since the last call.
    pub fn take_reports(&self) -> Vec<Report> {
        drained(&self.reports)
    }

    /// Samples of flows since the last call.
    pub fn take_samples(&self) -> Vec<FlowSample> {
        drained(&self.samples)
    }

    /// Ends the run, at once if it is in progress. The second value has the reports and samples that were not fetched
    /// before.
    ///
    /// # Errors
    /// If a thread has failed.
    pub fn end(self) -> Result<(Ended, Vec<Report>, Vec<FlowSample>), String> {
        self.stop.store(true, Ordering::Relaxed);
        let flows = self.traffic.join().map_err(|_| "the traffic's thread has failed".to_string())?;
        let driven = self.packets.join().map_err(|_| "the thread of packets has failed".to_string())?;
        let driven = driven.map_err(|error| format!("Linux does not watch the devices: {error}"))?;
        let now = driven.network.network().now();
        Ok((Ended { now, driven, flows }, drained(&self.reports), drained(&self.samples)))
    }
}

/// Messages that a thread has sent since the last call.
fn drained<T>(sent: &Mutex<Receiver<T>>) -> Vec<T> {
    sent.lock().map_or(Vec::new(), |sent| sent.try_iter().collect())
}
