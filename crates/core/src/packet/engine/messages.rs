//! Messages at their hosts: the line that they share, and the credit that they are granted.

use crate::entropy::{EntropyPolicy, EntropySpec};
use crate::packet::engine::context::HostContext;
use crate::packet::engine::hosts::Hosts;
use crate::packet::engine::idle::IdleRoutes;
use crate::packet::engine::{APPLICATION, Engine, EventLoop, RECEIVER, SENDER};
use crate::packet::hosts::flow::{Flow, FlowState};
use crate::packet::hosts::line::{Line, Pacer};
use crate::packet::hosts::message::{
    Control, Message, answer_packet, credit_packet, data_packet, read_control, read_data,
};
use crate::packet::link::packet::{ACK, Packet, TRIMMED};
use crate::rng::{Purpose, Stream};
use crate::spec::{NodeId, QueueLimit, RunSpec, TransportSpec};
use crate::uet::packets::{QUANTUM, REQUEST};
use crate::uet::receiver::{Answer, Receiver};
use crate::uet::sender::Sender;
use crate::uet::{MessageSizes, NetworkEstimate, Parameters};
use crate::units::{Duration, Rate, Time};
use rustc_hash::{FxHashMap, FxHashSet};

/// The timeout is this long, and this many times what the longest queue holds.
const TIMEOUT: Duration = Duration::from_micros(15);
const TIMEOUT_QUEUES: u64 = 6;
/// A pacer that granted nothing waits for this many bytes.
const LEAST_WAIT: u64 = 1024;

/// The hosts that send or receive messages.
#[derive(Default)]
pub(in crate::packet) struct MessageHosts {
    lines: FxHashMap<NodeId, Line>,
    pacers: FxHashMap<NodeId, Pacer>,
    /// Round trip and timeout of each stack, where it does not state them.
    networks: Vec<(Duration, Duration)>,
}

impl MessageHosts {
    fn line(&mut self, spec: &RunSpec, host: NodeId) -> &mut Line {
        self.lines.entry(host).or_insert_with(|| {
            let rates = spec.links.iter().filter(|link| link.src == host).map(|link| link.rate.0);
            Line::new(Rate(rates.fold(0, u64::saturating_add).max(1)))
        })
    }
}

impl<L: EventLoop> Engine<L> {
    /// Determines the round trip and the timeout of each stack of messages, in an idle network.
    pub(in crate::packet) fn measure_for_messages(&mut self) {
        if self.spec.stacks.iter().all(|stack| stack.messages().is_none()) {
            return;
        }
        let mut routes = IdleRoutes::default();
        let mut round_trips = vec![Duration::ZERO; self.spec.stacks.len()];
        for (index, flow) in self.hosts.flows().iter().enumerate() {
            let group = &self.spec.traffic[flow.identity.group as usize];
            let TransportSpec::Tcp { stack } = group.transport else { continue };
            let Some(parameters) = self.spec.stacks[stack].messages() else { continue };
            if parameters.network_rtt == Duration::ZERO
                && let Some(round_trip) = self.idle_round_trip(index, &mut routes)
            {
                round_trips[stack] = round_trips[stack].max(round_trip);
            }
        }
        let largest = u64::from(self.network.all_sizes().largest());
        let holds = |link: &crate::spec::LinkSpec| match link.queue.limit {
            QueueLimit::Packets(packets) => link.rate.serialization_delay(u64::from(packets).saturating_mul(largest)),
            QueueLimit::Bytes(bytes) => link.rate.serialization_delay(bytes),
        };
        // A host that sends messages has no queue of data.
        let sends: FxHashSet<NodeId> = self.hosts.flows().iter().map(|flow| flow.identity.src).collect();
        let of_switches = self.spec.links.iter().filter(|link| !sends.contains(&link.src)).map(holds).max();
        let longest = of_switches.or_else(|| self.spec.links.iter().map(holds).max()).unwrap_or(Duration::ZERO);
        let timeout = TIMEOUT + longest * TIMEOUT_QUEUES;
        self.hosts.message_hosts.networks = round_trips.into_iter().map(|round_trip| (round_trip, timeout)).collect();
    }
}

