"""The behaviour suite of generated Python: see crates/cli/tests/generated."""

import importlib
import json
import math
import re
import sys
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields as dataclass_fields
from datetime import datetime
from decimal import Decimal
from inspect import signature
from typing import get_args, get_type_hints

import boto3
from botocore.config import Config

endpoint, file = sys.argv[1:]
client = boto3.client(
    "dynamodb", endpoint_url=endpoint, config=Config(max_pool_connections=32)
)
sys.path.insert(0, "")
counts = {"calls": 0, "rows": 0, "steps": 0, "races": 0}


def words(name):
    return re.findall(r"[A-Z]+[a-z0-9]*|[a-z0-9]+", name)


def pascal(name):
    text = "".join(word[0].upper() + word[1:] for word in words(name))
    return text if text[:1].isalpha() else "Pattern" + text


def snake(name):
    text = "_".join(words(name)).lower()
    return text if text[:1].isalpha() else "pattern_" + text


def value_of(kind, text):
    """The value that a text of the design stands for in Python."""
    name, _, width = kind.partition(":")
    if name in ("u8", "u16", "u32", "u64", "i64") or name.startswith("shard"):
        return int(text)
    if name in ("number", "decimal"):
        return Decimal(text)
    if name == "epoch_ms":
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return round(moment.timestamp() * 1000)
    if name == "bool":
        return text == "true"
    if name == "binary":
        return bytes.fromhex(text)
    if name == "list":
        return [text]
    if name == "string_set":
        return {text}
    if name == "number_set":
        return {Decimal(text)}
    return text


def typed(fields, values):
    return {name: value_of(fields[name], text) for name, text in values.items()}


def seen(fields, values, returns):
    """What a program sees of a row: no calculated shards, and only what is returned."""
    return {
        name: value
        for name, value in values.items()
        if value is not None
        and not fields[name].startswith("shard")
        and (not returns or name in returns)
    }


def check(actual, expected, what):
    if actual != expected:
        raise AssertionError(f"{what}\n  got    {actual}\n  wanted {expected}")


def canonical(item):
    def shown(value):
        if isinstance(value, dict):
            return sorted((name, shown(one)) for name, one in value.items())
        return value

    return json.dumps(shown(item), default=lambda v: b64encode(v).decode())


def stored(table):
    pages = client.get_paginator("scan").paginate(TableName=table)
    return sorted(canonical(item) for page in pages for item in page["Items"])


def run_call(case, db, entities, pattern, call):
    what = f"{case['module']}: {pattern['name']} {call['inputs']}"
    name = snake(pattern["name"])
    own = getattr(db, name, None) or getattr(db, name + "_pattern", None)
    own = own or getattr(db, name + "_")
    # An input that is a word of the language has an underscore behind it.
    taken = signature(own).parameters
    given = {}
    for n, one in call["inputs"].items():
        given[n if n in taken else n + "_"] = value_of(one["type"], one["text"])
    try:
        asked = own(**given)
        answer = ([asked] if asked else []) if pattern["single"] else asked.collect()
    except Exception as error:
        if call["error"] is not None and type(error).__name__ == "InvalidValue":
            return
        raise AssertionError(what) from error
    if call["rows"] is None:
        raise AssertionError(f"{what}: should fail: {call['error']}")

    def decoded(row, entity):
        names = {own: field for field, own in entity.names.items()}
        values = {names.get(own, own): value for own, value in vars(row).items()}
        kinds = case["entities"][entity.name]
        return entity.name, seen(kinds, values, pattern["returns"])

    expected = []
    for row in call["rows"]:
        kinds = case["entities"][row["entity"]]
        values = seen(kinds, typed(kinds, row["values"]), pattern["returns"])
        expected.append((row["entity"], values))
    actual = []
    for row, wanted in zip(answer, call["rows"]):
        entity = entities[wanted["entity"]]
        is_own = isinstance(row, entity.make) or pattern["returns"]
        actual.append(decoded(row, entity) if is_own else (type(row), row))
    check(len(answer), len(expected), what)
    check(actual, expected, what)
    counts["calls"] += 1
    counts["rows"] += len(answer)
    if pattern["single"] or not pattern["paged"]:
        return
    paged, cursor = [], None
    while True:
        page = own(**given).page(size=3, cursor=cursor)
        paged += page.items
        cursor = page.cursor
        if cursor is None:
            break
    check(paged, own(**given).collect(math.inf), f"{what}: page by page")
    for forged in ("", "x", "bm9uc2Vuc2U", "W10", "eyJhIjoxfQ"):
        outcome(
            lambda: own(**given).page(size=3, cursor=forged),
            "InvalidCursor",
            f"{what}: cursor `{forged}`",
        )


def parameter(values, kinds, names, kind):
    """Values as the parameter of a generated method: only the fields that its type has."""
    own = {field.name for field in dataclass_fields(kind)}
    full = {names.get(n, n): v for n, v in typed(kinds, values).items()}
    return kind(**{name: value for name, value in full.items() if name in own})


def outcome(call, error, what):
    """Runs a step, which must end as the judge says."""
    try:
        call()
    except Exception as caught:
        if type(caught).__name__ != error:
            raise AssertionError(f"{what}: should end with {error}") from caught
    else:
        check(None, error, what)


