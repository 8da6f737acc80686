"""`python -m embodied_iqa`: the `embodied-iqa` command, where its script is not on the PATH."""

import sys

from embodied_iqa.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
