"""Routes for discussions of several agents.

Who speaks next is `engine/discussion`.
"""
