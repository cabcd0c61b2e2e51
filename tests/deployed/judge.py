"""Asks the emulator's judge of policies about one partition of a table.

Run by the emulator's Python, since the emulator itself never tells its judge which partition a
request is about. Nothing of OpenCrab is imported here.
"""

import importlib
import json
import sys


def main() -> None:
    """A question on standard input; `Allow`, `Deny` or `ImplicitDeny` on standard output."""
    judge = importlib.import_module("ministack.core.iam_evaluator")
    asked = json.load(sys.stdin)
    context = judge.EvalContext(
        principal_arn=asked["role"],
        principal_type="AssumedRole",
        principal_account=asked["role"].split(":")[4],
        action=asked["action"],
        resource_arn=asked["resource"],
        region="us-east-1",
        service_context={"dynamodb:leadingkeys": asked["partitions"]},
    )
    documents = [judge.parse_policy_document(document) for document in asked["documents"]]
    sys.stdout.write(judge.evaluate(context, documents).decision)


if __name__ == "__main__":
    main()
