"""Memory as actions: finding again, remembering, believing, leafing through the past.

Summaries are made, and words forgotten, elsewhere (`engine/memory`, `engine/erasure`).
"""
