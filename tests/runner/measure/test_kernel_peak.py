from pathlib import Path

from runner.measure.kernel_peak import KernelPeak, open_peak


def peak_file(folder: Path, value: int) -> Path:
    path = folder / "memory.peak"
    path.write_text(f"{value}\n")
    return path


def test_a_peak_that_cannot_be_reset_tells_only_if_it_rises(tmp_path: Path) -> None:
    path = peak_file(tmp_path, 500)
    with path.open("rb", buffering=0) as file:
        peak = KernelPeak(file)
        peak.begin()
        assert peak.risen_bytes() is None
        peak_file(tmp_path, 501)
        assert peak.risen_bytes() == 501


def test_a_peak_that_can_be_reset_tells_lower_ones_too(tmp_path: Path) -> None:
    path = peak_file(tmp_path, 500)
    peak = open_peak(path)
    peak.begin()
    peak_file(tmp_path, 400)
    assert peak.risen_bytes() == 400


def test_beginning_anew_forgets_what_had_risen(tmp_path: Path) -> None:
    path = peak_file(tmp_path, 500)
    with path.open("rb", buffering=0) as file:
        peak = KernelPeak(file)
        peak_file(tmp_path, 600)
        peak.begin()
        assert peak.risen_bytes() is None


def test_without_a_file_it_never_tells(tmp_path: Path) -> None:
    peak = open_peak(tmp_path / "none")
    peak.begin()
    assert peak.risen_bytes() is None
