"""Webhooks over REST: the door on one's own computer, and what owners say about webhooks.

What verifies requests lies in `gateways/door`.
"""
