"""Ollama's own wire format: requests, answers and errors.

How bytes travel, and what may be retried, is in `providers/transport` and `providers/vendor`.
"""
