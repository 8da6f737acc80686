"""`python -m stress`: see stress.main."""

import sys

from stress.main import main

sys.exit(main())
