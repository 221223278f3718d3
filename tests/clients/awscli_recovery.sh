#!/usr/bin/env bash
# Point-in-time recovery as the AWS CLI sees it: KEYLOOM_ENDPOINT names the server, AWS_CLI the program.
# The commands are those of docs/point-in-time-recovery.md.
set -euo pipefail

table=cli-ledger

dynamodb() {
    "$AWS_CLI" --endpoint-url "$KEYLOOM_ENDPOINT" --region us-east-1 --output text dynamodb "$@"
}

# expect WANTED COMMAND...: the command prints just this.
expect() {
    local wanted=$1 actual
    shift
    actual=$("$@")
    if [[ $actual != "$wanted" ]]; then
        printf 'expected: %s\ngot:      %s\nfrom:     %s\n' "$wanted" "$actual" "$*" >&2
        exit 1
    fi
}

put() {
    dynamodb put-item --table-name "$table" --item "{\"account\": {\"S\": \"$1\"}, \"amount\": {\"N\": \"$2\"}}"
}

amount() {
    dynamodb get-item --table-name "$1" --key "{\"account\": {\"S\": \"$2\"}}" --query Item.amount.N
}

window='ContinuousBackupsDescription.PointInTimeRecoveryDescription'

create() {
    dynamodb create-table --table-name "$table" --billing-mode PAY_PER_REQUEST \
        --attribute-definitions AttributeName=account,AttributeType=S \
        --key-schema AttributeName=account,KeyType=HASH >/dev/null
    dynamodb wait table-exists --table-name "$table"
    expect ENABLED dynamodb update-continuous-backups --table-name "$table" \
        --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true,RecoveryPeriodInDays=7 \
        --query "$window.PointInTimeRecoveryStatus"
    expect 7 dynamodb describe-continuous-backups --table-name "$table" \
        --query "$window.RecoveryPeriodInDays"
}

restore() {
    put ann 1
    sleep 1.1
    local point
    point=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    sleep 1.1
    put ann 2
    # A few seconds pass before the second can be restored.
    for _ in $(seq 20); do
        if dynamodb restore-table-to-point-in-time --source-table-name "$table" \
            --target-table-name "$table-then" --restore-date-time "$point" >/dev/null 2>&1; then
            break
        fi
        sleep 0.5
    done
    dynamodb wait table-exists --table-name "$table-then"
    expect 1 amount "$table-then" ann
    dynamodb restore-table-to-point-in-time --source-table-name "$table" \
        --target-table-name "$table-now" --use-latest-restorable-time >/dev/null
    dynamodb wait table-exists --table-name "$table-now"
    expect 2 amount "$table-now" ann
}

delete() {
    dynamodb delete-table --table-name "$table" >/dev/null
    local arn
    arn=$(dynamodb list-backups --table-name "$table" --backup-type SYSTEM \
        --query 'BackupSummaries[0].BackupArn')
    dynamodb restore-table-from-backup --target-table-name "$table" --backup-arn "$arn" >/dev/null
    dynamodb wait table-exists --table-name "$table"
    expect 2 amount "$table" ann
}

drop() {
    for name in "$table" "$table-then" "$table-now"; do
        dynamodb delete-table --table-name "$name" >/dev/null
    done
}

for step in create restore delete drop; do
    "$step"
    echo "ok: $step"
done
