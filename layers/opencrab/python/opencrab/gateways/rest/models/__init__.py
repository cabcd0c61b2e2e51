"""Routes for models, aliases and providers.

What they do is `engine/models`.
"""
