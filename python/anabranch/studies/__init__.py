"""Many runs, one question: sweeps, the studies of five papers, spraying on fabrics, and a live testbed.

May use all rooms but ``cli``.
"""
