# SPDX-License-Identifier: GPL-2.0-only
"""Kernel configurations and flavours; no kernel is configured or built."""

import re

import pytest

from boltlab import arch
from boltlab.errors import BoltError
from boltlab.kernel import config, flavours

CONFIG = """#
# Automatically generated file; DO NOT EDIT.
#
CONFIG_SMP=y
# CONFIG_NUMA is not set
CONFIG_NR_CPUS=64
CONFIG_CMDLINE="a=b \\"c\\""
CONFIG_BOLT=y
CONFIG_BOLTS=y
"""


def test_parse() -> None:
    assert config.parse(CONFIG) == {
        "CONFIG_SMP": "y",
        "CONFIG_NUMA": "n",
        "CONFIG_NR_CPUS": "64",
        "CONFIG_CMDLINE": '"a=b \\"c\\""',
        "CONFIG_BOLT": "y",
        "CONFIG_BOLTS": "y",
    }


def test_malformed() -> None:
    with pytest.raises(BoltError, match=r"line 2 .* malformed: SMP=y"):
        config.parse("CONFIG_A=y\nSMP=y\n")


def test_lost() -> None:
    assert config.lost("CONFIG_SMP=y\nCONFIG_NUMA=n\nCONFIG_ABSENT=n\n", CONFIG) == []
    fragment = "CONFIG_SMP=n\nCONFIG_NUMA=y\nCONFIG_NR_CPUS=6\nCONFIG_X=y\n"
    assert config.lost(fragment, CONFIG) == [
        "CONFIG_SMP=n",
        "CONFIG_NUMA=y",
        "CONFIG_NR_CPUS=6",
        "CONFIG_X=y",
    ]


def test_sha_is_of_the_settings_but_bolts() -> None:
    same = re.sub("CONFIG_BOLT=y", "# CONFIG_BOLT is not set", CONFIG).replace("Auto", "auto")
    assert config.sha(CONFIG) == config.sha(same)
    assert config.sha(CONFIG) != config.sha(CONFIG.replace("CONFIG_BOLTS=y\n", ""))
    assert config.sha(CONFIG) != config.sha(CONFIG.replace("=64", "=65"))


def test_differences() -> None:
    other = CONFIG.replace("CONFIG_BOLT=y", "CONFIG_BOLT_X=y").replace("=64", "=65")
    assert config.differences(CONFIG, other, config.ASIDE) == ["CONFIG_NR_CPUS"]
    assert config.differences(CONFIG, CONFIG, config.ASIDE) == []


def test_a_c_library_installed_in_between_is_no_difference() -> None:
    other = CONFIG + "CONFIG_CC_CAN_LINK=y\nCONFIG_CC_CAN_LINK_STATIC=y\n"
    assert config.differences(CONFIG, other, config.ASIDE) == []
    assert config.sha(CONFIG) == config.sha(other)
    assert config.differences(CONFIG, CONFIG + "CONFIG_CC_CAN=y\n", config.ASIDE) != []


@pytest.mark.parametrize("each", arch.ARCHES.values(), ids=str)
def test_flavours(each: arch.Arch) -> None:
    for flavour in flavours.table().values():
        settings = config.parse(flavour.fragment(each))
        assert ("CONFIG_SMP" in settings) == (not flavour.base)
        assert flavour.steps[each.name] > 0
        if flavour.based_on:
            assert flavour.based_on in flavours.table()
    assert "CONFIG_BOLT" not in config.parse(flavours.get("pristine").fragment(each))
    assert config.parse(flavours.get("bolt").fragment(each))["CONFIG_BOLT"] == "y"


def test_unknown_flavour() -> None:
    with pytest.raises(BoltError, match="unknown flavour 'x'"):
        flavours.get("x")


def test_fragments_share_what_both_architectures_have() -> None:
    both = [config.parse(flavours.get("pristine").fragment(each)) for each in arch.ARCHES.values()]
    for symbol, value in {"HZ_250": "y", "PREEMPT_VOLUNTARY": "y", "CPUSETS": "y"}.items():
        assert [one.get(f"CONFIG_{symbol}") for one in both] == [value, value]
    for one in both:
        assert "CONFIG_RCU_EXPERT" not in one
