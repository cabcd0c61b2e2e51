"""Actions among agents: who is there, talking to one, the notice board, opening a discussion.

What a message causes and how its answer comes back is `engine/peers`.
"""
