# ---------------------------------------------------------------------------
# Keys: how values are written into keys and read back.
# ---------------------------------------------------------------------------


class InvalidValue(ValueError):
    """A value that does not fit its field, or a key that cannot be built or parsed."""


class Format(TypedDict, total=False):
    kind: Required[str]
    width: int
    scale: int
    max: int
    values: Sequence[str]
    plain: bool
    desc: bool
    fold: str
    compact: bool
    optional: bool
    key_only: bool
    shards: int
    by: Sequence[str]


@dataclass(frozen=True)
class Codec:
    separator: str
    escape: str


VERBATIM = Codec("", "none")
# The greatest character: no value contains it, so it closes ranges.
SENTINEL = "\U0010ffff"


def is_escaping(codec: Codec) -> bool:
    return codec.escape in ("percent", "order")


def escape_mark(codec: Codec) -> str:
    return "%" if codec.escape == "percent" else chr(ord(codec.separator[0]) + 1)


def escaped(text: str, codec: Codec) -> str:
    if not is_escaping(codec):
        return text
    mark = escape_mark(codec)

    def is_marked(c: str) -> bool:
        if codec.escape == "percent":
            return c == "%" or c in codec.separator
        return c <= mark

    def write(c: str) -> str:
        return "".join(f"{mark}{byte:02X}" for byte in c.encode())

    return "".join(write(c) if is_marked(c) else c for c in text)


def unescaped(text: str, codec: Codec) -> str:
    if not is_escaping(codec):
        return text
    mark = ord(escape_mark(codec))
    raw = bytearray()
    rest = text.encode()
    while rest:
        if rest[0] == mark:
            try:
                raw.append(int(rest[1:3], 16))
            except ValueError as error:
                raise InvalidValue(f"`{text}` has an incomplete escape") from error
            rest = rest[3:]
        else:
            raw.append(rest[0])
            rest = rest[1:]
    return raw.decode(errors="replace")


def collides(text: str, separator: str) -> bool:
    """Whether a value contains the separator, or ends so that it would be found too early."""
    if separator and separator in text:
        return True
    for overlap in range(1, len(separator)):
        head, tail = separator[:overlap], separator[overlap:]
        if separator.startswith(tail) and text.endswith(head):
            return True
    return False


def is_text(spec: Format) -> bool:
    return spec["kind"] in ("string", "token", "fixed", "enum", "loose")


LOWER = {c: c + 32 for c in range(65, 91)}
UPPER = {c: c - 32 for c in range(97, 123)}


def folded(spec: Format, text: str) -> str:
    fold = spec.get("fold")
    if fold is None:
        return text
    return text.translate(LOWER if fold == "lower" else UPPER)


def check_text(spec: Format, text: str) -> None:
    if text == "":
        raise InvalidValue("a text in a key is never empty")
    kind = spec["kind"]
    if kind == "enum" and text not in spec["values"]:
        raise InvalidValue(f"`{text}` is not one of {', '.join(spec['values'])}")
    if kind == "token" and not re.fullmatch(r"[A-Za-z0-9._-]*", text):
        raise InvalidValue(f"`{text}` has more than letters, digits, `-`, `.` and `_`")
    size = len(text.encode())
    if kind == "fixed" and size != spec["width"]:
        raise InvalidValue(f"`{text}` is not {spec['width']} bytes long")
    if "max" in spec and size > spec["max"]:
        raise InvalidValue(f"`{text}` is over {spec['max']} bytes long")
    if SENTINEL in text:
        raise InvalidValue("U+10FFFF is reserved for the ends of ranges")


def complemented_hex(digits: str, is_closed: bool) -> str:
    turned = "".join("fedcba9876543210"[int(digit, 16)] for digit in digits)
    return turned + ("~" if is_closed else "")


