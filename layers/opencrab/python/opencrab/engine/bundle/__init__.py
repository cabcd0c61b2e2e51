"""Export of an agent as a bundle, and its import: first everything, then the agent itself.

No agent has the rows and files of an unfinished import, so that nobody finds or runs them. The
memory of a bundle is read by `engine/memory/archive`, with its rules of trust.
"""
