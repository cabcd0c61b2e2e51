"""An agent's memory: curation, reading, embeddings, beliefs, peers, working memory, the index.

The search itself is an adapter; erasure is in `engine/erasure`.
"""
