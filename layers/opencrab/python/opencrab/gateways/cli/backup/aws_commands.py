"""What to run for a stage on AWS, where the table and the bucket keep their own backups.

Commands for bash and zsh, as text: they need the AWS CLI and the rights of whoever deploys.
"""

import re

from opencrab.domain.errors import Invalid

_STAGE = re.compile(r"[a-z][a-z0-9-]{0,19}", re.ASCII)

_OUTPUTS = """\
output() {{ aws cloudformation describe-stacks --stack-name opencrab-{stage} --output text \\
  --query "Stacks[0].Outputs[?OutputKey=='$1'].OutputValue"; }}
TABLE=$(output TableName) BUCKET=$(output BucketName)
"""

_BACKUP = (
    _OUTPUTS
    + """\
aws dynamodb create-backup --table-name "$TABLE" \\
  --backup-name "opencrab-{stage}-$(date -u +%Y%m%dT%H%M%SZ)"
aws s3 sync "s3://$BUCKET" {folder}
"""
)

_RESTORE = (
    _OUTPUTS
    + """\
NEW="opencrab-{stage}-$(date -u +%Y%m%d-%H%M)"
aws dynamodb describe-continuous-backups --table-name "$TABLE"
WHEN=YYYY-MM-DDTHH:MM:SSZ
aws dynamodb restore-table-to-point-in-time --source-table-name "$TABLE" \\
  --target-table-name "$NEW" --restore-date-time "$WHEN"
aws s3api list-object-versions --bucket "$BUCKET" --prefix agents/ --max-items 100
"""
)

_VERIFY = (
    _OUTPUTS
    + """\
aws dynamodb describe-continuous-backups --table-name "$TABLE"
aws dynamodb list-backups --table-name "$TABLE"
aws s3api get-bucket-versioning --bucket "$BUCKET"
aws s3api get-bucket-lifecycle-configuration --bucket "$BUCKET"
opencrab doctor
"""
)

COMMANDS = {"backup": _BACKUP, "restore": _RESTORE, "verify": _VERIFY}


def aws_backup_commands(verb: str, stage: str, folder: str = "DIR") -> str:
    """Return the commands that back up, restore or check a stage; raises Invalid for a stage."""
    if not _STAGE.fullmatch(stage):
        raise Invalid(
            f"{stage!r} is not a stage",
            field="stage",
            cure="use the name that `make deploy` was given with --stage, such as main",
        )
    quoted = "'" + folder.replace("'", "'\\''") + "'"
    return COMMANDS[verb].format(stage=stage, folder=quoted)
