#!/usr/bin/env bash
# Policies as the AWS CLI sees them: the identities of docs/access-control.md, and an administrator.
# KEYLOOM_ENDPOINT names the server, AWS_CLI the program; the environment has the root user's credentials.
set -euo pipefail

table=app
arn=arn:aws:dynamodb:us-east-1:000000000000:table/app

dynamodb() {
    "$AWS_CLI" --endpoint-url "$KEYLOOM_ENDPOINT" --region us-east-1 --output text dynamodb "$@"
}

# as NAME COMMAND...: the command with the credentials of an identity.
as() {
    local name=$1
    shift
    AWS_ACCESS_KEY_ID="AKID${name^^}" AWS_SECRET_ACCESS_KEY="$name-secret-that-is-long-enough" "$@"
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

# refused CODE TEXT COMMAND...: the command fails with this error code and a message that has the text.
refused() {
    local code=$1 text=$2 output
    shift 2
    if output=$("$@" 2>&1); then
        printf 'should fail with %s: %s\n' "$code" "$*" >&2
        exit 1
    fi
    if [[ $output != *"($code)"* || $output != *"$text"* ]]; then
        printf 'expected %s, %s\ngot: %s\nfrom: %s\n' "$code" "$text" "$output" "$*" >&2
        exit 1
    fi
}

# get TENANT: prints the title of the tenant's order.
get() {
    dynamodb get-item --table-name "$table" --key "{\"PK\": {\"S\": \"$1#order\"}}" --query Item.title.S
}

# policy EFFECT PRINCIPAL ACTION: a policy of the table.
policy() {
    printf '{"Version": "2012-10-17", "Statement": {"Effect": "%s", "Principal": %s, "Action": "%s", "Resource": "%s"}}' \
        "$@" "$arn"
}

# order TENANT: its put in a batch.
order() {
    printf '{"PutRequest": {"Item": {"PK": {"S": "%s#order"}, "title": {"S": "of %s"}}}}' "$1" "$1"
}

create() {
    dynamodb create-table --table-name "$table" --billing-mode PAY_PER_REQUEST \
        --attribute-definitions AttributeName=PK,AttributeType=S \
        --key-schema AttributeName=PK,KeyType=HASH >/dev/null
    dynamodb batch-write-item --request-items "{\"$table\": [$(order acme), $(order globex)]}" >/dev/null
}

identities() {
    expect 'of acme' as acme get acme
    refused AccessDeniedException \
        "user/acme is not authorized to perform: dynamodb:GetItem on resource: $arn because no identity-based policy" \
        as acme get globex
}

resource_policy() {
    local auditor='{"AWS": "arn:aws:iam::000000000000:user/auditor"}' allow first second
    allow=$(policy Allow "$auditor" dynamodb:GetItem)
    refused AccessDeniedException dynamodb:GetItem as auditor get acme
    refused AccessDeniedException dynamodb:PutResourcePolicy \
        as auditor dynamodb put-resource-policy --resource-arn "$arn" --policy "$allow"
    first=$(dynamodb put-resource-policy --resource-arn "$arn" --policy "$allow" --query RevisionId)
    expect "$allow"$'\t'"$first" dynamodb get-resource-policy --resource-arn "$arn" --query '[Policy, RevisionId]'
    expect 'of acme' as auditor get acme

    second=$(dynamodb put-resource-policy --resource-arn "$arn" --expected-revision-id "$first" \
        --policy "$(policy Deny '"*"' dynamodb:GetItem)" --query RevisionId)
    refused AccessDeniedException 'explicit deny in a resource-based policy' as acme get acme
    expect "$second" dynamodb delete-resource-policy --resource-arn "$arn" --query RevisionId
    refused PolicyNotFoundException '' dynamodb get-resource-policy --resource-arn "$arn"
    expect 'of acme' as acme get acme
    refused AccessDeniedException dynamodb:GetItem as auditor get acme
}

# A policy that takes its author's right to change it must be confirmed; the root user can always change it.
lockout() {
    local lockout
    lockout=$(policy Deny '"*"' 'dynamodb:*ResourcePolicy')
    refused ValidationException 'set ConfirmRemoveSelfResourceAccess to true' \
        as admin dynamodb put-resource-policy --resource-arn "$arn" --policy "$lockout"
    as admin dynamodb put-resource-policy --resource-arn "$arn" --policy "$lockout" \
        --confirm-remove-self-resource-access >/dev/null
    refused AccessDeniedException 'explicit deny in a resource-based policy' \
        as admin dynamodb delete-resource-policy --resource-arn "$arn"
    dynamodb delete-resource-policy --resource-arn "$arn" >/dev/null
}

drop() {
    dynamodb delete-table --table-name "$table" >/dev/null
}

for step in create identities resource_policy lockout drop; do
    "$step"
    echo "ok: $step"
done
