"""Agents that meet: who may reach whom, what one asks another, and the notice board.

Trust is `domain/memory/peer`, discussions of several agents are `domain/discussion`.
"""
