"""Saving of a shared load: one job with eight shapes, against one container per shape.

The same eight cells of bert-tiny on the cpu backend, in containers.
"""

import tempfile
from pathlib import Path

from orchestrator.images import ImageSettings, LocalImages
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.system.engine import connect_engine
from performance.comparison import compare
from performance.jobs import run_jobs, write_matrix

ROUNDS = 3
BATCH_SIZES = (1, 2, 4, 8)
SEQUENCE_LENGTHS = (16, 32)


def main() -> None:
    """Measure and print."""
    client = connect_engine()
    images = LocalImages(client, ImageSettings(), print)
    images.ensure("cpu")
    launcher = DockerLauncher(client, images)
    with tempfile.TemporaryDirectory() as name:
        results = Path(name) / "results"
        matrix = write_matrix(
            Path(name),
            {
                "model": "bert-tiny",
                "batch_size": list(BATCH_SIZES),
                "sequence_length": list(SEQUENCE_LENGTHS),
            },
            measure={"iterations": 10, "min_duration": "200ms", "warmup_max_duration": "200ms"},
        )

        def one_container_per_shape() -> None:
            for batch_size in BATCH_SIZES:
                for length in SEQUENCE_LENGTHS:
                    run_jobs(matrix, results, launcher, [f"*-b{batch_size}-s{length}-*"])

        comparison = compare(
            "shapes_per_job",
            lambda: run_jobs(matrix, results, launcher),
            one_container_per_shape,
            ROUNDS,
        )
    comparison.report("one job of 8 shapes", "8 jobs of one shape")
    print(f"saving: {1 - comparison.ratio:.0%}")


if __name__ == "__main__":
    main()
