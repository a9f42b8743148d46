"""Columns about starts in fresh interpreters, cold and warm."""

from runner.contract.cell import Frozen
from runner.contract.record.ranges import Fraction, NonNegative, Positive


class Startup(Frozen):
    """Stages of starts in fresh interpreters.

    `latency_*` is from launch to first output, the runner's own imports left out, with all files in
    the page cache; cold starts begin behind a drop of the files that a start opens.
    """

    startup_warm_interpreter_median_s: NonNegative[float] | None = None
    """Median time of warm starts from launching the interpreter to our first line, seconds."""
    startup_warm_interpreter_median_low_s: NonNegative[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    startup_warm_interpreter_median_high_s: NonNegative[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    startup_warm_import_median_s: NonNegative[float] | None = None
    """Median time of warm starts to import the runtime, seconds."""
    startup_warm_import_median_low_s: NonNegative[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    startup_warm_import_median_high_s: NonNegative[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    startup_warm_instantiate_median_s: NonNegative[float] | None = None
    """Median time of warm starts to find and initialise the device and to build the model's classes
    and empty parameters, seconds."""
    startup_warm_instantiate_median_low_s: NonNegative[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    startup_warm_instantiate_median_high_s: NonNegative[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    startup_warm_weights_median_s: NonNegative[float] | None = None
    """Median time of warm starts to fill or load weights and move them to the device, seconds."""
    startup_warm_weights_median_low_s: NonNegative[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    startup_warm_weights_median_high_s: NonNegative[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    startup_warm_first_query_median_s: NonNegative[float] | None = None
    """Median time of warm starts to bind the inputs and execute the first query, seconds."""
    startup_warm_first_query_median_low_s: NonNegative[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    startup_warm_first_query_median_high_s: NonNegative[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    startup_cold_interpreter_median_s: NonNegative[float] | None = None
    """Median time of cold starts from launching the interpreter to our first line, seconds."""
    startup_cold_interpreter_median_low_s: NonNegative[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    startup_cold_interpreter_median_high_s: NonNegative[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    startup_cold_import_median_s: NonNegative[float] | None = None
    """Median time of cold starts to import the runtime, seconds."""
    startup_cold_import_median_low_s: NonNegative[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    startup_cold_import_median_high_s: NonNegative[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    startup_cold_instantiate_median_s: NonNegative[float] | None = None
    """Median time of cold starts to find and initialise the device and to build the model's classes
    and empty parameters, seconds."""
    startup_cold_instantiate_median_low_s: NonNegative[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    startup_cold_instantiate_median_high_s: NonNegative[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    startup_cold_weights_median_s: NonNegative[float] | None = None
    """Median time of cold starts to fill or load weights and move them to the device, seconds."""
    startup_cold_weights_median_low_s: NonNegative[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    startup_cold_weights_median_high_s: NonNegative[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    startup_cold_first_query_median_s: NonNegative[float] | None = None
    """Median time of cold starts to bind the inputs and execute the first query, seconds."""
    startup_cold_first_query_median_low_s: NonNegative[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    startup_cold_first_query_median_high_s: NonNegative[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    startup_cold_median_s: NonNegative[float] | None = None
    """Median time of cold starts from launch to first output, seconds; `latency_*` is the warm
    ones'. Null where more than half of the files' pages could not be dropped."""
    startup_cold_median_low_s: NonNegative[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    startup_cold_median_high_s: NonNegative[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    startup_cold_resident_share: Fraction | None = None
    """Share of the files' pages that stayed in memory as they were dropped: other processes had
    them mapped, or the file system lies in memory. Where the kernel does not tell of others' files,
    share of the mapped pages that the first cold start had not to read; null where neither is."""
    concurrent_workers: Positive[int] | None = None
    """Processes that loaded at once."""
    concurrent_time_s: Positive[float] | None = None
    """Time from launching the first of them to the last one's loaded model, seconds."""
    concurrent_models_per_second: Positive[float] | None = None
    """concurrent_workers / concurrent_time_s."""
    concurrent_speedup: Positive[float] | None = None
    """The same number of starts one after the other, by concurrent_time_s; all until loaded."""
