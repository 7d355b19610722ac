//! The hosts: flows start, take packets and timers, send packets, and retire.
//!
//! A host changes nothing but its flows. All else it reaches by a [`HostContext`].

use crate::packet::engine::clock::TIME_WAIT;
use crate::packet::engine::context::HostContext;
use crate::packet::engine::dependencies::Dependencies;
use crate::packet::engine::messages::MessageHosts;
use crate::packet::engine::subflows::all;
use crate::packet::engine::{APPLICATION, EventLoop, RECEIVER, SENDER};
use crate::packet::forwarding::RouteRef;
use crate::packet::hosts::delays::{self, DelayFigures, FlowDelays};
use crate::packet::hosts::flow::{Connection, Datagrams, EntropyEnds, Flow, FlowIdentity, FlowState, Writer};
use crate::packet::link::packet::{ACK, HAS_SACK, Packet, SYN};
use crate::rng::{Purpose, Stream};
use crate::spec::{NodeId, RunSpec, TransportSpec};
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::{CommonSettings, Sender};
use crate::traffic::application::Application;
use crate::traffic::reordering::Reordering;
use crate::units::{Duration, Time};
use rustc_hash::FxHashMap;

/// Longest time until a sender is woken, which then returns its exact deadline. Otherwise, the entry of the SYN's timer would stay for a second
/// although the first retransmission timeout is shorter.
pub(super) const FARTHEST_TIMER: Duration = Duration::from_millis(200);

/// All flows of a run.
pub struct Hosts {
    /// Those of the plan, and behind them the subflows of their connections.
    flows: Vec<Flow>,
    /// How many are of the plan.
    planned: usize,
    /// The first subflow of each connection that has subflows, and their number.
    subflows: FxHashMap<u32, (u32, u32)>,
    /// By flow, if the run asks for delays.
    delays: Vec<FlowDelays>,
    dependencies: Dependencies,
    /// Flows whose start is known, in the order of their start, and how many of these have started.
    starts: Vec<u32>,
    started: usize,
    /// The settings that all senders of a stack share, by stack.
    common_settings: Vec<Option<CommonSettings>>,
    /// Flows that are done, and when they retire.
    done: Vec<(Time, u32)>,
    next_retirement: Time,
    /// Of the hosts that send or receive messages.
    pub(super) message_hosts: MessageHosts,
}

impl Hosts {
    pub(in crate::packet) fn new(spec: &RunSpec, flows: Vec<Flow>, dependencies: Dependencies) -> Hosts {
        let is_known = |flow: &u32| flows[*flow as usize].identity.start < Time::NEVER;
        let mut starts: Vec<u32> = (0..flows.len() as u32).filter(is_known).collect();
        starts.sort_by_key(|flow| flows[*flow as usize].identity.start);
        let mut subflows = FxHashMap::default();
        for (index, flow) in (0..).zip(&flows) {
            if let FlowState::Subflow(of) = flow.state {
                subflows.entry(of).or_insert((index, 0)).1 += 1;
            }
        }
        Hosts {
            planned: flows.iter().take_while(|flow| !matches!(flow.state, FlowState::Subflow(_))).count(),
            subflows,
            delays: vec![FlowDelays::default(); if spec.delays { flows.len() } else { 0 }],
            flows,
            dependencies,
            starts,
            started: 0,
            common_settings: spec.stacks.iter().map(|_| None).collect(),
            done: Vec::new(),
            next_retirement: Time::NEVER,
            message_hosts: MessageHosts::default(),
        }
    }

    #[inline(always)]
    pub(in crate::packet) fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The flows of the plan, without their subflows.
    pub(in crate::packet) fn planned(&self) -> &[Flow] {
        &self.flows[..self.planned]
    }

    /// The connection of a subflow; of another flow, itself.
    pub(in crate::packet) fn connection_of(&self, flow: u32) -> u32 {
        let has = |first: u32, count: u32| (first..first + count).contains(&flow);
        self.subflows.iter().find(|(_, (first, count))| has(*first, *count)).map_or(flow, |(of, _)| *of)
    }

