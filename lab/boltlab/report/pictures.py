# SPDX-License-Identifier: GPL-2.0-only
"""Draws the pictures in docs/figures.

A picture of results is called KIND-ARCH-SETTING.svg, and shows the newest results. sketch.py draws
the README's picture of a request, and energy.py the picture of the energy that offline CPUs save.
"""

import io
from pathlib import Path

import matplotlib as mpl

from boltlab import codec, kept, paths
from boltlab.bench import results, served
from boltlab.boot import bootfile
from boltlab.bystanders import losses
from boltlab.errors import BoltError
from boltlab.report import energy, figures, service, sketch, summary

FOLDER = paths.REPO / "docs" / "figures"


def renewed() -> dict[Path, str]:
    """Return the pictures in docs/figures that have changed, drawn anew, by their paths.

    Raises BoltError as draw() does.
    """
    drawn = {file: draw(file.stem) for file in sorted(FOLDER.glob("*.svg"))}
    return {file: text for file, text in drawn.items() if text != file.read_text(encoding="utf-8")}


def draw(name: str) -> str:
    """Return the picture ``name`` as SVG.

    Raises BoltError if results/ lacks what the picture shows, or if ``cpubolt energy`` fails.
    """
    if name == sketch.NAME:
        return sketch.svg()
    if name == energy.NAME:
        return energy.svg()
    kind, arch, setting = name.split("-", 2)
    if kind == "bystanders":
        source = kept.find(f"{arch}-bystanders")
        _, rows = losses.load(source)
        qemu = codec.document(source)["qemu"]
        return figures.bystanders(rows, f"{arch}, QEMU {qemu}, virtual time").svg
    if kind == "service":
        return service.draw(served.load(kept.find(f"{arch}-{setting}"))).svg
    if kind == "boot":
        boots = bootfile.load(kept.find(f"{arch}-boot"))
        svg = io.StringIO()
        with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
            metadata = {"Date": None, "Creator": None}
            bootfile.draw(boots, summary.boot_title(boots)).savefig(
                svg, format="svg", metadata=metadata
            )
        return svg.getvalue()
    measured = results.load(kept.find(f"{arch}-{setting}"))
    drawn = figures.draw(measured, summary.title(measured))
    if kind not in drawn:
        raise BoltError(f"the results of {arch}-{setting} have nothing for the picture {kind}")
    return drawn[kind].svg
