//! The packet engine: every packet, in virtual time.
