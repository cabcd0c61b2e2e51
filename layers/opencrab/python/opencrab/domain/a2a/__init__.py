"""A2A, the protocol between agents of different programs: what its server and client share.

What they do is in `gateways/rest/a2a` and `adapters/a2a`.
"""
