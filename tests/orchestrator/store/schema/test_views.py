"""The views answer in names and units that people expect."""

from datetime import timedelta
from typing import Any

import pytest

from tests.orchestrator.store.schema.conftest import Ask
from tests.support.records import EXAMPLE_HOST, NOISY, RECORDED_AT, a_failure, a_record

LATER = RECORDED_AT + timedelta(hours=1)


def test_the_question_of_the_readme(ask: Ask) -> None:
    answer = ask(
        "SELECT model, hardware, AVG(throughput) FROM benchmark_performance"
        " GROUP BY model, hardware",
        a_record(batch_size=1, throughput=100.0),
        a_record(batch_size=2, throughput=300.0),
    )
    assert answer == [
        {"model": "bert-tiny", "hardware": "Example CPU", "avg(throughput)": pytest.approx(200.0)}
    ]


def test_performance_shows_milliseconds_and_megabytes(ask: Ask) -> None:
    (row,) = ask("SELECT * FROM benchmark_performance", a_record(latency_p90_s=0.0035))
    assert row["latency_mean_ms"] == pytest.approx(3.0)
    assert row["latency_median_ms"] == pytest.approx(3.0)
    assert row["latency_min_ms"] == pytest.approx(2.0)
    assert row["latency_max_ms"] == pytest.approx(4.0)
    assert row["latency_p90_ms"] == pytest.approx(3.5)
    assert row["first_latency_ms"] == pytest.approx(5.0)
    assert row["load_time_s"] == 0.25
    assert row["memory_mb"] == 300.0
    assert row["memory_average_mb"] == 250.0
    assert row["measured_at"] == RECORDED_AT


def test_only_proven_results_are_shown_unless_asked(ask: Ask) -> None:
    records = [
        a_record(batch_size=1),
        a_record(batch_size=2, proof="partial"),
        a_record(batch_size=4, proof="contradicted"),
        a_failure("timeout", "hung", batch_size=8),
    ]
    assert [row["batch_size"] for row in ask("FROM benchmark_performance", *records)] == [1]
    everything = ask("FROM benchmark_performance_all ORDER BY batch_size")
    assert [row["proof"] for row in everything] == ["proven", "partial", "contradicted", "none"]
    assert [row["reason"] for row in everything] == [None, None, None, "hung"]


def test_wrong_outputs_and_what_was_not_timed_are_shown_only_if_asked(ask: Ask) -> None:
    records = [
        a_record(batch_size=1),
        a_record(batch_size=2, correct=False, correct_reason="off by 0.3"),
        a_record(batch_size=4, correct=None, correct_reason="not verified: --no-verify"),
        a_record(batch_size=8, purpose="verify", latency_median_s=None),
    ]
    shown = ask("SELECT batch_size, correct FROM benchmark_performance ORDER BY ALL", *records)
    assert [tuple(row.values()) for row in shown] == [(1, True), (4, None)]
    everything = ask("FROM benchmark_performance_all ORDER BY batch_size")
    assert [row["correct"] for row in everything] == [True, False, None, True]
    assert everything[1]["correct_reason"] == "off by 0.3"
    latest = ask("SELECT batch_size FROM latest_results ORDER BY ALL")
    assert [row["batch_size"] for row in latest] == [1, 4]


def test_the_medians_interval_and_the_grade_stand_beside_it(ask: Ask) -> None:
    (row,) = ask("FROM benchmark_performance", a_record(grade="C", doubts=[NOISY]))
    assert row["latency_median_low_ms"] < row["latency_median_ms"] < row["latency_median_high_ms"]
    assert row["latency_precision"] == 0.01
    assert (row["grade"], len(row["grade_reasons"])) == ("C", 1)
    assert (row["noise_score"], row["rounds"], row["scenario"]) == (0.02, 1, "single_stream")


def test_each_mode_and_scenario_has_a_view_of_its_own(ask: Ask) -> None:
    records = [
        a_record(mode="generation", new_tokens=32, time_to_first_token_p90_s=0.02),
        a_record(mode="training", backward_median_s=0.004, training_loss_last=2.5),
        a_record(mode="startup", startup_warm_import_median_s=1.5, concurrent_speedup=1.7),
        a_record(scenario="server", target_qps=50.0, achieved_qps=49.5),
        a_record(scenario="offline"),
        a_record(),
        a_record(mode="training", batch_size=2, proof="contradicted"),
    ]
    (generation,) = ask("FROM generation_results", *records)
    assert (generation["new_tokens"], generation["time_to_first_token_p90_ms"]) == (32, 20.0)
    (training,) = ask("FROM training_results")
    assert (training["backward_median_ms"], training["training_loss_last"]) == (4.0, 2.5)
    (startup,) = ask("FROM startup_results")
    assert (startup["startup_warm_import_median_s"], startup["concurrent_speedup"]) == (1.5, 1.7)
    offline, server = ask("FROM arrival_results ORDER BY scenario")
    assert (offline["scenario"], server["achieved_qps"]) == ("offline", 49.5)
    assert server["hardware"] == "Example CPU"


