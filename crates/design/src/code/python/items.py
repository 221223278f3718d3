# ---------------------------------------------------------------------------
# Items: entities as they are stored.
# ---------------------------------------------------------------------------

Item = dict[str, Any]


# A condition on a field; times may be periods, such as a day.
Question = Mapping[str, Any]
# A name that is a word of the language.
FROM = "from"


class Key(TypedDict, total=False):
    template: str
    formats: Mapping[str, Format]
    native: bool
    when: Sequence[Question]
    max: int


class EntitySpec(TypedDict):
    name: str
    table: str
    fields: Mapping[str, Format]
    keys: Mapping[str, Key]


class Index(TypedDict):
    hash: Sequence[str]
    range: Sequence[str]


class TableSpec(TypedDict, total=False):
    keys: Required[Mapping[str, str]]
    primary: Required[Index]
    indexes: Required[Mapping[str, Index]]
    type_attribute: str
    separator: Required[str]
    escape: Required[str]


def stored(value: Any) -> Any:
    """A value as DynamoDB's attribute."""
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, (int, float, Decimal)):
        return {"N": number_text(Decimal(str(value)))}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, (bytes, bytearray)):
        return {"B": bytes(value)}
    if value is None:
        return {"NULL": True}
    if isinstance(value, (set, frozenset)):
        kind = next((next(iter(stored(one))) for one in value), "S")
        return {kind + "S": [stored(one)[kind] for one in value]}
    if isinstance(value, Mapping):
        return {"M": {name: stored(one) for name, one in value.items()}}
    return {"L": [stored(one) for one in value]}


def loaded(attribute: Mapping[str, Any]) -> Any:
    """The value of an attribute; numbers are exact."""
    ((kind, value),) = attribute.items()
    if kind == "N":
        return Decimal(value)
    if kind == "L":
        return [loaded(one) for one in value]
    if kind == "M":
        return {name: loaded(one) for name, one in value.items()}
    if kind == "NS":
        return {Decimal(one) for one in value}
    if kind in ("SS", "BS"):
        return set(value)
    return None if kind == "NULL" else value


def stored_item(item: Mapping[str, Any]) -> Item:
    return {name: stored(value) for name, value in item.items()}


def loaded_item(item: Mapping[str, Any]) -> Item:
    return {name: loaded(value) for name, value in item.items()}


DOCUMENTS = ("binary", "list", "map", "string_set", "number_set")


def attribute_of(spec: Format, value: Any) -> Any:
    """The attribute that stores a value."""
    kind = spec["kind"]
    if kind in DOCUMENTS:
        return value
    if kind == "number":
        return Decimal(str(value))
    if kind == "bool":
        return point_of(spec, value) == 1
    if kind == "epoch_ms":
        return time_of(value).ms
    if kind == "decimal":
        return value_at(spec, point_of(spec, value))
    if kind == "hour" and not spec.get("desc"):
        return write({"kind": "hour"}, value, VERBATIM)
    ascending: Format = {**spec, "desc": False}
    if kind == "hex":
        return write_hex(ascending, value)
    if kind in WHOLE:
        write_point(spec, point_of(spec, value))
        return whole_of(value)
    if is_text(spec):
        text = str(value)
        return text if text == "" else write_text(ascending, text, VERBATIM)
    return display(spec, value)


def value_of(spec: Format, attribute: Any) -> Any:
    """The value that an attribute stores."""
    kind = spec["kind"]
    if attribute is None:
        return None
    if kind in WHOLE or kind == "epoch_ms":
        return int(attribute)
    if kind == "decimal":
        return value_at(spec, point_of(spec, attribute))
    if kind == "hour":
        return time_text(time_of(attribute).ms, 3)
    return attribute


def native_key(spec: Format, kind: str, value: Any) -> Any:
    """A key attribute that is the field itself."""
    attribute = attribute_of(spec, value)
    if kind == "N":
        is_number = isinstance(attribute, (int, Decimal))
        return attribute if is_number else Decimal(display(spec, value))
    if kind == "B":
        is_bytes = isinstance(attribute, (bytes, bytearray))
        return attribute if is_bytes else display(spec, value).encode()
    return attribute if isinstance(attribute, str) else display(spec, value)


def compare_values(a: Any, b: Any) -> int:
    """The order of two attributes, as DynamoDB has it."""
    kinds: tuple[Any, ...] = (bool, (int, Decimal), str, (bytes, bytearray))
    for kind in kinds:
        if isinstance(a, kind) and isinstance(b, kind):
            return int(a > b) - int(a < b)
    return (a is not None) - (b is not None)


def moment(spec: Format, value: Any, is_last: bool) -> Any:
    """The first or the last moment of a period, as finely as the field keeps it."""
    if spec["kind"] not in PRECISIONS:
        return value
    precision, time = PRECISIONS[spec["kind"]], time_of(value)
    ms = last_of(time) if is_last else time.ms
    start = start_of(period_of(ms, precision), precision)
    return start if spec["kind"] == "epoch_ms" else time_text(start, precision)


