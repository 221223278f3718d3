# ---------------------------------------------------------------------------
# Reads: the planned requests, page by page, merged in the order asked for.
# ---------------------------------------------------------------------------


class InvalidCursor(ValueError):
    """A cursor that cannot be used for this query."""


@dataclass(frozen=True)
class ResultPage(Generic[T]):
    """Some of the items of an answer, and where it goes on; there is no cursor at its end."""

    items: list[T]
    cursor: str | None = None


class Range(TypedDict):
    prefix: str
    question: Question
    format: Format
    # The literal between this field and the next one, and whether there is a next one.
    tail: str
    last: bool
    # The ends of the field and of what follows it.
    edges: Sequence[str]
    rest: Sequence[str]
    # What follows a text directly.
    next: str


class Fan(TypedDict, total=False):
    field: Required[str]
    shards: int
    values: Sequence[Any]
    buckets: str
    question: Question


class Shards(TypedDict):
    by: Sequence[str]
    count: int


class RawValue(TypedDict):
    text: str
    kind: str


class RawTest(TypedDict):
    name: str
    test: str
    values: Sequence[RawValue]


class RawRead(TypedDict, total=False):
    """A hand-written request: texts with `{inputs}`."""

    equal: Required[Sequence[RawTest]]
    sort: RawTest
    filter: Sequence[RawTest]


class Read(TypedDict, total=False):
    entity: Required[Entity[Any]]
    index: str
    get: bool
    pins: Required[Mapping[str, Any]]
    shards: Mapping[str, Shards]
    fans: Sequence[Fan]
    # How many sort attributes are pinned.
    pinned: int
    begins: str
    range: Range
    native: Question
    filter: Sequence[Question]
    types: Sequence[str]
    raw: RawRead
    backward: bool
    fetches: bool


class Sorting(TypedDict, total=False):
    field: Required[str]
    desc: bool


class Then(TypedDict, total=False):
    """How the items themselves are fetched, if the rows only lead to them."""

    batch: Required[bool]
    index: str


class Pattern(TypedDict, total=False):
    name: Required[str]
    inputs: Required[Mapping[str, Any]]
    find: Required[Sequence[Entity[Any]]]
    via: Entity[Any]
    reads: Required[Sequence[Read]]
    order: Sequence[Sorting]
    limit: int
    consistent: bool
    then: Then
    alternatives: bool
    one_page: bool
    returns: Sequence[str]


@dataclass(frozen=True)
class Concrete:
    """A read with its inputs filled in."""

    entity: Entity[Any]
    index: str | None
    equal: Item
    sort: Test | None = None
    filter: Sequence[Test] = ()
    get: bool = False
    forward: bool = True
    consistent: bool = False
    fetches: bool = False


# The most periods that one range may touch.
MAX_BUCKETS = 10_000
MAX_PARALLEL = 16


def index_of(entity: Entity[Any], name: str | None) -> Index:
    table = entity.table
    return table["primary"] if name is None else table["indexes"][name]


def around_of(text: str) -> Time:
    """The shortest period in which every time lies that begins with a text."""
    for length in (13, 10, 7, 4):
        if len(text) < length:
            continue
        try:
            return parse_time(text[:length])
        except InvalidValue:
            continue
    raise InvalidValue(f"`{text}` begins no year")


def begun(spec: Format, text: str, precision: int) -> list[Any]:
    """The periods of which some time begins with a text."""
    around = around_of(text)
    places = range(
        period_of(around.ms, precision), period_of(last_of(around), precision) + 1
    )
    texts = [time_text(start_of(one, precision), precision) for one in places]
    is_finer = PRECISIONS.get(spec["kind"], 0) > precision
    return [
        own
        for own in texts
        if own.startswith(text) or is_finer and text.startswith(own)
    ]


