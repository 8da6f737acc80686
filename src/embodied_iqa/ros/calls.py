"""Service calls with a deadline, from a thread that may wait."""

from __future__ import annotations

import threading
import time
from typing import Any

from rclpy.client import Client

from embodied_iqa.errors import UserError

__all__ = ["call"]

_POLL_S = 0.1


def call(client: Client, request: Any, deadline_s: float) -> Any:
    """Call a service and wait for its response.

    Args:
        client: Of a node that is spinning in another thread.
        request: What to ask.
        deadline_s: How long to wait for the service to appear and to answer, real time.

    Raises:
        UserError: There is no such service, or it has not answered in time.
    """
    if deadline_s <= 0 or not client.wait_for_service(timeout_sec=deadline_s):
        raise UserError(f"no service {client.srv_name} within its deadline")
    done = threading.Event()
    until = time.monotonic() + deadline_s
    future = client.call_async(request)
    future.add_done_callback(lambda _future: done.set())
    while not done.wait(_POLL_S):
        if not client.context.ok():  # nobody will ever hand the answer to us
            raise UserError(f"told to stop before {client.srv_name} answered")
        if time.monotonic() > until:
            client.remove_pending_request(future)
            raise UserError(f"{client.srv_name} has not answered within {deadline_s:.1f} s")
    return future.result()
