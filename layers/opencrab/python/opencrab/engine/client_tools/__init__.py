"""Tools that a client runs itself: what agents are offered, what they ask for, and the results.

The turn that waits meanwhile is `engine/turn/waiting`, OpenAI's format `gateways/rest/openai`.
"""