    /// The first subflow of a connection, and their number.
    pub(in crate::packet) fn subflows_of(&self, flow: u32) -> (u32, u32) {
        self.subflows.get(&flow).copied().unwrap_or_default()
    }

    #[inline(always)]
    pub(in crate::packet) fn identity(&self, flow: u32) -> &FlowIdentity {
        &self.flows[flow as usize].identity
    }

    /// A flow, for an event loop that processes bursts at its ends.
    #[inline(always)]
    pub(in crate::packet) fn flow_mut(&mut self, flow: u32) -> &mut Flow {
        &mut self.flows[flow as usize]
    }

    #[inline(always)]
    pub(super) fn flows_mut(&mut self) -> &mut [Flow] {
        &mut self.flows
    }

    /// Resets peaks, stalls and delays when the warm-up is over.
    pub(in crate::packet) fn forget_peaks(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.state.forget_peaks());
        for (delays, flow) in self.delays.iter_mut().zip(&mut self.flows) {
            *delays = FlowDelays::default();
            if let FlowState::Tcp(connection) = &mut flow.state {
                connection.sender.record_round_trips();
            }
        }
    }

    /// Figures about the delays of a flow.
    pub(in crate::packet) fn delay_figures(&self, flow: usize) -> DelayFigures {
        let Some(FlowDelays { one_way, round_trips }) = self.delays.get(flow) else { return DelayFigures::UNKNOWN };
        let round_trips = match &self.flows[flow].state {
            FlowState::Tcp(connection) => connection.sender.rtt().recorded(),
            FlowState::Finished(_) => Some(round_trips),
            _ => None,
        };
        DelayFigures::new(one_way, round_trips)
    }
}

/// Delivery of packets to a host.
impl Hosts {
    #[inline(always)]
    pub(in crate::packet) fn deliver<L: EventLoop>(&mut self, packet: Packet, context: &mut HostContext<L>) {
        #[cfg(test)]
        {
            context.network.count_at_hosts(0, 1);
            context.network.log_at_host(crate::packet::engine::network::HostEvent::Come(packet, context.now()));
        }
        if packet.has(ACK) { self.deliver_ack(packet, context) } else { self.deliver_data(packet.words(), context) }
    }

    /// Processes a packet of a UDP flow, of a message, of a subflow, or of a flow that has retired.
    #[inline(never)]
    fn deliver_without_tcp<L: EventLoop>(&mut self, words: [u64; 3], context: &mut HostContext<L>) {
        let packet = Packet::from_words(words);
        match &mut self.flows[packet.flow() as usize].state {
            FlowState::Udp(datagrams) => {
                datagrams.take(packet.segment());
                context.network.discard(packet);
            }
            FlowState::Message(_) => self.deliver_to_message(words, context),
            FlowState::Subflow(of) => {
                let of = *of;
                self.deliver_to_subflow(of, words, context);
            }
            FlowState::Finished(counters) => {
                if !packet.has(ACK | SYN) {
                    counters.receiver.arrivals += 1;
                    counters.receiver.duplicates += 1;
                }
                context.network.discard(packet);
            }
            FlowState::Pending | FlowState::Tcp(_) | FlowState::Multipath(_) => context.network.discard(packet),
        }
    }

    #[inline(never)]
    fn deliver_data<L: EventLoop>(&mut self, words: [u64; 3], context: &mut HostContext<L>) {
        let packet = Packet::from_words(words);
        let index = packet.flow();
        if packet.has(HAS_SACK) && !self.delays.is_empty() {
            self.record_delay(&packet, context);
        }
        let flow = &mut self.flows[index as usize];
        let FlowState::Tcp(connection) = &mut flow.state else { return self.deliver_without_tcp(words, context) };
        if packet.has(SYN) {
            if let Some(answer) = connection.accept(context.now(), &packet, context.network.pool_mut()) {
                context.send(answer, connection.last_ack_number(), &flow.identity);
            }
            return;
        }
        let (now, last_segment) = (context.now(), context.network.sizes(index).last_segment);
        let answer = connection.answer(now, words, last_segment, context.network.pool_mut());
        let number = connection.last_ack_number();
        let has_ended = connection.receiver.delivered() > last_segment && flow.end == Time::NEVER;
        if has_ended {
            flow.end = now;
        }
        if let Some(ack) = answer {
            context.send(ack, number, &flow.identity);
        }
        // An exact echo may owe another ACK.
        if let Some(deadline) = connection.receiver.deadline() {
            context.arm(index, RECEIVER, deadline);
        }
        if has_ended {
            self.on_delivered(index, context);
        }
    }

