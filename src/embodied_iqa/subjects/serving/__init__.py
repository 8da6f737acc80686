"""Subjects offered to other machines by openpi's websocket protocol."""
