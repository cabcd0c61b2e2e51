"""Discussions of several agents: who speaks next, and what they think of it after.

One session with one agent is `engine/conversation`.
"""
