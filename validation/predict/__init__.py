"""The predict engine beside the packet engine, on random scenarios."""
