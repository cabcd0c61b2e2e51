"""Webhooks: they are made and rotated here, and what they receive becomes turns.

Requests are verified in `gateways/door`.
"""
