"""Prints AWS's own model of DynamoDB and DynamoDB Streams, as botocore brings it: operations and shapes."""

import json
import sys

from botocore.loaders import Loader

services = [Loader().load_service_model(name, "service-2") for name in ("dynamodb", "dynamodbstreams")]
# Readers of JSON may forget the order of members, which is the order of violations.
for service in services:
    for shape in service["shapes"].values():
        shape["order"] = list(shape.get("members", []))
json.dump(services, sys.stdout)
