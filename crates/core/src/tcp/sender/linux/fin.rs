//! The FIN of a sender that follows Linux. Other senders do not model it.

use crate::tcp::sender::Sender;

/// The state of a connection's FIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tcp::sender) enum Fin {
    /// The application may write more.
    Open,
    /// The application has closed the connection. The first stop of the sender shows whether all data was sent by then.
    Due,
    /// On the last segment of data, or in a segment of its own behind it.
    Placed,
}

impl Sender {
    /// Records that the application has closed the connection.
    pub(in crate::tcp::sender) fn plan_fin(&mut self) {
        if self.linux.is_some() {
            self.fin = Fin::Due;
        }
    }

    /// Places the FIN when the sender stops for the first time since the application closed the connection. If data is unsent, its
    /// last segment carries the FIN (`tcp_send_fin`). Otherwise the FIN is a separate segment.
    #[cold]
    pub(in crate::tcp::sender) fn place_fin(&mut self) {
        let is_alone = self.board.next() == self.available;
        self.available += u32::from(is_alone);
        self.closing = self.available - 1;
        self.fin = Fin::Placed;
    }
}
