"""Routes for memory: searching, keeping, forgetting, archives, beliefs and peers.

What they do is `engine/memory` and `engine/erasure`.
"""
