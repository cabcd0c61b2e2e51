"""Memories, beliefs, impressions, knowledge and summaries, and the rules by which they change.

How texts are compared and ranked is `domain/text`.
"""