def buckets_of(entity: Entity[Any], fan: Fan) -> list[Any]:
    """The periods that a range of time touches."""
    precision, question = PRECISIONS[fan["buckets"]], fan["question"]
    if question.get("test") == "begins_with":
        return begun(entity.field(fan["field"]), str(question["values"][0]), precision)
    value = (question.get("values") or [None])[0]
    low = question.get(FROM, question.get("after", value))
    high = question.get("to", question.get("before", value))
    if low is None or high is None:
        raise InvalidValue(f"`{fan['field']}` needs both ends of its range")
    start, end = time_of(low), time_of(high)
    first = last_of(start) + 1 if "after" in question else start.ms
    last = end.ms - 1 if "before" in question else last_of(end)
    periods = range(period_of(first, precision), period_of(last, precision) + 1)
    if len(periods) > MAX_BUCKETS:
        raise InvalidValue(
            f"the range of `{fan['field']}` touches more than {MAX_BUCKETS} periods"
        )
    return [time_text(start_of(one, precision), precision) for one in periods]


def fan_values(entity: Entity[Any], fan: Fan) -> Sequence[Any]:
    if "shards" in fan:
        return range(fan["shards"])
    return fan["values"] if "values" in fan else buckets_of(entity, fan)


def fanned_out(one: Read) -> list[Item]:
    """Every combination of fan values."""
    combined: list[Item] = [{}]
    for fan in one.get("fans", ()):
        values = fan_values(one["entity"], fan)
        combined = [{**so, fan["field"]: v} for so in combined for v in values]
    return combined


def concrete_reads(pattern: Pattern) -> list[Concrete]:
    reads: list[Concrete] = []
    for one in pattern["reads"]:
        several = pattern.get("alternatives", False)
        first = 0 if several else len(reads)
        is_listed = several or any("values" in fan for fan in one.get("fans", ()))
        for fanned in fanned_out(one):
            if "raw" in one:
                concrete = filled_raw(one, one["raw"], pattern)
            else:
                found = filled(one, fanned, pattern)
                if found is None:
                    continue
                concrete = found
            if not (is_listed and concrete in reads[first:]):
                reads.append(concrete)
    return reads


def is_reversed(test: Test | None) -> bool:
    if test is None or test[1] != "between":
        return False
    return compare_values(test[2], test[3]) > 0


def filled(one: Read, fanned: Item, pattern: Pattern) -> Concrete | None:
    """A read with values; nothing if no item can satisfy it."""
    entity = one["entity"]
    values: Item = {**one["pins"], **fanned}
    for name, shards in one.get("shards", {}).items():
        texts = [display(entity.field(s), values[s]) for s in shards["by"]]
        values[name] = shard_of(texts, shards["count"])
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = folded(entity.field(name), value)
    index, pinned = index_of(entity, one.get("index")), one.get("pinned", 0)
    equal: Item = {}
    for attribute in [*index["hash"], *index["range"][:pinned]]:
        needed(values, entity.template_of(attribute).fields())
        equal[attribute] = entity.written(attribute, values)
    rest = index["range"][pinned:]
    sort = sort_test(one, rest[0], values) if rest else None
    tests = filter_tests(one)
    if is_reversed(sort) or any(is_reversed(test) for test in tests):
        return None
    return Concrete(
        entity,
        one.get("index"),
        equal,
        sort,
        tests,
        get=one.get("get", False),
        forward=not one.get("backward", False),
        consistent=pattern.get("consistent", False),
        fetches=one.get("fetches", False),
    )


def needed(values: Mapping[str, Any], names: Iterable[str]) -> None:
    for name in names:
        if values.get(name) is None:
            raise InvalidValue(f"the input `{name}` has no value")


def sort_test(one: Read, attribute: str, values: Item) -> Test | None:
    entity = one["entity"]
    if "native" in one:
        spec = entity.field(one["native"]["field"])
        kind = entity.table["keys"].get(attribute, "S")
        tests = tests_of(one["native"], spec, lambda v: native_key(spec, kind, v))
        return (attribute, *tests[0][1:])
    key = entity.spec["keys"][attribute]

    def built(text: str) -> str:
        template = entity.template(text, key)
        needed(values, template.fields())
        return template.build(values)

    if "range" in one:
        prefix = built(one["range"]["prefix"])
        return (attribute, *ranged(one["range"], prefix, entity.codec))
    if not one.get("begins"):
        return None
    return (attribute, "begins_with", built(one["begins"]))