    /// Records the delay of a data packet that arrives before its flow retires; that of a subflow for its connection.
    #[inline(never)]
    fn record_delay<L: EventLoop>(&mut self, packet: &Packet, context: &HostContext<L>) {
        let flow = match self.flows[packet.flow() as usize].state {
            FlowState::Finished(_) => return,
            FlowState::Subflow(of) => of,
            _ => packet.flow(),
        };
        let counts = delays::counts(packet);
        if let Some(sent) = context.network.pool().sent(packet.number()).filter(|_| counts) {
            self.delays[flow as usize].one_way.record(sent, context.now());
        }
    }

    #[inline(always)]
    fn deliver_ack<L: EventLoop>(&mut self, packet: Packet, context: &mut HostContext<L>) {
        let Flow { identity, state, .. } = &mut self.flows[packet.flow() as usize];
        let FlowState::Tcp(connection) = state else {
            return self.deliver_without_tcp(packet.words(), context);
        };
        if packet.has(SYN) {
            if let Some((ack, number)) = connection.establish(context.now(), packet, context.network.pool_mut()) {
                context.send(ack, number, identity);
            }
        } else {
            connection.take_ack(context.now(), packet.words(), context.network.pool_mut());
        }
        self.pump(packet.flow(), context);
    }
}

/// Packets that a host sends.
impl Hosts {
    /// Sends all that the sender may send now, and sets its timer.
    #[inline]
    fn pump<L: EventLoop>(&mut self, index: u32, context: &mut HostContext<L>) {
        let Flow { identity, state, .. } = &mut self.flows[index as usize];
        let FlowState::Tcp(connection) = state else { return };
        while let Some((packet, number)) = connection.next_packet(index, context.now(), context.network.pool_mut()) {
            context.send(packet, number, identity);
            if connection.sender.is_held_back(context.now()) {
                break; // as a paced sender is after every segment
            }
        }
        self.arm_or_retire(index, context);
    }

    /// [`Self::pump`] for a flow that may have subflows.
    fn pump_any<L: EventLoop>(&mut self, index: u32, context: &mut HostContext<L>) {
        match &self.flows[index as usize].state {
            FlowState::Multipath(connection) => {
                let subflows = all(connection.subflows.len());
                self.pump_subflows(index, subflows, context);
            }
            _ => self.pump(index, context),
        }
    }

    /// Sets the sender's timer after it has sent all that it may, or retires a flow that is done.
    #[inline(always)]
    pub(in crate::packet) fn arm_or_retire<L: EventLoop>(&mut self, index: u32, context: &mut HostContext<L>) {
        let FlowState::Tcp(connection) = &mut self.flows[index as usize].state else { return };
        let last_segment = context.network.sizes(index).last_segment;
        if connection.sender.is_done() && connection.sender.scoreboard().una() > last_segment {
            connection.sender.release_memory();
            self.retire_later(index, context);
            self.on_acknowledged(index, context);
        } else if !connection.sender.quiet_until(context.event_loop.armed(index, SENDER))
            && let Some(deadline) = connection.sender.deadline()
        {
            let now = context.now();
            context.arm(index, SENDER, deadline.clamp(now, now + FARTHEST_TIMER));
        }
    }
}

/// Timers.
impl Hosts {
    pub(in crate::packet) fn on_timer<L: EventLoop>(&mut self, flow: u32, timer: u32, context: &mut HostContext<L>) {
        match timer {
            SENDER => self.on_sender_timer(flow, context),
            RECEIVER => self.on_receiver_timer(flow, context),
            _ => self.on_application_timer(flow, context),
        }
    }

