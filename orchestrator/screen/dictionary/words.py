"""Words of the screen that a reader may not know, three lines each; docs/words.md has the same."""

from collections.abc import Sequence

from orchestrator.screen.dictionary.fleet_words import FLEET_WORDS
from orchestrator.screen.dictionary.statistic_words import STATISTIC_WORDS, Word

_OTHERS: Sequence[Word] = (
    Word(
        "b8",
        (
            "Part of a cell's id: batch size 8, the samples of one query.",
            "A larger batch often gives more samples/s and always a longer query.",
            "Set it with `--batch-size 1,8`, or axes.batch_size in the matrix file.",
        ),
        ("batch", "batch size"),
    ),
    Word(
        "backend",
        (
            "The hardware path that a cell takes: cpu, cuda, rocm, mps, openvino, qnn, webgpu, …",
            "Each has one default runtime; PyTorch on a CPU is backend cpu, runtime torch.",
            "`orchestrator doctor` says which run here.",
        ),
    ),
    Word(
        "cell",
        (
            "One point of the matrix: a model, backend, runtime, precision, shape and mode.",
            "Each planned cell ends with exactly one verdict in the database.",
            "Its id is readable, and globs select it: --select '*bert-tiny*'.",
        ),
        ("cell id",),
    ),
    Word(
        "correct",
        (
            "Whether outputs for fixed inputs agree with an fp32 reference on the CPU.",
            "Below fp32 the table says how far they are off: `off by %`.",
            "Cells whose outputs are wrong are named, and views leave them out.",
        ),
        ("off by", "off by %"),
    ),
    Word(
        "efficiency",
        (
            "Share of what the machine can do: FLOP/s and bytes/s of a result by measured peaks.",
            "mfu is the share of a product of large matrices, mbu that of a copy; 0.5 is half.",
            "`bound` says which limits: compute or memory. `orchestrator query efficiency`",
        ),
        ("mfu", "mbu", "bound", "intensity", "FLOP/s", "roofline"),
    ),
    Word(
        "fastest",
        (
            "The result with the shortest median time of an item, of those that may be compared.",
            "`1.13 (1.12 to 1.14) times as fast` is a ratio of medians with its 95 % interval.",
            "samples/s and tokens/s are means, so slow queries change them and their ratios.",
        ),
        ("times as fast", "shortest query"),
    ),
    Word(
        "host",
        (
            "One machine: a hash of CPU model, cores, memory and machine type.",
            "Renaming a machine changes nothing; two that share a name stay two.",
            "Views carry it as `host`.",
        ),
    ),
    Word(
        "iteration",
        (
            "One timed query of the steady phase; its raw duration is kept.",
            "More iterations make the interval narrower.",
            "`--iterations N` sets the fewest, the profile their usual number.",
        ),
    ),
    Word(
        "job",
        (
            "The cells that one launch executes: they differ in batch, sequence and sizes alone.",
            "The model is loaded once for all of them.",
            "`run --keep-going` goes on with the next job when one fails.",
        ),
    ),
    Word(
        "launcher",
        (
            "Where a job executes: docker, in a container, or process, beside the orchestrator.",
            "Numbers of two launchers are never compared as if they were one.",
            "`--launcher auto` takes containers if an engine answers.",
        ),
    ),
    Word(
        "matrix",
        (
            "The YAML file that says what to measure: lists of values for each axis.",
            "Every combination that is possible becomes a cell.",
            "`orchestrator plan matrix.yaml` shows them all; `bench` needs no file.",
        ),
        ("axis", "axes"),
    ),
    Word(
        "mode",
        (
            "The work that is measured: inference, generation, training or startup.",
            "Each mode has columns of its own in the table of results.",
            "Set it with `--mode generation`.",
        ),
    ),
    Word(
        "peak MB",
        (
            "Highest memory use while the cell ran, megabytes.",
            "It includes the runtime: torch alone takes some hundred of them.",
            "View column `memory_mb`; bytes stand in `memory_peak_bytes`.",
        ),
        ("peak", "memory"),
    ),
    Word(
        "phase",
        (
            "A stretch of a measurement: load, first, warmup, steady.",
            "Latencies come from the steady phase, after the warm-up has settled.",
            "A failed cell says in which phase it ended.",
        ),
        ("warmup", "steady"),
    ),
    Word(
        "plan",
        (
            "Every cell with a decision: run, skip or done, and the reason.",
            "Estimates take speed and load time from earlier results of this machine.",
            "`orchestrator plan matrix.yaml`, or `--dry-run` of run and bench.",
        ),
    ),
    Word(
        "precision",
        (
            "Number format of weights and arithmetic: fp32, bf16, fp16, int8.",
            "Fewer bits are often faster and smaller, and always further from fp32.",
            "`off by %` says how far; set it with `--precision fp32,int8`.",
        ),
        ("int8", "fp16", "bf16", "fp32"),
    ),
    Word(
        "profile",
        (
            "How long to measure: quick for a look, standard to compare, audit to publish.",
            "It sets launches, iterations, shortest and longest duration and the precision sought.",
            "`--profile standard`, or measure.profile in the matrix file.",
        ),
        ("quick", "standard", "audit"),
    ),
    Word(
        "proof",
        (
            "Evidence that the device which the cell names did the work.",
            "proven, partial, contradicted or none; views leave out what is not proven.",
            "It comes from where the tensors lay, or which device each node ran on.",
        ),
        ("proven", "partial", "contradicted"),
    ),
    Word(
        "query",
        (
            "A batch that is issued together; a sample is one item of it.",
            "`median ms` is the time of one query, `samples/s` counts items.",
            "`orchestrator query` is another thing: a question to the database.",
        ),
        ("sample",),
    ),
    Word(
        "record",
        (
            "Measurement, cell, environment and outcome: one row of a Parquet file.",
            "Records are saved after each cell and merged into the database.",
            "`orchestrator merge FOLDER` brings in those of others.",
        ),
    ),
    Word(
        "run",
        (
            "One invocation of `orchestrator run` or `bench`; its id begins with day and time.",
            "`last` means the newest: `orchestrator status last`.",
            "`orchestrator run --resume last` finishes one that was interrupted.",
        ),
        ("run id", "run_id"),
    ),
    Word(
        "runtime",
        (
            "The software that executes the graph: torch, onnxruntime, openvino, …",
            "A backend has a default one; ids name it only where it is another.",
            "Set it with `--runtime onnxruntime`.",
        ),
    ),
    Word(
        "s128",
        (
            "Part of a cell's id: sequence length 128, the tokens of one sample.",
            "In generation it is the prompt's length; the new tokens come on top.",
            "Set it with `--sequence-length 128`.",
        ),
        ("sequence length", "tokens"),
    ),
    Word(
        "samples/s",
        (
            "Items per second: the batch size times queries per second.",
            "Compare runtimes and batches by it; for one answer at a time look at `median ms`.",
            "View column `throughput`.",
        ),
        ("throughput",),
    ),
    Word(
        "scenario",
        (
            "The arrival pattern, in MLPerf's sense: single_stream, offline or server.",
            "single_stream asks one query after the other, offline seeks the best batch, server",
            "offers queries at a rate, or seeks the highest that meets a limit of latency.",
        ),
        (
            *("single_stream", "offline", "server"),
            *("peak q/s", "at least q/s", "at most q/s", "achieved q/s"),
        ),
    ),
    Word(
        "support class",
        (
            "How well a backend is known to work: from 1, measured in CI, to 3, never measured.",
            "Class 2 was measured by hand, on one device.",
            "`orchestrator doctor --all` shows it, in the column `class`.",
        ),
    ),
    Word(
        "TPOT",
        (
            "Time per output token: (end - first token) / (tokens - 1) of one generation.",
            "The table calls it `ms/token`; its inverse, times the batch, is about `tokens/s`.",
            "TTFT is the time before it.",
        ),
        ("ms/token", "tokens/s"),
    ),
    Word(
        "TTFT",
        (
            "Time to first token: what a reader waits before text appears.",
            "It is the pass over the prompt, so it grows with the sequence length.",
            "The table calls it `ttft ms`; further tokens come every `ms/token`.",
        ),
        ("ttft ms",),
    ),
    Word(
        "verdict",
        (
            "How a cell ended: ok, unsupported, unavailable, out_of_memory, timeout, failed, lost.",
            "Each planned cell has exactly one, so nothing is left out in silence.",
            "`orchestrator status last` shows those of the newest run.",
        ),
        ("status",),
    ),
    Word(
        "extrapolation",
        (
            "A prediction outside of what was measured: a larger size, an unseen device.",
            "It is marked with `?`: nothing promises that its interval holds.",
            "The line below the table names what leaves the domain; measure that.",
        ),
        ("?",),
    ),
    Word(
        "prediction",
        (
            "A number for a cell that nobody measured, with an interval for 9 of 10 cases.",
            "`orchestrator predict train` learns from a database, `orchestrator predict` asks.",
            "It stands in columns that end in `_predicted`, and in no database.",
        ),
        ("predicted",),
    ),
    Word(
        "seen",
        (
            "The part of a question that was measured: other sizes, variants, elsewhere, nothing.",
            "It decides how wrong a prediction may be; `orchestrator predict show` tells.",
            "Unseen are a model, a family of architectures, or a device.",
        ),
        ("unseen", "novelty", "asked about"),
    ),
)
WORDS: Sequence[Word] = sorted(
    (*_OTHERS, *FLEET_WORDS, *STATISTIC_WORDS), key=lambda word: word.name.casefold()
)
