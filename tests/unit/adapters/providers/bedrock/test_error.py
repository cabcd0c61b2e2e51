"""Errors of Bedrock: what to do about each, by its type, its status and its words."""

import json

import pytest

from opencrab.adapters.providers.bedrock.error import bedrock_error
from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed

PARTY = ErrorParty("bedrock", "us.amazon.nova-2-lite-v1:0", "AWS_BEARER_TOKEN_BEDROCK")
CORAL = ":http://internal.amazon.com/coral/com.amazon.bedrock/"


def _error(status: int, kind: str, message: str = "だめです") -> ModelCallFailed:
    headers = {"x-amzn-errortype": f"{kind}{CORAL}"} if kind else {}
    return bedrock_error(Reply(status, json.dumps({"message": message}).encode(), headers), PARTY)


@pytest.mark.parametrize(
    ("status", "kind", "fault"),
    [
        (400, "ValidationException", Fault.BAD_REQUEST),
        (400, "ServiceQuotaExceededException", Fault.QUOTA_SPENT),
        (403, "AccessDeniedException", Fault.AUTH),
        (403, "ExpiredTokenException", Fault.AUTH),
        (403, "InvalidSignatureException", Fault.AUTH),
        (403, "UnrecognizedClientException", Fault.AUTH),
        (404, "ResourceNotFoundException", Fault.MODEL_GONE),
        (408, "ModelTimeoutException", Fault.TIMEOUT),
        (424, "ModelErrorException", Fault.SERVER_ERROR),
        (429, "ModelNotReadyException", Fault.OVERLOADED),
        (429, "ThrottlingException", Fault.RATE_LIMITED),
        (500, "InternalServerException", Fault.SERVER_ERROR),
        (503, "ServiceUnavailableException", Fault.OVERLOADED),
        (403, "", Fault.AUTH),
        (429, "", Fault.RATE_LIMITED),
        (500, "", Fault.SERVER_ERROR),
        (301, "", Fault.BAD_REQUEST),
    ],
)
def test_the_type_of_an_error_tells_what_to_do(status: int, kind: str, fault: Fault) -> None:
    error = _error(status, kind)
    assert error.fault is fault
    assert "bedrock" in f"{error.message} {error.cure}".lower() or "AWS" in error.message


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("Input is too long for requested model.", Fault.TOO_LONG),
        ("The model returned the following errors: Input Tokens Exceeded: …", Fault.TOO_LONG),
        ("prompt is too long: 209988 tokens > 200000 maximum", Fault.TOO_LONG),
        ("The provided model identifier is invalid.", Fault.MODEL_GONE),
        (
            "Invocation of model ID m with on-demand throughput isn’t supported.",
            Fault.MODEL_GONE,
        ),
        ("Output blocked by content filtering policy", Fault.BLOCKED),
        ("Operation not allowed", Fault.AUTH),
        ("Malformed input request: extraneous key [x] is not permitted", Fault.BAD_REQUEST),
    ],
)
def test_words_tell_what_a_validation_error_means(message: str, fault: Fault) -> None:
    assert _error(400, "ValidationException", message).fault is fault


def test_a_quota_of_a_day_is_no_rate_limit() -> None:
    message = "Too many tokens per day, please wait before trying again."
    assert _error(429, "ThrottlingException", message).fault is Fault.QUOTA_SPENT


def test_a_model_that_took_too_long_may_be_billed() -> None:
    assert _error(408, "ModelTimeoutException").may_be_billed
    assert not _error(429, "ThrottlingException").may_be_billed


def test_a_model_that_needs_an_inference_profile_is_explained() -> None:
    error = _error(400, "ValidationException", "on-demand throughput isn't supported")
    assert "inference profile" in (error.cure or "")


def test_a_body_that_is_no_json_is_quoted() -> None:
    error = bedrock_error(Reply(502, b"<html>bad gateway</html>", {}), PARTY)
    assert (error.fault, "bad gateway" in error.message) == (Fault.SERVER_ERROR, True)


def test_a_refused_signature_does_not_repeat_the_session_token() -> None:
    message = (
        "The request signature we calculated does not match the signature you provided. Check your "
        "AWS Secret Access Key and signing method.\n\nThe Canonical String for this request should "
        "have been\n'POST\n/model/m/converse\n\nhost:h\nx-amz-security-token:IQoJb3JpZ2luX2Vj"
    )
    error = _error(403, "InvalidSignatureException", message)
    assert error.fault is Fault.AUTH
    assert "signing method" in error.message
    assert "IQoJ" not in f"{error.message} {error.cure}"