/// The life of a message.
impl Hosts {
    pub(super) fn new_message<L: EventLoop>(
        &mut self,
        flow: u32,
        parameters: &Parameters,
        entropy: Option<&EntropySpec>,
        context: &mut HostContext<L>,
    ) -> Message {
        let network = self.network_of(flow, parameters, context.spec);
        let sizes = context.network.sizes(flow);
        let sizes = MessageSizes {
            packets: sizes.segments(),
            full: sizes.full().into(),
            last: sizes.last().into(),
            header: sizes.header().into(),
        };
        let draws = Stream::new(context.spec.seed, Purpose::Entropy, u64::from(flow));
        let policy: Box<dyn EntropyPolicy> = match entropy {
            Some(spec) => spec.build(draws),
            None => EntropySpec::default().build(draws),
        };
        Message::new(Sender::new(parameters, network, sizes, policy), Receiver::new(parameters, sizes))
    }

    /// The network that a message crosses. What its stack does not state was measured.
    fn network_of(&mut self, flow: u32, parameters: &Parameters, spec: &RunSpec) -> NetworkEstimate {
        let identity = *self.identity(flow);
        let TransportSpec::Tcp { stack } = spec.traffic[identity.group as usize].transport else {
            unreachable!("messages are flows of a stack")
        };
        let (round_trip, timeout) = self.message_hosts.networks[stack];
        let or = |stated: Duration, measured| if stated > Duration::ZERO { stated } else { measured };
        let round_trip = or(parameters.network_rtt, round_trip).max(Duration(1));
        NetworkEstimate {
            rate: self.message_hosts.line(spec, identity.src).rate(),
            round_trip,
            timeout: or(parameters.timeout, timeout.max(round_trip * 2)),
        }
    }

    fn message(&mut self, flow: u32) -> Option<(&mut Message, &mut Time)> {
        let Flow { state, end, .. } = &mut self.flows_mut()[flow as usize];
        match state {
            FlowState::Message(message) => Some((message, end)),
            _ => None,
        }
    }

    /// Processes a packet of a message at one of its ends.
    pub(super) fn deliver_to_message<L: EventLoop>(&mut self, words: [u64; 3], context: &mut HostContext<L>) {
        let packet = Packet::from_words(words);
        if packet.has(ACK) { self.deliver_control(&packet, context) } else { self.deliver_payload(&packet, context) }
    }

    fn deliver_control<L: EventLoop>(&mut self, packet: &Packet, context: &mut HostContext<L>) {
        let (flow, now) = (packet.flow(), context.now());
        let control = read_control(packet, context.network.pool_mut());
        let Some((message, _)) = self.message(flow) else { return };
        let was_done = message.sender.is_done();
        match control {
            Control::Ack(ack) => message.sender.on_ack(now, &ack),
            Control::Nack(nack) => message.sender.on_nack(now, &nack),
            Control::Credit(units) => message.sender.on_credit(units),
        }
        if was_done {
            return;
        }
        if message.sender.is_done() {
            self.on_acknowledged(flow, context);
            return self.retire_later(flow, context);
        }
        self.request_line(flow, context);
        self.arm_message(flow, context);
    }

