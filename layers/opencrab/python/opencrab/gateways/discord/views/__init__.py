"""What people see on Discord: embeds and sentences in two languages.

Answers of agents are rendered by `adapters/discord`.
"""
