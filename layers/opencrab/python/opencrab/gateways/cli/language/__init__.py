"""What the terminal says, in English and Japanese: data, and the one way to look it up.

When something is said lies with the commands; an agent's own words lie in domain and engine.
"""
