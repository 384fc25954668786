"""Inputs that strangers choose: shapes that once held the event loop, and random ones like them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

Json = Any
WORDS = ("type", "minimum", "maxLength", "pattern", "enum", "const", "multipleOf", "uniqueItems", "format", "required")
TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
PATTERNS = (
    "^[a-z]+$", "(a|a)*b", "([ab]{1,40}a){1,10}c", r"^(?!x)\w+$", "^.{1,255}$", ".{1,1000}", r"\p{L}{1,20}",
    "[ab]*a[ab]{30}c",
    r"(\s|\S)*x", "(((a{0,9}){0,9}){0,9}){0,9}", "^" + "(a?b?)" * 90, "|".join(f"[a-z]*{n}" for n in range(90)),
)  # fmt: skip
NUMBERS = (0, 1, -1, 0.1, 1e-300, 1e300, 3.7, 2**53 + 1, 10**19, 7.5, -1e-9)
TEXTS = (
    "a",
    "ab" * 40,
    "a" * 2000,
    "x\u202ey",
    "é\u4e00" * 30,
    "\x1b[",
    "\u200d",
    "\u0001",
    "x" * 20,
    "2026-01-01",
    "",
)

SECRETS = tuple(f"a-secret-of-some/length+{n}==" + "%".join(str(n * m) for m in range(20)) for n in range(20))
"""What the redactor looks for: as many as a server has headers."""


def chain(levels: int, **more: Json) -> Json:
    links = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}], **more} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**links, f"d{levels}": {"properties": {"a": {}}}}}


def references_to_one(alternatives: int, names: int) -> Json:
    definition = {"required": [f"name{n}" for n in range(names)], "properties": {f"name{n}": {} for n in range(names)}}
    return {"anyOf": [{"$ref": "#/$defs/d"}] * alternatives, "$defs": {"d": definition}}


def nested_all_of(levels: int, properties: int) -> Json:
    schema: Json = {"type": "object"}
    for level in range(levels):
        schema = {"allOf": [schema, {"properties": {f"p{n}": {"const": level} for n in range(properties)}}]}
    return schema


def fields(number: int, schema: Json) -> Json:
    return {"properties": {f"the_name_of_field_{n}": schema for n in range(number)}, "additionalProperties": False}


def nested(inner: Json, levels: int, word: str = "anyOf") -> Json:
    for _ in range(levels):
        inner = {word: [inner, {"type": "null"}, {"type": "boolean"}]}
    return inner


def recursive(options: int) -> Json:
    return {"properties": {"c": {"items": {"$ref": "#"}}, "v": {"enum": [f"value {n}" for n in range(options)]}}}


def tree(depth: int) -> Json:
    value: Json = {"v": "value 1"}
    for _ in range(depth):
        value = {"v": "value 1", "c": [value] * 2 if depth < 10 else [value]}
    return value


VALIDATIONS: tuple[tuple[Json, Json], ...] = (
    (chain(40, unevaluatedProperties=False), {"a": 1}),
    (chain(6, unevaluatedProperties=False), {"a": 1, "b": 2}),
    (chain(40, unevaluatedItems=False), {"a": [1]}),
    ({"patternProperties": {f"^(a|a)*{n}$": {} for n in range(50)}}, {f"{'a' * 30}{n}b": 1 for n in range(300)}),
    (fields(3_900, {}), {f"the_nome_of_feild_{n}": 1 for n in range(12)}),
    (fields(8_000, {}), {f"the_nome_of_feild_{n}": 1 for n in range(12)}),
    ({"properties": {"a": {"items": {"multipleOf": 1e-300}}}}, {"a": [n + 0.5 for n in range(19_000)]}),
    (recursive(3_500), tree(20)),
    (recursive(19_000), tree(20)),
    ({"properties": {"a": {"items": {"enum": [n + 0.5 for n in range(3_000)]}}}}, {"a": [0.25] * 3_000}),
    ({"properties": {"a": nested({"type": "null"}, 40)}}, {"a": "x" * 10_000}),
    ({"properties": {"a": {"uniqueItems": True}}}, {"a": [[n % 5] * (n % 9) for n in range(3_000)]}),
    ({"properties": {"a": {"pattern": PATTERNS[2]}}}, {"a": "ab" * 100_000}),
    ({"allOf": [{"if": {"properties": {"a": {"const": n}}}, "then": {"required": ["b"]}} for n in range(450)]}, {}),
    (references_to_one(500, 1_000), {}),
    (nested_all_of(45, 40), {"p1": 1}),
)
SCHEMAS: tuple[Json, ...] = (
    *(schema for schema, _ in VALIDATIONS),
    references_to_one(1_700, 1_600),
    nested_all_of(45, 200),
    {"properties": {f"p{n}": {"pattern": rf"\p{{L}}{{1,20}}{n}"} for n in range(50)}},
    {"properties": {f"p{n}": {"pattern": "(" * 40 + f"a{n}" + "){0,9}" * 40} for n in range(50)}},
)
LISTS: tuple[Json, ...] = (
    [
        {"name": f"t{n}", "description": "Does it. " * 30, "inputSchema": fields(6, {"type": "string"})}
        for n in range(5_000)
    ],
    [{"name": f"t{n}", "description": "\x1b[" * 9_000, "inputSchema": {}} for n in range(60)],
    [{"name": "t", "inputSchema": fields(3_900, {"description": "x\u202e" * 40})}],
    [{"name": "t", "description": SECRETS[0], "inputSchema": {"enum": [SECRETS[0][-32:]] * 12_000}}],
    [{"name": f"t{n}", "inputSchema": {"enum": [1e300] * 4_000}} for n in range(10)],
)
RESULTS: tuple[Json, ...] = (
    {"content": [{"type": "text", "text": "\x1b[" * 2_000_000}]},
    {"content": [{"type": "text", "text": "\x1b[1;" * 8_000}]},
    {"content": [{"type": "text", "text": "x" * 30_000}] * 130},
    {"content": [], "structuredContent": {f"k{n}": [{}] * 20 for n in range(3_000)}},
    {"content": [], "structuredContent": {"a": [SECRETS[0][-32:]] * 900}},
    {"content": [], "structuredContent": {"a": [SECRETS[0]] + [""] * 10_000}},
    {"content": [], "structuredContent": {"a": [SECRETS[0]] + ["%41" + SECRETS[0][-4:]] * 3_000}},
)
REDACTORS: tuple[Json, ...] = (
    [f"X{n}" + "".join(chr(33 + n * m % 94) for m in range(8_000)) for n in range(20)],
    [f"X{n}" + "".join(chr(224 + n * m % 31) for m in range(3_900)) for n in range(20)],
    [SECRETS[0] * 60 + str(n) for n in range(6)],
)
STREAMS: tuple[bytes, ...] = (
    b"\n" * 4_200_000, b"\r" * 4_200_000, b"data:\n" * 600_000, b":\n\n" * 1_000_000, b"data: {}\n\n" * 300_000,
    *(b'data: {"id":1,"result":[' + b"%b," % number * count + b"1]}\n\n" for number, count in (
        (b"1e300", 40_000), (b"1e23", 60_000), (b"9007199254740993.0", 200_000))),
)  # fmt: skip
BODIES: tuple[bytes, ...] = (
    b'["\\u0041",' + b"{}," * 340_000 + b"{}]", b"[" + b"[]," * 340_000 + b"[]]", b"[" * 500_000,
    b'{"name":"a","enabledMcpServerIds":[' + b'"x",' * 170_000 + b'"x"]}', b"[" + b"1," * 500_000 + b"1]",
    b'{"a":"' + b"\\u0041" * 160_000 + b'"}', b'{"a":' + b"9" * 900_000 + b"}", b'["' + b'\\"' * 400_000 + b'"]',
    b"{" + b",".join(b'"k%d":1' % n for n in range(60_000)) + b"}", b"[" + b"1e300," * 19_000 + b"1]",
)  # fmt: skip


def number_of(random: Random, most: int) -> int:
    """Small as often as large."""
    return int(most ** random.random())


def a_listed_schema(random: Random) -> Json:
    """A tool has at most 500,000 characters."""
    schema = a_schema(random)
    return schema if len(json.dumps(schema)) < 500_000 else {}


def a_schema(random: Random, depth: int = 0, size: int = 2_000) -> Json:
    """About as many schemas as `size` at most."""
    if depth > 4 or size < 2 or random.random() < 0.15:
        return {random.choice(WORDS): a_constant(random, size) for _ in range(random.randrange(3))}
    copies = number_of(random, size)
    inner = a_schema(random, depth + 1, size // copies)
    others = [a_schema(random, depth + 1, size // copies // 2) for _ in range(random.randrange(3))]
    several = [inner, *others] * copies
    names = {f"f{n}": each for n, each in enumerate(several)}
    shape = {
        "properties": lambda: {"properties": names, "required": [*names][: random.randrange(3)]},
        "patternProperties": lambda: {"patternProperties": {random.choice(PATTERNS) + str(n): inner for n in range(4)}},
        "list": lambda: {"items": inner, "uniqueItems": random.random() < 0.3},
        "all": lambda: {random.choice(("allOf", "anyOf", "oneOf")): several},
        "one": lambda: {random.choice(("not", "if", "then", "else", "contains", "propertyNames")): inner},
        "unevaluated": lambda: {"allOf": several, random.choice(("unevaluatedProperties", "unevaluatedItems")): False},
        "closed": lambda: {"properties": names, "additionalProperties": random.choice((False, inner))},
        "reference": lambda: {"$ref": f"#/$defs/d{random.randrange(4)}", "description": "x"},
        "dependent": lambda: {"dependentSchemas": names},
        "tuple": lambda: {"prefixItems": several, "items": inner},
    }
    made = random.choice(list(shape.values()))()
    if depth == 0:
        made["$defs"] = {f"d{n}": a_schema(random, 2, 50) for n in range(4)}
    return made if random.random() < 0.7 else made | a_schema(random, depth + 1, size // 4)


def a_constant(random: Random, size: int) -> Json:
    some = [*NUMBERS, *TEXTS, *PATTERNS, *TYPES]
    listed = [random.choice(some) for _ in range(number_of(random, 1 + size // 2))]
    return random.choice([random.choice(some), random.choice(TYPES), random.choice(PATTERNS), listed, True])


def a_value(random: Random, size: int, depth: int = 0) -> Json:
    if depth > 5 or size < 2 or random.random() < 0.2:
        return random.choice([*NUMBERS, *TEXTS, True, None])
    copies = number_of(random, size)
    parts = [a_value(random, size // copies, depth + 1) for _ in range(random.randrange(1, 3))] * copies
    return {f"f{n}": part for n, part in enumerate(parts)} if random.random() < 0.6 else parts


def an_arguments_object(random: Random) -> Json:
    """A request has at most 1 MB."""
    value = a_value(random, number_of(random, 3_000))
    given = value if isinstance(value, dict) else {"f0": value, "f1": value, "a": value}
    return given if len(json.dumps(given)) < 1_000_000 else {"a": 1}


def a_validation(random: Random) -> Json:
    if random.random() < 0.2:
        schema, arguments = random.choice(VALIDATIONS)
        return random.choice([(schema, an_arguments_object(random)), (a_listed_schema(random), arguments)])
    return a_listed_schema(random), an_arguments_object(random)


def a_list(random: Random) -> Json:
    """An answer has at most 4 MB."""
    schemas = [a_listed_schema(random) for _ in range(9)]
    tools = [{"description": random.choice(TEXTS) * 9, "inputSchema": schema} for schema in schemas]
    copies = number_of(random, max(1, 200_000 // len(json.dumps(tools))))
    return [{"name": f"t{n}", **tool} for n, tool in enumerate(tools * copies)]


def a_result(random: Random) -> Json:
    texts = ["".join(random.choices(TEXTS, k=3)) * number_of(random, 300) for _ in range(random.randrange(1, 4))]
    content = [{"type": "text", "text": text} for text in texts]
    content *= number_of(random, max(1, 2_000_000 // len(json.dumps(content))))  # an answer has at most 4 MB
    structured = an_arguments_object(random)
    return {"content": content, "structuredContent": structured if len(json.dumps(structured)) < 2_000_000 else {}}


def a_redactor(random: Random) -> Json:
    """A server has at most twenty headers of 8 kB."""
    return ["".join(random.choices(TEXTS, k=3)) * 20 + str(n) for n in range(random.randrange(1, 20))]


def a_stream(random: Random) -> bytes:
    parts = (b"\n", b"\r", b"\r\n", b"data: x\n", b":\n", b"id: 1\n", b"data: {}\n\n", b"event\n", b"x", b"retry: 99\n")
    return b"".join(random.choice(parts) * number_of(random, 100_000) for _ in range(number_of(random, 60)))[:4_000_000]


def a_body(random: Random) -> bytes:
    part = random.choice((b"{}", b"[]", b"1", b'"\\u0041"', b'{"a":1}', b"1e9", b"1e300", b'"\\\\"', b"[[[]]]", b'"x"'))
    many = b"[" + b",".join([part] * number_of(random, 1_000_000 // len(part))) + b"]"
    return random.choice([many, b'{"a":' + many + b"}", json.dumps(an_arguments_object(random)).encode(), many[:-1]])


SEEDS: Mapping[str, tuple[Json, ...]] = {
    "schema": SCHEMAS, "validation": VALIDATIONS, "list": LISTS, "result": RESULTS, "stream": STREAMS, "body": BODIES,
    "redactor": REDACTORS,
}  # fmt: skip
MAKERS: Mapping[str, Callable[[Random], Json]] = {
    "schema": a_listed_schema, "validation": a_validation, "list": a_list, "result": a_result, "stream": a_stream,
    "body": a_body, "redactor": a_redactor,
}  # fmt: skip
KINDS = tuple(SEEDS)
SHARES: Mapping[str, int] = {
    "schema": 30,
    "validation": 50,
    "list": 1,
    "result": 10,
    "stream": 3,
    "body": 16,
    "redactor": 5,
}
"""Of a hundred and fifteen random inputs: lists and streams take ten times as long as the others."""


def input_of(kind: str, number: int, seed: str) -> Json:
    """The known shapes come first; each other one depends on the seed and its number only."""
    known = SEEDS[kind]
    return known[number] if number < len(known) else MAKERS[kind](Random(f"{seed}/{kind}/{number}"))
