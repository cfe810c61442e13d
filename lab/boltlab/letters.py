# SPDX-License-Identifier: GPL-2.0-only
"""Cover letters: texts whose figures are read from the files in results/ when they are exported.

A letter says ``{name}``, or ``{name:.2f}`` with a format as of Python's str.format(). series.toml
says for each name where the figure is: ``FILE PATH``, where PATH leads through the JSON of
results/FILE, ``cases[case=offline1].variants.bolt.median``; ``[key=value]`` selects from a list.
``sum(FILE PATH[].key)`` adds up what all selected entries have under the key, and ``count(FILE
PATH)`` counts the entries. ``NAME / NAME`` is the ratio of two other figures.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boltlab import paths
from boltlab.errors import BoltError
from boltlab.series import Posting

Figure = float | int | str

_STEP = re.compile(r"\.?([^.\[\]]+)|((?:\[[^\]]*\])+)")
_CALL = re.compile(r"(sum|count)\((.*)\)$")


def render(posting: Posting, folder: Path, results: Path | None = None) -> str:
    """Return the text of the cover letter of ``posting``, figures filled in.

    ``folder`` is that of series.toml. Raises BoltError when the text or a figure is missing, or
    a figure is not used.
    """
    file = folder / posting.cover
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise BoltError(f"the posting '{posting.name}' has no cover letter {file.name}") from error
    text = re.sub(r"\A(?:SPDX-License-Identifier:.*\n)\n*", "", text)
    figures = resolve(posting.figures, results or paths.REPO / "results")
    used = set(re.findall(r"\{(\w+)(?:[:}])", text))
    if unused := sorted(set(figures) - used - _parts(posting.figures)):
        raise BoltError(f"{posting.cover} does not use the figure '{unused[0]}'")
    try:
        return text.format_map(figures)
    except KeyError as error:
        raise BoltError(f"{posting.cover}: series.toml does not say where {error} is") from error
    except (ValueError, IndexError) as error:
        raise BoltError(f"{posting.cover}: {error}") from error


def _parts(figures: Mapping[str, str]) -> set[str]:
    """Return the names that ratios are made of."""
    return {part for rule in figures.values() if " / " in rule for part in rule.split(" / ")}


def resolve(figures: Mapping[str, str], results: Path) -> dict[str, Figure]:
    """Return the figures by name; ``results`` is the folder of the files that they name."""
    found: dict[str, Figure] = {}
    for name, rule in figures.items():
        if " / " not in rule:
            found[name] = _read(name, rule, results)
    for name, rule in figures.items():
        if " / " in rule:
            above, below = (found.get(part) for part in rule.split(" / "))
            if not isinstance(above, int | float) or not isinstance(below, int | float):
                raise BoltError(f"the figure '{name}': '{rule}' are not two figures")
            found[name] = above / below
    return found


def _read(name: str, rule: str, results: Path) -> Figure:
    call = _CALL.match(rule)
    file, _, path = (call[2] if call else rule).partition(" ")
    try:
        document = json.loads((results / file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BoltError(f"the figure '{name}': cannot read results/{file}") from error
    values = _walk(name, file, document, path.strip())
    if call and call[1] == "count":
        return len(values)
    if call:
        if not all(isinstance(value, int | float) for value in values):
            raise BoltError(f"the figure '{name}': results/{file}: {path} are not numbers")
        return sum(values)
    if len(values) != 1 or not isinstance(values[0], int | float | str):
        raise BoltError(f"the figure '{name}': results/{file}: {path} is not one figure")
    return values[0]


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
    """Return the entries of the lists in ``values`` or, of entries, those that match."""
    entries = [entry for value in values for entry in (value if isinstance(value, list) else [value])]
    if not key:
        return entries
    if wanted == "":
        return [entry for entry in entries if isinstance(entry, dict) and key not in entry]
    return [entry for entry in entries if _has(entry, key) and json.dumps(entry[key]).strip('"') == wanted]
