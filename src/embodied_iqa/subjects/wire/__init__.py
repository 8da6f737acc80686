"""How policies on other machines are spoken to: openpi's websocket protocol and OpenVLA's HTTP one.

Nothing that arrives is ever unpickled or evaluated; every wait has a deadline and every message a limit.
"""
