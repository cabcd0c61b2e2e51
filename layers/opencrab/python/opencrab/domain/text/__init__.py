"""Terms, queries, ranking and similarity of texts, in Japanese and English.

It knows nothing of who wrote them.
"""
