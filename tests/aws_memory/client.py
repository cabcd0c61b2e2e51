"""What a botocore client does before it sends anything: it knows the service's operations.

The fakes beside it are called as such a client is, and refuse what it would refuse: an operation
that there is not, a parameter of another type, a missing one.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from botocore import xform_name
from botocore.exceptions import ClientError, ParamValidationError
from botocore.session import get_session
from botocore.validate import ParamValidator

Fields = dict[str, Any]
Answer = Callable[[Fields], Fields]
"""What an operation does with its parameters, and answers."""


class MemoryClient:
    """A client whose calls are answered in this process.

    `answers` are by the name of the operation, such as `SendMessage`; beside each are the names of
    the parameters that it heeds.
    """

    def __init__(self, service: str, answers: Mapping[str, tuple[Answer, str]]) -> None:
        self.operations: dict[str, str] = {}
        """By the names of the client's methods."""
        for operation, (answer, heeded) in answers.items():
            name = xform_name(operation)
            self.operations[name] = operation
            setattr(self, name, _checked(service, operation, answer, {*heeded.split()}))

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError(f"tests/aws_memory does not answer {name}: add it, or ask moto")


def client_error(operation: str, status: int, code: str, message: str) -> ClientError:
    """An answer that says no."""
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(response, operation)


def _checked(
    service: str, operation: str, answer: Answer, heeded: set[str]
) -> Callable[..., Fields]:
    def call(**given: Any) -> Fields:
        report = _VALIDATOR.validate(given, _input_shape(service, operation))
        if report.has_errors():
            raise ParamValidationError(report=report.generate_report())
        if not heeded.issuperset(given):
            unknown = sorted(given.keys() - heeded)
            raise NotImplementedError(f"tests/aws_memory: {operation} does not heed {unknown}")
        return answer(given)

    return call


_VALIDATOR = ParamValidator()


@cache
def _input_shape(service: str, operation: str) -> Any:
    return _service_model(service).operation_model(operation).input_shape


@cache
def _service_model(service: str) -> Any:
    return get_session().get_service_model(service)