    fn deliver_payload<L: EventLoop>(&mut self, packet: &Packet, context: &mut HostContext<L>) {
        let (flow, now) = (packet.flow(), context.now());
        let marked = packet.has(crate::packet::link::packet::MARK);
        let data = read_data(packet, context.network.pool_mut());
        let has_credit = self.parameters(flow, context.spec).is_some_and(Parameters::has_credit);
        let Some((message, end)) = self.message(flow) else { return };
        let (answer, without_payload) = if data.number == REQUEST {
            (Some(message.receiver.on_request(&data)), true)
        } else if packet.has(TRIMMED) {
            let at_last_hop = packet.has(crate::packet::link::packet::AT_LAST_HOP);
            (Some(message.receiver.on_trimmed(&data, at_last_hop)), true)
        } else {
            (message.receiver.on_data(&data, marked), false)
        };
        let is_over = message.receiver.is_complete() && *end == Time::NEVER;
        if is_over {
            *end = now;
        }
        let wants = message.receiver.demand.want(data.wanted) || without_payload;
        if let Some(answer) = answer {
            self.send_answer(flow, &answer, context);
        }
        if has_credit && wants {
            self.request_credit(flow, context);
        }
        if is_over {
            self.on_delivered(flow, context);
        }
    }

    fn parameters<'spec>(&self, flow: u32, spec: &'spec RunSpec) -> Option<&'spec Parameters> {
        spec.messages_of(&spec.traffic[self.identity(flow).group as usize])
    }
}

/// The line of a host.
impl Hosts {
    /// Gives a message the line when it is its turn, if it may send.
    pub(super) fn request_line<L: EventLoop>(&mut self, flow: u32, context: &mut HostContext<L>) {
        let host = self.identity(flow).src;
        let Some((message, _)) = self.message(flow) else { return };
        if message.waits || !message.sender.may_send() {
            return;
        }
        message.waits = true;
        self.message_hosts.line(context.spec, host).waiting.push_back(flow);
        self.serve_line(host, context);
    }

    /// Gives the line to the messages that wait, while it is free.
    fn serve_line<L: EventLoop>(&mut self, host: NodeId, context: &mut HostContext<L>) {
        let now = context.now();
        loop {
            let line = self.message_hosts.line(context.spec, host);
            let Some(&flow) = line.waiting.front() else { return };
            if line.free_at() > now {
                let at = line.free_at();
                return context.arm(flow, APPLICATION, at);
            }
            let waiting = line.waiting.len();
            line.waiting.pop_front();
            let Some((message, _)) = self.message(flow) else { continue };
            message.waits = false;
            if !message.sender.may_send() {
                continue;
            }
            let Some((data, size)) = message.sender.send(now, waiting) else { continue };
            message.waits = message.sender.may_send();
            let goes_on = message.waits;
            let packet = data_packet(flow, &data, context.network.pool_mut());
            context.send(packet, data.value, self.identity(flow));
            let line = self.message_hosts.line(context.spec, host);
            line.take(now, size);
            if goes_on {
                line.waiting.push_back(flow);
            }
            self.arm_message(flow, context);
        }
    }

    /// Sets the timer of a message's sender.
    fn arm_message<L: EventLoop>(&mut self, flow: u32, context: &mut HostContext<L>) {
        let now = context.now();
        if let Some((message, _)) = self.message(flow)
            && let Some(deadline) = message.sender.deadline()
        {
            context.arm(flow, SENDER, deadline.max(now));
        }
    }

    /// A message may have the line: it is first among those that wait.
    pub(super) fn on_turn<L: EventLoop>(&mut self, flow: u32, context: &mut HostContext<L>) {
        let host = self.identity(flow).src;
        self.serve_line(host, context);
    }

    /// The timer of a sender: its oldest packet may not have been answered.
    pub(super) fn on_message_timer<L: EventLoop>(&mut self, flow: u32, context: &mut HostContext<L>) {
        let (now, host) = (context.now(), self.identity(flow).src);
        let waiting = self.message_hosts.line(context.spec, host).waiting.len();
        let Some((message, _)) = self.message(flow) else { return };
        if message.sender.deadline().is_some_and(|deadline| deadline <= now) {
            if let Some(request) = message.sender.on_deadline(now, waiting) {
                let packet = data_packet(flow, &request, context.network.pool_mut());
                self.send_control(flow, host, packet, request.value, context);
            }
            self.request_line(flow, context);
        }
        self.arm_message(flow, context);
    }

