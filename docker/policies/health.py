"""`python health.py [PORT]`: health check of the policy server in this container."""

from __future__ import annotations

import http.client
import sys

_PORT = 8000
_WAIT_S = 4.0


def main(words: list[str]) -> int:
    """Return 0 if ``/healthz`` answers OK, else 1."""
    connection = http.client.HTTPConnection("127.0.0.1", int(words[0]) if words else _PORT, timeout=_WAIT_S)
    try:
        connection.request("GET", "/healthz")
        return 0 if connection.getresponse().status == http.client.OK else 1
    except (OSError, http.client.HTTPException):
        return 1
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
