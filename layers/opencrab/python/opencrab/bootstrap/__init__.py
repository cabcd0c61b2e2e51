"""The composition root: the only package that knows every part, and how they fit together.

`local` puts OpenCrab together on this machine, `aws` in Lambda functions; neither loads the other.
"""


def main() -> None:
    """Run the `opencrab` command."""
    from opencrab.bootstrap.local.entry import run_local_command

    run_local_command()
