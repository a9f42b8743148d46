import json
import subprocess
from pathlib import Path

import pytest

from orchestrator.images.image import Image
from runner.measure.memory.cgroup import CgroupReader, KernelPeak, cgroup_files, open_kernel_peak
from runner.measure.memory.meter import MemoryMeter
from runner.measure.memory.readers import ResidentReader
from tests.support.memory_readers import MIB, write_group_v1, write_group_v2, write_process

KNOWN = 256 * MIB
IN_A_CONTAINER = """
import json, os, subprocess, sys, time
from runner.measure.memory.meter import memory_meter

KNOWN = 256 << 20
CHILD = "held = bytearray(b'x') * (256 << 20); print(flush=True); input()"
meter = memory_meter(in_container=True)
print(json.dumps({"method": meter.method}))

def hold_a_second():
    held = bytearray(b"x") * KNOWN
    time.sleep(1)

def hold_in_a_child():
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    child.stdout.readline()
    meter.observe(lambda: None, min_s=0.05)
    child.communicate(b"\\n")

def fill_a_file():
    with open("/tmp/file", "wb") as file:
        file.write(bytes(KNOWN))

for name, action in {
    "risen": hold_a_second,
    "again": hold_a_second,
    "child": hold_in_a_child,
    "tmpfs": fill_a_file,
}.items():
    meter.reset()
    before = meter.current_bytes()
    action()
    print(json.dumps({name: meter.peak_bytes() - before}))
"""


class Group:
    """A reader over files that a test rewrites; sizes in MiB."""

    def __init__(self, folder: Path, *, resettable: bool = False, limit: int | None = None) -> None:
        self._folder = folder
        self.set()
        files = cgroup_files(folder / "cgroup")
        assert files is not None
        peak = files.peak.open("r+b" if resettable else "rb", buffering=0)
        resident = ResidentReader(folder / "proc")
        self.reader = CgroupReader(files, resident, KernelPeak(peak), limit and limit * MIB)

    def set(self, *, usage: int = 500, peak: int = 900, file: int = 300, own: int = 100) -> None:
        """The use now and the kernel's peak, both with cache, and the runner's own peak."""
        write_group_v2(self._folder / "cgroup", usage, peak, file, shmem=0)
        write_process(self._folder / "proc", rss=100, peak=own, mapped=20)


def test_version_two_comes_first_and_none_is_none(tmp_path: Path) -> None:
    assert cgroup_files(tmp_path) is None
    write_group_v1(tmp_path, 1, 1, 0, 0)
    old = cgroup_files(tmp_path)
    write_group_v2(tmp_path, 1, 1, 0, 0)
    new = cgroup_files(tmp_path)
    assert (old and old.version, new and new.version) == ("v1", "v2")


def test_cache_is_no_use_but_mapped_files_are(tmp_path: Path) -> None:
    group = Group(tmp_path)
    assert group.reader.current_bytes() == (500 - 300 + 20) * MIB
    group.set(usage=800, file=600)
    assert group.reader.current_bytes() == (500 - 300 + 20) * MIB


@pytest.mark.parametrize(
    ("resettable", "changes", "peak"),
    [
        (False, {"own": 130}, 130),
        (False, {"peak": 1000}, 1000 - 300 + 20),
        (False, {"usage": 800, "peak": 1000, "file": 600}, 1000 - 600 + 20),
        (False, {"peak": 1000, "own": 950}, 950),
        (True, {"peak": 800}, 800 - 300 + 20),
    ],
    ids=["old", "new, without cache", "cache that grew", "the runner's own", "can be reset"],
)
def test_the_peak_is_this_cells(
    tmp_path: Path, resettable: bool, changes: dict[str, int], peak: int
) -> None:
    group = Group(tmp_path, resettable=resettable)
    group.reader.begin()
    group.set(**changes)
    assert group.reader.peak_bytes() == peak * MIB


@pytest.mark.parametrize(
    ("limit", "peak", "own", "expected"),
    [
        (None, 900, 1064, 1064),
        (1000, 990, 1064, 990),
        (1000, 1000, 1064, 1000),
        (1100, 900, 1064, 1064),
    ],
    ids=["no limit", "charged less", "charged the limit", "within the limit"],
)
def test_no_peak_is_above_the_limit_that_it_ran_under(
    tmp_path: Path, limit: int | None, peak: int, own: int, expected: int
) -> None:
    group = Group(tmp_path, limit=limit)
    meter = MemoryMeter(group.reader)
    group.set(peak=peak, own=own)
    meter.mark()
    use = meter.use()
    assert (use.peak_bytes, use.steady_peak_bytes) == (expected * MIB, expected * MIB)


@pytest.fixture(scope="module")
def measured(cpu_image: Image) -> dict[str, object]:
    options = ["--network=none", "--read-only", "--tmpfs=/tmp", "--entrypoint=python"]
    done = subprocess.run(
        ["docker", "run", "--rm", *options, cpu_image.id, "-c", IN_A_CONTAINER],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {
        name: value for line in done.stdout.splitlines() for name, value in json.loads(line).items()
    }


@pytest.mark.slow
@pytest.mark.engine
def test_a_container_is_measured_by_its_control_group(measured: dict[str, object]) -> None:
    assert str(measured["method"]).startswith(("cgroup v1", "cgroup v2"))


@pytest.mark.engine
@pytest.mark.parametrize("held", ["risen", "again", "child", "tmpfs"])
def test_in_a_container_a_known_allocation_is_within_five_percent(
    measured: dict[str, object], held: str
) -> None:
    assert measured[held] == pytest.approx(KNOWN, rel=0.05)


def peak_file(folder: Path, value: int) -> Path:
    path = folder / "memory.peak"
    path.write_text(f"{value}\n")
    return path


def test_a_peak_that_cannot_be_reset_counts_only_if_it_rises(tmp_path: Path) -> None:
    path = peak_file(tmp_path, 500)
    with path.open("rb", buffering=0) as file:
        peak = KernelPeak(file)
        peak.begin()
        assert peak.risen_bytes() is None
        peak_file(tmp_path, 501)
        assert peak.risen_bytes() == 501
        peak.begin()
        assert peak.risen_bytes() is None


@pytest.mark.parametrize("there", [True, False])
def test_a_peak_that_can_be_reset_counts_lower_ones_too(tmp_path: Path, there: bool) -> None:
    peak = open_kernel_peak(peak_file(tmp_path, 500) if there else tmp_path / "none")
    peak.begin()
    peak_file(tmp_path, 400)
    assert peak.risen_bytes() == (400 if there else None)