def write_text(spec: Format, value: str, codec: Codec) -> str:
    text = folded(spec, value)
    check_text(spec, text)
    if spec.get("desc"):
        return complemented_hex(text.encode().hex(), spec["kind"] != "fixed")
    if spec["kind"] == "fixed":
        return text
    if codec.escape == "reject" and collides(text, codec.separator):
        raise InvalidValue(
            f"`{text}` contains the separator `{codec.separator}` or ends with a part of it"
        )
    return escaped(text, codec)


def write_hex(spec: Format, value: object) -> str:
    digits = str(value).lower()
    size = len(digits) // 2
    fits = (
        re.fullmatch(r"([0-9a-f]{2})+", digits) is not None
        and spec.get("width", size) == size
        and size <= spec.get("max", size)
    )
    if not fits:
        raise InvalidValue(f"`{value}` is not hex of its length")
    if spec.get("desc"):
        return complemented_hex(digits, "width" not in spec)
    return digits


# Times. Precisions from the year (0) to the millisecond (6).


@dataclass(frozen=True)
class Time:
    ms: int
    precision: int


UNITS = (0, 0, 86_400_000, 3_600_000, 60_000, 1000, 1)
PRECISIONS = {
    "year": 0,
    "month": 1,
    "date": 2,
    "hour": 3,
    "datetime": 5,
    "datetime_ms": 6,
    "epoch_ms": 6,
}
FIRST_MS = -62_167_219_200_000
LAST_MS = 253_402_300_799_999
TIME = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?"
    r"(Z|z|[+-]\d\d:\d\d)?)?)?)?",
    re.ASCII,
)


def days_from_civil(year: int, month: int, day: int) -> int:
    """The days since 1970, in a calendar that has a year 0 and no end."""
    shifted = year - (month <= 2)
    era, in_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    of_era = in_era * 365 + in_era // 4 - in_era // 100 + of_year
    return era * 146_097 + of_era - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    era, of_era = divmod(days + 719_468, 146_097)
    in_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * in_era + in_era // 4 - in_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = in_era + era * 400 + (month <= 2)
    return year, month, of_year - (153 * shifted + 2) // 5 + 1


def moment_of(parts: Sequence[int]) -> int:
    year, month, day, hour, minute, second, ms = [
        *parts,
        *(0, 1, 1, 0, 0, 0, 0)[len(parts) :],
    ]
    days = days_from_civil(year, month, day) if 1 <= month <= 12 else 0
    is_real = civil_from_days(days) == (year, month, day)
    if not is_real or hour > 23 or minute > 59 or second > 59:
        raise InvalidValue(f"there is no such time: {parts}")
    return days * UNITS[2] + hour * UNITS[3] + minute * UNITS[4] + second * 1000 + ms


def parse_time(text: str) -> Time:
    found = TIME.fullmatch(text)
    if found is None or re.search("[1-9]", (found[7] or "")[3:]):
        raise InvalidValue(
            f"`{text}` is not a UTC time such as 2024-01-15 or 2024-01-15T10:30:00Z"
        )
    texts = [found[1], found[2], found[3], found[4], found[5], found[6]]
    parts = [int(part) for part in texts if part is not None]
    if found[7] is not None:
        parts.append(int(found[7][:3].ljust(3, "0")))
    ms = moment_of(parts)
    offset = found[8] or "Z"
    if len(offset) > 1:
        minutes = int(offset[1:3]) * 60 + int(offset[4:])
        ms -= (-minutes if offset[0] == "-" else minutes) * UNITS[4]
    return Time(ms, len(parts) - 1)


def time_text(ms: int, precision: int) -> str:
    """A moment as ISO 8601 shows it with a precision."""
    days, rest = divmod(ms, UNITS[2])
    year, month, day = civil_from_days(days)
    hour, rest = divmod(rest, UNITS[3])
    minute, rest = divmod(rest, UNITS[4])
    second, rest = divmod(rest, 1000)
    text = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{rest:03}Z"
    if precision == 5:
        return text[:19] + "Z"
    return text if precision == 6 else text[: (4, 7, 10, 13, 16)[precision]]


