"""Many runs, one question: sweeps, the studies of five papers, and spraying on fabrics.

May use all rooms but ``cli``.
"""
