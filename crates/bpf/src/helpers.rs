//! Helper functions that know nothing of TCP, by their numbers in Linux's `bpf.h`. All others go to the caller by name.

/// What a helper does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Helper {
    MapLookup,
    MapUpdate,
    MapDelete,
    Time,
    Jiffies,
    Random,
    /// Does nothing, and returns zero.
    Ignored,
    Copy,
    StorageGet,
    StorageDelete,
    Loop,
    /// Goes to the caller of this crate, by its name.
    Named(&'static str),
}

/// The helper of a number, if it is known.
pub fn helper(number: u64) -> Option<Helper> {
    Some(match number {
        1 => Helper::MapLookup,
        2 => Helper::MapUpdate,
        3 => Helper::MapDelete,
        5 | 125 | 160 | 208 => Helper::Time,
        6 | 177 => Helper::Ignored, // bpf_trace_printk, bpf_trace_vprintk
        7 => Helper::Random,
        49 => Helper::Named("bpf_setsockopt"),
        57 => Helper::Named("bpf_getsockopt"),
        4 | 113 => Helper::Copy, // bpf_probe_read, bpf_probe_read_kernel
        107 => Helper::StorageGet,
        108 => Helper::StorageDelete,
        116 => Helper::Named("bpf_tcp_send_ack"),
        118 => Helper::Jiffies,
        137 => Helper::Named("bpf_skc_to_tcp_sock"),
        181 => Helper::Loop,
        _ => return None,
    })
}