def test_a_curve_has_a_row_for_each_batch_tried(ask: Ask) -> None:
    curve = {
        "offline_batches": [1, 2, 4],
        "offline_queries": [30, 60, 9],
        "offline_throughputs": [100.0, 190.0, 191.0],
        "offline_latencies_s": [0.01, 0.0105, 0.021],
        "offline_memory_bytes": [100_000_000, 110_000_000, 130_000_000],
    }
    rows = ask(
        "FROM offline_curve ORDER BY batch_size",
        a_record(scenario="offline", batch_size=2, **curve),
        a_record(scenario="offline", precision="bf16", proof="contradicted", **curve),
        a_record(),
    )
    names = ("batch_size", "queries", "throughput", "latency_median_ms", "memory_mb", "found")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (1, 30, 100.0, 10.0, 100.0, False),
        (2, 60, 190.0, 10.5, 110.0, True),
        (4, 9, 191.0, 21.0, 130.0, False),
    ]
    assert {row["hardware"] for row in rows} == {"Example CPU"}


def test_hardware_falls_back_on_the_processor_and_may_be_missing(ask: Ask) -> None:
    answer = ask(
        "SELECT hardware, status FROM benchmark_performance_all ORDER BY batch_size",
        a_record(device_name=None, cpu_model="Old CPU", batch_size=1),
        a_failure("lost", "killed", hardware_id=None, batch_size=2),
    )
    assert [tuple(row.values()) for row in answer] == [("Old CPU", "ok"), (None, "lost")]


def test_failures_say_why(ask: Ask) -> None:
    answer = ask(
        "SELECT cell_id, status, phase, reason FROM failures",
        a_record(),
        a_failure("out_of_memory", "killed at 2 GB", batch_size=512),
    )
    assert answer == [
        {
            "cell_id": "cpu-bert-tiny-fp32-b512-s128-inference",
            "status": "out_of_memory",
            "phase": "steady",
            "reason": "killed at 2 GB",
        }
    ]


def test_what_was_foreseen_is_told_from_what_happened(ask: Ask) -> None:
    records = [
        a_failure("out_of_memory", "killed at 2 GB", batch_size=1),
        a_failure("out_of_memory", "predicted: needs at least 30 GB", batch_size=2, predicted=True),
    ]
    ask("FROM benchmark_results", *records)
    for view in ("failures", "benchmark_performance_all"):
        rows_ = ask(f"SELECT batch_size, predicted FROM {view} ORDER BY batch_size")
        assert [tuple(row.values()) for row in rows_] == [(1, False), (2, True)]


def test_images_and_sounds_stand_beside_the_other_sizes(ask: Ask) -> None:
    record = a_record(image_size=448, audio_seconds=5, mode="training")
    ask("FROM benchmark_results", record)
    for view in ("benchmark_performance", "latest_results", "training_results"):
        (row,) = ask(f"FROM {view}")
        assert (row["image_size"], row["audio_seconds"]) == (448, 5)


def test_latest_results_hold_the_newest_proven_one_of_each_machine(ask: Ask) -> None:
    other = {"cpu_model": "Other CPU", "device_name": "Other CPU"}
    records = [
        a_record(run_id="1", throughput=1.0),
        a_record(run_id="2", throughput=2.0, recorded_at=LATER, hostname="renamed"),
        a_record(run_id="3", throughput=3.0, recorded_at=LATER, proof="none"),
        a_record(run_id="4", throughput=4.0, **other),
    ]
    answer = ask("SELECT hardware, hostname, throughput FROM latest_results ORDER BY ALL", *records)
    assert [tuple(row.values()) for row in answer] == [
        ("Example CPU", "renamed", 2.0),
        ("Other CPU", "example-host", 4.0),
    ]
    answer = ask("SELECT hardware, run_id FROM latest_results_all ORDER BY ALL")
    assert [tuple(row.values()) for row in answer] == [("Example CPU", "3"), ("Other CPU", "4")]


OTHER_SERIES: tuple[dict[str, Any], ...] = (
    {"cpu_model": "Other CPU"},
    {"device_name": "Accelerator"},
    {"launcher": "docker"},
    {"threads": 1},
    {"container_cpu_limit": 1.5},
    {"weights_seed": 8},
    {"model_spec": '{"name": "bert-tiny", "larger": true}'},
    {"weights": "pretrained", "weights_revision": "sha256:0"},
    {"timed_region": "with copies to the device"},
)


def test_what_is_of_another_series_is_neither_compared_nor_replaced(ask: Ask) -> None:
    others = [
        a_record(run_id=str(other), grade="C", recorded_at=LATER, **other) for other in OTHER_SERIES
    ]
    answer = ask(
        "SELECT history.run_id, ratio, better_grade FROM history"
        " JOIN latest_results USING (result_id)",
        a_record(run_id="1", grade="A"),
        *others,
    )
    series = {"1", *map(str, OTHER_SERIES)}
    assert {tuple(row.values()) for row in answer} == {(run_id, None, None) for run_id in series}


