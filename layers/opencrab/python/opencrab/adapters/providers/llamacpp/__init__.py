"""llama.cpp's server: OpenAI's format with a few differences.

The format itself is in `providers/openai`.
"""
