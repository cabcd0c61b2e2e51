"""A turn: admitted, claimed, observed, decided, acted, closed; the crash-critical core.

It knows no capability by name: what follows for one is registered in bootstrap.
"""
