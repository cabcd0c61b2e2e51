"""Changes that break the rules for the dashboard behind CloudFront."""

from tests.template import rules_page
from tests.template.mutation import GONE, Mutation

_CONFIG = "page/Distribution/Properties/DistributionConfig"


PAGE = (
    Mutation(
        rules_page.cloudfront_alone_reads_the_page,
        "every distribution of every account may read the bucket",
        "page/PageBucketPolicy/Properties/PolicyDocument/Statement/1/Condition",
        GONE,
    ),
    Mutation(
        rules_page.cloudfront_alone_reads_the_page,
        "requests to the bucket are not signed",
        f"{_CONFIG}/Origins/0/OriginAccessControlId",
        GONE,
    ),
    Mutation(
        rules_page.cloudfront_alone_reads_the_page,
        "files are sent without the security headers",
        f"{_CONFIG}/CacheBehaviors/~page/ResponseHeadersPolicyId",
        GONE,
    ),
    Mutation(
        rules_page.an_api_behind_cloudfront_is_unchanged,
        "answers of the API are cached",
        f"{_CONFIG}/CacheBehaviors/~api/CachePolicyId",
        "658327ea-f89d-4fab-a63d-7e88639e58f6",
    ),
    Mutation(
        rules_page.an_api_behind_cloudfront_is_unchanged,
        "the Authorization header does not reach the API",
        f"{_CONFIG}/CacheBehaviors/~api/OriginRequestPolicyId",
        GONE,
    ),
    Mutation(
        rules_page.an_api_behind_cloudfront_is_unchanged,
        "a key may be sent in clear and is then redirected",
        f"{_CONFIG}/CacheBehaviors/~approve/ViewerProtocolPolicy",
        "redirect-to-https",
    ),
    Mutation(
        rules_page.an_api_behind_cloudfront_is_unchanged,
        "the API is asked with TLS 1.0",
        f"{_CONFIG}/Origins/1/CustomOriginConfig",
        lambda old: {**old, "OriginSSLProtocols": ["TLSv1", "TLSv1.2"]},
    ),
    Mutation(
        rules_page.an_api_behind_cloudfront_is_unchanged,
        "what is not found, by an API too, gets the page with status 200",
        _CONFIG,
        lambda old: {
            **old,
            "CustomErrorResponses": [
                {"ErrorCode": 404, "ResponseCode": 200, "ResponsePagePath": "/index.en.html"}
            ],
        },
    ),
)
