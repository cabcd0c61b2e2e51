"""Worlds as a way in: what a queue brings from them, and Kingdom's interface.

What messages mean is `domain/world`.
"""