def test_history_compares_with_the_last_result_of_its_profile_that_was_not_grade_d(
    ask: Ask,
) -> None:
    measured = [
        ("1", 0.003, {"grade": "C"}),
        ("2", 0.030, {"grade": "D"}),
        ("3", 0.006, {"grade": "B", "hostname": "renamed"}),
        ("4", 0.012, {"grade": "B", "profile": "audit"}),
        ("5", 0.003, {"grade": "C"}),
    ]
    records = [
        a_record(
            run_id=run_id,
            latency_median_s=seconds,
            recorded_at=RECORDED_AT + timedelta(hours=int(run_id)),
            **facts,
        )
        for run_id, seconds, facts in measured
    ]
    answer = ask("SELECT ratio, previous_grade FROM history ORDER BY measured_at", *records)
    assert [tuple(row.values()) for row in answer] == [
        (None, None),
        (None, "C"),
        (pytest.approx(2.0), "C"),
        (None, None),
        (pytest.approx(0.5), "B"),
    ]
    (latest,) = ask("SELECT grade, better_grade FROM latest_results")
    assert latest == {"grade": "D", "better_grade": None}, "each older one contradicts another"


def test_a_machine_is_one_whatever_its_name_and_kernel_take(ask: Ask) -> None:
    records = [
        a_record(run_id="1"),
        a_record(run_id="2", hostname="renamed", memory_total_bytes=8_000_000_000 - 2_000_000),
        a_record(run_id="3", cpu_cores_physical=None, cpu_cores_logical=8),
        a_failure("lost", "killed", run_id="2", hostname="renamed", hardware_id=None, batch_size=2),
        a_failure("lost", "gone", run_id="4", hardware_id=None, hostname="renamed", batch_size=4),
        a_failure("lost", "gone", run_id="5", hardware_id=None, hostname="never seen"),
    ]
    answer = ask("SELECT run_id, host, cores FROM benchmark_performance_all ORDER BY ALL", *records)
    first, renamed, lost, larger, later, unknown = (tuple(row.values())[1:] for row in answer)
    assert first == renamed == (EXAMPLE_HOST, 2)
    assert lost == later == (EXAMPLE_HOST, None)
    assert larger[0] not in {None, EXAMPLE_HOST}
    assert larger[1] == 8
    assert unknown == (None, None)
    machines = ask("SELECT DISTINCT host, hostname FROM compatibility WHERE host IS NOT NULL")
    assert len(machines) == 2


def test_generation_needs_no_join_and_joins_are_not_ambiguous(ask: Ask) -> None:
    record = a_record(
        mode="generation",
        new_tokens=32,
        time_to_first_token_median_s=0.01,
        time_per_output_token_median_s=0.002,
        token_throughput=32 / 0.003,
        difference_relative=0.048,
    )
    (row,) = ask(
        "SELECT time_to_first_token_median_ms, time_per_output_token_median_ms, token_throughput,"
        " memory_mb, off, cores, launcher, durations_ns IS NOT NULL AS raw"
        " FROM generation_results JOIN raw_benchmark_data USING (result_id)",
        record,
    )
    assert [*row.values()] == [10.0, 2.0, 32 / 0.003, 300.0, 0.048, 2, "process", True]


def test_compatibility_tells_the_newest_verdict_of_each_combination(ask: Ask) -> None:
    records = [
        a_failure("failed", "old bug", run_id="1", batch_size=1),
        a_record(run_id="2", batch_size=1, recorded_at=LATER),
        a_record(run_id="2", batch_size=8),
        a_failure("unsupported", "no bf16 here", precision="bf16"),
    ]
    answer = ask(
        "SELECT precision, status, reason, cells, cells_ok FROM compatibility"
        " ORDER BY precision DESC",
        *records,
    )
    assert [tuple(row.values()) for row in answer] == [
        ("fp32", "ok", None, 2, 2),
        ("bf16", "unsupported", "no bf16 here", 1, 0),
    ]


def test_maps_and_lists_can_be_asked_for_their_parts(ask: Ask) -> None:
    (row,) = ask(
        "SELECT libraries['torch'] AS torch, list_contains(cpu_flags, 'avx2') AS avx2,"
        " list_median(durations_ns) AS median FROM benchmark_results"
        " JOIN environments USING (environment_id) JOIN hardware_info USING (hardware_id)"
        " JOIN raw_benchmark_data USING (result_id)",
        a_record(),
    )
    assert row == {"torch": "2.13.0", "avx2": True, "median": 3_000_000}


def test_compatibility_shows_cells_that_were_verified_and_never_timed(ask: Ask) -> None:
    verified = a_record(purpose="verify", correct=True, latency_median_s=None)
    contradicted = a_record(
        purpose="verify", precision="bf16", proof="contradicted", latency_median_s=None
    )
    answer = ask(
        "SELECT precision, status, proof, correct, cells_proven FROM compatibility"
        " ORDER BY precision DESC",
        verified,
        contradicted,
    )
    assert [tuple(row.values()) for row in answer] == [
        ("fp32", "ok", "proven", True, 1),
        ("bf16", "ok", "contradicted", contradicted.correct, 0),
    ]
