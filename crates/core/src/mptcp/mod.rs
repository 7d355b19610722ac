//! Multipath TCP (RFC 8684): a connection splits its data over subflows, each an ordinary TCP connection on a path of its own.
//!
//! | task | file |
//! | --- | --- |
//! | which data a subflow sends, and what is sent again on another | [`sender`] |
//! | which subflow sends the next segment | [`scheduler`] |
//! | how the windows of subflows grow together | [`crate::tcp::congestion::coupled`] |
//!
//! State machines without I/O. Data is numbered in segments, like that of a subflow. The receiver of the connection is a
//! [`Receiver`](crate::tcp::receiver::Receiver) of data sequence numbers.

pub mod scheduler;
pub mod sender;

use scheduler::SchedulerChoice;

crate::parameters! {
    /// The subflows of a connection.
    pub struct Parameters {
        /// Greatest number of subflows. There is one on each of the routing's explicit paths. Where nodes choose next hops, there are this many, each with ports of its own.
        pub subflows: u32 = 8, in 1..=32;
        /// Which subflow sends the next segment: the one of lowest RTT with room in its window (`min-rtt`), or none if a faster one would then be blocked (`blest`) or finish earlier (`ecf`).
        pub scheduler: SchedulerChoice = SchedulerChoice::MinRtt;
    }
}
