"""Routes for the binding to a world.

Messages of worlds come in through `gateways/world`.
"""
