"""The home on AWS: one DynamoDB table with stores, journal, budgets and switches.

Files and blobs lie in S3 (`adapters/s3_files`), queues in SQS (`adapters/sqs`).
"""
