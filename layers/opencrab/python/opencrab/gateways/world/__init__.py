"""Worlds as a way in: what a queue brings from them.

What messages mean is `domain/world`.
"""
