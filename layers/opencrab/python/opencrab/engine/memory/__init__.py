"""An agent's memory: curation, reading, embeddings, beliefs, peers, the index's status.

The search itself is an adapter; erasure is in `engine/erasure`.
"""
