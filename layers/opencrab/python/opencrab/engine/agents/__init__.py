"""Agents: how they are created, set up and presented.

How they wake and act unasked is `engine/autonomy`.
"""
