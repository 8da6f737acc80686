"""Command of the mutation tester: `make mutants ROOM=gate`."""

import sys

from mutants.main import main

sys.exit(main())
