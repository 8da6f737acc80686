"""`python -m reach`: see reach.main."""

import sys

from reach.main import main

sys.exit(main())
