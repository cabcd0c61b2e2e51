"""Asks the emulator's judge of policies about single partitions of a table.

Run by the emulator's Python, since the emulator itself never tells its judge which partition a
request is about. Nothing of OpenCrab is imported here.
"""

import importlib
import json
import sys


def main() -> None:
    """Questions on standard input, as a list; `Allow`, `Deny` or `ImplicitDeny` to each."""
    judge = importlib.import_module("ministack.core.iam_evaluator")
    decisions = []
    for asked in json.load(sys.stdin):
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
        decisions.append(judge.evaluate(context, documents).decision)
    json.dump(decisions, sys.stdout)


if __name__ == "__main__":
    main()