def period_of(ms: int, precision: int) -> int:
    """The number of a period."""
    year, month, _ = civil_from_days(ms // UNITS[2])
    if precision == 0:
        return year
    return year * 12 + month - 1 if precision == 1 else ms // UNITS[precision]


def start_of(period: int, precision: int) -> int:
    """The first moment of a period."""
    if precision == 0:
        return days_from_civil(period, 1, 1) * UNITS[2]
    if precision == 1:
        return days_from_civil(period // 12, period % 12 + 1, 1) * UNITS[2]
    return period * UNITS[precision]


def last_of(time: Time) -> int:
    """The last millisecond that a time covers."""
    return start_of(period_of(time.ms, time.precision) + 1, time.precision) - 1


def time_of(value: object) -> Time:
    """A time as a program gives it: ISO 8601, milliseconds since 1970, or a datetime."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return Time((aware - EPOCH) // timedelta(milliseconds=1), 6)
    if isinstance(value, date):
        return parse_time(value.isoformat())
    if isinstance(value, (int, Decimal)):
        return Time(int(value), 6)
    text = str(value)
    if re.fullmatch(r"\d{5,}", text):
        return Time(int(text), 6)
    return parse_time(re.sub(r"^(\d{4}-\d\d-\d\d)-(\d\d)$", r"\1T\2", text))


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

# Scalars are numbered in their order, so that one arithmetic serves all ranges.

WHOLE = {
    "u8": (0, 255),
    "u16": (0, 65_535),
    "u32": (0, 4_294_967_295),
    "shard": (0, 4_294_967_295),
    "u64": (0, 18_446_744_073_709_551_615),
    "i64": (-9_223_372_036_854_775_808, 9_223_372_036_854_775_807),
}
ID_BITS = (1 << 128) - 1
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def bounds(spec: Format) -> tuple[int, int] | None:
    """The least and greatest number of a scalar; nothing for texts and hex."""
    kind = spec["kind"]
    most: int = 10 ** spec.get("width", 38) - 1
    if kind in WHOLE:
        low, high = WHOLE[kind]
        return max(low, -most), min(high, most)
    if kind == "decimal":
        return -most, most
    if kind == "bool":
        return 0, 1
    if kind in ("uuid", "ulid"):
        return 0, ID_BITS
    if kind == "epoch_ms":
        return 0, min(most, LAST_MS)
    if kind not in PRECISIONS:
        return None
    precision = PRECISIONS[kind]
    return period_of(FIRST_MS, precision), period_of(LAST_MS, precision)


def whole_of(value: object) -> int:
    text = number_text(value) if isinstance(value, Decimal) else str(value)
    if isinstance(value, bool) or not re.fullmatch(r"-?\d+", text):
        raise InvalidValue(f"`{value}` is not a whole number")
    return int(text)


def number_text(value: object) -> str:
    """A number without an exponent."""
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value)


def unscaled(value: object, scale: int) -> tuple[int, bool]:
    """A decimal in units of its last place, rounded down, and whether that was exact."""
    found = re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?", number_text(value))
    if found is None:
        raise InvalidValue(f"`{value}` is not a decimal")
    fraction = found[3] or ""
    size = int(found[2] + fraction[:scale].ljust(scale, "0"))
    exact = not re.search("[1-9]", fraction[scale:])
    if found[1] != "-":
        return size, exact
    return (-size if exact else -size - 1), exact


def id_of(spec: Format, value: object) -> int:
    text = str(value)
    if spec["kind"] == "uuid":
        if re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text):
            return int(text.replace("-", ""), 16)
    elif re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", text.upper()):
        bits = 0
        for c in text.upper():
            bits = bits * 32 + CROCKFORD.index(c)
        return bits
    raise InvalidValue(f"`{text}` is not a {spec['kind']}")


def id_text(spec: Format, bits: int) -> str:
    if spec["kind"] == "uuid":
        digits = f"{bits:032x}"
        parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        return "-".join(parts)
    return "".join(CROCKFORD[bits >> 5 * (25 - at) & 31] for at in range(26))


def span_of(spec: Format, value: object) -> tuple[int, int]:
    """The first and the last number that a value covers: a day given for a time covers many."""
    if spec["kind"] in PRECISIONS:
        precision = PRECISIONS[spec["kind"]]
        time = time_of(value)
        floor = period_of(time.ms, precision)
        first = floor if start_of(floor, precision) == time.ms else floor + 1
        return first, period_of(last_of(time), precision)
    if spec["kind"] == "decimal":
        floor, exact = unscaled(value, spec["scale"])
        return (floor if exact else floor + 1), floor
    point = point_of(spec, value)
    return point, point


def point_of(spec: Format, value: object) -> int:
    """The number of a value that goes into a key as it is."""
    kind = spec["kind"]
    if kind in PRECISIONS:
        precision, time = PRECISIONS[kind], time_of(value)
        if time.precision < min(precision, 5):
            raise InvalidValue(f"{value} is a period, not a moment")
        if precision == 5 and time.ms % 1000 != 0:
            raise InvalidValue(f"{value} is finer than whole seconds")
        return period_of(time.ms, precision)
    if kind == "decimal":
        floor, exact = unscaled(value, spec["scale"])
        if exact:
            return floor
        raise InvalidValue(f"{value} has too many digits")
    if kind == "bool":
        if isinstance(value, bool):
            return int(value)
        raise InvalidValue(f"{value} is not true or false")
    if kind in ("uuid", "ulid"):
        return id_of(spec, value)
    return whole_of(value)


COMPLEMENT = str.maketrans("0123456789", "9876543210")


def write_signed(spec: Format, value: int) -> str:
    width, scale = spec["width"], spec.get("scale", 0)
    size = 10**width - 1 + value if value < 0 else value
    text = str(size).zfill(width)
    if scale:
        text = f"{text[:-scale]}.{text[-scale:]}"
    return ("-" if value < 0 else "0") + text


def write_point(spec: Format, point: int) -> str:
    kind, desc = spec["kind"], spec.get("desc", False)
    least, greatest = bounds(spec) or (0, 0)
    if not least <= point <= greatest:
        low, high = value_at(spec, least), value_at(spec, greatest)
        raise InvalidValue(f"{point} is not between {low} and {high}")
    if spec.get("plain") or kind == "shard":
        return str(point)
    if kind in ("i64", "decimal"):
        return write_signed(spec, -point if desc else point)
    if kind in ("uuid", "ulid"):
        return id_text(spec, ID_BITS - point if desc else point)
    if kind == "bool":
        return "1" if (point == 1) != desc else "0"
    if kind in PRECISIONS and kind != "epoch_ms":
        precision = PRECISIONS[kind]
        text = time_text(start_of(point, precision), precision)
        if precision == 3:
            text = text.replace("T", "-")
        if spec.get("compact"):
            text = re.sub("[-:]", "", text)
    else:
        text = str(point).zfill(spec.get("width", 0))
    return text.translate(COMPLEMENT) if desc else text


def value_at(spec: Format, point: int) -> Any:
    """A number of a scalar as programs know the value."""
    kind = spec["kind"]
    if kind == "bool":
        return point == 1
    if kind in ("uuid", "ulid"):
        return id_text(spec, point)
    if kind == "decimal":
        return Decimal(point).scaleb(-spec["scale"], EXACT)
    if kind in PRECISIONS and kind != "epoch_ms":
        return time_text(start_of(point, PRECISIONS[kind]), PRECISIONS[kind])
    return point


# 38 digits, as in DynamoDB, and never rounded.
EXACT = Context(prec=60)


def write(spec: Format, value: object, codec: Codec) -> str:
    """How a value is written into a key."""
    if is_text(spec):
        return write_text(spec, str(value), codec)
    if spec["kind"] == "hex":
        return write_hex(spec, value)
    return write_point(spec, point_of(spec, value))


def read_signed(spec: Format, text: str) -> int:
    body, is_negative = text[1:].replace(".", ""), text[:1] == "-"
    size = whole_of(body.translate(COMPLEMENT) if is_negative else body)
    return size if is_negative == spec.get("desc", False) else -size


def read_point(spec: Format, text: str) -> int:
    kind, desc = spec["kind"], spec.get("desc", False)
    if spec.get("plain") or kind == "shard":
        return whole_of(text)
    if kind in ("i64", "decimal"):
        return read_signed(spec, text)
    if kind in ("uuid", "ulid"):
        bits = id_of(spec, text)
        return ID_BITS - bits if desc else bits
    if kind == "bool":
        return int((text == "1") != desc)
    digits = re.sub(r"\D", "", text)
    if desc:
        digits = digits.translate(COMPLEMENT)
    if kind not in PRECISIONS or kind == "epoch_ms":
        return whole_of(digits)
    found = re.fullmatch(r"(\d{4})((?:\d\d){0,5})(\d{3})?", digits)
    if found is None:
        raise InvalidValue(f"`{text}` is not a time")
    parts = [int(found[1])]
    parts += [int(found[2][at : at + 2]) for at in range(0, len(found[2]), 2)]
    if found[3] is not None:
        parts.append(int(found[3]))
    return period_of(moment_of(parts), PRECISIONS[kind])


def read_text(spec: Format, text: str, codec: Codec) -> str:
    if not spec.get("desc"):
        return text if spec["kind"] == "fixed" else unescaped(text, codec)
    try:
        raw = bytes.fromhex(complemented_hex(text.removesuffix("~"), False))
    except ValueError as error:
        raise InvalidValue(f"`{text}` is not hex") from error
    return raw.decode(errors="replace")


def read(spec: Format, text: str, codec: Codec) -> Any:
    """The value that a part of a key stands for. Only what `write` writes is read."""
    value: Any
    if is_text(spec):
        value = read_text(spec, text, codec)
    elif spec["kind"] == "hex":
        digits = text.removesuffix("~")
        value = complemented_hex(digits, False) if spec.get("desc") else digits
    else:
        value = value_at(spec, read_point(spec, text))
    if write(spec, value, codec) != text:
        raise InvalidValue(f"`{text}` is not how a {spec['kind']} is written")
    return value


def display(spec: Format, value: object) -> str:
    """A value as text: what shards are calculated from."""
    if spec["kind"] == "epoch_ms":
        return time_text(time_of(value).ms, 6)
    if is_text(spec):
        return folded(spec, str(value))
    if bounds(spec) is None:
        return number_text(value)
    shown = value_at(spec, point_of(spec, value))
    if isinstance(shown, bool):
        return str(shown).lower()
    return f"{shown:f}" if isinstance(shown, Decimal) else str(shown)


def stable_hash(parts: Iterable[str]) -> int:
    """The hash of calculated shards: 64-bit FNV-1a, finished as in MurmurHash3."""
    mask = (1 << 64) - 1
    hash_ = 0xCBF29CE484222325
    for part in parts:
        for byte in part.encode() + b"\xff":
            hash_ = (hash_ ^ byte) * 0x100000001B3 & mask
    hash_ ^= hash_ >> 33
    hash_ = hash_ * 0xFF51AFD7ED558CCD & mask
    hash_ ^= hash_ >> 33
    hash_ = hash_ * 0xC4CEB9FE1A85EC53 & mask
    return hash_ ^ hash_ >> 33


def shard_of(parts: Iterable[str], shards: int) -> int:
    return stable_hash(parts) % shards


# Templates.


@dataclass(frozen=True)
class Piece:
    literal: str
    name: str | None = None
    spec: Format = field(default_factory=lambda: Format(kind="string"))


class Template:
    """A key template: literal text and fields."""

    def __init__(
        self,
        text: str,
        format_of: Callable[[str], Format],
        codec: Codec,
        limit: int,
    ) -> None:
        self.text, self.codec, self.limit = text, codec, limit
        self.pieces: list[Piece] = []
        for found in re.finditer(r"\{\{|\}\}|\{([^}]*)\}|[^{}]+", text):
            name, part = found[1], found[0]
            if name is not None:
                self.pieces.append(Piece("", name, format_of(name)))
                continue
            literal = part[1:] if part in ("{{", "}}") else part
            if self.pieces and self.pieces[-1].name is None:
                literal = self.pieces.pop().literal + literal
            self.pieces.append(Piece(literal))

    def fields(self) -> list[str]:
        return [piece.name for piece in self.pieces if piece.name is not None]

    def build(self, values: Mapping[str, Any]) -> str:
        """The key of these values; they are all there."""
        key = ""
        for piece in self.pieces:
            if piece.name is None:
                key += piece.literal
                continue
            try:
                key += write(piece.spec, values[piece.name], self.codec)
            except InvalidValue as error:
                raise InvalidValue(f"field `{piece.name}`: {error}") from error
        if len(key.encode()) > self.limit:
            raise InvalidValue(
                f"the key of `{self.text}` is over {self.limit} bytes long"
            )
        return key

    def parse(self, key: str) -> dict[str, Any]:
        """The values of the fields of a key."""
        values: dict[str, Any] = {}
        rest = key
        for at, piece in enumerate(self.pieces):
            if piece.name is None:
                if not rest.startswith(piece.literal):
                    raise InvalidValue(f"`{key}` is no key of `{self.text}`")
                rest = rest[len(piece.literal) :]
                continue
            part = rest[: self.extent(at, piece.spec, rest)]
            values[piece.name] = read(piece.spec, part, self.codec)
            rest = rest[len(part) :]
        if rest:
            raise InvalidValue(f"`{rest}` is left over of `{key}`")
        return values

    def extent(self, at: int, spec: Format, rest: str) -> int:
        """How long the field at the start of the rest of a key is."""
        own = fixed_width(spec)
        if own is not None:
            return len(rest.encode()[:own].decode(errors="replace"))
        tail = 0
        for following in self.pieces[at + 1 :]:
            if following.name is not None:
                tail += fixed_width(following.spec) or 0
                continue
            separator = self.codec.separator
            is_guarded = is_text(spec) and not spec.get("desc")
            is_separated = is_guarded and following.literal.startswith(separator)
            stop = separator if is_separated else following.literal[:1]
            end = rest.find(stop)
            if end < 0:
                raise InvalidValue(f"no `{stop}` follows in the key")
            return end - tail
        return len(rest) - tail


def fixed_width(spec: Format) -> int | None:
    """How many bytes every value has in a key; nothing if that varies."""
    kind, width = spec["kind"], spec.get("width", 0)
    if spec.get("plain") or kind == "shard":
        return None
    if kind in PRECISIONS and kind != "epoch_ms":
        precision = PRECISIONS[kind]
        marked = (4, 7, 10, 13, 16, 20, 24)[precision]
        marks = (0, 1, 2, 3, 3, 4, 4)[precision]
        return marked - marks if spec.get("compact") else marked
    if kind == "i64":
        return width + 1
    if kind == "decimal":
        return width + (2 if spec["scale"] > 0 else 1)
    if kind in ("uuid", "ulid", "bool"):
        return {"uuid": 36, "ulid": 26, "bool": 1}[kind]
    if "width" not in spec:
        return None
    if kind == "hex" or (kind == "fixed" and spec.get("desc")):
        return 2 * width
    return width