    fn on_sender_timer<L: EventLoop>(&mut self, index: u32, context: &mut HostContext<L>) {
        let connection = match &mut self.flows[index as usize].state {
            FlowState::Tcp(connection) => connection,
            FlowState::Message(_) => return self.on_message_timer(index, context),
            FlowState::Subflow(of) => {
                let of = *of;
                return self.on_subflow_timer(of, index, SENDER, context);
            }
            _ => return,
        };
        let now = context.now();
        if connection.sender.is_paced_to(now) {
            return self.pump(index, context);
        }
        match connection.sender.deadline() {
            Some(deadline) if deadline <= now => {
                connection.on_deadline(now);
                self.pump(index, context);
            }
            Some(deadline) => context.arm(index, SENDER, deadline.min(now + FARTHEST_TIMER)),
            None => {}
        }
    }

    fn on_receiver_timer<L: EventLoop>(&mut self, index: u32, context: &mut HostContext<L>) {
        let flow = &mut self.flows[index as usize];
        let connection = match &mut flow.state {
            FlowState::Tcp(connection) => connection,
            FlowState::Message(_) => {
                let host = flow.identity.dst;
                return self.serve_pacer(host, context);
            }
            FlowState::Subflow(of) => {
                let of = *of;
                return self.on_subflow_timer(of, index, RECEIVER, context);
            }
            _ => return,
        };
        match connection.receiver.deadline() {
            Some(deadline) if deadline <= context.now() => {
                let ack = connection.receiver.acknowledge(context.now());
                let packet = connection.packet_of(index, context.now(), &ack, context.network.pool_mut());
                let number = connection.last_ack_number();
                context.send(packet, number, &flow.identity);
            }
            Some(deadline) => context.arm(index, RECEIVER, deadline),
            None => {}
        }
    }

    fn on_application_timer<L: EventLoop>(&mut self, index: u32, context: &mut HostContext<L>) {
        let now = context.now();
        let Flow { identity, state, .. } = &mut self.flows[index as usize];
        let stopped = now >= context.spec.traffic[identity.group as usize].stop();
        match state {
            FlowState::Pending if !stopped => return self.start_after_others(index, context),
            FlowState::Pending | FlowState::Finished(_) => return,
            FlowState::Message(_) => return self.on_turn(index, context),
            FlowState::Subflow(of) => {
                let of = *of;
                return self.on_subflow_timer(of, index, APPLICATION, context);
            }
            FlowState::Multipath(connection) => match &mut connection.writer {
                Some(writer) if !stopped => {
                    writer.write();
                    connection.data.write(1);
                }
                None if context.network.sizes(index).last_segment == u32::MAX => connection.data.close(),
                _ => {}
            },
            FlowState::Tcp(connection) => match &mut connection.writer {
                Some(writer) if !stopped => {
                    writer.write();
                    connection.sender.write(now, 1);
                }
                None if context.network.sizes(index).last_segment == u32::MAX => connection.sender.close(),
                _ => {} // what was written before the stop is still to be sent
            },
            FlowState::Udp(datagrams) if !stopped => {
                datagrams.writer.write();
                let number = datagrams.sent;
                datagrams.sent = number.wrapping_add(1);
                context.send(Packet::new(index, number, number, 0), number, identity);
            }
            FlowState::Udp(_) => {}
        }
        if !stopped {
            self.arm_application(index, context);
        }
        self.pump_any(index, context);
    }

    fn arm_application<L: EventLoop>(&mut self, index: u32, context: &mut HostContext<L>) {
        let flow = &self.flows[index as usize];
        let writes = match &flow.state {
            FlowState::Tcp(connection) => connection.writer.as_ref().and_then(|writer| writer.next()),
            FlowState::Udp(datagrams) => datagrams.writer.next(),
            FlowState::Multipath(connection) => connection.writer.as_ref().and_then(|writer| writer.next()),
            FlowState::Pending | FlowState::Finished(_) | FlowState::Message(_) | FlowState::Subflow(_) => None,
        };
        let stop = context.spec.traffic[flow.identity.group as usize].stop();
        let next = writes.unwrap_or(Time::NEVER).min(stop);
        if next < Time::NEVER {
            context.arm(index, APPLICATION, next);
        }
    }
}

