"""Commands about webhooks: add, list, try, rotate and remove them.

What a request of a sender is lies in `gateways/door`.
"""
