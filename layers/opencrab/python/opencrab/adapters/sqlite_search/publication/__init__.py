"""Publication of an index: a whole snapshot now and then, between them increments upon it.

What is stored where, and that a publisher cannot undo another one's work, is the snapshot stores'.
"""
