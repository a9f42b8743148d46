"""Interleaved comparisons: a matrix measured side by side with the version of a baseline."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator.backends.catalogue import LauncherName
from orchestrator.backends.machine import this_machine
from orchestrator.commands.measure.baselines import (
    NamedBaseline,
    checkout_version,
    find_baseline,
    images_version,
    is_checkout,
    is_matrix,
    left_out,
    matrix_version,
    pinned_images,
    same_models,
    version_of,
)
from orchestrator.commands.measure.plan import PlanReport, plan_run, with_exports
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.checkout import find_checkout
from orchestrator.launchers.process import ProcessLauncher
from orchestrator.launchers.registry import choose_launcher, make_launcher
from orchestrator.planning.groups import fits, group_of_versions, names_of, rounds_of, why_alone
from orchestrator.planning.plan import Plan, RunSource, planned_jobs, with_groups
from orchestrator.running.execution import estimates_s, telling_how_to_finish
from orchestrator.running.interleaved import (
    BaselineVersion,
    BothFolders,
    BothOutcomes,
    InterleavedExecution,
    create_both,
    require_executable,
)
from orchestrator.running.observer import Observer
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import RecordedVersion
from runner.contract.cell import Cell
from runner.contract.errors import UsageError

INTERLEAVED_THRESHOLD = 0.03
"""The least relative change that matters between versions that were measured side by side."""
_LETTERS = 19
"""Letters of a digest that are shown: `sha256:` and twelve digits."""
_NO_ROOM = "they do not fit into memory together"


def run_interleaved(
    request: PlanRequest, baseline: NamedBaseline, threshold: float, observer: Observer
) -> tuple[BothFolders, BothOutcomes]:
    """Plan a matrix, and measure each cell in today's version and in that of a baseline.

    A word names `last`, a run's id, a snapshot, another matrix file, or the folder of another
    checkout.
    """
    request = _fitting(request, baseline)
    name = choose_launcher(request.options.launcher, observer.note)
    plan, source, version = _plan_pairs(request, baseline)
    if not isinstance(baseline, str):
        version = replace(version, images=pinned_images(baseline, observer))
    launchers = _launchers(name, version, request.options, observer)
    for note in plan.notes:
        observer.note(note)
    options = replace(request.options, launcher=name)
    folders = create_both(plan, source, request.results, options, version, threshold)
    observer.note(with_exports(plan, request).sums())
    return folders, _execute(folders, launchers, observer, request.options)


def report_pairs(request: PlanRequest, baseline: NamedBaseline) -> PlanReport:
    request = _fitting(request, baseline)
    plan, *_ = _plan_pairs(request, baseline)
    return with_exports(plan, request)


def resume_interleaved(
    folders: BothFolders, observer: Observer, options: RunOptions
) -> BothOutcomes:
    """Measure what two runs that are measured side by side have left.

    A round that was interrupted is measured anew.
    """
    import analysis.regress.verdicts  # noqa: F401 - needs the extra `analysis`

    version = folders.baseline.run.version
    assert version is not None
    if version.images:
        _require_containers(options)
    if version.checkout is not None:
        find_checkout(str(version.checkout.folder))  # it may be gone
        require_executable(folders.baseline.run)
    name = choose_launcher(folders.run.run.launcher, observer.note)
    launchers = _launchers(name, version, folders.run.run.options, observer)
    return _execute(folders, launchers, observer, options)


def _execute(
    folders: BothFolders,
    launchers: tuple[Launcher, Launcher],
    observer: Observer,
    options: RunOptions,
) -> BothOutcomes:
    observer.run_started(estimates_s(folders.run, folders.unfinished()))
    execution = InterleavedExecution(
        folders, launchers, observer, options, memory_bytes=this_machine().memory_bytes
    )
    resume = f"`orchestrator run --resume last{folders.run.elsewhere}`"
    finish, name = f"{resume} finishes it, round by round", f"run {folders.run.run.run_id}"
    with telling_how_to_finish(name, folders.unfinished, finish, observer):
        return execution.run()


def _fitting(request: PlanRequest, baseline: NamedBaseline) -> PlanRequest:
    """The request with the launcher that can execute the baseline.

    Options without times are refused, and a launcher that cannot.
    """
    options = request.options
    if options.purpose == "verify":
        raise UsageError(
            "--interleave compares times, and --verify-only takes none",
            hint="leave one of them out",
        )
    if isinstance(baseline, str) and is_matrix(baseline):
        return request
    needed: LauncherName = "docker"
    if not isinstance(baseline, str):
        _require_containers(options, f"--image names two images of {baseline[0].backend}")
    elif not is_checkout(baseline, request):
        _require_containers(options)
    elif options.launcher != "docker":
        needed = "process"
    else:
        raise UsageError(
            f"{baseline}: a checkout is measured by local processes, in its own environment",
            hint="leave out `--launcher docker`, or name a run, whose records name images",
        )
    return replace(request, options=replace(options, launcher=needed))


def _require_containers(options: RunOptions, subject: str = "--interleave needs images") -> None:
    if options.launcher == "process":
        raise UsageError(
            f"{subject}: local processes have one version, the one installed",
            hint="leave out `--launcher process`; `--interleave` also takes the folder of another"
            " checkout, and `--compare-to` without it needs no images",
        )


def _launchers(
    name: LauncherName,
    version: BaselineVersion | RecordedVersion,
    options: RunOptions,
    observer: Observer,
) -> tuple[Launcher, Launcher]:
    """The launcher of today's version, in chosen images if there are any, and the baseline's."""
    pinned = list(version.images)
    today = make_launcher(name, observer.image_step, chosen=options.images)
    if version.checkout is not None:
        return today, ProcessLauncher(checkout=version.checkout)
    chosen = {image.backend: image.reference for image in options.first_images}
    earlier = make_launcher(name, observer.image_step, pinned, {**options.images, **chosen})
    for image in pinned:
        earlier.prepare(image.backend)
    for image in pinned:
        if today.prepare(image.backend).image_digest == image.digest:
            observer.note(
                f"both versions of {image.backend} are the same image, {image.digest[:_LETTERS]}:"
                " what they differ by is noise"
            )
    return today, earlier


def _plan_pairs(
    request: PlanRequest, baseline: NamedBaseline
) -> tuple[Plan, RunSource, BaselineVersion]:
    """The plan of both versions, with notes about its pairs."""
    import analysis.regress.verdicts  # noqa: F401 - needs the extra `analysis`

    plan, source = plan_run(request, grouped=False)
    version, name, remarks = _baseline(request, baseline, plan)
    paired = _paired(plan, version)
    notes = (*plan.notes, *remarks, *_describe(name, paired))
    return paired.model_copy(update={"notes": notes}), source, version


def _baseline(
    request: PlanRequest, baseline: NamedBaseline, plan: Plan
) -> tuple[BaselineVersion, str, Sequence[str]]:
    """The version of a baseline, its name, and lines about it, such as cells that are left out."""
    if not isinstance(baseline, str):
        return images_version(baseline, plan)
    if is_matrix(baseline):
        version = matrix_version(Path(baseline), request, plan)
        name = f"{baseline}: its {', '.join(sorted(version.models))}"
        return version, name, [*same_models(Path(baseline), version, plan)]
    if is_checkout(baseline, request):
        return *checkout_version(baseline, plan), ()
    earlier = find_baseline(baseline, request.database, request.results, plan)
    cells = [entry.cell.id for entry in plan.with_decision("run")]
    remark = left_out(earlier, cells)
    version = version_of(earlier, plan, request.options.weights_seed)
    images = ", ".join(f"{one.backend} in {one.digest[:_LETTERS]}" for one in version.images)
    return version, f"{earlier.label}: {images}", [remark] if remark else []


def _paired(plan: Plan, version: BaselineVersion) -> Plan:
    """The plan of the cells that both versions have, each job in a group with its counterpart."""
    entries = [
        entry for entry in plan.entries if entry.decision != "run" or entry.cell.id in version.cells
    ]
    jobs: dict[str, list[Cell]] = defaultdict(list)
    for entry in entries:
        if entry.decision == "run":
            jobs[entry.cell.job_id].append(entry.cell)
    memory_bytes, groups = this_machine().memory_bytes, []
    for number, cells in enumerate(jobs.values(), 1):
        measure, limits = plan.measure[cells[0].backend], plan.limits[cells[0].backend]
        together = not why_alone(cells) and fits([cells] * 2, plan.models, limits, memory_bytes)
        groups.append(group_of_versions(cells, number, measure, together=together))
    return with_groups(plan.model_copy(update={"entries": tuple(entries)}), groups)


def _describe(baseline: str, plan: Plan) -> Iterator[str]:
    yield f"{rounds_of(plan.groups)} rounds side by side with {baseline}"
    apart: dict[str, list[str]] = defaultdict(list)
    for job in planned_jobs(plan):
        if not plan.group_of[job.id].together:
            apart[why_alone(job.cells) or _NO_ROOM].append(job.id)
    for cause, jobs in apart.items():
        yield f"launches of both versions take turns, since {cause}: {names_of(jobs)}"
