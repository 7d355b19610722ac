//! The applications of a run: connections of Linux between namespaces, which write and read as the scenario says.
//!
//! One thread has all flows. It enters the namespace of a host to open a socket there. Flows have the times, sizes and random draws of the packet
//! engine, and the addresses and ports of its captures.

mod flow;
pub mod records;

use crate::clock::Clock;
use anabranch_core::packet::emulated::{Endpoints, FlowPlan};
use anabranch_core::rng::{Purpose, Stream};
use anabranch_core::spec::{NodeId, RunSpec, SenderProgram, TransportSpec};
use anabranch_core::traffic::application::Application;
use anabranch_core::units::{Duration, Time};
use flow::{BLOCK, Flow, Kind, address};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sched::{CloneFlags, setns};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{self, Backlog, sockopt};
use nix::sys::time::TimeSpec;
use records::{FlowRecord, FlowSample};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// The socket options of a stack.
#[derive(Debug, Clone)]
pub struct StackOptions {
    /// Name of a congestion control that Linux has.
    pub congestion: String,
    /// TCP_MAXSEG: bytes of a segment with its TCP options, but without its headers.
    pub maximum_segment: u32,
    /// Payload of a full segment.
    pub payload: u32,
    /// Whether to pace regardless of the congestion control.
    pub paced: bool,
    /// Whether to speak Multipath TCP.
    pub is_multipath: bool,
}

/// The owner of an event.
enum Target {
    Sender(u32),
    Receiver(u32),
    Listener(u32),
    Datagrams(u32),
}

impl From<Target> for u64 {
    fn from(target: Target) -> u64 {
        let (kind, number) = match target {
            Target::Sender(flow) => (0, flow),
            Target::Receiver(flow) => (1, flow),
            Target::Listener(index) => (2, index),
            Target::Datagrams(index) => (3, index),
        };
        kind << 32 | u64::from(number)
    }
}

impl From<u64> for Target {
    fn from(data: u64) -> Target {
        let number = data as u32;
        match data >> 32 {
            0 => Target::Sender(number),
            1 => Target::Receiver(number),
            2 => Target::Listener(number),
            _ => Target::Datagrams(number),
        }
    }
}

/// Something that happens at a time of the run, in this order at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Start(u32),
    Write(u32),
    Stop(u32),
    WarmedUp,
    Sample,
}

/// Addresses and ports of a sender and its receiver.
type Ends = ((Ipv4Addr, u16), (Ipv4Addr, u16));

/// All flows of a run.
pub struct Traffic {
    spec: RunSpec,
    stacks: Vec<StackOptions>,
    namespaces: HashMap<NodeId, OwnedFd>,
    flows: Vec<Flow>,
    /// Flows by the addresses and ports of both ends.
    by_ends: HashMap<Ends, u32>,
    listeners: Vec<TcpListener>,
    datagrams: Vec<UdpSocket>,
    happenings: BinaryHeap<Reverse<(Time, Happening)>>,
    epoll: Epoll,
}

