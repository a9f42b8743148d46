"""Examples that follow a simple law, so that what should be predicted of them is known."""

from analysis.prediction.examples.placements import Counts, Device, Example, Placement

PEAK_FLOPS, PEAK_BYTES = 1e12, 1e11


def a_placement(
    model: str = "net-1", device: str = "big", batch_size: int = 1, work: float = 1.0
) -> Placement:
    """A placement with so many GFLOP a sample."""
    flops = work * batch_size * 1e9
    return Placement(
        model=model,
        architecture=model.partition("-")[0],
        device=Device(device, device, "gpu", PEAK_FLOPS, PEAK_BYTES, measured=False),
        backend="cuda",
        runtime="torch",
        precision="fp32",
        mode="inference",
        software="2.4",
        batch_size=batch_size,
        length=None,
        new_tokens=None,
        threads=None,
        counts=Counts(flops, flops / 100, flops / 50, 4e6 * work, 1e6 * work),
    )


def an_example(value: float, source: str = "accelmatrix", **facts: object) -> Example:
    """A measured value at such a placement."""
    return Example(a_placement(**facts), value, source)  # type: ignore[arg-type]


def peak_seconds(placement: Placement) -> float:
    """The time that its counted work takes at the device's peaks."""
    counts = placement.counts
    traffic = counts.traffic_bytes + 2 * counts.activation_bytes
    return counts.flops / PEAK_FLOPS + traffic / PEAK_BYTES
