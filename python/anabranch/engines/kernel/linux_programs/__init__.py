"""Loads congestion controls in eBPF into the running Linux, by the system's libbpf."""