impl Traffic {
    /// The planned flows of a run, with the options of each stack and the namespace of each host. Receivers listen from now on. Flows of another
    /// program stay idle.
    ///
    /// # Errors
    /// The error of Linux.
    pub fn new(
        spec: RunSpec,
        planned: Vec<(FlowPlan, Endpoints)>,
        stacks: Vec<StackOptions>,
        namespaces: HashMap<NodeId, OwnedFd>,
    ) -> Result<Traffic, String> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|error| format!("epoll: {error}"))?;
        let mut traffic = Traffic {
            flows: Vec::new(),
            by_ends: HashMap::new(),
            listeners: Vec::new(),
            datagrams: Vec::new(),
            happenings: BinaryHeap::new(),
            spec,
            stacks,
            namespaces,
            epoll,
        };
        let mut listening = HashMap::new();
        for (number, (plan, endpoints)) in (0..).zip(planned) {
            let flow = traffic.planned(number, plan, endpoints);
            if traffic.spec.traffic[flow.plan.group as usize].sender != SenderProgram::Own {
                traffic.flows.push(flow);
                continue;
            }
            let receiver = (flow.endpoints.receiver, flow.kind);
            if listening.insert(receiver, ()).is_none() {
                let listened = traffic.listen(flow.plan.dst, flow.endpoints.receiver, flow.kind);
                listened.map_err(|error| format!("a receiver at {}: {error}", traffic.name_of(flow.plan.dst)))?;
            } else if flow.kind == Kind::Multipath {
                let (node, port) = (traffic.name_of(flow.plan.dst), flow.endpoints.receiver.1);
                return Err(format!(
                    "a receiver at {node}: two connections of mptcp have port {port}: give it fewer flows"
                ));
            }
            traffic.by_ends.insert((flow.endpoints.sender, flow.endpoints.receiver), number);
            traffic.schedule(flow.plan.start, Happening::Start(number));
            let stop = traffic.spec.traffic[flow.plan.group as usize].stop();
            traffic.schedule(stop, Happening::Stop(number));
            traffic.flows.push(flow);
        }
        if traffic.spec.warm_up > Duration::ZERO {
            traffic.schedule(Time::ZERO + traffic.spec.warm_up, Happening::WarmedUp);
        }
        if let Some(interval) = traffic.spec.sample {
            traffic.schedule(Time::ZERO + interval, Happening::Sample);
        }
        Ok(traffic)
    }

    fn planned(&self, number: u32, plan: FlowPlan, endpoints: Endpoints) -> Flow {
        let group = &self.spec.traffic[plan.group as usize];
        let (unit_bytes, kind) = match group.transport {
            TransportSpec::Tcp { stack } if self.stacks[stack].is_multipath => {
                (self.stacks[stack].payload, Kind::Multipath)
            }
            TransportSpec::Tcp { stack } => (self.stacks[stack].payload, Kind::Tcp),
            TransportSpec::Udp { packet } => (packet, Kind::Udp),
        };
        let draws = Stream::new(self.spec.seed, Purpose::Application, u64::from(number));
        let paced = !group.application.writes_at_once();
        let application = paced.then(|| Application::new(&group.application, unit_bytes, draws));
        Flow::new(plan, endpoints, unit_bytes, kind, application)
    }

    fn name_of(&self, node: NodeId) -> &str {
        &self.spec.nodes[node as usize]
    }

    /// Moves the calling thread into the namespace of a host.
    fn enter(&self, node: NodeId) -> Result<(), Errno> {
        setns(self.namespaces.get(&node).ok_or(Errno::ENOENT)?, CloneFlags::CLONE_NEWNET)
    }

    fn listen(&mut self, node: NodeId, at: (Ipv4Addr, u16), kind: Kind) -> Result<(), Errno> {
        self.enter(node)?;
        let socket = kind.socket()?;
        socket::setsockopt(&socket, sockopt::ReuseAddr, &true)?;
        socket::bind(socket.as_raw_fd(), &address(at))?;
        let is_udp = kind == Kind::Udp;
        let target = if is_udp {
            Target::Datagrams(self.datagrams.len() as u32)
        } else {
            socket::listen(&socket, Backlog::MAXCONN)?;
            Target::Listener(self.listeners.len() as u32)
        };
        self.epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, target.into()))?;
        if is_udp {
            self.datagrams.push(socket.into());
        } else {
            self.listeners.push(socket.into());
        }
        Ok(())
    }

    fn schedule(&mut self, at: Time, happening: Happening) {
        if at < Time::ZERO + self.spec.duration {
            self.happenings.push(Reverse((at, happening)));
        }
    }
}

