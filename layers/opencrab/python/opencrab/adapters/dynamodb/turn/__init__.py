"""The turn journal as items of the table: headers, records, due items, one transaction each.

Session lines and utterances, which it writes too, are in `dynamodb/conversation`.
"""
