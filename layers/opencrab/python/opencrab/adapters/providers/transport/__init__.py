"""How bytes travel to providers: requests over httpx, deadlines, framing of streams.

It knows no vendor's format.
"""