/// A run of the flows.
impl Traffic {
    /// Runs until this time, or until `stop`. Returns the record of every flow.
    pub fn run(mut self, clock: &Clock, end: Time, stop: &AtomicBool, samples: &Sender<FlowSample>) -> Vec<FlowRecord> {
        let mut block = vec![0; BLOCK];
        let mut events = vec![EpollEvent::empty(); 256];
        while clock.now() < end && !stop.load(Ordering::Relaxed) {
            while let Some(Reverse((at, happening))) = self.happenings.peek().copied()
                && at <= clock.now()
            {
                self.happenings.pop();
                self.on_happening(at, happening, samples);
            }
            self.wait(clock, end);
            let ready = self.epoll.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0);
            for event in &events[..ready] {
                self.on_event(Target::from(event.data()), clock.now(), &mut block);
            }
        }
        for flow in &mut self.flows {
            flow.refresh();
        }
        self.flows.into_iter().map(|flow| flow.record).collect()
    }

    /// Waits for an event of a socket, until the next happening. At most a tenth of a second, so that a stop is seen.
    fn wait(&self, clock: &Clock, end: Time) {
        let next = self.happenings.peek().map_or(end, |Reverse((at, _))| *at).min(end);
        let left = clock.until(next).min(std::time::Duration::from_millis(100));
        let mut polled = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
        // A signal ends the wait early, as an event does.
        let _ = ppoll(&mut polled, Some(TimeSpec::from_duration(left)), None);
    }

    fn on_happening(&mut self, at: Time, happening: Happening, samples: &Sender<FlowSample>) {
        match happening {
            Happening::Start(number) => self.start(at, number),
            Happening::Write(number) => {
                let flow = &mut self.flows[number as usize];
                if flow.application.is_some() {
                    flow.write_unit(number, &self.epoll);
                    self.schedule_write(at, number);
                }
            }
            Happening::Stop(number) => self.flows[number as usize].stop(number, &self.epoll),
            Happening::WarmedUp => {
                for flow in &mut self.flows {
                    flow.refresh();
                    flow.record.warm = flow.record.total;
                }
            }
            Happening::Sample => {
                self.sample(at, samples);
                if let Some(interval) = self.spec.sample {
                    self.schedule(at + interval, Happening::Sample);
                }
            }
        }
    }

    fn start(&mut self, at: Time, number: u32) {
        let plan = self.flows[number as usize].plan;
        let entered = self.enter(plan.src);
        let options = match self.spec.traffic[plan.group as usize].transport {
            TransportSpec::Tcp { stack } => Some(&self.stacks[stack]),
            TransportSpec::Udp { .. } => None,
        };
        let flow = &mut self.flows[number as usize];
        if let Err(error) = entered.and_then(|()| flow.open(number, options, &self.epoll)) {
            flow.record.failure = Some(error.desc().to_string());
            flow.is_over = true;
        }
        self.schedule_write(at, number);
    }

    fn schedule_write(&mut self, now: Time, number: u32) {
        let application = &mut self.flows[number as usize].application;
        if let Some(wait) = application.as_mut().and_then(Application::next_write) {
            self.schedule(now + wait, Happening::Write(number));
        }
    }

    fn sample(&mut self, time: Time, samples: &Sender<FlowSample>) {
        for (flow, number) in self.flows.iter_mut().zip(0..) {
            if !flow.record.has_started || flow.sampled_after_end {
                continue;
            }
            flow.refresh();
            let (now, before) = (flow.record.total, flow.sampled);
            // The receiver is gone if the run is being stopped.
            let _ = samples.send(FlowSample {
                time,
                flow: number,
                info: now.info,
                delivered: now.delivered - before.delivered,
                retransmits: now.info.retransmits - before.info.retransmits,
                is_udp: flow.kind == Kind::Udp,
            });
            flow.sampled = now;
            flow.sampled_after_end = flow.is_over;
        }
    }

    fn on_event(&mut self, target: Target, now: Time, block: &mut [u8]) {
        match target {
            Target::Sender(number) => self.flows[number as usize].on_sender(number, &self.epoll),
            Target::Receiver(number) => self.flows[number as usize].on_receiver(now, block),
            Target::Listener(index) => self.accept(index, now, block),
            Target::Datagrams(index) => self.read_datagrams(index, block),
        }
    }

    fn accept(&mut self, index: u32, now: Time, block: &mut [u8]) {
        while let Ok((stream, SocketAddr::V4(peer))) = self.listeners[index as usize].accept() {
            let Ok(SocketAddr::V4(own)) = stream.local_addr() else { continue };
            let Some(number) = self.by_ends.get(&ends(peer, own)).copied() else { continue };
            let event = EpollEvent::new(EpollFlags::EPOLLIN, Target::Receiver(number).into());
            let flow = &mut self.flows[number as usize];
            if let Err(error) = self.epoll.add(&stream, event) {
                flow.record.failure = Some(error.desc().to_string());
            }
            flow.receiver = Some(stream);
            flow.on_receiver(now, block);
        }
    }

    fn read_datagrams(&mut self, index: u32, block: &mut [u8]) {
        let socket = &self.datagrams[index as usize];
        let Ok(SocketAddr::V4(own)) = socket.local_addr() else { return };
        while let Ok((count, SocketAddr::V4(peer))) = socket.recv_from(block) {
            if let Some(number) = self.by_ends.get(&ends(peer, own)) {
                self.flows[*number as usize].on_datagram(&block[..count]);
            }
        }
    }
}

fn ends(sender: SocketAddrV4, receiver: SocketAddrV4) -> Ends {
    ((*sender.ip(), sender.port()), (*receiver.ip(), receiver.port()))
}
