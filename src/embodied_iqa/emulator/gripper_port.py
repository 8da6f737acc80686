"""The socket server of the Robotiq URCap: ``SET VAR n ...`` and ``GET VAR``."""

from __future__ import annotations

from collections.abc import Callable

from embodied_iqa.emulator.controller import Controller

__all__ = ["gripper_answers"]


def gripper_answers(controller: Controller) -> Callable[[str], bytes]:
    """Return what turns a line into the server's answer; as in the original, no line end follows ``ack``."""

    def answer(line: str) -> bytes:
        words = line.split()
        if controller.safety.emergency or not words:
            return b"?"
        if words[0] == "SET":
            changes = _changes(words[1:])
            return b"ack" if changes and controller.gripper.write(changes) else b"?"
        value = controller.gripper.read(words[1]) if words[0] == "GET" and len(words) == 2 else None
        return b"?" if value is None else f"{words[1]} {value}\n".encode()

    return answer


def _changes(words: list[str]) -> dict[str, int] | None:
    try:
        return {name: int(float(text)) for name, text in zip(words[::2], words[1::2], strict=True)}
    except (ValueError, OverflowError):
        return None