def run_step(case, db, entities, step):
    what = f"{case['module']}: {step}"
    if step["do"] == "write":
        name = snake(step["name"])
        # Names that others have are a write's with a word more; words of the language get an underscore.
        own = next(
            getattr(db, n)
            for n in (name + "_write", name, name + "_")
            if hasattr(db, n)
        )
        hints = get_type_hints(own)
        kinds = [hints[name] for name in signature(own).parameters]
        given = []
        for member, kind in zip(step["members"], kinds, strict=True):
            fields = case["entities"][member["entity"]]
            names = entities[member["entity"]].names
            kind = get_args(kind)[0] if step["many"] else kind
            some = [parameter(one, fields, names, kind) for one in member["values"]]
            given.append(some if step["many"] else some[0])
        return outcome(lambda: own(*given), step["error"], what)
    entity = entities[step["entity"]]
    kinds, name = case["entities"][step["entity"]], entity.make.__name__
    method = getattr(db, f"{step['do']}_{snake(name)}")
    hints = list(get_type_hints(method).values())
    texts = step.get("values") or step["key"]
    given = [parameter(texts, kinds, entity.names, hints[0])]
    if step["do"] == "update":
        given.append(changes_of(entity, kinds, step["changes"]))
    return outcome(lambda: method(*given), step["error"], what)


def changes_of(entity, kinds, texts):
    return {
        entity.names.get(name, name): (
            None if text is None else value_of(kinds[name], text)
        )
        for name, text in texts.items()
    }


def run_life(case, module, make, entities):
    """Creates, updates, deletes and writes, and what must be stored in the end."""
    life, title = case["life"], f"{case['module']}.life"
    names = {t["TableName"]: f"{title}.{t['TableName']}" for t in life["tables"]}
    for table in life["tables"]:
        client.create_table(**{**table, "TableName": names[table["TableName"]]})
    db = make(client, names)
    for step in life["steps"]:
        run_step(case, db, entities, step)
        counts["steps"] += 1
    for table, own in names.items():
        wanted = [item for name, item in life["items"] if name == table]
        check(stored(own), sorted(map(canonical, wanted)), f"{title}: {table}")
    for race in life["races"]:
        entity, kinds = entities[race["entity"]], case["entities"][race["entity"]]
        name = snake(entity.make.__name__)
        update, get = getattr(db, f"update_{name}"), getattr(db, f"get_{name}")
        kind = list(get_type_hints(update).values())[0]
        key = parameter(race["key"], kinds, entity.names, kind)
        changes = [changes_of(entity, kinds, one) for one in race["changes"]]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda one: update(key, one), changes))
        wanted = entity.item(get(key, consistent=True))
        items = client.scan(TableName=names[race["table"]])["Items"]
        keys = entity.key(key)
        held = [module.loaded_item(item) for item in items]
        held = [item for item in held if all(item[k] == v for k, v in keys.items())]
        check(held, [wanted], f"{title}: {race}")
        counts["races"] += 1


def run_case(case):
    module = importlib.import_module(case["module"])
    names = {
        t["TableName"]: f"{case['module']}.{t['TableName']}" for t in case["tables"]
    }
    title = pascal(case["module"])
    make = getattr(module, title, None)
    if make is None or not issubclass(make, module.DesignClient):
        make = getattr(module, title + "Client")
    db = make(client, names)
    found = [one for one in vars(module).values() if isinstance(one, module.Entity)]
    entities = {entity.name: entity for entity in found}
    for table in case["tables"]:
        client.create_table(**{**table, "TableName": names[table["TableName"]]})

    def put(row):
        entity = entities[row["entity"]]
        values = typed(case["entities"][row["entity"]], row["values"])
        what = f"{case['module']}: {row['entity']} {row['values']}"
        for attribute, stored_value in row["item"].items():
            key = entity.spec["keys"].get(attribute)
            if key is None or key.get("native") or "S" not in stored_value:
                continue
            text = stored_value["S"]
            check(entity.build(attribute, values), text, f"{what}: {attribute}")
            for name, part in entity.parse(attribute, text).items():
                if name not in key.get("formats", {}) and name in row["values"]:
                    check(entity.build(attribute, {**values, name: part}), text, what)
        full = {entity.names.get(n, n): v for n, v in values.items()}
        for name, spec in entity.spec["fields"].items():
            if "by" in spec:
                full.pop(name, None)
        if row["entity"] in case["guards"]:
            item = module.stored_item(entity.item_of(values))
            client.put_item(TableName=names[row["table"]], Item=item)
        else:
            getattr(db, "put_" + snake(entity.make.__name__))(entity.make(**full))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, case["rows"]))
    for name, own in names.items():
        wanted = [row["item"] for row in case["rows"] if row["table"] == name]
        check(stored(own), sorted(map(canonical, wanted)), f"{case['module']}: {name}")
    for pattern in case["patterns"]:
        for call in pattern["calls"]:
            run_call(case, db, entities, pattern, call)
    run_life(case, module, make, entities)


with open(file) as content:
    cases = json.load(content)
for case in cases:
    run_case(case)
told = ", ".join(f"{count} {name}" for name, count in counts.items())
print(f"{len(cases)} designs, {told}")
