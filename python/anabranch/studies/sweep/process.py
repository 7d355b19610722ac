"""A worker process of a sweep: ``python -m anabranch.studies.sweep.process DESCRIPTOR``. It answers chunks that come through a pipe."""

import sys
from multiprocessing.connection import Connection

from anabranch.studies.sweep.workers import serve

if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
