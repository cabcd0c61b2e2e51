"""Calls of Lambda functions beside this one, without waiting.

A search that waits for its answer is in `lambda_search`.
"""
