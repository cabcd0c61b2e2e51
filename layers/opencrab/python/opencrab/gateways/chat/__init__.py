"""Chat services: who signed a request, what its events say, and the worker behind the door.

Answers go out through the channels in `adapters`.
"""