def is_period(spec: Format, value: Any) -> bool:
    kind = spec["kind"]
    return kind in PRECISIONS and time_of(value).precision < PRECISIONS[kind]


# A name, an operator and values.
Test = tuple[Any, ...]


def tests_of(
    question: Question,
    spec: Format,
    to: Callable[[Any], Any],
) -> list[Test]:
    """A condition as tests of attributes, in the way `to` writes values."""
    name, test = question["field"], question["test"]
    values = question.get("values", ())
    value = values[0] if values else None

    def edge(of: Any, is_last: bool) -> Any:
        return to(moment(spec, of, is_last))

    def exact(of: Any) -> Any:
        if is_period(spec, of):
            raise InvalidValue(f"`{name}` is compared with a moment here")
        return to(of)

    if test == "=":
        first, last = edge(value, False), edge(value, True)
        is_one = compare_values(first, last) == 0
        return [(name, "=", first) if is_one else (name, "between", first, last)]
    if test == "range":
        if FROM in question and "to" in question:
            low, high = edge(question[FROM], False), edge(question["to"], True)
            return [(name, "between", low, high)]
        signs = [(FROM, ">=", False), ("after", ">", True)]
        signs += [("to", "<=", True), ("before", "<", False)]
        return [
            (name, sign, edge(question[word], is_last))
            for word, sign, is_last in signs
            if word in question
        ]
    if test == "begins_with":
        return [(name, test, folded(spec, str(value)))]
    if test in ("contains", "lacks"):
        return [(name, test, element_of(spec, value))]
    return [(name, test, *(exact(one) for one in values))]


def element_of(spec: Format, value: Any) -> Any:
    """What `contains` looks for: an element of a list or set, a part of a text."""
    if spec["kind"] == "number_set":
        return Decimal(str(value))
    return folded(spec, value) if is_text(spec) else value


