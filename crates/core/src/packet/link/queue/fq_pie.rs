//! Flow queues with PIE, as Linux has them (`sch_fq_pie.c`): the queues of FQ-CoDel, each with a PIE of its own.

use super::flow_queues::FlowQueues;
use super::pie::{Control, MAX_PROB, Pie};
use super::{Admission, AtService, Build, Coming, Dequeued, Discipline, Place};
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::parameters::Share;
use crate::rng::Sequence;
use crate::spec::QueueLimit;
use crate::units::{Duration, Time};

crate::parameters! {
    /// The queues, and the PIE of each.
    pub struct Parameters {
        /// Acceptable wait of a flow.
        pub target: Duration = Duration::from_millis(15);
        /// How often probabilities are computed.
        pub tupdate: Duration as "positive duration" = Duration::from_millis(15);
        /// Gain for the distance of the wait to target, in units of 1/16 a second.
        pub alpha: u32 = 2, in 0..=32;
        /// Gain for the change of the wait, in units of 1/16 a second.
        pub beta: u32 = 20, in 0..=32;
        /// Bytes that a flow sends in its turn.
        pub quantum: u32 = 1514, in 256..=1048576;
        /// Queues, to which a hash assigns flows.
        pub flows: u32 = 1024, in 1..=65536;
        /// Marks ECN-capable packets while the probability is `ecn_prob` or less.
        pub ecn: bool = false;
        /// The greatest probability at which packets are marked.
        pub ecn_prob: Share = Share(0.1), in 0.0..=1.0;
    }
}

impl Build for Parameters {
    fn build(&self, place: Place) -> Discipline {
        Discipline::AtService(Box::new(FqPie {
            control: Control::new(self.target, self.tupdate, self.alpha, self.beta),
            marks_up_to: self.ecn.then_some((MAX_PROB as f64 * self.ecn_prob.0) as u64),
            limit: place.limit,
            flows: FlowQueues::new(self.flows, self.quantum, place.draws),
            draws: Sequence::new(place.draws),
        }))
    }

    fn default_limit(&self) -> QueueLimit {
        QueueLimit::Packets(10_240)
    }

    fn marks(&self) -> bool {
        self.ecn
    }
}

struct FqPie {
    control: Control,
    /// The greatest probability at which ECN-capable packets are marked.
    marks_up_to: Option<u64>,
    limit: QueueLimit,
    flows: FlowQueues<Pie>,
    draws: Sequence,
}

impl AtService for FqPie {
    fn admit(&mut self, packet: &mut Packet, coming: &Coming, sizes: &FlowSizes, _: &mut Vec<Packet>) -> Admission {
        let flow = &sizes[packet.flow() as usize];
        let has_room = coming.has_room(self.limit, self.flows.backlog(), flow.of(packet));
        let number = self.flows.number(coming.flow);
        let queue = self.flows.queue(number);
        queue.state.update_until(coming.now, &self.control, queue.line.bytes());
        let mtu = u64::from(sizes.largest());
        let marks_up_to = self.marks_up_to.filter(|_| flow.may_be_marked(packet));
        queue.state.admit(&self.control, queue.line.bytes(), mtu, has_room, marks_up_to, &mut self.draws)
    }

    fn enqueue(&mut self, packet: Packet, size: u32, coming: &Coming) {
        self.flows.push_with_quantum(packet, size, coming);
    }

    fn pass(&mut self, packet: Packet, size: u32, coming: &Coming, sizes: &FlowSizes) {
        self.enqueue(packet, size, coming);
        self.dequeue(coming.now, sizes, &mut Vec::new());
    }

    fn dequeue(&mut self, now: Time, _sizes: &FlowSizes, _dropped: &mut Vec<Packet>) -> Option<Dequeued> {
        loop {
            let number = self.flows.turn()?;
            let queue = self.flows.queue(number);
            queue.state.update_until(now, &self.control, queue.line.bytes());
            let Some(held) = self.flows.pop(number) else {
                self.flows.leave();
                continue;
            };
            self.flows.charge(number, held.size);
            let queue = self.flows.queue(number);
            queue.state.on_dequeue(now, now - held.since, queue.line.bytes());
            return Some(Dequeued { packet: held.packet, since: held.since, marks: false });
        }
    }

    fn backlog(&self) -> (u32, u64) {
        self.flows.backlog()
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.flows.drain()
    }
}
