"""`python -m stress`: see stress.main."""

import signal
import sys

from stress.main import main

# As Ctrl-C: what is frozen goes on, and tests end their graphs.
for ending in (signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(ending) is not signal.SIG_IGN:  # such as of nohup
        signal.signal(ending, signal.default_int_handler)
sys.exit(main())
