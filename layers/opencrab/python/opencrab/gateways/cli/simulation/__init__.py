"""Simulations at the terminal: a day of agents, and learning in made-up worlds.

They need no server: bootstrap hands in what runs them.
"""
