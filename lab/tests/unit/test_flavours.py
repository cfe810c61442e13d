# SPDX-License-Identifier: GPL-2.0-only
import pytest

from boltlab import arch
from boltlab.errors import USAGE, BoltError
from boltlab.kernel import config, flavours


@pytest.mark.parametrize("name", ["debug", "kasan"])
def test_added_files_are_part_of_the_fragment(name: str) -> None:
    for target in arch.ARCHES.values():
        text = flavours.get(name).fragment(target)
        settings = config.parse(text)
        assert settings["CONFIG_HIBERNATION"] == settings["CONFIG_BOLT"] == "y"
        # The last of several lines for an option counts: the common fragment turns this option off.
        assert settings["CONFIG_FAULT_INJECTION"] == "y"
        assert ("CONFIG_INTEL_IOMMU" in settings) == (target.name == "x86_64")
        assert not any("KASAN" in key for key in settings) or name == "kasan"


def test_measured_kernels_add_nothing() -> None:
    for target in arch.ARCHES.values():
        common = target.config_fragment.read_text(encoding="utf-8")
        assert flavours.get("pristine").fragment(target) == common
        assert flavours.get("bolt").fragment(target).startswith(common)
        assert "HIBERNATION" not in flavours.get("bolt").fragment(target)


def test_unknown() -> None:
    with pytest.raises(BoltError, match="unknown flavour 'fast'") as caught:
        flavours.get("fast")
    assert caught.value.code == USAGE
