"""Discord's API over HTTP, and the channel that speaks through it.

When something is said there is decided by `engine/conversation`.
"""