    fn send_answer<L: EventLoop>(&mut self, flow: u32, answer: &Answer, context: &mut HostContext<L>) {
        let host = self.identity(flow).dst;
        let (packet, number) = answer_packet(flow, answer, context.network.pool_mut());
        self.send_control(flow, host, packet, number, context);
    }

    fn send_control<L: EventLoop>(
        &mut self,
        flow: u32,
        host: NodeId,
        packet: Packet,
        number: u32,
        context: &mut HostContext<L>,
    ) {
        let (now, size) = (context.now(), context.network.sizes(flow).header());
        self.message_hosts.line(context.spec, host).take(now, size.into());
        context.send(packet, number, self.identity(flow));
    }
}

/// The pacer of a host that receives messages.
impl Hosts {
    /// Puts a message among those that get credit in turn.
    fn request_credit<L: EventLoop>(&mut self, flow: u32, context: &mut HostContext<L>) {
        let host = self.identity(flow).dst;
        let Some((message, _)) = self.message(flow) else { return };
        if message.is_active {
            return;
        }
        message.is_active = true;
        self.message_hosts.pacers.entry(host).or_default().active.push_back(flow);
        self.serve_pacer(host, context);
    }

    /// Grants the credit that is due, and sets the timer for the next grant.
    pub(super) fn serve_pacer<L: EventLoop>(&mut self, host: NodeId, context: &mut HostContext<L>) {
        let now = context.now();
        while let Some(flow) = self.message_hosts.pacers.entry(host).or_default().first() {
            let at = self.message_hosts.pacers[&host].next;
            if at > now {
                return context.arm(flow, RECEIVER, at);
            }
            self.grant(host, flow, context);
        }
    }

    /// Grants credit to the first message of a pacer: what it wants, or if nobody wants any, some ahead.
    fn grant<L: EventLoop>(&mut self, host: NodeId, flow: u32, context: &mut HostContext<L>) {
        let now = context.now();
        let rate = self.message_hosts.line(context.spec, host).rate();
        let sizes = *context.network.sizes(flow);
        let parameters = self.parameters(flow, context.spec).copied().unwrap_or_default();
        let payload = u64::from(sizes.full() - sizes.header());
        let most = (payload * u64::from(parameters.grant)).div_ceil(QUANTUM) as u32;
        let network = self.network_of(flow, &parameters, context.spec);
        let most_ahead = (network.most_bytes(network.round_trip) / QUANTUM as f64) as u32;
        let is_wanted = self.message_hosts.pacers.entry(host).or_default().take_first();
        let Some((message, _)) = self.message(flow) else { return };
        if message.receiver.is_complete() || !is_wanted && message.is_active {
            // It wants nothing, or has its turn among those that want credit.
            (message.is_active, message.is_idle) = (message.is_active && !message.receiver.is_complete(), false);
            return;
        }
        let was_idle = message.is_idle;
        let demand = &mut message.receiver.demand;
        let units = if is_wanted {
            let units = demand.grant(most);
            message.is_active = demand.open() > 0;
            message.is_idle |= !message.is_active;
            units
        } else {
            demand.grant_ahead(most);
            message.is_idle = demand.open() == 0 && demand.ahead() < most_ahead;
            most
        };
        let granted = demand.granted();
        let (wants_more, becomes_idle) = (message.is_active, message.is_idle && !(is_wanted && was_idle));
        let pacer = self.message_hosts.pacers.entry(host).or_default();
        if wants_more {
            pacer.active.push_back(flow);
        } else if becomes_idle {
            pacer.idle.push_back(flow);
        }
        let bytes = if units == 0 { LEAST_WAIT } else { u64::from(units) * QUANTUM };
        pacer.wait(now, rate, parameters.grant_rate.0, bytes);
        self.send_control(flow, host, credit_packet(flow, granted), granted, context);
    }
}
