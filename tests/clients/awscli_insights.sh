#!/usr/bin/env bash
# Contributor Insights as the AWS CLI sees them: KEYLOOM_ENDPOINT names the server, AWS_CLI the program.
set -euo pipefail

table=cli-hot

aws() {
    "$AWS_CLI" --endpoint-url "$KEYLOOM_ENDPOINT" --region us-east-1 --output text "$@"
}

put() {
    aws dynamodb put-item --table-name "$table" --item "{\"id\": {\"S\": \"$1\"}}"
}

report() {
    local now
    now=$(date +%s)
    aws cloudwatch get-insight-rule-report --rule-name "$rule" --period 60 \
        --start-time "$((now - 300))" --end-time "$((now + 60))" "$@"
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

aws dynamodb create-table --table-name "$table" --billing-mode PAY_PER_REQUEST \
    --attribute-definitions AttributeName=id,AttributeType=S \
    --key-schema AttributeName=id,KeyType=HASH >/dev/null
aws dynamodb update-contributor-insights --table-name "$table" \
    --contributor-insights-action ENABLE >/dev/null
for key in hot cold hot; do put "$key"; done
rule=$(aws dynamodb describe-contributor-insights --table-name "$table" \
    --query 'ContributorInsightsRuleList[0]')
echo "ok: rule $rule"

contributors='Contributors[].[Keys[0], ApproximateAggregateValue]'
expect $'hot\t6.0\ncold\t3.0' report --query "$contributors"
expect $'hot\t6.0' report --query "$contributors" --max-contributor-count 1
expect 9.0 report --metrics Sum --query 'sum(MetricDatapoints[].Sum)'
expect 2 aws cloudwatch describe-insight-rules --query 'length(InsightRules)'
echo "ok: report"

aws dynamodb update-contributor-insights --table-name "$table" \
    --contributor-insights-action DISABLE >/dev/null
if refusal=$(report 2>&1) || [[ $refusal != *"(ResourceNotFoundException)"* ]]; then
    printf 'a disabled rule should not be found: %s\n' "$refusal" >&2
    exit 1
fi
aws dynamodb delete-table --table-name "$table" >/dev/null
echo "ok: drop"
