"""Routes for clients of OpenAI's API, which take agents for models.

What such a client's conversation continues is found by `engine/conversation`.
"""
