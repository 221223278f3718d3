# ---------------------------------------------------------------------------
# Writes: items with the keys and the guards that belong to them.
# ---------------------------------------------------------------------------


class AlreadyExists(Exception):
    """An item with this key exists already."""


class NotFound(Exception):
    """There is no item with this key."""


class NotUnique(Exception):
    """Another item has the same values in unique fields."""


class Conflict(Exception):
    """Others changed the item again and again, or a condition of a transaction failed."""


class Guard(TypedDict):
    """Fields that no two items share, and the entity whose items guard that."""

    fields: Sequence[str]
    by: Entity[Any]


class WriteSpec(TypedDict, total=False):
    """What a write does with one entity."""

    entity: Required[Entity[Any]]
    action: Required[str]
    values: Required[Sequence[Item]]
    guards: Sequence[Guard]
    sets: Sequence[str]
    appends: Sequence[str]
    update: str
    names: Mapping[str, str]
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """One write of a unit that is done as a whole."""

    kind: str
    entity: Entity[Any]
    item: Item
    expression: Expression
    refused: Exception
    condition: str = ""
    update: str = ""


MAX_CONFLICTS = 12
OWNER = "owner"


def hash_attribute(entity: Entity[Any]) -> str:
    return entity.table["primary"]["hash"][0]


def primary_key(entity: Entity[Any], fields: Mapping[str, Any]) -> Item:
    return entity.key_of(entity.primary(), fields)


def key_label(key: Mapping[str, Any]) -> str:
    """A primary key for people: `PROJECT#p1 / TASK#t1`."""
    return " / ".join(number_text(value) for _, value in sorted(key.items()))


def put_step(
    entity: Entity[Any],
    values: Item,
    create: bool = False,
    unchanged: Sequence[Test] = (),
) -> Step:
    expression = Expression()
    label = f"{entity.name} {key_label(primary_key(entity, values))}"
    tests = [(hash_attribute(entity), "missing")] if create else unchanged
    refused: Exception = Conflict(f"{label} was changed by others")
    if create:
        refused = AlreadyExists(f"{label} exists already")
    condition = expression.all(tests)
    item = entity.item_of(values)
    return Step("Put", entity, item, expression, refused, condition)


def key_step(
    kind: str, entity: Entity[Any], fields: Item, tests: Sequence[Test] = ()
) -> Step:
    expression, key = Expression(), primary_key(entity, fields)
    if kind == "ConditionCheck":
        tests = [(hash_attribute(entity), "exists")]
    refused = NotFound(f"there is no {entity.name} {key_label(key)}")
    return Step(kind, entity, key, expression, refused, expression.all(tests))


def update_step(
    entity: Entity[Any],
    known: Item,
    changed: Sequence[str],
    appends: Sequence[str] = (),
    unchanged: Sequence[Test] = (),
) -> Step:
    """An update of fields, and of the key attributes that follow from them."""
    expression, values = Expression(), entity.completed(known)
    key = primary_key(entity, known)
    sets: list[str] = []
    removes: list[str] = []
    adds: list[str] = []

    def put(name: str, value: Any) -> None:
        if value is None:
            removes.append(expression.name(name))
        else:
            sets.append(f"{expression.name(name)} = {expression.value(value)}")

    for name in changed:
        spec = entity.field(name)
        if not (
            spec.get("key_only") or entity.spec["keys"].get(name, {}).get("native")
        ):
            put(name, attribute_of(spec, values[name]) if name in values else None)
    for name in appends:
        short, value = expression.name(name), expression.value(values[name])
        if entity.field(name)["kind"] == "list":
            empty = expression.value([])
            start = f"if_not_exists({short}, {empty})"
            sets.append(f"{short} = list_append({start}, {value})")
        else:
            adds.append(f"{short} {value}")
    for attribute in entity.spec["keys"]:
        if not set(entity.dependencies(attribute)) & set(changed):
            continue
        if attribute in key:
            raise InvalidValue(f"`{attribute}` is the primary key: it never changes")
        put(attribute, entity.attribute(attribute, values))
    parts = (("SET", sets), ("REMOVE", removes), ("ADD", adds))
    update = " ".join(f"{word} {', '.join(list_)}" for word, list_ in parts if list_)
    condition = expression.all([(hash_attribute(entity), "exists"), *unchanged])
    label = f"{entity.name} {key_label(key)}"
    refused: Exception = NotFound(f"there is no {label}")
    if unchanged:
        refused = Conflict(f"{label} was changed by others")
    return Step("Update", entity, key, expression, refused, condition, update)


