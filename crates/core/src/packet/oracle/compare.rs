//! Runs both event loops and compares their results: they must be equal to the bit.

use crate::packet::build::BuildError;
#[cfg(test)]
use crate::packet::engine::results::StateShare;
use crate::packet::output::route_log::RouteChange;
use crate::packet::output::table::Table;
#[cfg(test)]
use crate::packet::parallel::Partitions;
use crate::packet::{Oracle, Simulation};
use crate::spec::RunSpec;

/// Runs both loops to the end. `None` if all results are the same, else the first difference.
///
/// # Errors
/// The run is refused.
pub fn disagreement(spec: &RunSpec) -> Result<Option<String>, BuildError> {
    let mut oracle = Oracle::new(spec.clone())?;
    let mut epochs = Simulation::new(spec.clone())?;
    while oracle.advance(1 << 20) {}
    while epochs.advance(1 << 20) {}
    let counts = |name, oracle: u64, epochs: u64| (oracle != epochs).then(|| format!("{name}: {oracle} and {epochs}"));
    let difference = counts("packet-hops", oracle.packet_hops(), epochs.packet_hops())
        .or_else(|| counts("without route", oracle.packets_without_route(), epochs.packets_without_route()))
        .or_else(|| counts("expired", oracle.packets_expired(), epochs.packets_expired()))
        .or_else(|| tables("flows", &oracle.flow_table(), &epochs.flow_table()))
        .or_else(|| tables("links", &oracle.link_table(), &epochs.link_table()))
        .or_else(|| tables("series of flows", &oracle.take_flow_series(), &epochs.take_flow_series()))
        .or_else(|| tables("series of links", &oracle.take_link_series(), &epochs.take_link_series()))
        .or_else(|| tables("link state", &oracle.take_link_state(), &epochs.take_link_state()))
        .or_else(|| route_changes(oracle.route_changes(), epochs.route_changes()));
    let mut captures = || {
        let mut links = 0..spec.links.len() as u32;
        links.find(|link| oracle.take_capture(*link) != epochs.take_capture(*link))
    };
    Ok(difference.or_else(|| captures().map(|link| format!("capture of link {link}"))))
}

/// Runs the default loop to the end, undivided and in partitions, each on a thread or all on this one. `None` if all results are the same, else the
/// first difference. No routing of the run may measure links.
///
/// # Errors
/// The run is refused.
#[cfg(test)]
pub fn disagreement_of_partitions(
    spec: &RunSpec,
    partitions: usize,
    on_threads: bool,
) -> Result<Option<String>, BuildError> {
    let mut whole = Simulation::new(spec.clone())?;
    let mut divided = Partitions::exactly(Simulation::new(spec.clone())?, partitions)?;
    while whole.advance(1 << 20) {}
    if on_threads {
        while divided.advance(1 << 10) {}
    } else {
        divided.finish_in_turn()
    }
    let counts = |name, whole: u64, divided: u64| (whole != divided).then(|| format!("{name}: {whole} and {divided}"));
    Ok(counts("packet-hops", whole.packet_hops(), divided.packet_hops())
        .or_else(|| counts("without route", whole.packets_without_route(), divided.packets_without_route()))
        .or_else(|| counts("expired", whole.packets_expired(), divided.packets_expired()))
        .or_else(|| counts("time", whole.now().0, divided.now().0))
        .or_else(|| tables("flows", &whole.flow_table(), &divided.flow_table()))
        .or_else(|| tables("links", &whole.link_table(), &divided.link_table()))
        .or_else(|| tables("series of flows", &whole.take_flow_series(), &divided.take_flow_series()))
        .or_else(|| tables("series of links", &whole.take_link_series(), &divided.take_link_series()))
        .or_else(|| {
            let mut links = 0..spec.links.len() as u32;
            let link = links.find(|link| whole.take_capture(*link) != divided.take_capture(*link));
            link.map(|link| format!("capture of link {link}"))
        })
        .or_else(|| (states(whole.state_shares()) != states(divided.state_shares())).then(|| "states".into())))
}

#[cfg(test)]
fn states(shares: Vec<StateShare>) -> Vec<(u32, &'static str, u64)> {
    shares.into_iter().map(|share| (share.flow, share.state, share.share.to_bits())).collect()
}

/// The first value in which two tables of the same columns differ.
fn tables(name: &str, oracle: &Table, epochs: &Table) -> Option<String> {
    oracle.columns.iter().zip(&epochs.columns).find_map(|((column, left), (_, right))| {
        let (left, right) = (left.bits(), right.bits());
        if left.len() != right.len() {
            return Some(format!("{name}: {} rows and {}", left.len(), right.len()));
        }
        let row = left.iter().zip(&right).position(|(left, right)| left != right)?;
        Some(format!("{name}: row {row} of {column} has the bits {:x} and {:x}", left[row], right[row]))
    })
}

/// The first change of a route that differs. Unknown values are NaN, which are compared as bits.
fn route_changes(oracle: &[RouteChange], epochs: &[RouteChange]) -> Option<String> {
    let bits = |change: &RouteChange| {
        let key = (change.at, change.routing, change.src, change.dst, change.nodes.clone());
        (key, [change.delay, change.loss, change.cost].map(f64::to_bits))
    };
    if oracle.len() != epochs.len() {
        return Some(format!("changes of routes: {} and {}", oracle.len(), epochs.len()));
    }
    let position = oracle.iter().zip(epochs).position(|(left, right)| bits(left) != bits(right))?;
    Some(format!("change {position} of routes: {:?} and {:?}", oracle[position], epochs[position]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::output::table::Column;

    #[test]
    fn a_table_differs_in_the_least_bit_and_in_its_length() {
        let table = |values: &[f64]| Table { columns: vec![("rate", Column::F64(values.to_vec()))] };
        assert_eq!(tables("flows", &table(&[1.0, f64::NAN]), &table(&[1.0, f64::NAN])), None);
        let next = f64::from_bits(2f64.to_bits() + 1);
        let difference = tables("flows", &table(&[1.0, 2.0]), &table(&[1.0, next])).expect("the tables differ");
        assert!(difference.starts_with("flows: row 1 of rate"), "{difference}");
        assert_eq!(tables("flows", &table(&[1.0]), &table(&[])).as_deref(), Some("flows: 1 rows and 0"));
    }
}
