"""WebSocket: sessions watched live and spoken in, over one connection.

What is live in a session is found by `engine/conversation`.
"""
