"""Workspace files and large journal bodies in one versioned S3 bucket."""

from opencrab.adapters.s3_files.blobs import S3Blobs
from opencrab.adapters.s3_files.files import S3Files

__all__ = ["S3Blobs", "S3Files"]
