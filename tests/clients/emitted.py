"""Compares emitted CloudFormation and Terraform with the create-table output, field by field.

emitted.py DIRECTORY, which holds NAME.json (a list of CreateTable bodies), NAME.yaml and NAME.tf for every
design. Prints what differs and ends with 1 if anything does.
"""

import json
import pathlib
import sys

import hcl2
import yaml


def plain(value):
    """What python-hcl2 reads, without the quotes of texts."""
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items() if key != "__is_block__"}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == '"':
        return json.loads(value).replace("$${", "${").replace("%%{", "%{")
    return value


def projection(given):
    return [given["ProjectionType"], sorted(given.get("NonKeyAttributes", []))]


def keys(schema):
    return [[part["AttributeName"], part["KeyType"]] for part in schema]


def shape(table):
    """A table as CreateTable and CloudFormation write it."""
    indexes = lambda name: {
        index["IndexName"]: [keys(index["KeySchema"]), projection(index["Projection"])]
        for index in table.get(name, [])
    }
    stream = table.get("StreamSpecification", {})
    return {
        "name": table["TableName"],
        "keys": keys(table["KeySchema"]),
        "attributes": sorted([a["AttributeName"], a["AttributeType"]] for a in table["AttributeDefinitions"]),
        "billing": table.get("BillingMode", "PROVISIONED"),
        "global": indexes("GlobalSecondaryIndexes"),
        "local": indexes("LocalSecondaryIndexes"),
        "stream": stream.get("StreamViewType"),
        "class": table.get("TableClass", "STANDARD"),
    }


def terraform_shape(table):
    """The same of an `aws_dynamodb_table`."""

    def held(index):
        return [index["projection_type"], sorted(index.get("non_key_attributes", []))]

    primary = [[table["hash_key"], "HASH"]]
    if "range_key" in table:
        primary.append([table["range_key"], "RANGE"])
    return {
        "name": table["name"],
        "keys": primary,
        "attributes": sorted([a["name"], a["type"]] for a in table["attribute"]),
        "billing": table["billing_mode"],
        "global": {
            index["name"]: [[[k["attribute_name"], k["key_type"]] for k in index["key_schema"]], held(index)]
            for index in table.get("global_secondary_index", [])
        },
        "local": {
            index["name"]: [[primary[0], [index["range_key"], "RANGE"]], held(index)]
            for index in table.get("local_secondary_index", [])
        },
        "stream": table.get("stream_view_type"),
        "class": table.get("table_class", "STANDARD"),
    }


def differences(name, kind, made, wanted):
    made, wanted = ({table["name"]: table for table in tables} for tables in (made, wanted))
    if made.keys() != wanted.keys():
        yield f"{name}.{kind}: tables {sorted(made)} instead of {sorted(wanted)}"
    for table in made.keys() & wanted.keys():
        for field, value in wanted[table].items():
            if made[table][field] != value:
                yield f"{name}.{kind}: {table}.{field} is {made[table][field]}, not {value}"


def main():
    wrong, count = [], 0
    for file in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
        count += 1
        wanted = [shape(table) for table in json.loads(file.read_text())]
        template = yaml.safe_load(file.with_suffix(".yaml").read_text())
        made = [shape(r["Properties"]) for r in template["Resources"].values() if r["Type"] == "AWS::DynamoDB::Table"]
        wrong.extend(differences(file.stem, "yaml", made, wanted))
        blocks = plain(hcl2.loads(file.with_suffix(".tf").read_text()))["resource"]
        tables = [t for block in blocks for t in block.get("aws_dynamodb_table", {}).values()]
        wrong.extend(differences(file.stem, "tf", map(terraform_shape, tables), wanted))
    print("\n".join(wrong) or f"{count} designs are right")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
