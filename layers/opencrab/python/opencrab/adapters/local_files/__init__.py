"""Workspace files and large journal bodies, in a directory of this machine."""

from opencrab.adapters.local_files.blobs import LocalBlobs
from opencrab.adapters.local_files.disk import Disk
from opencrab.adapters.local_files.files import LocalFiles

__all__ = ["Disk", "LocalBlobs", "LocalFiles"]
