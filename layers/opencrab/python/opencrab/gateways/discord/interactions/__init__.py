"""Discord's interactions from the door to the engine: commands, buttons, forms, autocomplete.

What people see of the answers is `gateways/discord/views`.
"""
