"""OpenAI's Responses API, for models that only it serves.

Nothing is stored at OpenAI: what a model thought goes back encrypted. Tools that would run there
are never offered.
"""
