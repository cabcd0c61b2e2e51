"""Discussions of several agents: turn-taking, and what the participants learn of each other.

Sessions with one agent are in `engine/conversation`.
"""
