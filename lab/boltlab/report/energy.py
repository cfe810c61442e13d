# SPDX-License-Identifier: GPL-2.0-only
"""Draws the energy that offline CPUs save, as ``cpubolt energy`` computes it."""

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from boltlab import paths
from boltlab.errors import BoltError
from boltlab.guest import tools

NAME = "energy-break-even"
FOLDER = paths.REPO / "tools/cpubolt/energy"
# A panel has a file in FOLDER with the powers of a machine (the model), and files there with the
# times of requests. Each file of times maps to the lines to draw: index of the line's value in a
# point of cpubolt's curve (index 0 is the time) -> name of the line.
WARM, COLD = {1: "native", 2: "Bolt, parked warm"}, {2: "Bolt, parked cold"}
PANELS = (
    ("exynos5410", {"arm64-4": WARM, "arm64-4-cold": COLD}),
    ("xeon-4114", {"x86_64-32": WARM, "x86_64-32-cold": COLD}),
)
_COLOURS = {"native": "#777777", "Bolt, parked warm": "#d98200", "Bolt, parked cold": "#1f6fb4"}


def computed(binary: Path, model: str, requests: str) -> dict[str, Any]:
    """Return the output of ``cpubolt energy``; raise BoltError when the command fails."""
    words = ["-m", str(FOLDER / f"{model}.conf"), "-r", str(FOLDER / f"{requests}.conf")]
    done = subprocess.run(
        [str(binary), "energy", "--json", *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BoltError(f"cpubolt energy failed: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def svg() -> str:
    """Return the picture as SVG; tools/ is built first if need be."""
    binary = tools.host("plain") / "cpubolt/cpubolt"
    with mpl.rc_context({"svg.hashsalt": NAME, "svg.fonttype": "path"}):
        canvas = Canvas(figsize=(10.0, 4.2), layout="constrained")
        for axes, (model, requests) in zip(canvas.subplots(1, 2), PANELS, strict=True):
            for file, lines in requests.items():
                found = computed(binary, model, file)
                _draw(axes, found, lines)
        text = io.StringIO()
        canvas.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def _draw(axes: Axes, found: dict[str, Any], lines: dict[int, str]) -> None:
    """Draw the energy that a package saves, over the time that all CPUs but one are offline."""
    cpus = {each["cpus"]: each["saved_mj"] for each in found["curves"]}
    package = found["inputs"]["machine package"]["value"]
    points = cpus[package - 1]
    for column, name in lines.items():
        axes.plot(
            [1000 * point[0] for point in points],
            [point[column] for point in points],
            label=name,
            color=_COLOURS[name],
        )
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_title(
        f"{found['model'].partition(',')[0]}: {package - 1} of {package} CPUs", fontsize=9
    )
    axes.set_xlabel("milliseconds away")
    axes.set_ylabel("saved, mJ")
    axes.legend()
    axes.grid(visible=True, alpha=0.3)
