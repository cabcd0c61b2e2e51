"""Telegram's Bot API: its client, the delivery channel, and how texts look there.

Whom a message concerns is decided in `engine/chat`.
"""
