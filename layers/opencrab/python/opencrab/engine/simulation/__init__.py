"""Simulated days of agents, on a clock that is moved by hand.

Simulated learning has a folder of its own.
"""
