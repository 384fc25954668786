"""A tool of a service: its schema and its validation follow from its parameters and its result."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, ClassVar, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema

from integrations.argument_coercion import ParameterForm, parameter_forms, plain_name
from integrations.argument_errors import error_sentence
from integrations.json_object import Json

MAX_PROBLEMS = 8
BEYOND = "A number is too large, or lists are nested too deeply."


class Params(BaseModel):
    """What a tool takes. What models get slightly wrong is understood: another spelling of a name, a number as text."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        coerce_numbers_to_str=True,
        str_strip_whitespace=True,
        hide_input_in_errors=True,
    )
    aliases: ClassVar[Mapping[str, str]] = {}
    """Other words for a parameter, such as `channel` for `channelId`; each in its plain spelling, without marks."""

    @model_validator(mode="before")
    @classmethod
    def _understood(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        names = {plain_name(alias): to_camel(name) for alias, name in cls.aliases.items()}
        names |= {plain_name(name): name for name in map(to_camel, cls.model_fields)}
        forms, read = _forms(cls), Json()
        for told, value in given.items():
            if value is None:  # models fill in what they leave out
                continue
            name = names.get(plain_name(str(told)), str(told))
            read.setdefault(name, forms[name].coerce(value) if name in forms else value)
        return read


@cache
def _forms(params: type[Params]) -> dict[str, ParameterForm]:
    return parameter_forms(params.model_json_schema())


class Result(BaseModel):
    """What a tool gives: structured for programs, and the same as text for a model."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    def text(self) -> str:
        raise NotImplementedError

    def structured(self) -> Json:
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


Run = Callable[[Any, Any], Awaitable[Result]]


@dataclass(frozen=True)
class ServiceTool:
    name: str
    title: str
    description: str
    writes: bool
    params: type[Params]
    result: type[Result]
    run: Run = field(repr=False)
    """Given the service's API and the parameters."""

    repeatable: bool = False
    """To do it twice is to do it once."""

    destroys: bool = False

    def parse(self, args: object) -> Params | list[str]:
        """Or what to change about the arguments, a sentence each."""
        try:
            return self.params.model_validate(args)
        except (ArithmeticError, RecursionError):
            return [BEYOND]
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)[:MAX_PROBLEMS]
            return [error_sentence(each, self.params) for each in problems]

    @cached_property
    def mcp_definition(self) -> Json:
        """As MCP lists a tool."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": _plain_schema(self.params.model_json_schema(schema_generator=_Untitled)),
            "outputSchema": _plain_schema(
                self.result.model_json_schema(schema_generator=_Untitled, mode="serialization")
            ),
            "annotations": {
                "title": self.title,
                "readOnlyHint": not self.writes,
                "destructiveHint": self.destroys,
                "idempotentHint": self.repeatable or not self.writes,
                "openWorldHint": True,
            },
        }


class _Untitled(GenerateJsonSchema):
    """A title that only repeats a parameter's name costs a model's attention."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        return False


def _plain_schema(schema: Json) -> Json:
    for each in (schema, *schema.get("$defs", {}).values()):
        each.pop("title", None)
        for name, field_schema in each.get("properties", {}).items():
            each["properties"][name] = _without_null(field_schema)
    return schema


def _without_null(schema: Json) -> Json:
    """What may be left out need not be null."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(choices) != 1:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf" and (name, value) != ("default", None)}
    return {**choices[0], **rest}


Made = TypeVar("Made", bound=Callable[..., Awaitable[Result]])


def tool(
    title: str, *, writes: bool = False, repeatable: bool = False, destroys: bool = False
) -> Callable[[Made], ServiceTool]:
    """For `async def notion_read(api: Api, ask: ReadPage) -> Page`, whose docstring is what a model reads."""

    def made(run: Made) -> ServiceTool:
        hints = get_type_hints(run)
        taken = [hints[name] for name in inspect.signature(run).parameters][1]
        description = inspect.cleandoc(run.__doc__ or "")
        return ServiceTool(
            run.__name__,
            title,
            description,
            writes,
            taken,
            hints["return"],
            run,
            repeatable=repeatable,
            destroys=destroys,
        )

    return made
