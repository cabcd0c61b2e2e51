"""What is written on Discord: embeds, lengths and escapes, and sentences in two languages.

Who is shown what is `gateways/discord/views`.
"""
