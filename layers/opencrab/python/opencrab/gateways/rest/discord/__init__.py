"""Routes for Discord's setup, its relay and its door in the local home.

What interactions mean is `gateways/discord`.
"""
