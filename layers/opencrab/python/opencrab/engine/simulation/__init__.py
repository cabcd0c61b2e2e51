"""Simulations of agents on a manual clock.

Simulated learning is in `engine/simulation/learning`.
"""
