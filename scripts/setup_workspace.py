"""Entry point of `make setup`: see workspace.main."""

import sys
from pathlib import Path

# Nothing is installed yet; what set-up shares with the package comes from the sources.
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "src"))

from workspace.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
