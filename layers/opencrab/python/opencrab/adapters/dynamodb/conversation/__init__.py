"""Sessions, their lines, utterances and the change feed as items of the table.

Turns and their records are in `dynamodb/turn`.
"""
