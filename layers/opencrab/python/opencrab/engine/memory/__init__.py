"""What an agent remembers: curation, reading, embeddings, beliefs, peers, the index's state.

The search itself is an adapter's; forgetting is `engine/erasure`.
"""
