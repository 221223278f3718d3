#!/usr/bin/env bash
# The life of a table as the AWS CLI sees it: KEYLOOM_ENDPOINT names the server, AWS_CLI the program.
set -euo pipefail

table=cli-orders

dynamodb() {
    "$AWS_CLI" --endpoint-url "$KEYLOOM_ENDPOINT" --region us-east-1 --output text dynamodb "$@"
}

streams() {
    "$AWS_CLI" --endpoint-url "$KEYLOOM_ENDPOINT" --region us-east-1 --output text dynamodbstreams "$@"
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

# refused CODE COMMAND...: the command fails with this error code.
refused() {
    local code=$1 output
    shift
    if output=$("$@" 2>&1); then
        printf 'should fail with %s: %s\n' "$code" "$*" >&2
        exit 1
    fi
    if [[ $output != *"($code)"* ]]; then
        printf 'expected %s, got: %s\nfrom: %s\n' "$code" "$output" "$*" >&2
        exit 1
    fi
}

create() {
    dynamodb create-table --table-name "$table" --billing-mode PAY_PER_REQUEST \
        --attribute-definitions AttributeName=customer,AttributeType=S AttributeName=serial,AttributeType=N \
        AttributeName=phase,AttributeType=S AttributeName=city,AttributeType=S \
        --key-schema AttributeName=customer,KeyType=HASH AttributeName=serial,KeyType=RANGE \
        --global-secondary-indexes '[
          {"IndexName": "by-phase", "Projection": {"ProjectionType": "KEYS_ONLY"},
           "KeySchema": [{"AttributeName": "phase", "KeyType": "HASH"}]},
          {"IndexName": "by-place", "Projection": {"ProjectionType": "ALL"},
           "KeySchema": [{"AttributeName": "phase", "KeyType": "HASH"}, {"AttributeName": "city", "KeyType": "HASH"},
                         {"AttributeName": "serial", "KeyType": "RANGE"}]}]' \
        --stream-specification StreamEnabled=true,StreamViewType=NEW_IMAGE >/dev/null
    dynamodb wait table-exists --table-name "$table"
    expect ACTIVE dynamodb describe-table --table-name "$table" --query Table.TableStatus
}

item() {
    printf '{"customer": {"S": "%s"}, "serial": {"N": "%s"}, "phase": {"S": "%s"}, "city": {"S": "%s"}}' "$@"
}

write() {
    dynamodb put-item --table-name "$table" --item "$(item ann 1 open Rome)"
    refused ConditionalCheckFailedException dynamodb put-item --table-name "$table" \
        --item "$(item ann 1 paid Rome)" --condition-expression 'attribute_not_exists(customer)'
    dynamodb batch-write-item --request-items "{\"$table\": [
        {\"PutRequest\": {\"Item\": $(item ann 2 open Oslo)}},
        {\"PutRequest\": {\"Item\": $(item ann 10 open Rome)}},
        {\"PutRequest\": {\"Item\": $(item bob 1 paid Rome)}}]}" >/dev/null
    expect 3.5 dynamodb update-item --table-name "$table" --key '{"customer": {"S": "ann"}, "serial": {"N": "1"}}' \
        --update-expression 'SET amount = if_not_exists(amount, :zero) + :n' \
        --expression-attribute-values '{":zero": {"N": "0"}, ":n": {"N": "3.50"}}' \
        --return-values UPDATED_NEW --query Attributes.amount.N
}

read_back() {
    # The CLI pages by itself, and prints a line for each of the three pages.
    expect $'1\n2\n10' dynamodb query --table-name "$table" --key-condition-expression 'customer = :c' \
        --expression-attribute-values '{":c": {"S": "ann"}}' --page-size 1 --query 'Items[].serial.N'
    expect $'10\t1' dynamodb query --table-name "$table" --index-name by-place --no-scan-index-forward \
        --key-condition-expression 'phase = :p AND city = :c AND serial > :n' \
        --expression-attribute-values '{":p": {"S": "open"}, ":c": {"S": "Rome"}, ":n": {"N": "0"}}' \
        --query 'Items[].serial.N'
    expect 3 dynamodb query --table-name "$table" --index-name by-phase --select COUNT \
        --key-condition-expression 'phase = :p' --expression-attribute-values '{":p": {"S": "open"}}' --query Count
    expect 4 dynamodb scan --table-name "$table" --query Count
}

transactions() {
    dynamodb transact-write-items --transact-items "[
        {\"Put\": {\"TableName\": \"$table\", \"Item\": $(item cat 1 open Rome)}},
        {\"Delete\": {\"TableName\": \"$table\", \"Key\": {\"customer\": {\"S\": \"bob\"}, \"serial\": {\"N\": \"1\"}}}}]"
    refused TransactionCanceledException dynamodb transact-write-items --transact-items "[
        {\"Put\": {\"TableName\": \"$table\", \"Item\": $(item cat 1 open Rome),
                   \"ConditionExpression\": \"attribute_not_exists(customer)\"}}]"
    expect Rome dynamodb transact-get-items --query 'Responses[].Item.city.S' --transact-items "[
        {\"Get\": {\"TableName\": \"$table\", \"Key\": {\"customer\": {\"S\": \"cat\"}, \"serial\": {\"N\": \"1\"}}}}]"
}

partiql() {
    expect 3.5 dynamodb execute-statement --query 'Items[].amount.N' \
        --statement "SELECT amount FROM \"$table\" WHERE customer = 'ann' AND serial = 1"
}

follow_stream() {
    local arn shard iterator
    arn=$(dynamodb describe-table --table-name "$table" --query Table.LatestStreamArn)
    shard=$(streams describe-stream --stream-arn "$arn" --query 'StreamDescription.Shards[0].ShardId')
    iterator=$(streams get-shard-iterator --stream-arn "$arn" --shard-id "$shard" \
        --shard-iterator-type TRIM_HORIZON --query ShardIterator)
    expect $'INSERT\tINSERT\tINSERT\tINSERT\tMODIFY\tINSERT\tREMOVE' \
        streams get-records --shard-iterator "$iterator" --query 'Records[].eventName'
}

settings() {
    local arn
    arn=$(dynamodb describe-table --table-name "$table" --query Table.TableArn)
    dynamodb tag-resource --resource-arn "$arn" --tags Key=team,Value=shop
    expect $'team\tshop' dynamodb list-tags-of-resource --resource-arn "$arn" --query 'Tags[].[Key, Value]'
    dynamodb update-time-to-live --table-name "$table" \
        --time-to-live-specification Enabled=true,AttributeName=expires >/dev/null
    expect expires dynamodb describe-time-to-live --table-name "$table" \
        --query TimeToLiveDescription.AttributeName
}

errors() {
    refused ResourceNotFoundException dynamodb get-item --table-name absent --key '{"a": {"S": "b"}}'
    refused ValidationException dynamodb get-item --table-name "$table" --key '{"customer": {"S": "ann"}}'
}

drop() {
    dynamodb delete-table --table-name "$table" >/dev/null
    dynamodb wait table-not-exists --table-name "$table"
    refused ResourceNotFoundException dynamodb describe-table --table-name "$table"
}

for part in create write read_back transactions partiql follow_stream settings errors drop; do
    "$part"
    echo "ok: $part"
done
