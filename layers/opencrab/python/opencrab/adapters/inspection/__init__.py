"""A look at a data folder from outside, without its lock: for whoever asks why OpenCrab fails.

What a running OpenCrab reads and writes there is `sqlite` and `local_files`.
"""
