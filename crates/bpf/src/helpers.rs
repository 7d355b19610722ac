//! Helper functions that do not depend on TCP, by their numbers in Linux's `bpf.h`. All other calls go to the caller by name.

use crate::helper_names;

/// The helper functions.
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
}

/// The helper of a number, if it is one of this crate.
pub fn helper(number: u64) -> Option<Helper> {
    Some(match number {
        1 | 195 => Helper::MapLookup, // also bpf_map_lookup_percpu_elem
        2 => Helper::MapUpdate,
        3 => Helper::MapDelete,
        5 | 125 | 160 | 208 => Helper::Time,
        // bpf_trace_printk and bpf_trace_vprintk; bpf_get_smp_processor_id, as there is one; bpf_spin_lock and bpf_spin_unlock.
        6 | 177 | 8 | 93 | 94 => Helper::Ignored,
        7 => Helper::Random,
        4 | 113 => Helper::Copy, // bpf_probe_read, bpf_probe_read_kernel
        107 => Helper::StorageGet,
        108 => Helper::StorageDelete,
        118 => Helper::Jiffies,
        181 => Helper::Loop,
        _ => return None,
    })
}

/// The name of a helper, as programs call it.
pub fn name(number: u64) -> String {
    helper_names::name(number).map_or_else(|| format!("helper function {number}"), |name| format!("bpf_{name}"))
}
