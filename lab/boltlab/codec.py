# SPDX-License-Identifier: GPL-2.0-only
"""Result files: JSON objects with a schema, read into dataclasses by the types of their fields.

The type of a field may have a rule for the field's value, as in ``Annotated[int, Least(1)]``. A
dataclass may have a method ``flaw()`` that returns how its fields contradict each other, or "".
"""

import contextlib
import json
import math
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from boltlab import paths
from boltlab.errors import BoltError
from boltlab.locks import lock

SCHEMA = 1
UNIT = "ms"  # the unit of the times of cases in result files

T = TypeVar("T")


@dataclass(frozen=True)
class Least:
    """Says of a field's type: the value must be at least ``number``."""

    number: int

    def flaw(self, value: int) -> str:
        """Return what is wrong with ``value``, or ""."""
        return f"is below {self.number}" if value < self.number else ""


@dataclass(frozen=True)
class Among:
    """Says of a field's type: the value, in errors called ``what``, must be one of ``names()``."""

    what: str
    names: Callable[[], Collection[str]]

    def flaw(self, value: str) -> str:
        """Return what is wrong with ``value``, or ""."""
        return "" if value in self.names() else f"has an unknown {self.what} '{value}'"


@dataclass(frozen=True)
class Filled:
    """Says of a field's type: the list or JSON object must not be empty."""

    def flaw(self, value: Sized) -> str:
        """Return what is wrong with ``value``, or ""."""
        return "" if value else "is empty"


def load(path: Path, no: str, make: Callable[[Any], T]) -> T:
    """Return what the function ``make`` makes of the JSON in the file ``path``.

    Raises BoltError when the file cannot be read. When the file is no JSON or ``make`` raises
    BoltError, the message begins with the path and ``no``, such as "holds no torture results".
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BoltError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise BoltError(f"{path} {no}: {error}") from error
    try:
        return make(document)
    except BoltError as error:
        raise BoltError(f"{path} {no}: {error.message}") from error


def read(made: type[T], path: Path, no: str, kind: str = "") -> T:
    """Return an object of the dataclass ``made`` from the file ``path``, a document of ``kind``.

    Raises BoltError as load() does. If ``kind`` is "", the document has no kind, and keys that are
    no fields are ignored, because such a document also has figures that are computed from its other
    figures.
    """
    return load(path, no, lambda document: _whole(made, document, kind))


def document(path: Path) -> dict[str, Any]:
    """Return the JSON object in the result file ``path``, whatever the file's kind.

    Raises BoltError as load() does.
    """
    return load(path, "holds no results", lambda found: dict(_object(found, "results")))


def _whole(made: type[T], document: object, kind: str) -> T:
    return decode(made, head(document, "results", kind), "results", strict=bool(kind))


def head(document: object, where: str, kind: str = "") -> Mapping[str, Any]:
    """Return ``document`` without its key "schema" and, if ``kind`` is not "", its key "kind".

    Raises BoltError when ``document`` is no object, or when one of these keys is missing or has
    another value than SCHEMA or ``kind``.
    """
    found = _object(document, where)
    wanted: dict[str, object] = {"schema": SCHEMA, "kind": kind} if kind else {"schema": SCHEMA}
    for key, value in wanted.items():
        if key not in found:
            raise BoltError(f"{where}.{key} is missing")
        if found[key] != value:
            raise BoltError(f"{where}.{key} is {found[key]}: this lab reads {key} {value}")
    return {key: value for key, value in found.items() if key not in wanted}


def decode(kind: type[T], value: object, where: str, *, strict: bool = False) -> T:
    """Return an object of the dataclass ``kind`` with the contents of the JSON object ``value``.

    ``where`` names the place of ``value`` in messages. Raises BoltError naming the first flaw of
    ``value``. A key that is no field is a flaw if ``strict``, and is ignored otherwise.
    """
    found = _object(value, where)
    hints = typing.get_type_hints(kind, include_extras=True)
    given: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in found:
            place = f"{where}.{field.name}"
            given[field.name] = _value(hints[field.name], found[field.name], place, strict)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise BoltError(f"{where}.{field.name} is missing")
    for key in found:
        if strict and key not in hints:
            raise BoltError(f"{where} has an unknown key '{key}'")
    made = kind(**given)
    flaw = made.flaw() if hasattr(made, "flaw") else ""
    if flaw:
        raise BoltError(f"{where}: {flaw}")
    return made


def _value(kind: Any, value: object, where: str, strict: bool) -> Any:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        found = _value(inner[0], value, where, strict)
        for flaw in (rule.flaw(found) for rule in inner[1:]):
            if flaw:
                raise BoltError(f"{where} {flaw}")
        return found
    if origin in (typing.Union, types.UnionType):  # a union of a type and None
        if value is None:
            return None
        return _value(next(each for each in inner if each is not type(None)), value, where, strict)
    if origin is list:
        if not isinstance(value, list):
            raise BoltError(f"{where} is not a list")
        return [_value(inner[0], each, f"{where}[{i}]", strict) for i, each in enumerate(value)]
    if origin is dict:
        return {
            _value(inner[0], key, where, strict): _value(inner[1], each, f"{where}.{key}", strict)
            for key, each in _object(value, where).items()
        }
    if is_dataclass(kind):
        return decode(typing.cast(type[Any], kind), value, where, strict=strict)
    return _plain(kind, value, where)


def _plain(kind: Any, value: object, where: str) -> Any:
    if kind is str and isinstance(value, str):
        return value
    if kind is bool and isinstance(value, bool):
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int and number and isinstance(value, int):
        return value
    if kind is float and number and math.isfinite(typing.cast(float, value)):
        return float(typing.cast(float, value))
    names = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}
    raise BoltError(f"{where} is not {names[kind]}")


def _object(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BoltError(f"{where} is not an object")
    return value


def lines(kind: str, more: Mapping[str, Any], key: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of a document of ``kind`` with the keys ``more`` and, as ``key``, ``rows``.

    Each row is one line of the text, so that versions of the file can be compared by lines.
    """
    start = json.dumps({"schema": SCHEMA, "kind": kind, **more, key: []})
    body = ",\n".join(json.dumps(row) for row in rows)
    return start.removesuffix("]}") + f"\n{body}\n]}}\n"


def is_device(path: Path) -> bool:
    """Tell whether ``path`` is a device or a pipe, which save() does not replace by a file.

    The answer is True for a directory as well, on which save() raises BoltError.
    """
    return path.exists() and not path.is_file()


@contextmanager
def changing() -> Iterator[None]:
    """Make other callers of this function wait while the caller reads and changes a result file.

    The lock is in the cache, so that no file is left beside the results.
    """
    with lock(paths.cache() / "results"):
        yield


def save(text: str, path: Path) -> None:
    """Write ``text`` to the file ``path``, whole or not at all; raise BoltError if that fails.

    A device or a pipe is written to, and a file to which ``path`` is a link is replaced.
    """
    if is_device(path):
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise BoltError(f"cannot write {path}: {error.strerror}") from error
        return
    path = path.resolve()
    half = path.with_name(f".{path.name}.half")
    try:
        half.write_text(text, encoding="utf-8")
        half.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            half.unlink()
        if not isinstance(error, OSError):
            raise
        raise BoltError(f"cannot write {path}: {error.strerror}") from error
