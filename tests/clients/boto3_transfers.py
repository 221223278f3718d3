"""Exports and imports as boto3 sees them.

KEYLOOM_ENDPOINT names the server. Its buckets are directories below KEYLOOM_BUCKETS, or those of the S3 server at
KEYLOOM_S3.
"""

import base64
import gzip
import hashlib
import json
import os
import time

import boto3
from botocore.config import Config

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/music"
BUCKET = "transfers"
ITEMS = 300


def client(service, url):
    config = Config(
        retries={"max_attempts": 2},
        connect_timeout=5,
        read_timeout=30,
        s3={"addressing_style": "path"},
    )
    return boto3.client(service, endpoint_url=url, region_name="us-east-1", config=config)


db = client("dynamodb", os.environ["KEYLOOM_ENDPOINT"])


class Folder:
    """A bucket that is a directory."""

    def __init__(self, root):
        self.root = os.path.join(root, BUCKET)
        os.makedirs(self.root)

    def put(self, key, content):
        path = os.path.join(self.root, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)

    def get(self, key):
        with open(os.path.join(self.root, key), "rb") as file:
            return file.read()


class S3:
    """A bucket of an S3 server."""

    def __init__(self, url):
        self.client = client("s3", url)
        self.client.create_bucket(Bucket=BUCKET)

    def put(self, key, content):
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)

    def get(self, key):
        return self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()

    def unfinished(self):
        return self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])


def ended(describe, status):
    """Waits until a transfer has ended."""
    for _ in range(600):
        description = describe()
        if description[status] != "IN_PROGRESS":
            return description
        time.sleep(0.05)
    raise AssertionError("the transfer does not end")


def table(name):
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
        ],
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
    }


def items(name):
    pages = db.get_paginator("scan").paginate(TableName=name)
    found = [item for page in pages for item in page["Items"]]
    return sorted(found, key=lambda item: (item["pk"]["S"], float(item["sk"]["N"])))


def fill():
    db.create_table(**table("music"))
    for sk in range(ITEMS):
        item = {
            "pk": {"S": "a"},
            "sk": {"N": str(sk)},
            "blob": {"B": os.urandom(100)},
            "tags": {"SS": ["x", "y"]},
            "map": {"M": {"a b": {"L": [{"N": "1.50"}, {"NULL": True}, {"BOOL": False}]}}},
        }
        db.put_item(TableName="music", Item=item)
    setting = {"PointInTimeRecoveryEnabled": True}
    db.update_continuous_backups(TableName="music", PointInTimeRecoverySpecification=setting)
    print("ok: fill")


def export(bucket, **more):
    begun = db.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET, S3Prefix="daily", **more)
    arn = begun["ExportDescription"]["ExportArn"]
    describe = lambda: db.describe_export(ExportArn=arn)["ExportDescription"]
    done = ended(describe, "ExportStatus")
    assert done["ExportStatus"] == "COMPLETED", done
    assert done["ItemCount"] == ITEMS, done
    manifest = done["ExportManifest"]
    summary = bucket.get(manifest)
    checksum = base64.b64encode(hashlib.md5(summary).digest())
    assert bucket.get(manifest.replace(".json", ".md5")) == checksum
    files = bucket.get(json.loads(summary)["manifestFilesS3Key"]).decode().splitlines()
    lines = 0
    for file in map(json.loads, files):
        data = bucket.get(file["dataFileS3Key"])
        assert base64.b64encode(hashlib.md5(data).digest()).decode() == file["md5Checksum"]
        lines += len(gzip.decompress(data).splitlines())
    assert lines == ITEMS
    assert arn in [one["ExportArn"] for one in db.list_exports(TableArn=ARN)["ExportSummaries"]]
    print("ok: export", more)
    return manifest.replace("manifest-summary.json", "data/")


def imported(name, prefix, format, **more):
    begun = db.import_table(
        S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": prefix},
        InputFormat=format,
        TableCreationParameters=table(name),
        **more,
    )
    arn = begun["ImportTableDescription"]["ImportArn"]
    describe = lambda: db.describe_import(ImportArn=arn)["ImportTableDescription"]
    return ended(describe, "ImportStatus")


