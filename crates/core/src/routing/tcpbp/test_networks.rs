//! Networks with delays and losses for tests, including the paper's.

use crate::routing::{Graph, Link};
use crate::spec::NodeId;
use crate::units::{Duration, Rate};
use proptest::prelude::*;

/// A graph from (source, destination, delay in microseconds, loss ratio) of every link.
pub fn graph(nodes: usize, links: &[(NodeId, NodeId, u64, f64)]) -> Graph {
    let link = |&(src, dst, delay, loss): &(NodeId, NodeId, u64, f64)| Link {
        src,
        dst,
        rate: Rate(1_000_000_000),
        delay: Duration::from_micros(delay),
        cost: 1.0,
        loss,
    };
    Graph::new(nodes, links.iter().map(link).collect()).unwrap()
}

/// The same network, with every link in both directions.
pub fn both_ways(nodes: usize, links: &[(NodeId, NodeId, u64, f64)]) -> Graph {
    let both: Vec<_> =
        links.iter().flat_map(|&(a, b, delay, loss)| [(a, b, delay, loss), (b, a, delay, loss)]).collect();
    graph(nodes, &both)
}

/// Figures 3 and 4 of the paper; node n of the paper is n - 1 here. The delay between 2 and 3 is printed as 0.0040 s and as
/// 0.0044 s.
pub fn ten_nodes(delay_2_3: u64) -> Graph {
    both_ways(
        10,
        &[
            (0, 2, 8500, 0.003),
            (0, 4, 4000, 0.0181),
            (0, 5, 1500, 0.009),
            (0, 8, 3200, 0.0012),
            (1, 2, delay_2_3, 0.004),
            (1, 4, 5500, 0.0079),
            (1, 7, 1900, 0.0116),
            (1, 8, 7000, 0.0196),
            (2, 3, 1800, 0.0002),
            (2, 5, 9600, 0.0116),
            (2, 6, 8200, 0.0144),
            (2, 9, 4400, 0.0192),
            (3, 4, 500, 0.0005),
            (3, 6, 7300, 0.013),
            (3, 9, 3000, 0.0037),
            (4, 5, 9400, 0.0137),
            (4, 7, 10, 0.0023),
            (4, 8, 6300, 0.0057),
            (4, 9, 5000, 0.0039),
            (6, 8, 5400, 0.0119),
            (6, 9, 7600, 0.0068),
        ],
    )
}

/// Random directed networks of two to `nodes` nodes: losses of many magnitudes, without any, and equal ones; equal delays.
pub fn any_graph(nodes: NodeId, links: usize) -> impl Strategy<Value = Graph> {
    (2..=nodes).prop_flat_map(move |nodes| {
        let loss = prop_oneof![
            1 => Just(0.0),
            1 => Just(0.01),
            4 => (-6.0..-0.1_f64).prop_map(|exponent| 10_f64.powf(exponent)),
        ];
        let delay = prop_oneof![1 => Just(1000_u64), 4 => 10..20_000_u64];
        prop::collection::vec((0..nodes, 0..nodes, delay, loss), 0..=links)
            .prop_map(move |links| graph(nodes as usize, &links))
    })
}
