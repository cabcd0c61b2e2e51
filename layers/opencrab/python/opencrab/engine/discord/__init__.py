"""Discord for agents: ambient messages, reactions, presence, setup and its diagnosis.

Commands and buttons come in through `gateways/discord`.
"""
