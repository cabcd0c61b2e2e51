"""How a command reaches the server: its address and key, and the REST client.

What is asked of the server lies with the commands.
"""
