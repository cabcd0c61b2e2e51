"""What is to be forgotten, and how a text is known to repeat it.

Finding and taking it away is `engine/erasure`.
"""
