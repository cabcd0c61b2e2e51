"""Goals and other agents: reasons to turn to one, and the wait for its answer.

What a message to another agent causes is `engine/peers`.
"""
