# SPDX-License-Identifier: GPL-2.0-only
"""A KUnit suite passes only if each of its tests has run and has not failed."""

import pytest

from boltlab.guest import ktap

HEAD = ("KTAP version 1", "1..1", "    KTAP version 1", "    # Subtest: bolt_x")


def rows(*lines: str) -> list[dict[str, str]]:
    return [{"kunit": "bolt_x", "line": line} for line in (*HEAD, *lines)]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("    1..2", "    ok 1 a", "    ok 2 b # SKIP no TSC", "ok 1 bolt_x"), None),
        # The parameters of a test have a plan of their own, which does not count as the suite's.
        (("    1..1", "        1..2", "        ok 1 p", "        ok 2 q", "    ok 1 a"), None),
        (("    1..2", "    ok 1 a", "    not ok 2 b"), "KUnit bolt_x: not ok 2 b"),
        # Linux 7.3 prints these lines with kunit.enable=1, but without kunit.autorun=1.
        (("    1..2", "ok 1 bolt_x"), "KUnit bolt_x: 0 of 2 tests have run"),
        (("    1..2", "    ok 1 a"), "KUnit bolt_x: 1 of 2 tests have run"),
        (("ok 1 bolt_x",), "KUnit bolt_x: 0 of 0 tests have run"),
    ],
)
def test_complaints(lines: tuple[str, ...], said: str | None) -> None:
    assert ktap.complaint([{"booted": "1"}, *rows(*lines)]) == said
