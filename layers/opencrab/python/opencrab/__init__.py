"""OpenCrab: autonomous agents that remember, act and never lose a message."""

__version__ = "0.2.0"
