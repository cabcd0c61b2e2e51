"""Talk of several agents: who speaks next, and how evenly they spoke.

Single sessions and their lines are `domain/conversation`.
"""
