"""What the wire formats of all vendors share: their protocol, lenient reading, refusals, secrecy.

Each vendor's own format is in the folder of its name.
"""
