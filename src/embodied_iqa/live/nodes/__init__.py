"""The ROS 2 nodes, one file each."""

import gc
import signal
import sys

if sys.argv[0] == "-m":  # `python -m` of a node: it begins here, and handles Ctrl-C once it is imported
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # nothing that is imported becomes garbage; `main_of` enables it again
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
