"""OpenRouter: OpenAI's format with routing and costs of its own.

The format itself is in `providers/openai`.
"""
