# SPDX-License-Identifier: GPL-2.0-only
"""Cover letters: an export fills in their figures from the files in results/.

In a letter ``{name}`` stands for a figure. An integer or a text is filled in as it is, any other
number as kept.number() writes it. ``{name:>9}`` also aligns the figure in a column; ``{name:,}``,
or another format of Python's str.format() with a comma or a point, writes the figure in that format
instead.

series.toml says for each name where the figure is: ``FILE PATH``. FILE is the name, without
the date, of a file in results/; of several files with this name the newest is taken. PATH leads
through the file's JSON, as in ``cases[case=offline1].variants.bolt.median``; ``[key=value]``
selects the entries of a list that have this value under the key, ``[key=]`` the entries without
such a key, ``[key!=text]`` those that have the key with a value that does not contain the text, and
``[]`` all entries. ``sum(FILE PATH[].key)`` adds up the values that all selected entries have under
the key, and ``count(FILE PATH)`` counts the entries.
``model(FILE PATH X Y AT)`` takes X and Y, which are paths in an entry, of all selected entries,
fits Y as a multiple of X plus a multiple of the square of X (neither below 0, and one may be 0, see
terms.fit()), and gives the fitted Y for X = AT. ``NAME / NAME`` is the ratio of two figures; a
whole number may stand in place of either. If one of the two figures is itself a ratio, the
line of this figure in series.toml has to stand above the line that names the figure.
"""

import json
import re
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boltlab import kept, terms
from boltlab.errors import BoltError
from boltlab.kernel.series import Posting

Figure = float | int | str

_STEP = re.compile(r"\.?([^.\[\]]+)|((?:\[[^\]]*\])+)")
_CALL = re.compile(r"(sum|count)\((.*)\)$")
_MODEL = re.compile(r"model\((\S+) (\S+) (\S+) (\S+) (\d+)\)$")


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, float) and not re.search(r"[,.]", format_spec):
            value = kept.number(value)
        return format(value, format_spec)


def render(posting: Posting, folder: Path) -> str:
    """Return the text of the cover letter of ``posting`` with its figures filled in.

    ``folder`` is the folder of series.toml. Raises BoltError when the text or a figure is missing,
    or when series.toml names a figure that neither the text nor a ratio uses.
    """
    file = folder / posting.cover
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise BoltError(f"the posting '{posting.name}' has no cover letter {file.name}") from error
    text = re.sub(r"\A(?:SPDX-License-Identifier:.*\n)\n*", "", text)
    figures = resolve(posting.figures)
    used = set(re.findall(r"\{(\w+)(?:[:}])", text))
    if unused := sorted(set(figures) - used - _parts(posting.figures)):
        raise BoltError(f"{posting.cover} does not use the figure '{unused[0]}'")
    try:
        return _Formatter().vformat(text, (), figures)
    except KeyError as error:
        raise BoltError(f"{posting.cover}: series.toml does not say where {error} is") from error
    except (ValueError, IndexError) as error:
        raise BoltError(f"{posting.cover}: {error}") from error


def _parts(figures: Mapping[str, str]) -> set[str]:
    """Return the names of the figures from which ratios are made."""
    return {part for rule in figures.values() if " / " in rule for part in rule.split(" / ")}


def resolve(figures: Mapping[str, str]) -> dict[str, Figure]:
    """Return the figures by name, read from results/; raise BoltError when a figure is missing."""
    found: dict[str, Figure] = {}
    for name, rule in figures.items():
        if " / " not in rule:
            found[name] = _read(name, rule)
    for name, rule in figures.items():
        if " / " in rule:
            above, below = (_part(part, found) for part in rule.split(" / "))
            if not isinstance(above, int | float) or not isinstance(below, int | float):
                raise BoltError(f"the figure '{name}': '{rule}' does not name two figures")
            if not below:
                raise BoltError(f"the figure '{name}': '{rule}' divides by 0")
            found[name] = above / below
    return found


def _part(part: str, found: Mapping[str, Figure]) -> Figure | None:
    return float(part) if part.isdecimal() else found.get(part)


def _read(name: str, rule: str) -> Figure:
    if model := _MODEL.match(rule):
        return _model(name, *model.groups())
    call = _CALL.match(rule)
    file, _, path = (call[2] if call else rule).partition(" ")
    values = _walk(name, file, _document(name, file), path.strip())
    if call and call[1] == "count":
        return len(values)
    if call:
        numbers = [value for value in values if isinstance(value, int | float)]
        if len(numbers) != len(values):
            raise BoltError(
                f"the figure '{name}': results/{file}: {path} has a value that is no number"
            )
        return sum(numbers)
    figure: object = values[0]
    if len(values) != 1 or not isinstance(figure, int | float | str):
        raise BoltError(f"the figure '{name}': results/{file}: {path} is not one figure")
    return figure


def _document(name: str, file: str) -> Any:
    try:
        return json.loads(kept.find(file).read_text(encoding="utf-8"))
    except ValueError as error:
        raise BoltError(f"the figure '{name}': cannot read results/{file}") from error


def _model(name: str, file: str, path: str, x: str, y: str, at: str) -> float:
    entries = _walk(name, file, _document(name, file), path)
    points: list[tuple[float, float]] = []
    for entry in entries:
        found = _walk(name, file, entry, x), _walk(name, file, entry, y)
        if [len(each) for each in found] != [1, 1]:
            raise BoltError(f"the figure '{name}': results/{file}: {x} or {y} is not one figure")
        (across,), (up,) = found
        if not isinstance(across, int | float) or not isinstance(up, int | float) or up <= 0:
            raise BoltError(
                f"the figure '{name}': results/{file}: {x} and {y} have to be numbers, {y} above 0"
            )
        points.append((across, up))
    if len({across for across, _ in points}) < 3:
        raise BoltError(
            f"the figure '{name}': results/{file}: a model needs at least three different values "
            f"of {x} in {path}"
        )
    powers = {"1": 1, "2": 2}
    fitted = terms.fit(
        {term: [across**power for across, _ in points] for term, power in powers.items()},
        [up for _, up in points],
    )
    return sum(factor * float(at) ** powers[term] for term, factor in fitted.items())


def _walk(name: str, file: str, document: Any, path: str) -> list[Any]:
    values = [document]
    for match in _STEP.finditer(path):
        if match[1]:
            values = [value[match[1]] for value in values if _has(value, match[1])]
        else:
            for key, value in re.findall(r"\[(?:([^=\]]+)=([^\]]*))?\]", match[2]):
                values = _select(values, key, value)
    if not values:
        raise BoltError(f"the figure '{name}': results/{file} has no {path}")
    return values


def _has(value: Any, key: str) -> bool:
    return isinstance(value, dict) and key in value


def _select(values: list[Any], key: str, wanted: str) -> list[Any]:
    """Return the entries of the lists in ``values`` that ``[key=wanted]`` of a PATH selects.

    A ``key`` that ends with "!" is that of ``[key!=wanted]``.
    """
    entries = []
    for value in values:
        entries += value if isinstance(value, list) else [value]
    if not key:
        return entries
    if key.endswith("!"):
        key = key.removesuffix("!")
        return [each for each in entries if _has(each, key) and wanted not in _text(each[key])]
    if wanted == "":
        return [entry for entry in entries if isinstance(entry, dict) and key not in entry]
    return [entry for entry in entries if _has(entry, key) and _text(entry[key]) == wanted]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
