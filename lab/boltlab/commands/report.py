# SPDX-License-Identifier: GPL-2.0-only
"""``bolt report``: makes a report of results, or renews the figures in README and docs."""

import argparse
from pathlib import Path

from boltlab import codec, ui
from boltlab.bench import results
from boltlab.errors import USAGE, BoltError
from boltlab.report import pictures, quotes, summary

NAME = "report"
HELP = "Make tables, figures (SVG, PNG) and an HTML page of measured results."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="result files of bench, or of cpubolt bench",
    )
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="where to write (default: beside the first file)"
    )
    parser.add_argument(
        "--docs",
        action="store_true",
        help="renew the figures that README and docs quote from results/, and draw docs/figures",
    )


def run(args: argparse.Namespace) -> int:
    """Print the tables, write figures and page; with ``--docs``, renew README and docs instead.

    Raises BoltError if no file is named, a file is no result file, or two files would give reports
    of the same name (see summary.stem()).
    """
    if args.docs:
        if args.files or args.output:
            raise BoltError("--docs takes no result files and no --output", code=USAGE)
        return _docs()
    if not args.files:
        raise BoltError("name result files, or use --docs", code=USAGE)
    runs = [results.load(file) for file in args.files]
    names = [summary.stem(entry) for entry in runs]
    if len(set(names)) < len(names):
        raise BoltError("two of the files are of the same architecture and setting, or machine")
    for entry in runs:
        summary.show(entry)
    page = summary.write(runs, args.output or args.files[0].absolute().parent)
    ui.say(f"report: {page}")
    return 0


def _docs() -> int:
    """Write the results in results/ into README and docs, and draw docs/figures anew."""
    # All texts and pictures are made before the first is written, so that an error changes nothing.
    texts = {document: quotes.renewed(document) for document in quotes.documents()}
    drawn = pictures.renewed()
    for document, (text, stale) in texts.items():
        for each in stale:
            ui.say(str(each))
        if stale:
            codec.save(text, document)
            ui.say(f"written: {document.name}")
    for picture, text in drawn.items():
        codec.save(text, picture)
        ui.say(f"drawn: {picture.name}")
    return 0
