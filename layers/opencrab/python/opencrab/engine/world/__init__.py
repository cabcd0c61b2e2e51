"""Agents bound to outside worlds: bindings, and incoming messages.

The meaning of messages is in `domain/world`.
"""