def is_true(test: Test, attribute: Any) -> bool:
    """Whether a test holds of an attribute."""
    operator, values = test[1], test[2:]
    if attribute is None:
        return operator in ("missing", "<>", "lacks")
    if operator in ("exists", "missing"):
        return bool(operator == "exists")
    if operator == "in":
        return any(compare_values(attribute, value) == 0 for value in values)
    if operator == "begins_with":
        return bool(attribute[: len(values[0])] == values[0])
    if operator in ("contains", "lacks"):
        return bool((values[0] in attribute) == (operator == "contains"))
    order = compare_values(attribute, values[0])
    if operator == "between":
        return order >= 0 and compare_values(attribute, values[1]) <= 0
    return {
        "=": order == 0,
        "<>": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[operator]


T = TypeVar("T")


class Entity(Generic[T]):
    """What items of an entity look like, and the way from values to items and back."""

    def __init__(
        self,
        table: TableSpec,
        spec: EntitySpec,
        make: type[T],
        names: Mapping[str, str],
    ) -> None:
        self.table, self.spec, self.make = table, spec, make
        # Attributes of the class that are named otherwise than fields of the design.
        self.names = names
        self.codec = Codec(table["separator"], table["escape"])
        self.templates = {
            attribute: self.template(key.get("template", f"{{{attribute}}}"), key)
            for attribute, key in spec["keys"].items()
        }

    @property
    def name(self) -> str:
        return self.spec["name"]

    def template(self, text: str, key: Key) -> Template:
        """A template of this entity, whole or only the beginning of one."""
        formats = key.get("formats", {})
        limit = key.get("max", 2048)
        return Template(
            text, lambda name: formats.get(name, self.field(name)), self.codec, limit
        )

    def field(self, name: str) -> Format:
        return self.spec["fields"].get(name, {"kind": "string"})

    def primary(self) -> list[str]:
        primary = self.table["primary"]
        return [*primary["hash"], *primary["range"]]

    def key(self, value: object) -> Item:
        """The primary key of a value, or of what its key is made of."""
        return self.key_of(self.primary(), self.fields_of(value))

    def fields_of(self, value: object) -> Item:
        """The fields of a value that are there."""
        fields = {
            name: getattr(value, self.names.get(name, name), None)
            for name in self.spec["fields"]
        }
        return {name: one for name, one in fields.items() if one is not None}

    def item(self, value: T) -> Item:
        """The item that stores a value."""
        return self.item_of(self.fields_of(value))

    def item_of(self, fields: Item) -> Item:
        values, item = self.completed(fields), {}
        for name, spec in self.spec["fields"].items():
            is_shard = spec["kind"] == "shard"
            if name not in values:
                if spec.get("optional") or is_shard:
                    continue
                raise InvalidValue(f"`{self.name}` needs `{name}`")
            if spec.get("key_only") or is_shard:
                continue
            try:
                item[name] = attribute_of(spec, values[name])
            except InvalidValue as error:
                raise InvalidValue(f"field `{name}`: {error}") from error
        for attribute in self.spec["keys"]:
            key = self.attribute(attribute, values)
            if key is not None:
                item[attribute] = key
        if "type_attribute" in self.table:
            item[self.table["type_attribute"]] = self.name
        return item

    def value(self, item: Mapping[str, Any]) -> T:
        """The value that an item stores."""
        return self.make(**self.named(self.values(item)))

    def named(self, values: Item) -> Item:
        """Values under the names that the class has for them."""
        return {self.names.get(name, name): v for name, v in values.items()}

    def unnamed(self, values: Mapping[str, Any]) -> Item:
        """Values under the names that the design has for them."""
        fields = {own: name for name, own in self.names.items()}
        return {fields.get(own, own): v for own, v in values.items()}

    def build(self, attribute: str, fields: Mapping[str, Any]) -> str:
        """The text of a key attribute."""
        template, values = self.template_of(attribute), self.completed(fields)
        self.require(values, template.fields())
        return template.build(values)

    def parse(self, attribute: str, text: str) -> Item:
        """The fields that the text of a key attribute tells."""
        return self.template_of(attribute).parse(text)

    def owns(self, item: Mapping[str, Any]) -> bool:
        """Whether an item is one of this entity."""
        kind = item.get(self.table.get("type_attribute", ""))
        if kind is not None:
            return bool(kind == self.name)
        for attribute in self.primary():
            text = item.get(attribute)
            is_native = self.spec["keys"][attribute].get("native")
            if is_native or not isinstance(text, str):
                if text is None:
                    return False
                continue
            try:
                self.template_of(attribute).parse(text)
            except InvalidValue:
                return False
        return True

    def key_of(self, attributes: Iterable[str], fields: Mapping[str, Any]) -> Item:
        """Key attributes by their names; all of them must be there."""
        values, key = self.completed(fields), {}
        for attribute in attributes:
            self.require(values, self.template_of(attribute).fields())
            key[attribute] = self.attribute(attribute, values)
        return key

    def attribute(self, attribute: str, values: Mapping[str, Any]) -> Any:
        """A key attribute of these values; nothing if the item does not have it."""
        key, template = self.spec["keys"][attribute], self.template_of(attribute)
        names = template.fields()
        if any(values.get(name) is None for name in names):
            return None
        if not all(self.holds(when, values) for when in key.get("when", ())):
            return None
        return self.written(attribute, values)

    def written(self, attribute: str, values: Mapping[str, Any]) -> Any:
        """A key attribute of these values, whatever decides about it."""
        template = self.template_of(attribute)
        if not self.spec["keys"][attribute].get("native"):
            return template.build(values)
        (name,) = template.fields()
        kind = self.table["keys"].get(attribute, "S")
        value = native_key(self.field(name), kind, values[name])
        if value in ("", b""):
            raise InvalidValue(f"`{name}` is a key, which is never empty")
        return value

    def dependencies(self, attribute: str) -> list[str]:
        """The fields that a key attribute depends on."""
        names = self.template_of(attribute).fields()
        sources = [one for name in names for one in self.field(name).get("by", [name])]
        when = self.spec["keys"][attribute].get("when", ())
        return [*sources, *(question["field"] for question in when)]

    def template_of(self, attribute: str) -> Template:
        if attribute not in self.templates:
            raise InvalidValue(f"`{self.name}` has no key `{attribute}`")
        return self.templates[attribute]

    def completed(self, fields: Mapping[str, Any]) -> Item:
        """The values with the case of their fields and the shards that follow from them."""
        values = {name: value for name, value in fields.items() if value is not None}
        for name, spec in self.spec["fields"].items():
            if "fold" in spec and isinstance(values.get(name), str):
                values[name] = folded(spec, values[name])
        for name, spec in self.spec["fields"].items():
            by = spec.get("by", ())
            if by and all(source in values for source in by):
                texts = [display(self.field(one), values[one]) for one in by]
                values[name] = shard_of(texts, spec["shards"])
        return values

    def values(self, item: Mapping[str, Any]) -> Item:
        """What an item tells: its attributes first, and the rest from its keys."""
        values: Item = {}
        for attribute, key in self.spec["keys"].items():
            text = item.get(attribute)
            if key.get("native") or not isinstance(text, str):
                continue
            try:
                parsed = self.template_of(attribute).parse(text)
            except InvalidValue:
                # A key of another making tells nothing.
                continue
            coarse = key.get("formats", {})
            for name, value in parsed.items():
                if name not in values or name not in coarse:
                    values[name] = value
        for name, spec in self.spec["fields"].items():
            found = value_of(spec, item.get(name))
            if found is not None:
                values[name] = found
            if "by" in spec:
                values.pop(name, None)
        return values

    def holds(self, question: Question, values: Mapping[str, Any]) -> bool:
        spec, value = self.field(question["field"]), values.get(question["field"])
        attribute = None if value is None else attribute_of(spec, value)
        tests = tests_of(question, spec, lambda one: attribute_of(spec, one))
        return all(is_true(test, attribute) for test in tests)

    def require(self, values: Mapping[str, Any], names: Iterable[str]) -> None:
        for name in names:
            if values.get(name) is None:
                raise InvalidValue(f"`{self.name}` needs `{name}` for its key")
