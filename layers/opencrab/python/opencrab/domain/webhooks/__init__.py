"""Webhooks: named addresses at which others tell an agent something, and what becomes of a body.

How a request is verified lies in `gateways/door`, which loads nothing of this.
"""
