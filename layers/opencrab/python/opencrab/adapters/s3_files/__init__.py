"""Workspace files, large journal bodies and snapshots of indexes in one versioned S3 bucket.

All else of the home on AWS is in one table, by `adapters/dynamodb`. Snapshots are not loaded here:
only who searches needs them.
"""

from opencrab.adapters.s3_files.blobs import S3Blobs
from opencrab.adapters.s3_files.files import S3Files

__all__ = ["S3Blobs", "S3Files"]
