"""Anthropic's wire format: requests, answers, streams and errors.

How bytes travel, and what may be retried, is in `providers/transport` and `providers/vendor`.
"""
