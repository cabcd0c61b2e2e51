"""The composition of the Lambda functions on AWS.

Nothing here is loaded by the local installation.
"""
