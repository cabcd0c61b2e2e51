"""Agents bound to outside worlds: bindings, and messages on their way there.

What messages mean is `domain/world`.
"""
