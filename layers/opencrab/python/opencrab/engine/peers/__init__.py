"""Agents that meet: what a message to a peer causes, and how the answer reaches who asked.

The actions are `actions/peers`.
"""