/// The life of a flow: it starts, and retires when all of it is delivered and acknowledged.
impl Hosts {
    /// Start of the next flow; [`Time::NEVER`] if none is left.
    pub(in crate::packet) fn next_start(&self) -> Time {
        self.starts.get(self.started).map_or(Time::NEVER, |flow| self.identity(*flow).start)
    }

    /// Removes and returns the next flow to start, with its position in the order of starts.
    pub(in crate::packet) fn take_next_start(&mut self) -> (usize, u32) {
        self.started += 1;
        (self.started - 1, self.starts[self.started - 1])
    }

    /// The flow at this position in the order of starts.
    pub(in crate::packet) fn flow_that_starts(&self, position: usize) -> u32 {
        self.starts[position]
    }

    /// Starts a flow now.
    pub(in crate::packet) fn start<L: EventLoop>(&mut self, flow: u32, context: &mut HostContext<L>) {
        self.open(flow, context);
        self.arm_application(flow, context);
        if matches!(self.flows[flow as usize].state, FlowState::Message(_)) {
            return self.request_line(flow, context);
        }
        self.pump_any(flow, context);
    }

    /// Counts a flow all of whose data is delivered now. The application's timers of the flows for which it was the last are set.
    pub(in crate::packet) fn on_delivered<L: EventLoop>(&mut self, flow: u32, context: &mut HostContext<L>) {
        if !self.dependencies.is_empty() {
            self.on_over(flow, self.identity(flow).dst, context);
        }
    }

    /// The same for a flow all of whose data is acknowledged.
    pub(super) fn on_acknowledged<L: EventLoop>(&mut self, flow: u32, context: &mut HostContext<L>) {
        if !self.dependencies.is_empty() && self.dependencies.is_first_acknowledgement(flow) {
            self.on_over(flow, self.identity(flow).src, context);
        }
    }

    #[inline(never)]
    fn on_over<L: EventLoop>(&mut self, flow: u32, node: NodeId, context: &mut HostContext<L>) {
        let now = context.now();
        self.dependencies.on_over(flow, node, now, &self.flows, |follower, start| {
            context.arm(follower, APPLICATION, start);
        });
    }

    fn start_after_others<L: EventLoop>(&mut self, index: u32, context: &mut HostContext<L>) {
        let now = context.now();
        let identity = &mut self.flows[index as usize].identity;
        identity.start = now;
        context.event_loop.on_started(now, index, identity.dst);
        self.start(index, context);
    }

    /// A flow whose sender is in another partition has started there at this time, which is now.
    pub(in crate::packet) fn on_started_elsewhere<L: EventLoop>(&mut self, index: u32, context: &mut HostContext<L>) {
        self.flows[index as usize].identity.start = context.now();
        self.open(index, context);
    }

