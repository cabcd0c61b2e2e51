"""Routes for chat services: are they set up?

Their own requests come in by the door for signed requests.
"""
