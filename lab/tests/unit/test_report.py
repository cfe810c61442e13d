# SPDX-License-Identifier: GPL-2.0-only
import dataclasses
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from boltlab import cli
from boltlab.bench import breakdown, results
from boltlab.bench.results import Case, Machine, PhaseTime, Results, Stats
from boltlab.errors import BoltError
from boltlab.report import figures, html, summary
from tests.unit.sample import sample

SVG = "{http://www.w3.org/2000/svg}"


def run(arch: str = "x86_64", setting: str = "strict", *, traced: bool = True) -> Results:
    phases = {
        direction: [PhaseTime(phase, 1_000_000) for phase in breakdown.order(direction)]
        for direction in results.DIRECTIONS
    }
    variants = {
        "native": Stats(100, 28.0, 32.0, 41.0, 41.5),
        "expedited": Stats(40, 2.1, 2.2, 3.0, 3.0),
        "bolt": Stats(40, 0.9, 1.0, 1.25, 1.25),
    }
    return sample(
        cases=[
            Case("offline1", 1, variants),
            Case("online1", 1, {"native": variants["native"]}),
        ],
        breakdown=dict.fromkeys(variants, phases) if traced else {},
        arch=arch,
        setting=setting,
    )


def test_title_names_everything_that_figures_depend_on() -> None:
    assert summary.title(run()) == (
        "x86_64, strict, 4 CPUs, Linux 6.12.117, QEMU 10.0.2, QEMU virtual time (icount)"
    )
    assert "KVM, real time" in summary.title(dataclasses.replace(run(), accel="kvm"))


def test_rows_have_ratios_of_medians() -> None:
    header, cells = summary.rows(run(), ranges=False)
    assert header == ["case", "n", "native", "expedited", "Bolt", "vs native", "vs expedited"]
    assert cells == [
        ["offline1", "40/100", "32.0", "2.20", "1.00", "32.0x", "2.20x"],
        ["online1", "100", "32.0", "-", "-", "-", "-"],
    ]
    _, cells = summary.rows(run(), ranges=True)
    assert cells[0][4] == "1.00 (0.900 to 1.25)"


def test_growth_has_a_row_of_its_own() -> None:
    measured = run()
    bigger = {"native": Stats(1, 36.5, 36.5, 36.5, 36.5), "bolt": Stats(1, 0.9, 0.9, 0.9, 0.9)}
    cases = [*measured.cases, Case("offline1_ballast", 1, bigger)]
    _, cells = summary.rows(dataclasses.replace(measured, cases=cases), ranges=False)
    assert cells[2][0] == "offline1_ballast"
    assert cells[3] == ["  over offline1", "-", "+4.50", "-", "-0.100", "-", "-"]


def overhead() -> Case:
    return Case(
        "micro_fork",
        1,
        {
            "native": Stats(30, 9.0, 10.0, 11.0, 11.0),
            "off": Stats(30, 9.0, 10.1, 11.0, 11.0),
            "bolt": Stats(30, 9.0, 9.95, 11.0, 11.0),
        },
        {"native": [10.0, 10.02], "off": [10.1, 10.1], "bolt": [9.9, 9.95, 10.0]},
    )


def test_overheads_are_in_per_cent_of_native(capsys: pytest.CaptureFixture[str]) -> None:
    measured = dataclasses.replace(run(), cases=[*run().cases, overhead()])
    header, cells = summary.overheads(measured)
    assert header == ["case", "n", "native", "boots", "enabled=0", "boots", "Bolt", "boots"]
    assert cells == [["micro_fork", "30", "10.0 ms", "0.20%", "+1.00%", "0.00%", "-0.50%", "1.01%"]]
    assert "micro_fork" not in [row[0] for row in summary.rows(measured, ranges=False)[1]]
    summary.show(measured)
    assert re.search(r"micro_fork .*\+1.00% .*-0.50%", capsys.readouterr().out)


def test_overheads_alone_have_a_table_and_no_picture(tmp_path: Path) -> None:
    only = dataclasses.replace(run(traced=False), cases=[overhead()])
    page = summary.write([only], tmp_path)
    assert "-0.50%" in page.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_variants_that_were_not_measured_have_no_column() -> None:
    measured = run()
    only = dataclasses.replace(measured, cases=measured.cases[1:])
    assert summary.rows(only, ranges=False)[0][:3] == ["case", "n", "native"]
    assert "Bolt" not in summary.rows(only, ranges=False)[0]


@pytest.mark.parametrize(
    ("value", "text"), [(0.0491, "0.049"), (1.0, "1.00"), (31.72, "31.7"), (1234.5, "1234")]
)
def test_numbers(value: float, text: str) -> None:
    assert summary.number(value) == text


def test_every_case_of_the_bench_is_explained() -> None:
    from boltlab.bench import plan

    measured = {case for row in plan.table()["measure"] for case in row["cases"]}
    assert measured == set(summary.case_help())


def test_table_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    summary.show(dataclasses.replace(run(), note="look here"))
    shown = capsys.readouterr().out
    assert re.search(r"offline1 +40/100 +32.0 +2.20 +1.00 +32.0x +2.20x", shown)
    assert "note: look here" in shown


def texts(svg: str) -> str:
    """Return the labels of a picture, which matplotlib writes as comments beside the glyphs."""
    return " ".join(re.findall(r"<!-- (.*?) -->", svg))


