"""Node base classes, message conversion, QoS, sessions."""