    /// Creates both ends of a flow, without sending anything.
    pub(in crate::packet) fn open<L: EventLoop>(&mut self, index: u32, context: &mut HostContext<L>) {
        let identity = *self.identity(index);
        let group = &context.spec.traffic[identity.group as usize];
        let draws = Stream::new(context.spec.seed, Purpose::Application, u64::from(index));
        self.flows[index as usize].state = match group.transport {
            TransportSpec::Udp { packet } => {
                let application = Application::new(&group.application, packet, draws);
                FlowState::Udp(Box::new(Datagrams {
                    writer: Writer::new(application, context.now()),
                    sent: 0,
                    arrived: 0,
                    order: Reordering::default(),
                }))
            }
            TransportSpec::Tcp { stack: stack_index } => {
                let stack = &context.spec.stacks[stack_index];
                if let Some(parameters) = stack.messages() {
                    let message = self.new_message(index, parameters, stack.entropy.as_ref(), context);
                    self.flows[index as usize].state = FlowState::Message(Box::new(message));
                    return;
                }
                if let Some(parameters) = stack.subflows() {
                    let connection = self.new_multipath(index, stack, parameters, context);
                    self.flows[index as usize].state = FlowState::Multipath(Box::new(connection));
                    return;
                }
                let paths = context.network.paths_of_flow(identity.forward, identity.src);
                let random = Stream::new(context.spec.seed, Purpose::Congestion, u64::from(index));
                let mut sender = Sender::new(stack, paths, random);
                sender.share_settings(&mut self.common_settings[stack_index]);
                if !self.delays.is_empty() {
                    sender.record_round_trips();
                }
                let writer = if group.application.writes_at_once() {
                    let sizes = context.network.sizes(index);
                    sender.write(context.now(), sizes.segments());
                    if sizes.last_segment != u32::MAX {
                        sender.finish();
                    }
                    None
                } else {
                    let application = Application::new(&group.application, stack.mss, draws);
                    Some(Box::new(Writer::new(application, context.now())))
                };
                let receiver = Receiver::of_stack(stack);
                let mut connection = Connection::new(sender, receiver, writer);
                if let Some(spec) = &stack.entropy
                    && !matches!(identity.forward, RouteRef::Route(_))
                {
                    let draws = Stream::new(context.spec.seed, Purpose::Entropy, u64::from(index));
                    connection.entropy = Some(Box::new(EntropyEnds { policy: spec.build(draws), answered: None }));
                }
                FlowState::Tcp(Box::new(connection))
            }
        };
    }

    /// Retires a flow whose data is completely delivered and acknowledged. Its connection stays for longer than any epoch of an event loop. So
    /// the order in which its two ends are visited does not matter.
    pub(super) fn retire_later<L: EventLoop>(&mut self, flow: u32, context: &mut HostContext<L>) {
        let at = Time((context.now().0 / TIME_WAIT.0 + 2) * TIME_WAIT.0);
        self.retire_at(at, flow, context);
        context.event_loop.on_done(at, flow, self.identity(flow).dst);
    }

    /// Schedules the time from which only the counters of a flow are kept.
    pub(in crate::packet) fn retire_at<L: EventLoop>(&mut self, at: Time, flow: u32, context: &mut HostContext<L>) {
        self.done.push((at, flow));
        self.schedule_retirement(at, context);
    }

    /// Schedules a retirement. Flows end in any order within an epoch, so it may come before one that is already scheduled.
    fn schedule_retirement<L: EventLoop>(&mut self, at: Time, context: &mut HostContext<L>) {
        if at < self.next_retirement {
            self.next_retirement = at;
            context.schedule_retirement(at);
        }
    }

    /// Retires the flows whose time has come.
    pub(in crate::packet) fn retire<L: EventLoop>(&mut self, context: &mut HostContext<L>) {
        let now = context.now();
        if self.next_retirement > now {
            return; // there was one more at this instant
        }
        let mut next = Time::NEVER;
        let Hosts { flows, done, delays, .. } = self;
        done.retain(|(at, flow)| {
            let state = &mut flows[*flow as usize].state;
            if *at <= now
                && let (FlowState::Tcp(connection), Some(delays)) = (&*state, delays.get_mut(*flow as usize))
                && let Some(recorded) = connection.sender.rtt().recorded()
            {
                delays.round_trips = recorded.clone();
            }
            if *at <= now && matches!(state, FlowState::Tcp(_) | FlowState::Message(_) | FlowState::Multipath(_)) {
                let counters = state.counters(now, context.network.sizes(*flow).last_segment);
                let retired = std::mem::replace(state, FlowState::Finished(Box::new(counters)));
                if let FlowState::Multipath(connection) = retired {
                    for (subflow, place) in connection.subflows.iter().zip(&mut flows[connection.first as usize..]) {
                        place.state = FlowState::Finished(Box::new(subflow.counters(now, u32::MAX)));
                    }
                }
            }
            if *at > now {
                next = next.min(*at);
            }
            *at > now
        });
        self.next_retirement = Time::NEVER;
        self.schedule_retirement(next, context);
    }
}
