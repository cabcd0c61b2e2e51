"""The way in for signed requests of others: webhooks and the channels of chat services.

A kind has a module that verifies and reads its requests, which loads next to nothing, and one that
handles what the requests brought once it comes out of the queue. What answers lies elsewhere.
"""
