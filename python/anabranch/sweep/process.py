"""A worker process of a sweep: ``python -m anabranch.sweep.process DESCRIPTOR``. It answers chunks that come through a pipe."""

import signal
import sys
from multiprocessing.connection import Connection

from anabranch.sweep.workers import serve

if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGHUP):  # they go to the whole group; the parent decides what ends
        signal.signal(number, signal.SIG_IGN)
    serve(Connection(int(sys.argv[1])))
