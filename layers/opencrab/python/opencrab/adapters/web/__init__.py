"""Pages of the web that an operator allowed, and search services.

Models are asked over a transport of their own, `adapters/providers/transport`.
"""
