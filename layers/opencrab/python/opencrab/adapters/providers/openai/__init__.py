"""OpenAI's wire format, which many servers speak: requests, answers, streams, embeddings, errors.

What OpenRouter and llama.cpp do differently is in rooms of their own.
"""
