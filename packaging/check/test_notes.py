"""The fixtures as the package's page shows them."""

import boto3
import pytest
from keyloom.testing import Fork, Server


@pytest.fixture(scope="session")
def loaded(keyloom_server: Server) -> Server:
    db = boto3.client("dynamodb", **keyloom_server.client_settings())
    db.create_table(
        TableName="notes",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return keyloom_server


@pytest.mark.parametrize("name", ["one", "two"])
def test_each_test_has_its_own_notes(
    loaded: Server, keyloom_fork: Fork, name: str
) -> None:
    db = boto3.client("dynamodb", **keyloom_fork.client_settings())
    db.put_item(TableName="notes", Item={"id": {"S": name}})
    assert [item["id"]["S"] for item in db.scan(TableName="notes")["Items"]] == [name]


def test_the_server_keeps_what_was_loaded(loaded: Server) -> None:
    db = boto3.client("dynamodb", **loaded.client_settings())
    assert db.scan(TableName="notes")["Items"] == []


def test_an_option_that_is_wrong_is_named() -> None:
    with pytest.raises(RuntimeError, match="--throtle"):
        Server(["--throtle", "enforce"])


def test_a_fork_that_has_ended_is_gone(loaded: Server) -> None:
    fork = loaded.fork()
    fork.close()
    with pytest.raises(OSError):
        fork.fork()
