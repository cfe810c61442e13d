# SPDX-License-Identifier: GPL-2.0-only
"""Makes one self-contained HTML page of tables and inline SVG pictures."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff;
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 3rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid #ddd; text-align: right;
  white-space: nowrap; }
th { border-bottom: 2px solid #888; } th:first-child, td:first-child { text-align: left; }
figure { margin: 2rem 0; } figcaption { color: #555; font-size: .9rem; }
svg { width: 100%; height: auto; } dt { font-family: monospace; } .note { color: #a40; }
dl { display: grid; grid-template-columns: max-content auto; gap: 0 1rem; font-size: .9rem; }
dd { margin: 0; }
"""


@dataclass(frozen=True)
class Section:
    """A part of a page: title, note, table, the meaning of its rows, and pictures.

    ``legend`` has pairs of a row's name and its meaning, ``pictures`` of a caption and SVG text.
    """

    title: str
    header: Sequence[str]
    cells: Sequence[Sequence[str]]
    note: str = ""
    legend: Sequence[tuple[str, str]] = field(default_factory=list)
    pictures: Sequence[tuple[str, str]] = field(default_factory=list)


PREFACE = (
    "Medians in milliseconds, least and greatest in brackets, unless a table says otherwise. "
    "Virtual time charges the work of all CPUs to one clock: work that CPUs do at the same time "
    "takes as long as if the CPUs did it one after the other."
)


def page(title: str, sections: Sequence[Section], preface: str = PREFACE) -> str:
    """Return a page headed ``title``, with ``preface`` and a part for each of ``sections``."""
    body = "\n".join(_section(section) for section in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n"
        f"<p>{escape(preface)}</p>\n"
        f"{body}\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    if section.note:
        parts.append(f'<p class="note">{escape(section.note)}</p>')
    parts.append(_table(section.header, section.cells))
    if section.legend:
        terms = "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in section.legend
        )
        parts.append(f"<dl>{terms}</dl>")
    for caption, svg in section.pictures:
        parts.append(f"<figure>{_inline(svg)}<figcaption>{escape(caption)}</figcaption></figure>")
    return "\n".join(parts)


def _table(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells
    )
    return (
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _inline(svg: str) -> str:
    """Return the SVG without the lines that only a stand-alone file may have."""
    return re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL).strip()
