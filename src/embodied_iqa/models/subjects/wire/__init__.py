"""Clients of policy servers: openpi's websocket protocol and HTTP.

Nothing received is unpickled or evaluated; every wait has a deadline and every message a size limit.
"""
