"""Sessions, messages, journal lines and utterances.

Who speaks next among several agents is `domain/discussion`.
"""
