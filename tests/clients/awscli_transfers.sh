#!/usr/bin/env bash
# An export and an import as the AWS CLI sees them. KEYLOOM_ENDPOINT names the server, AWS_CLI the command,
# KEYLOOM_BUCKETS the directory whose subdirectories are buckets.
set -euo pipefail

aws() {
    "$AWS_CLI" --endpoint-url "$KEYLOOM_ENDPOINT" --region us-east-1 --output text dynamodb "$@"
}

# Waits until a transfer has ended: the command that describes it, and where its status is.
ended() {
    local status
    for _ in $(seq 100); do
        status=$(aws "$@")
        [ "$status" = IN_PROGRESS ] || break
        sleep 0.1
    done
    echo "$status"
}

mkdir -p "$KEYLOOM_BUCKETS/cli"
aws create-table --table-name songs --billing-mode PAY_PER_REQUEST \
    --attribute-definitions AttributeName=id,AttributeType=S \
    --key-schema AttributeName=id,KeyType=HASH > /dev/null
aws put-item --table-name songs --item '{"id":{"S":"one"},"plays":{"N":"600"}}'
aws update-continuous-backups --table-name songs \
    --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true > /dev/null
table=$(aws describe-table --table-name songs --query Table.TableArn)

export=$(aws export-table-to-point-in-time --table-arn "$table" --s3-bucket cli --s3-prefix out \
    --export-format ION --query ExportDescription.ExportArn)
status=$(ended describe-export --export-arn "$export" --query ExportDescription.ExportStatus)
[ "$status" = COMPLETED ] || { echo "the export ended as $status" >&2; exit 1; }
folder="out/AWSDynamoDB/${export##*/}/data/"
line=$(gunzip -c "$KEYLOOM_BUCKETS/cli/$folder"*.ion.gz)
[ "$line" = '$ion_1_0 {Item:{id:"one",plays:6d2}}' ] || { echo "the export has: $line" >&2; exit 1; }
echo "ok: export"

import=$(aws import-table --s3-bucket-source "S3Bucket=cli,S3KeyPrefix=$folder" --input-format ION \
    --input-compression-type GZIP --table-creation-parameters \
    'TableName=copy,KeySchema=[{AttributeName=id,KeyType=HASH}],AttributeDefinitions=[{AttributeName=id,AttributeType=S}],BillingMode=PAY_PER_REQUEST' \
    --query ImportTableDescription.ImportArn)
status=$(ended describe-import --import-arn "$import" --query ImportTableDescription.ImportStatus)
[ "$status" = COMPLETED ] || { echo "the import ended as $status" >&2; exit 1; }
plays=$(aws get-item --table-name copy --key '{"id":{"S":"one"}}' --query Item.plays.N)
[ "$plays" = 600 ] || { echo "the copy has $plays" >&2; exit 1; }
[ "$(aws list-imports --query 'length(ImportSummaryList)')" = 1 ]
echo "ok: import"
aws delete-table --table-name copy > /dev/null
echo "ok: drop"
