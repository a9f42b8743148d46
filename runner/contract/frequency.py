"""The kernel's policy for a processor's clock, as Linux shows it under /sys."""

from dataclasses import dataclass
from pathlib import Path

_STEERING_DRIVERS = frozenset({"intel_pstate", "amd-pstate-epp", "amd_pstate_epp"})
_FAST_PREFERENCES = frozenset({"performance", "balance_performance"})
SLOW_GOVERNOR = (
    "governor is powersave: set it to performance (cpupower frequency-set -g performance)"
)


@dataclass(frozen=True)
class FrequencyPolicy:
    """Governor, driver and preference of one CPU; null where the kernel shows none."""

    governor: str | None
    driver: str | None = None
    preference: str | None = None

    @property
    def keeps_clocks_low(self) -> bool:
        """True if the clock stays low under load.

        `powersave` of intel_pstate and amd_pstate_epp lets firmware choose the clock, by the
        preference that it is told (Linux, Documentation/admin-guide/pm/intel_pstate.rst and
        amd-pstate.rst).
        """
        is_steered = self.driver in _STEERING_DRIVERS
        is_fast = is_steered and self.preference in _FAST_PREFERENCES
        return self.governor == "powersave" and not is_fast


def read_frequency_policy(cpu: int = 0, sys: Path = Path("/sys")) -> FrequencyPolicy:
    folder = sys / "devices" / "system" / "cpu" / f"cpu{cpu}" / "cpufreq"
    return FrequencyPolicy(
        governor=read_word(folder / "scaling_governor"),
        driver=read_word(folder / "scaling_driver"),
        preference=read_word(folder / "energy_performance_preference"),
    )


def read_word(path: Path) -> str | None:
    """The content of a small file; None where there is none, or none that may be read."""
    try:
        return path.read_text().strip() or None
    except OSError:
        return None
