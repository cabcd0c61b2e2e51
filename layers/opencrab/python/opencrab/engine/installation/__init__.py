"""The installation as a whole: what works, what does not, and what mends it.

`discord` examines its own setup; here it is one check of many.
"""