def ranged(wanted: Range, prefix: str, codec: Codec) -> Test:
    """The keys whose next field satisfies a condition, as one key condition."""
    question, spec = wanted["question"], wanted["format"]
    if question["test"] == "begins_with" and spec["kind"] != "enum":
        return ("begins_with", prefix + beginning(wanted, codec))
    if spec["kind"] == "enum":
        return ranged_choices(wanted, prefix, codec)
    if bounds(spec) is not None and not spec.get("plain"):
        return ranged_scalar(wanted, prefix)
    if question["test"] == "=":
        return equal_to(wanted, prefix, write(spec, question["values"][0], codec))
    return ranged_text(wanted, prefix, codec)


def equal_to(wanted: Range, prefix: str, written: str) -> Test:
    return (
        "=" if wanted["last"] else "begins_with",
        prefix + written + wanted["tail"],
    )


def empty_range(wanted: Range) -> InvalidValue:
    return InvalidValue(f"no value of `{wanted['question']['field']}` is in the range")


def beginning(wanted: Range, codec: Codec) -> str:
    spec, tail = wanted["format"], wanted["tail"]
    text = str(wanted["question"]["values"][0])
    if text == "":
        raise InvalidValue("a beginning is never empty")
    written = text
    if spec["kind"] == "uuid":
        written = text.lower()
    if spec["kind"] == "ulid":
        written = text.upper()
    if is_text(spec) and spec["kind"] != "fixed":
        value = folded(spec, text)
        if codec.escape == "reject" and codec.separator in value:
            raise InvalidValue(f"`{text}` contains the separator")
        written = escaped(value, codec)
    for at in range(1, len(written)):
        if tail and tail.startswith(written[at:]):
            raise InvalidValue(f"`{text}` also begins keys with a shorter value")
    return written


def ranged_scalar(wanted: Range, prefix: str) -> Test:
    spec, question, rest = wanted["format"], wanted["question"], wanted["rest"]
    least, greatest = bounds(spec) or (0, 0)
    if question["test"] == "=":
        first, last = span_of(spec, bucketed(spec, question["values"][0]))
        least, greatest = max(least, first), min(greatest, last)
    if FROM in question:
        least = max(least, span_of(spec, question[FROM])[0])
    if "after" in question:
        least = max(least, span_of(spec, question["after"])[1] + 1)
    if "to" in question:
        greatest = min(greatest, span_of(spec, question["to"])[1])
    if "before" in question:
        greatest = min(greatest, span_of(spec, question["before"])[0] - 1)
    if least > greatest:
        raise empty_range(wanted)
    if least == greatest:
        return equal_to(wanted, prefix, write_point(spec, least))
    if spec.get("desc"):
        least, greatest = greatest, least
    lower = prefix + write_point(spec, least) + rest[0]
    upper = prefix + write_point(spec, greatest) + rest[1]
    return between(wanted, lower, upper)


def bucketed(spec: Format, value: Any) -> Any:
    """The bucket of a finer time, for equality: building a key truncates it, too."""
    precision = PRECISIONS.get(spec["kind"], 6)
    if precision > 3:
        return value
    time = time_of(value)
    return time_text(time.ms, precision) if time.precision > precision else value


def between(wanted: Range, lower: str, upper: str) -> Test:
    if lower > upper:
        raise empty_range(wanted)
    return ("=", lower) if lower == upper else ("between", lower, upper)


def ranged_text(wanted: Range, prefix: str, codec: Codec) -> Test:
    spec, question, rest = wanted["format"], wanted["question"], wanted["rest"]
    lower, upper = wanted["edges"]
    words = (FROM, "after", "to", "before")
    if spec.get("desc"):
        # The range of a descending field is reversed in keys.
        words = ("to", "before", FROM, "after")
    least, above, most, below = (question.get(word) for word in words)
    if least is not None:
        lower = max(lower, write(spec, least, codec) + rest[0])
    if above is not None:
        lower = max(lower, write(spec, above, codec) + wanted["next"])
    if most is not None:
        upper = min(upper, write(spec, most, codec) + rest[1])
    if below is not None:
        end = under(spec, write(spec, below, codec), below, codec, rest[1])
        if end is None:
            raise empty_range(wanted)
        upper = min(upper, end)
    # No key is empty, and DynamoDB accepts no empty bound.
    return between(wanted, prefix + lower or "\0", prefix + upper)


