"""Kills commands at random moments: no finished run may be lost, no file torn, and the same command goes on to the same result."""