def expression_step(spec: WriteSpec, fields: Item) -> Step:
    """An update with a hand-written expression."""
    entity, expression = spec["entity"], Expression()
    condition = expression.all([(hash_attribute(entity), "exists")])
    expression.names.update(spec.get("names", {}))
    for name, value in spec.get("arguments", {}).items():
        expression.values[f":{name}"] = stored(value)
    key = primary_key(entity, fields)
    refused = NotFound(f"there is no {entity.name} {key_label(key)}")
    update = spec["update"]
    return Step("Update", entity, key, expression, refused, condition, update)


def guard_steps(
    entity: Entity[Any],
    guards: Sequence[Guard],
    old: Item | None,
    now: Item | None,
) -> list[Step]:
    """The guards that a change from one state to another takes and gives up."""
    steps: list[Step] = []
    old = None if old is None else entity.completed(old)
    now = None if now is None else entity.completed(now)

    def owner(values: Item) -> str:
        return key_label(primary_key(entity, values))

    def held(by: Entity[Any], *owners: str) -> tuple[Expression, str]:
        expression = Expression()
        free = expression.test((hash_attribute(by), "missing"))
        return expression, f"{free} OR {expression.test((OWNER, 'in', *owners))}"

    for guard in guards:
        by, fields = guard["by"], guard["fields"]

        def key_of(values: Item | None) -> Item | None:
            if values is None or any(values.get(name) is None for name in fields):
                return None
            return primary_key(by, values)

        before, after = key_of(old), key_of(now)
        is_same = before == after
        if is_same and (not old or not now or owner(old) == owner(now)):
            continue
        refused = NotUnique(f"another {entity.name} has the same {', '.join(fields)}")
        if before is not None and old is not None and not is_same:
            expression, condition = held(by, owner(old))
            steps.append(Step("Delete", by, before, expression, refused, condition))
        if after is not None and now is not None:
            owners = {owner(now): None, **({owner(old): None} if old else {})}
            expression, condition = held(by, *owners)
            item = dict(after)
            for name, spec in by.spec["fields"].items():
                if name in now and name != OWNER and not spec.get("key_only"):
                    item[name] = attribute_of(spec, now[name])
            item[OWNER] = owner(now)
            steps.append(Step("Put", by, item, expression, refused, condition))
    return steps


def looks_first(spec: WriteSpec) -> bool:
    """Whether guards or keys depend on what an item was before."""
    has_guards = bool(spec.get("guards")) and spec["action"] in ("put", "delete")
    return has_guards or spec["action"] == "change"


def refuse_twice(steps: Sequence[Step]) -> None:
    """Two items of one write cannot have the same unique fields."""
    seen: set[tuple[str, str]] = set()
    for step in steps:
        key = {name: step.item[name] for name in step.entity.primary()}
        place = (step.entity.spec["table"], key_label(key))
        if place in seen and isinstance(step.refused, NotUnique):
            raise step.refused
        seen.add(place)


def with_shards(entity: Entity[Any], values: Item) -> Item:
    """The values with a shard for each field that has a random one and none yet."""
    full = dict(values)
    for name, spec in entity.spec["fields"].items():
        if spec["kind"] == "shard" and "by" not in spec and full.get(name) is None:
            full[name] = randrange(spec["shards"])
    return full


def unchanged_tests(
    entity: Entity[Any], names: Iterable[str], item: Item
) -> list[Test]:
    """Tests that these fields are as they were read; what only keys have, by those keys."""
    attributes: dict[str, None] = {}
    for name in names:
        spec = entity.field(name)
        if not (spec.get("key_only") or spec["kind"] == "shard"):
            attributes[name] = None
            continue
        for attribute in entity.spec["keys"]:
            is_own = name in entity.template_of(attribute).fields()
            if is_own and attribute not in entity.primary():
                attributes[attribute] = None
    return [
        (name, "=", item[name]) if name in item else (name, "missing")
        for name in attributes
    ]