def under(
    spec: Format, written: str, value: Any, codec: Codec, rest: str
) -> str | None:
    """The upper bound of all texts below one; nothing if there are none."""
    is_fixed = fixed_width(spec) is not None
    if spec.get("desc") and not is_fixed and written.endswith("~"):
        return written[:-1] + "g"
    if spec["kind"] == "hex" or spec.get("desc"):
        while written:
            byte, written = int(written[-2:], 16), written[:-2]
            if byte > 0:
                return f"{written}{byte - 1:02x}{SENTINEL}"
            if not is_fixed:
                return written + rest if written else None
        return None
    guard = VERBATIM if spec["kind"] == "fixed" else codec
    head = folded(spec, str(value))
    while head:
        last, head = head[-1], head[:-1]
        before, text = previous(spec, last), escaped(head, guard)
        if before is not None:
            return text + escaped(before, guard) + SENTINEL
        if not is_fixed:
            return text + rest if text else None
    return None


def previous(spec: Format, c: str) -> str | None:
    """The character before this one that values may have."""
    code = ord(c)
    if code > 0x80:
        return "\ud7ff" if code == 0xE000 else chr(code - 1)
    foreign = {"lower": "[A-Z]", "upper": "[a-z]"}.get(spec.get("fold", ""), "(?!)")
    for before in range(code - 1, -1, -1):
        text = chr(before)
        is_token = re.fullmatch("[A-Za-z0-9._-]", text) is not None
        if spec["kind"] == "token" and not is_token:
            continue
        if re.fullmatch(foreign, text) is None:
            return text
    return None


def ranged_choices(wanted: Range, prefix: str, codec: Codec) -> Test:
    spec, rest = wanted["format"], wanted["rest"]
    tests = tests_of(wanted["question"], spec, lambda v: folded(spec, str(v)))
    keys = {value: prefix + write(spec, value, codec) for value in spec["values"]}
    chosen = [v for v in keys if all(is_true(test, v) for test in tests)]
    if not chosen:
        raise empty_range(wanted)
    if len(chosen) == 1:
        return equal_to(wanted, prefix, write(spec, chosen[0], codec))
    least = min(keys[value] + rest[0] for value in chosen)
    greatest = max(keys[value] + rest[1] for value in chosen)
    for value, key in keys.items():
        is_between = key + rest[1] >= least and key + rest[0] <= greatest
        if value not in chosen and is_between:
            raise InvalidValue(f"the keys with `{value}` lie between the ones wanted")
    return between(wanted, least, greatest)


def filter_tests(one: Read) -> list[Test]:
    tests: list[Test] = []
    entity = one["entity"]
    if "types" in one and "type_attribute" in entity.table:
        tests.append((entity.table["type_attribute"], "in", *one["types"]))
    for question in one.get("filter", ()):
        spec = entity.field(question["field"])
        tests += tests_of(question, spec, partial(attribute_of, spec))
    return tests


def filled_raw(one: Read, raw: RawRead, pattern: Pattern) -> Concrete:
    entity, inputs = one["entity"], pattern["inputs"]

    def fill(is_key: bool, value: RawValue) -> Any:
        def shown(found: re.Match[str]) -> str:
            name = found[1]
            needed(inputs, [name])
            text = display(entity.field(name), inputs[name])
            separator = entity.codec.separator
            is_open = entity.codec.escape == "none" or value["kind"] != "S"
            if is_key and not is_open and separator in text:
                raise InvalidValue(f"`{name}` contains `{separator}`")
            return text

        text = re.sub(r"\{([^}:]*)[^}]*\}", shown, value["text"])
        if value["kind"] == "N":
            return Decimal(text)
        return text == "true" if value["kind"] == "BOOL" else text

    def test(is_key: bool, of: RawTest) -> Test:
        return (of["name"], of["test"], *(fill(is_key, v) for v in of["values"]))

    equal = [test(True, of) for of in raw["equal"]]
    return Concrete(
        entity,
        one.get("index"),
        {name: value for name, _, value in equal},
        test(True, raw["sort"]) if "sort" in raw else None,
        [test(False, of) for of in raw.get("filter", ())],
        get=one.get("get", False),
        forward=not one.get("backward", False),
        consistent=pattern.get("consistent", False),
        fetches=one.get("fetches", False),
    )


