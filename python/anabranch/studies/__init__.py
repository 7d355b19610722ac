"""Many runs, one question: sweeps, and the studies of five papers.

May use all rooms but ``cli``.
"""
