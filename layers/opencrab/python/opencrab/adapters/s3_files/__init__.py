"""Workspace files, large journal bodies and snapshots of indexes in one versioned S3 bucket.

All else of the home on AWS is in one table, by `adapters/dynamodb`.
"""

from opencrab.adapters.s3_files.blobs import S3Blobs
from opencrab.adapters.s3_files.files import S3Files
from opencrab.adapters.s3_files.snapshots import S3Snapshots

__all__ = ["S3Blobs", "S3Files", "S3Snapshots"]