class Expression:
    """Tests as an expression of DynamoDB, with its names and values."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: Item = {}

    def name(self, attribute: str) -> str:
        for name, known in self.names.items():
            if known == attribute:
                return name
        name = f"#n{len(self.names)}"
        self.names[name] = attribute
        return name

    def value(self, value: Any) -> str:
        name = f":v{len(self.values)}"
        self.values[name] = stored(value)
        return name

    def all(self, tests: Iterable[Test]) -> str:
        return " AND ".join(self.test(test) for test in tests)

    def test(self, test: Test) -> str:
        name, operator = self.name(test[0]), test[1]
        values = [self.value(value) for value in test[2:]]
        if operator == "between":
            return f"{name} BETWEEN {values[0]} AND {values[1]}"
        if operator == "in":
            return f"{name} IN ({', '.join(values)})"
        if operator in ("begins_with", "contains"):
            return f"{operator}({name}, {values[0]})"
        if operator == "lacks":
            return f"NOT contains({name}, {values[0]})"
        if operator == "exists":
            return f"attribute_exists({name})"
        if operator == "missing":
            return f"attribute_not_exists({name})"
        return f"{name} {operator} {values[0]}"

    def parts(self) -> Item:
        """The names and values of a request, where there are any."""
        parts: Item = {}
        if self.names:
            parts["ExpressionAttributeNames"] = self.names
        if self.values:
            parts["ExpressionAttributeValues"] = self.values
        return parts


class Connection:
    """What requests go through."""

    def __init__(self, client: Any, names: Mapping[str, str]) -> None:
        self.client, self.names = client, names

    def name_of(self, entity: Entity[Any]) -> str:
        table = entity.spec["table"]
        return self.names.get(table, table)

    def query(
        self, one: Concrete, start: Item | None = None, limit: int | None = None
    ) -> tuple[list[Item], Item | None]:
        """One page of a Query, and the key after which there are more."""
        expression = Expression()
        tests: list[Test] = [(name, "=", value) for name, value in one.equal.items()]
        if one.sort is not None:
            tests.append(one.sort)
        request: Item = {
            "TableName": self.name_of(one.entity),
            "KeyConditionExpression": expression.all(tests),
            "ScanIndexForward": one.forward,
        }
        if one.filter:
            request["FilterExpression"] = expression.all(one.filter)
        if one.index is not None:
            request["IndexName"] = one.index
        if one.consistent:
            request["ConsistentRead"] = True
        if one.fetches:
            request["Select"] = "ALL_ATTRIBUTES"
        if start is not None:
            request["ExclusiveStartKey"] = stored_item(start)
        if limit is not None:
            request["Limit"] = limit
        page = self.client.query(**request, **expression.parts())
        more = page.get("LastEvaluatedKey")
        items = [loaded_item(item) for item in page["Items"]]
        return items, None if more is None else loaded_item(more)

    def get_all(
        self, entity: Entity[Any], keys: Sequence[Item], consistent: bool
    ) -> list[Item | None]:
        """Items by primary key, in the order of the keys; each key is fetched once."""
        table = self.name_of(entity)
        if len(keys) == 1:
            request = {"TableName": table, "Key": stored_item(keys[0])}
            found = self.client.get_item(**request, ConsistentRead=consistent)
            return [loaded_item(found["Item"]) if "Item" in found else None]
        by_key: dict[str, Item] = {}
        waiting = list({key_text(key): stored_item(key) for key in keys}.values())
        attempt = 0
        while waiting:
            now, waiting = waiting[:100], waiting[100:]
            wanted = {"Keys": now, "ConsistentRead": consistent}
            answer = self.client.batch_get_item(RequestItems={table: wanted})
            for one in answer.get("Responses", {}).get(table, []):
                item = loaded_item(one)
                key = {name: item[name] for name in entity.primary()}
                by_key[key_text(key)] = item
            left = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
            attempt = attempt + 1 if len(left) == len(now) else 0
            pause(attempt)
            waiting = left + waiting
        return [by_key.get(key_text(key)) for key in keys]


def pause(attempt: int) -> None:
    """Waits longer with every attempt that brought nothing."""
    if attempt > 10:
        raise RuntimeError("the table takes no more requests")
    if attempt > 0:
        sleep(random() * min(0.05 * 2**attempt, 5))


def key_text(key: Mapping[str, Any]) -> str:
    parts = [(name, stored(value)) for name, value in sorted(key.items())]
    return repr(parts)


class Position:
    """Where a read stands: before its start, after a key, or at its end."""

    def __init__(self, key: Item | None = None, is_done: bool = False) -> None:
        self.key, self.is_done = key, is_done


class Stream:
    """One read, page after page."""

    def __init__(
        self,
        one: Concrete,
        position: Position,
        page_size: int | None,
        is_one_page: bool,
    ) -> None:
        self.read, self.page_size, self.is_one_page = one, page_size, is_one_page
        self.fetched = self.position = position
        self.buffer: deque[Item] = deque()
        self.is_stopped = False
        index = index_of(one.entity, one.index)
        self.place = {*index["hash"], *index["range"], *one.entity.primary()}

    def take(self) -> Item:
        row = self.buffer.popleft()
        if self.buffer:
            self.position = Position({name: row[name] for name in self.place})
        else:
            self.position = self.fetched
        return row

    @property
    def needs_fetch(self) -> bool:
        return not (self.buffer or self.fetched.is_done or self.is_stopped)

    @property
    def is_done(self) -> bool:
        return not self.buffer and self.fetched.is_done

    @property
    def key(self) -> Item:
        """The key of a read for one item."""
        sort = self.read.sort
        return {**self.read.equal, **({} if sort is None else {sort[0]: sort[2]})}

    def accept(self, item: Item | None) -> None:
        self.fetched = Position(is_done=True)
        if item is None:
            self.position = self.fetched
        else:
            self.buffer.append(item)

    def fill(self, connection: Connection) -> None:
        while self.needs_fetch:
            one = self.read
            if one.get:
                found = connection.get_all(one.entity, [self.key], one.consistent)
                return self.accept(found[0])
            is_limited = not one.filter or self.is_one_page
            limit = self.page_size if is_limited else None
            items, more = connection.query(one, self.fetched.key, limit)
            self.fetched = Position(more, is_done=more is None)
            self.is_stopped = self.is_one_page
            self.buffer.extend(items)
            if not self.buffer:
                self.position = self.fetched
        return None


def groups_of(pattern: Pattern, count: int) -> list[list[int]]:
    """Which reads follow one another, and which are merged."""
    everything = [list(range(count))]
    order = pattern.get("order", ())
    if len(pattern["reads"]) != 1:
        return everything if order else [[at] for at in range(count)]
    one = pattern["reads"][0]
    fans = one.get("fans", ())
    places = [at for at, fan in enumerate(fans) if "buckets" in fan]
    if not places or any("values" in fan for fan in fans):
        return everything
    at = places[0]
    if order and order[0]["field"] != fans[at]["field"]:
        return everything
    forward = not (order[0].get("desc") if order else one.get("backward"))
    outer = prod(fan.get("shards", 1) for fan in fans[:at])
    inner = prod(fan.get("shards", 1) for fan in fans[at + 1 :])
    if count % (outer * inner) != 0:
        return everything
    number = count // (outer * inner)
    groups = [
        [n for n in range(count) if n // inner % number == period]
        for period in range(number)
    ]
    return groups if forward else groups[::-1]


class Merge:
    """The rows of several reads as one answer, in order."""

    def __init__(
        self,
        connection: Connection,
        pattern: Pattern,
        streams: list[Stream],
    ) -> None:
        self.connection, self.pattern, self.streams = connection, pattern, streams
        self.groups = groups_of(pattern, len(streams))
        first = pattern["reads"][0]
        self.sort = index_of(first["entity"], first.get("index"))["range"]
        self.forward = not first.get("backward", False)
        self.seen: set[str] = set()

    @property
    def is_done(self) -> bool:
        return all(stream.is_done for stream in self.streams)

    def rows(self, wanted: int | None) -> list[Item]:
        """Up to so many rows; without a number, as many as are at hand."""
        rows: list[Item] = []
        group = 0
        while group < len(self.groups) and (wanted is None or len(rows) < wanted):
            members = [self.streams[at] for at in self.groups[group]]
            hungry = [stream for stream in members if stream.needs_fetch]
            if wanted is None and rows and hungry:
                break
            self.fill(hungry)
            full = [stream for stream in members if stream.buffer]
            if not full:
                group += 1
                continue
            # Of equals the first.
            following = min(full, key=lambda s: cmp_to_key(self.compare)(s.buffer[0]))
            row = following.take()
            if self.is_new(following, row):
                rows.append(row)
        return rows

    def is_new(self, stream: Stream, row: Item) -> bool:
        """Whether a row comes for the first time: it may satisfy several alternatives."""
        if not self.pattern.get("alternatives"):
            return True
        primary = stream.read.entity.primary()
        text = key_text({name: row[name] for name in primary})
        is_new = text not in self.seen
        self.seen.add(text)
        return is_new

    def fill(self, hungry: list[Stream]) -> None:
        connection = self.connection
        if len(hungry) == 1:
            hungry[0].fill(connection)
        elif hungry and all(stream.read.get for stream in hungry):
            one, keys = hungry[0].read, [stream.key for stream in hungry]
            found = connection.get_all(one.entity, keys, one.consistent)
            for stream, item in zip(hungry, found):
                stream.accept(item)
        elif hungry:
            with ThreadPoolExecutor(MAX_PARALLEL) as pool:
                list(pool.map(lambda stream: stream.fill(connection), hungry))

    def compare(self, a: Item, b: Item) -> int:
        for by in self.pattern.get("order", ()):
            order = compare_values(a.get(by["field"]), b.get(by["field"]))
            if order != 0:
                return -order if by.get("desc") else order
        for name in self.sort:
            order = compare_values(a.get(name), b.get(name))
            if order != 0:
                return order if self.forward else -order
        return 0


def leads_to(pattern: Pattern, entity: Entity[Any], row: Item) -> Item | None:
    """The key of an item that a row leads to; nothing if the row does not know it."""
    index = index_of(entity, pattern["then"].get("index"))
    attributes = [*index["hash"], *index["range"]]
    if "via" not in pattern:
        key = {name: row.get(name) for name in attributes}
    else:
        values = pattern["via"].values(row)
        for name, value in values.items():
            spec = entity.field(name)
            if not isinstance(value, str):
                continue
            if spec["kind"] in PRECISIONS and spec["kind"] != "epoch_ms":
                values[name] = time_text(time_of(value).ms, PRECISIONS[spec["kind"]])
            else:
                values[name] = folded(spec, value)
        try:
            key = entity.key_of(attributes, values)
        except InvalidValue:
            return None
    return None if any(value in (None, "") for value in key.values()) else key


def followed(connection: Connection, pattern: Pattern, rows: list[Item]) -> list[Item]:
    """The items that rows lead to; the rows themselves if there is no second step."""
    if "then" not in pattern:
        return rows
    targets = pattern["find"] if "via" in pattern else pattern["find"][:1]
    keys: list[tuple[Entity[Any], Item]] = []
    for row in rows:
        own = [(entity, leads_to(pattern, entity, row)) for entity in targets]
        known = {key_text(key): (entity, key) for entity, key in own if key is not None}
        keys += known.values()
    if not keys:
        return []
    if pattern["then"]["batch"]:
        consistent = pattern.get("consistent", False)
        wanted = [key for _, key in keys]
        found = connection.get_all(keys[0][0], wanted, consistent)
        return [item for item in found if item is not None]
    items: list[Item] = []
    for entity, key in keys:
        one = Concrete(entity, pattern["then"].get("index"), key)
        items += connection.query(one)[0]
    return items


# Cursors: positions as an opaque text.


def fingerprint(pattern: Pattern) -> str:
    inputs = sorted(pattern["inputs"].items())
    texts = [f"{name}={value}" for name, value in inputs]
    return f"{stable_hash([pattern['name'], *texts]):x}"


def cursor_of(pattern: Pattern, streams: Iterable[Stream]) -> str:
    def shown(position: Position) -> Any:
        if position.key is None:
            return "done" if position.is_done else "start"
        key = stored_item(position.key)
        for value in key.values():
            if "B" in value:
                value["B"] = value["B"].hex()
        return key

    positions = [shown(stream.position) for stream in streams]
    text = json.dumps([fingerprint(pattern), positions], separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def positions_of(
    pattern: Pattern, reads: Sequence[Concrete], cursor: str
) -> list[Position]:
    """The positions of a cursor. Whatever it says, it leads to nothing that the query does not ask for."""
    if pattern.get("alternatives"):
        raise InvalidCursor("a pattern with `or` is read in one go")
    try:
        content = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        made, positions = content
    except (ValueError, TypeError) as error:
        raise InvalidCursor(
            "it is damaged: run the query again from its start"
        ) from error
    if made != fingerprint(pattern):
        raise InvalidCursor("it belongs to another query")
    if not isinstance(positions, list) or len(positions) != len(reads):
        raise InvalidCursor("the design has changed since it was made")
    return [position_of(one, said) for one, said in zip(reads, positions)]


def position_of(one: Concrete, said: Any) -> Position:
    if said in ("start", "done"):
        return Position(is_done=said == "done")
    try:
        for value in said.values():
            if "B" in value:
                value["B"] = bytes.fromhex(value["B"])
        key = loaded_item(said)
    except (AttributeError, TypeError, ValueError, ArithmeticError) as error:
        raise InvalidCursor(
            "it is damaged: run the query again from its start"
        ) from error
    is_same = all(
        compare_values(key.get(name), value) == 0 for name, value in one.equal.items()
    )
    sort = one.sort
    if not is_same or (sort is not None and not is_true(sort, key.get(sort[0]))):
        raise InvalidCursor("it leads out of what the query asks for")
    return Position(key)


class ResultQuery(Generic[T]):
    """An access pattern with its inputs. Nothing is sent until items are asked for."""

    def __init__(
        self,
        connection: Connection,
        pattern: Pattern,
        decode: Callable[[Item], T],
    ) -> None:
        self.connection, self.pattern, self.decode = connection, pattern, decode

    def __iter__(self) -> Iterator[T]:
        for page in self.pages(None, None):
            yield from page.items

    def collect(self, limit: float | None = None) -> list[T]:
        """All items; of a pattern with a limit so many, unless another number is given.

        `math.inf` asks for all of them.
        """
        pages = self.pages(None, None, limit)
        return [item for page in pages for item in page.items]

    def first(self) -> T | None:
        """The first item."""
        return next(iter(self.collect(1)), None)

    def page(self, size: int | None = None, cursor: str | None = None) -> ResultPage[T]:
        """One page of so many items, and the cursor of the next one.

        Without a size it is as many as one request brings.
        """
        return next(self.pages(size, cursor), ResultPage([]))

    def pages(
        self, size: int | None, cursor: str | None, limit: float | None = None
    ) -> Iterator[ResultPage[T]]:
        pattern = self.pattern
        reads = concrete_reads(pattern)
        is_paged = size is not None or cursor is not None
        positions = [Position() for _ in reads]
        if cursor is not None:
            positions = positions_of(pattern, reads, cursor)
        declared = pattern.get("limit") if limit is None else limit
        asked = size if size is not None else declared
        page_size = None if asked in (None, inf) else max(1, int(asked or 0))
        want = inf if declared is None or (is_paged and limit is None) else declared
        is_one_page = pattern.get("one_page", False) and not is_paged and limit is None
        streams = [
            Stream(one, position, page_size, is_one_page)
            for one, position in zip(reads, positions)
        ]
        merge = Merge(self.connection, pattern, streams)
        while want > 0:
            wanted = min(want, inf if size is None else size)
            items = self.following(merge, wanted)[: None if want == inf else int(want)]
            want -= len(items)
            more = None if merge.is_done else cursor_of(pattern, streams)
            yield ResultPage([self.decode(item) for item in items], more)
            if more is None or is_one_page:
                return

    def following(self, merge: Merge, wanted: float) -> list[Item]:
        items: list[Item] = []
        while len(items) < wanted:
            left = None if wanted == inf else int(wanted) - len(items)
            rows = merge.rows(left)
            if not rows:
                break
            items += followed(self.connection, self.pattern, rows)
            if left is None:
                break
        return items
