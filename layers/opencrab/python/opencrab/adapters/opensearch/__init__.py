"""Search in OpenSearch Serverless, over plain HTTP: for installations that outgrow one file.

Which rows there are to find is told by `adapters/search_rows`.
"""
