"""Entry point of `make setup`: see workspace.main."""

import sys

from workspace.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
