"""Policy server: subjects served by openpi's websocket protocol."""