def guarded(entity: Entity[Any], guards: Sequence[Guard], item: Item) -> list[Test]:
    names = [name for guard in guards for name in guard["fields"]]
    exists: Test = (hash_attribute(entity), "exists")
    return [exists, *unchanged_tests(entity, names, item)]


class DesignClient:
    """What all generated classes share."""

    def __init__(self, client: Any, names: Mapping[str, str] | None = None) -> None:
        """Over a client of boto3; tables may have other names than in the design."""
        self._connection = Connection(client, names or {})

    def _many(
        self,
        pattern: Pattern,
        rows: Mapping[str, Callable[..., Any]] | None = None,
    ) -> ResultQuery[Any]:
        find, returns = pattern["find"], pattern.get("returns", ())

        def decode(item: Item) -> Any:
            owners = find if len(find) == 1 else [one for one in find if one.owns(item)]
            if not owners:
                raise InvalidValue(
                    f"no entity of `{pattern['name']}` has the key of an item"
                )
            owner = owners[0]
            if rows is None:
                return owner.value(item)
            values = owner.values(item)
            kept = {name: values.get(name) for name in returns}
            return rows[owner.name](**owner.named(kept))

        return ResultQuery(self._connection, pattern, decode)

    def _write(self, specs: Sequence[WriteSpec]) -> None:
        """A write of the design: one request, or all of it in a transaction."""
        reads = any(looks_first(spec) for spec in specs)
        for attempt in range(1, MAX_CONFLICTS + 1):
            steps = [
                step
                for spec in specs
                for values in spec["values"]
                for step in self._steps(spec, values)
            ]
            refuse_twice(steps)
            is_plain = all(step.condition == "" for step in steps)
            if len(specs) == 1 and is_plain and len(steps) > 1:
                return self._batch(steps)
            try:
                return self._run(steps)
            except Conflict:
                # What was read is no longer so: all of it is done again.
                if not reads or attempt == MAX_CONFLICTS:
                    raise
                pause(min(attempt, 5))

    def _steps(self, spec: WriteSpec, values: Item) -> list[Step]:
        """The steps of a write for one item, which is read first if it must be."""
        entity, action = spec["entity"], spec["action"]
        guards = spec.get("guards", ())
        if action == "expression":
            return [expression_step(spec, values)]
        if action == "check":
            return [key_step("ConditionCheck", entity, values)]
        if action == "create":
            full = with_shards(entity, values)
            own = put_step(entity, full, create=True)
            return [own, *guard_steps(entity, guards, None, full)]
        if looks_first(spec):
            return self._changed(spec, values, self._fetch(entity, values, True))
        if action == "put":
            return [put_step(entity, with_shards(entity, values))]
        if action == "delete":
            return [key_step("Delete", entity, values)]
        sets, appends = spec.get("sets", ()), spec.get("appends", ())
        return [update_step(entity, values, sets, appends)]

    def _changed(self, spec: WriteSpec, values: Item, item: Item | None) -> list[Step]:
        """The steps that make another item of the one that was read."""
        entity, guards = spec["entity"], spec.get("guards", ())
        old = None if item is None else entity.values(item)
        if spec["action"] == "put":
            full = with_shards(entity, values)
            tests: list[Test] = [(hash_attribute(entity), "missing")]
            if item is not None:
                tests = guarded(entity, guards, item)
            own = put_step(entity, full, unchanged=tests)
            return [own, *guard_steps(entity, guards, old, full)]
        if spec["action"] == "delete":
            if item is None:
                return []
            own = key_step("Delete", entity, values, guarded(entity, guards, item))
            return [own, *guard_steps(entity, guards, old, None)]
        if item is None or old is None:
            label = key_label(primary_key(entity, values))
            raise NotFound(f"there is no {entity.name} {label}")
        sets, appends = spec.get("sets", ()), spec.get("appends", ())
        sources = [name for guard in guards for name in guard["fields"]]
        for attribute in entity.spec["keys"]:
            depends = entity.dependencies(attribute)
            if set(depends) & set(sets):
                sources += depends
        identity = [n for key in entity.primary() for n in entity.dependencies(key)]
        known = {name: values[name] for name in identity if name in values}
        changes = {name: values.get(name) for name in (*sets, *appends)}
        now = {**values, **old, **known, **changes}
        tests = unchanged_tests(entity, sources, item)
        own = update_step(entity, now, sets, appends, tests)
        return [own, *guard_steps(entity, guards, old, now)]

    def _action(self, step: Step) -> Item:
        name = "Item" if step.kind == "Put" else "Key"
        action: Item = {
            "TableName": self._connection.name_of(step.entity),
            name: stored_item(step.item),
            **step.expression.parts(),
        }
        if step.condition:
            action["ConditionExpression"] = step.condition
        if step.update:
            action["UpdateExpression"] = step.update
        return action

    def _run(self, steps: Sequence[Step]) -> None:
        """Does all steps or none: one as a request of its own, several as a transaction."""
        if not steps:
            return
        client = self._connection.client
        try:
            if len(steps) == 1 and steps[0].kind != "ConditionCheck":
                call = getattr(client, f"{steps[0].kind.lower()}_item")
                call(**self._action(steps[0]))
            else:
                actions = [{step.kind: self._action(step)} for step in steps]
                client.transact_write_items(TransactItems=actions)
        except client.exceptions.ConditionalCheckFailedException as error:
            raise steps[0].refused from error
        except client.exceptions.TransactionCanceledException as error:
            reasons = error.response.get("CancellationReasons", [])
            codes = [reason.get("Code") for reason in reasons]
            if "ConditionalCheckFailed" in codes:
                failed = steps[codes.index("ConditionalCheckFailed")]
                raise failed.refused from error
            if "TransactionConflict" in codes:
                raise Conflict(str(error)) from error
            raise

    def _fetch(
        self, entity: Entity[Any], fields: Item, consistent: bool
    ) -> Item | None:
        key = primary_key(entity, fields)
        return self._connection.get_all(entity, [key], consistent)[0]

    def _get(self, entity: Entity[T], fields: Item, consistent: bool) -> T | None:
        item = self._fetch(entity, fields, consistent)
        return None if item is None else entity.value(item)

    def _put(self, entity: Entity[Any], values: Item, guards: Sequence[Guard]) -> None:
        self._one(entity, "put", values, guards)

    def _create(
        self, entity: Entity[Any], values: Item, guards: Sequence[Guard]
    ) -> None:
        self._one(entity, "create", values, guards)

    def _delete(
        self, entity: Entity[Any], fields: Item, guards: Sequence[Guard]
    ) -> None:
        self._one(entity, "delete", fields, guards)

    def _update(
        self,
        entity: Entity[Any],
        fields: Item,
        changes: Mapping[str, Any],
        guards: Sequence[Guard],
    ) -> None:
        unknown = [name for name in changes if name not in entity.spec["fields"]]
        if unknown:
            raise InvalidValue(f"`{entity.name}` has no `{unknown[0]}`")
        for name, spec in entity.spec["fields"].items():
            is_needed = not spec.get("optional") and spec["kind"] != "shard"
            if is_needed and name in changes and changes[name] is None:
                raise InvalidValue(f"`{entity.name}` needs `{name}`")
        values = {**fields, **changes}
        self._one(entity, "change", values, guards, list(changes))

    def _one(
        self,
        entity: Entity[Any],
        action: str,
        values: Item,
        guards: Sequence[Guard],
        sets: Sequence[str] = (),
    ) -> None:
        spec: WriteSpec = {"entity": entity, "action": action, "values": [values]}
        self._write([{**spec, "guards": guards, "sets": sets}])

    def _batch(self, steps: Sequence[Step]) -> None:
        """Puts or deletes without conditions, 25 to a request."""
        waiting: list[tuple[str, Item]] = []
        for step in steps:
            item = stored_item(step.item)
            request: Item = {"DeleteRequest": {"Key": item}}
            if step.kind == "Put":
                request = {"PutRequest": {"Item": item}}
            waiting.append((self._connection.name_of(step.entity), request))
        attempt = 0
        while waiting:
            now, waiting = waiting[:25], waiting[25:]
            requests: dict[str, list[Item]] = {}
            for table, one in now:
                requests.setdefault(table, []).append(one)
            answer = self._connection.client.batch_write_item(RequestItems=requests)
            unprocessed = answer.get("UnprocessedItems", {})
            left = [(t, one) for t, several in unprocessed.items() for one in several]
            attempt = attempt + 1 if len(left) == len(now) else 0
            pause(attempt)
            waiting = left + waiting