def bring_back(bucket):
    for format in ["DYNAMODB_JSON", "ION"]:
        prefix = export(bucket, ExportFormat=format)
        done = imported(f"copy-{format}", prefix, format, InputCompressionType="GZIP")
        assert done["ImportStatus"] == "COMPLETED", done
        assert done["ImportedItemCount"] == ITEMS, done
        assert items(f"copy-{format}") == items("music")
        print("ok: import", format)


def csv(bucket):
    bucket.put("csv/ä +&.csv", b"pk;sk;note\nb;1;hello\nb;;no key\n")
    options = {"Csv": {"Delimiter": ";"}}
    done = imported("csv", "csv/", "CSV", InputFormatOptions=options)
    assert done["ImportStatus"] == "FAILED", done
    assert done["FailureCode"] == "ItemValidationError", done
    assert (done["ImportedItemCount"], done["ErrorCount"]) == (1, 1), done
    assert items("csv") == [{"pk": {"S": "b"}, "sk": {"N": "1"}, "note": {"S": "hello"}}]
    log = bucket.get(f"aws-dynamodb/imports/{done['ImportArn'].rsplit('/', 1)[1]}/error")
    pointer = json.loads(log)["itemS3Pointer"]
    assert pointer == {"bucket": BUCKET, "key": "csv/ä +&.csv", "itemIndex": 1}, log
    print("ok: errors", done["FailureMessage"])


def many(bucket):
    """More objects than a page of a listing has, and one that is larger than a part."""
    row = '{"Item":{"pk":{"S":"%s"},"sk":{"N":"%d"}}}\n'
    for number in range(1005):
        bucket.put(f"many/{number:04}", (row % ("many", number)).encode())
    lines = (row % ("x" * 1000, number) for number in range(10_000))
    bucket.put("many/large", "".join(lines).encode())
    done = imported("many", "many/", "DYNAMODB_JSON")
    assert done["ImportStatus"] == "COMPLETED", done
    assert done["ImportedItemCount"] == 11_005, done
    print("ok: many objects,", done["ProcessedSizeBytes"], "bytes")


def large(bucket):
    """An export whose object is uploaded in parts."""
    db.create_table(**table("large"))
    for sk in range(40):
        blob = os.urandom(380_000)
        db.put_item(TableName="large", Item={"pk": {"S": "a"}, "sk": {"N": str(sk)}, "b": {"B": blob}})
    setting = {"PointInTimeRecoveryEnabled": True}
    db.update_continuous_backups(TableName="large", PointInTimeRecoverySpecification=setting)
    arn = db.describe_table(TableName="large")["Table"]["TableArn"]
    begun = db.export_table_to_point_in_time(TableArn=arn, S3Bucket=BUCKET, S3SseAlgorithm="AES256")
    arn = begun["ExportDescription"]["ExportArn"]
    describe = lambda: db.describe_export(ExportArn=arn)["ExportDescription"]
    done = ended(describe, "ExportStatus")
    assert done["ExportStatus"] == "COMPLETED", done
    prefix = done["ExportManifest"].replace("manifest-summary.json", "data/")
    found = bucket.client.list_objects_v2(Bucket=BUCKET, Prefix=prefix)["Contents"]
    assert found[0]["ETag"].endswith('-2"'), found
    head = bucket.client.head_object(Bucket=BUCKET, Key=found[0]["Key"])
    assert head["ServerSideEncryption"] == "AES256", head
    copy = imported("large-copy", prefix, "DYNAMODB_JSON", InputCompressionType="GZIP")
    assert copy["ImportedItemCount"] == 40, copy
    assert items("large-copy") == items("large")
    assert bucket.unfinished() == []
    print("ok: parts", found[0]["Size"], "bytes")


def missing():
    begun = db.export_table_to_point_in_time(TableArn=ARN, S3Bucket="no-such-bucket")
    arn = begun["ExportDescription"]["ExportArn"]
    describe = lambda: db.describe_export(ExportArn=arn)["ExportDescription"]
    done = ended(describe, "ExportStatus")
    assert (done["ExportStatus"], done["FailureCode"]) == ("FAILED", "S3NoSuchBucket"), done
    print("ok: missing", done["FailureMessage"])


bucket = S3(os.environ["KEYLOOM_S3"]) if "KEYLOOM_S3" in os.environ else Folder(os.environ["KEYLOOM_BUCKETS"])
fill()
bring_back(bucket)
csv(bucket)
missing()
if isinstance(bucket, S3):
    many(bucket)
    large(bucket)
print("ok: drop")
