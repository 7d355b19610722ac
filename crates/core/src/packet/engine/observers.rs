//! The observers: samples, captures and the log of routes. They see a run and change nothing.

use crate::packet::capture::recorder::Captures;
use crate::packet::engine::hosts::Hosts;
use crate::packet::engine::network::Network;
use crate::packet::output::route_log::RouteLog;
use crate::packet::output::samples::Observations;
use crate::spec::RunSpec;
use crate::units::Time;

/// The records of a run.
pub struct Observers {
    pub observations: Observations,
    pub captures: Captures,
    pub route_log: RouteLog,
}

impl Observers {
    /// The observers of a run that has not started. Their log contains the first routes.
    pub(in crate::packet) fn new(spec: &RunSpec, hosts: &Hosts, network: &Network) -> Observers {
        let mut route_log = RouteLog::new(spec, hosts.flows());
        route_log.update(Time::ZERO, network.forwarding());
        Observers {
            observations: Observations::new(spec),
            captures: Captures::new(spec, hosts.flows(), network.all_sizes()),
            route_log,
        }
    }
}
