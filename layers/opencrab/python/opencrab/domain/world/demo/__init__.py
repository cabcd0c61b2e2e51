"""The demo world: a small reference world with a market, bounties and events.

It is the other side of the protocol, and knows nothing of agents but what they send.
"""
