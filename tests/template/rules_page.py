"""Rules for the dashboard behind CloudFront: who reads its files, and what it does to an API."""

from collections.abc import Iterator

from tests.template.permissions import policies_on
from tests.template.rules_data import BUCKET
from tests.template.stacks import Resource, Stacks, Violation

DISTRIBUTION = "AWS::CloudFront::Distribution"
OVER_TLS = {"OriginProtocolPolicy": "https-only", "OriginSSLProtocols": ["TLSv1.2"]}
UNCHANGED = {
    "CachePolicyId": "4135ea2d-6df8-44a3-9df3-4b5a84be39ad",
    "OriginRequestPolicyId": "b689b0a8-53d0-40ab-baf2-68738e2966ac",
    "ViewerProtocolPolicy": "https-only",
}
"""AWS's policies CachingDisabled and AllViewerExceptHostHeader, and no request in clear."""


def cloudfront_alone_reads_the_page(stacks: Stacks) -> Iterator[Violation]:
    """Only its own distribution reads the page's bucket, and adds the page's security headers.

    With a policy for CloudFront as a whole, a distribution of another account could show the
    files; without the headers, text that an agent wrote could load a script or an image.
    Source: https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/private-content-restricting-access-to-s3.html
    """
    for distribution, origin in _origins(stacks):
        bucket = stacks.find(origin.get("DomainName"))
        if bucket is None or bucket.type != BUCKET:
            continue
        if stacks.find(origin.get("OriginAccessControlId")) is None:
            yield Violation(
                distribution.address,
                f"does not sign its requests to {bucket.address}",
                "OriginAccessControlId",
            )
        for statement in policies_on(stacks, bucket):
            source = statement.condition.get("StringEquals", {}).get("aws:SourceArn")
            if statement.allows and distribution not in stacks.mentioned(source):
                yield Violation(
                    bucket.address,
                    "may be read by others than its distribution",
                    "Condition: StringEquals: aws:SourceArn: the distribution",
                )
        for path, behavior in _behaviors(distribution, origin["Id"]):
            if stacks.find(behavior.get("ResponseHeadersPolicyId")) is None:
                yield Violation(
                    distribution.address,
                    f"sends {path} without security headers",
                    "ResponseHeadersPolicyId",
                )


def an_api_behind_cloudfront_is_unchanged(stacks: Stacks) -> Iterator[Violation]:
    """A request passes CloudFront to an API as it is, over TLS, and its answer is never stored.

    An answer that is kept would be shown to the next caller, whoever that is, and an error page
    for the whole distribution would turn a refusal into a page with status 200.
    Source: https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/using-managed-cache-policies.html
    """
    for distribution in stacks.of(DISTRIBUTION):
        if distribution.items("DistributionConfig", "CustomErrorResponses"):
            yield Violation(
                distribution.address, "replaces errors of the APIs", "drop CustomErrorResponses"
            )
    for distribution, origin in _origins(stacks):
        custom = origin.get("CustomOriginConfig")
        if not isinstance(custom, dict):
            continue
        if {name: custom.get(name) for name in OVER_TLS} != OVER_TLS:
            yield Violation(
                distribution.address,
                f"may ask {origin['Id']!r} without TLS 1.2",
                "OriginProtocolPolicy: https-only, OriginSSLProtocols: [TLSv1.2]",
            )
        for path, behavior in _behaviors(distribution, origin["Id"]):
            yield from (
                Violation(distribution.address, f"changes requests to {path}", f"{name}: {wanted}")
                for name, wanted in UNCHANGED.items()
                if behavior.get(name) != wanted
            )


def _origins(stacks: Stacks) -> Iterator[tuple[Resource, dict[str, object]]]:
    for distribution in stacks.of(DISTRIBUTION):
        for origin in distribution.items("DistributionConfig", "Origins"):
            yield distribution, origin


def _behaviors(distribution: Resource, origin: object) -> Iterator[tuple[str, dict[str, object]]]:
    """What happens to requests for an origin, by the paths."""
    default = distribution.at("DistributionConfig", "DefaultCacheBehavior")
    for each in [default, *distribution.items("DistributionConfig", "CacheBehaviors")]:
        if each["TargetOriginId"] == origin:
            yield each.get("PathPattern", "all other paths"), each