def test_pictures_are_labelled() -> None:
    pictures = figures.draw(run(), summary.title(run()))
    assert set(pictures) == {"latency", "breakdown"}
    for picture in pictures.values():
        assert ET.fromstring(picture.svg).tag == f"{SVG}svg"
        assert picture.png.startswith(b"\x89PNG")
        assert "QEMU virtual time (icount)" in texts(picture.svg)
        assert "Bolt" in texts(picture.svg)
    assert "offline1" in texts(pictures["latency"].svg)
    drawn = texts(pictures["breakdown"].svg)
    for direction in results.DIRECTIONS:
        for phase in breakdown.order(direction):
            assert breakdown.label(direction, phase) in drawn


def test_pictures_are_repeatable() -> None:
    assert figures.draw(run(), "t")["latency"].svg == figures.draw(run(), "t")["latency"].svg


def test_without_traces_there_is_no_breakdown() -> None:
    assert set(figures.draw(run(traced=False), "t")) == {"latency"}


def test_a_case_of_one_variant_can_be_drawn() -> None:
    measured = run(traced=False)
    only = dataclasses.replace(measured, cases=measured.cases[1:])
    assert "online1" in texts(figures.draw(only, "t")["latency"].svg)


class Page(HTMLParser):
    """Collects the links, the ids and the tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("href", "src", "xlink:href") and value:
                self.links.append(value)
            if name == "id" and value:
                self.ids.append(value)


def test_page_of_two_architectures(tmp_path: Path) -> None:
    page = summary.write([run(), run("arm64", "default")], tmp_path / "out")
    text = page.read_text(encoding="utf-8")
    read = Page()
    read.feed(text)
    assert read.tags.count("svg") == 4
    assert read.tags.count("table") == 2
    # The page is self-contained: all that it links to is in the page.
    assert all(link.startswith("#") for link in read.links)
    assert {link[1:] for link in read.links} <= set(read.ids)
    assert "<?xml" not in text
    assert "1.00 (0.900 to 1.25)" in text
    names = {path.name for path in page.parent.iterdir()}
    assert names == {
        "report.html",
        *(
            f"{kind}-{which}.{suffix}"
            for kind in ("latency", "breakdown")
            for which in ("x86_64-strict", "arm64-default")
            for suffix in ("svg", "png")
        ),
    }


def test_page_escapes_what_it_is_given() -> None:
    section = html.Section("<b>", ["<i>"], [["<u>"]], note="<s>", legend=[("<p>", "<q>")])
    text = html.page("<title>", [section])
    for tag in ("<b>", "<i>", "<u>", "<s>", "<p>&", "<q>"):
        assert tag not in text
    assert "&lt;u&gt;" in text


def test_report_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for name, setting in (("x86_64", "strict"), ("arm64", "default")):
        files.append(tmp_path / f"{name}.json")
        results.save(run(name, setting), files[-1])
    assert cli.main(["report", *map(str, files), "--output", str(tmp_path / "out")]) == 0
    assert str(tmp_path / "out" / "report.html") in capsys.readouterr().out.replace("\n", "")

    assert cli.main(["report", str(files[0]), str(files[0])]) == 1
    assert "same architecture and setting" in capsys.readouterr().err


def test_report_refuses_what_is_no_result_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "odd.json"
    odd.write_text('{"schema": 3}', encoding="utf-8")
    assert cli.main(["report", str(odd)]) == 1
    error = capsys.readouterr().err
    assert "odd.json" in error
    assert "schema is 3" in error
    assert error.count("\n") == 1
    assert list(tmp_path.glob("*.svg")) == []


def test_report_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(BoltError, match="cannot write to"):
        summary.write([run(traced=False)], blocked)


def machine(model: str = "AMD EPYC 7B13", accel: str = "hardware") -> Results:
    return dataclasses.replace(
        run(traced=False),
        setting="machine",
        accel=accel,
        qemu="",
        machine=Machine(model, "0xa0011d1", "acpi_idle", "tsc"),
    )


def test_a_machine_has_a_table_of_its_own_in_real_time(capsys: pytest.CaptureFixture[str]) -> None:
    title = summary.title(machine())
    assert title == "x86_64, real time on AMD EPYC 7B13, no hypervisor, 4 CPUs, Linux 6.12.117"
    assert "hypervisor kvm" in summary.title(machine(accel="kvm"))
    summary.show(machine())
    text = " ".join(capsys.readouterr().out.split())
    assert "real time on AMD EPYC 7B13" in text
    assert "note: microcode 0xa0011d1, idle driver acpi_idle, clock source tsc" in text
    assert "offline1" in text
    assert "icount" not in text


def test_machines_do_not_get_into_each_others_way(tmp_path: Path) -> None:
    files = []
    guest = run(traced=False)
    for number, entry in enumerate([guest, machine(), machine("ARM Neoverse/N1"), machine()]):
        files.append(tmp_path / f"{number}.json")
        results.save(entry, files[-1])
        assert results.load(files[-1]) == entry
    command = ["report", "--output", str(tmp_path / "out"), *map(str, files[:3])]
    assert cli.main(command) == 0
    assert len(list((tmp_path / "out").glob("*.svg"))) == 3 * len(figures.draw(guest, "title"))
    assert cli.main([*command, str(files[3])]) == 1


def test_a_machine_that_is_half_there_is_refused() -> None:
    document = results.to_json(machine())
    del document["machine"]["microcode"]
    with pytest.raises(BoltError, match=r"machine\.microcode is missing"):
        results.from_json(document)
