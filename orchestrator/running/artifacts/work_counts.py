"""Counted work of models that the catalogue lacks: counted once by a job, kept for all runs."""

from pathlib import Path

from orchestrator.running.artifacts.cache import ARTIFACT_BACKEND, ArtifactCache
from orchestrator.running.execute_job import Availability, LaunchContext
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.files import translate_os_errors
from orchestrator.system.text import escape_control_line
from runner.contract.artifact_keys import COUNTS, counts_key, fingerprint
from runner.contract.cell import Cell
from runner.contract.errors import DamagedFile
from runner.contract.files import write_atomic
from runner.contract.job import PROFILES, Job, Limits
from runner.contract.models import ModelSpec
from runner.contract.models.counted import COUNTS_FILE, CountedWork, read_counted, without_weights
from runner.contract.models.work import catalogued_polynomials
from runner.contract.reasons import Reason, reason

COUNTS_FOLDER = "counts"
_OUTPUT_BYTES = 1 << 20
_LIMITS = Limits(cell_timeout_s=1800, output_bytes=_OUTPUT_BYTES)
"""Counting has no weights and computes nothing: half an hour is for prompts of many image crops."""


def kept_counts(results: Path, model: ModelSpec) -> CountedWork | None:
    """The counts of the model that an earlier job left here; None if there are none.

    Counts of another version of the code that counts have another name.
    """
    architecture = without_weights(model)
    try:
        return read_counted(_file(results, architecture), architecture, fingerprint(COUNTS))
    except (OSError, DamagedFile):  # what is damaged is counted anew
        return None


def counting_cell(model: ModelSpec) -> Cell:
    """The cell of a job that counts, which chooses the shapes itself."""
    return Cell(
        model=model.name,
        backend=ARTIFACT_BACKEND,
        runtime="torch",
        precision="fp32",
        batch_size=1,
        sequence_length=1 if model.takes_sequence else None,
        mode="inference",
    )


class WorkCounts:
    """The counts of one results folder, made as they are asked for."""

    def __init__(self, results: Path, context: LaunchContext, availability: Availability) -> None:
        self._results = results
        self._cache = ArtifactCache(results / COUNTS_FOLDER, context, availability)
        self._folder = context.folder
        self._tried: set[str] = set()

    def ensure(self, job: Job) -> Job:
        """The job with the counts of its model, where it measures one that the catalogue lacks.

        A model that cannot be counted is tried once in a run, and measured without.
        """
        first = job.cells[0]
        timed = job.purpose in {"measure", "time"} and first.mode != "startup"
        if not timed or first.backend == "fake" or catalogued_polynomials(job.model) is not None:
            return job
        counted = kept_counts(self._results, job.model)
        may_count = job.purpose == "measure"  # then the run holds the device of such jobs
        if counted is None and may_count and job.model.name not in self._tried:
            self._tried.add(job.model.name)
            outcome = self.count(job.model)
            counted = None if isinstance(outcome, Reason) else outcome
            if explanation := outcome if isinstance(outcome, Reason) else outcome.reason:
                text = reason_text(explanation)
                self._cache.note(f"{job.model.name}: not all of its work could be counted: {text}")
        return job.model_copy(update={"counted": counted.polynomials or None}) if counted else job

    def count(self, model: ModelSpec) -> CountedWork | Reason:
        """Launch a job that counts the model, and keep what it found; or the reason for nothing."""
        architecture = without_weights(model)
        self._cache.open()
        self._cache.note(f"counting the work of {model.name}")
        counted: list[CountedWork] = []

        def take(out: Path) -> Reason | None:
            try:
                counted.append(read_counted(out / COUNTS_FILE, architecture, fingerprint(COUNTS)))
            except OSError:
                return None  # the end of the launch tells why
            except DamagedFile as damaged:
                hint = f"; {damaged.hint}" if damaged.hint else ""
                return reason("said", text=escape_control_line(f"{damaged}{hint}"))
            return None

        explanation = self._cache.launch(self._job(architecture), take)
        if not counted:
            return explanation
        path = _file(self._results, architecture)
        with translate_os_errors(path):
            write_atomic(path, counted[0].model_dump_json())
        return counted[0]

    def _job(self, architecture: ModelSpec) -> Job:
        run = self._folder.run
        return Job(
            run_id=run.run_id,
            id=f"count-{architecture.name}",
            model=architecture,
            cells=(counting_cell(architecture),),
            measure=PROFILES["quick"],
            limits=_LIMITS,
            seed=run.seed,
            weights_seed=run.options.weights_seed,
            provenance=self._folder.nowhere,
            purpose="count",
        )


def _file(results: Path, architecture: ModelSpec) -> Path:
    return results / COUNTS_FOLDER / f"{counts_key(architecture)}.json"
