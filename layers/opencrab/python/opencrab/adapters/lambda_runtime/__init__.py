"""What functions ask of Lambda itself: to call another, and to say when a snapshot was restored.

A search that waits for its answer is in `lambda_search`.
"""
