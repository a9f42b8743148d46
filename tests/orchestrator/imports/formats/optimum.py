"""Reports and configs of optimum-benchmark, cut from published ones."""

from typing import Any

Tree = dict[str, Any]


def latency(*values: float) -> Tree:
    """A latency with its statistics, as the tracker writes it for these values."""
    mean = sum(values) / len(values)
    return {
        "unit": "s",
        "values": list(values),
        "count": len(values),
        "total": sum(values),
        "mean": mean,
        "p50": sorted(values)[len(values) // 2],
        "p90": max(values),
        "p95": max(values),
        "p99": max(values),
        "stdev": 0.125,
        "stdev_": 1.1,
    }


def target(**kinds: Any) -> Tree:
    """A target with these kinds of measurements, the others null."""
    names = ("memory", "latency", "throughput", "energy", "efficiency")
    return {name: kinds.get(name) for name in names}


def config(
    backend: Tree | None = None, scenario: Tree | None = None, environment: Tree | None = None
) -> Tree:
    """The config of an encoder on a processor."""
    return {
        "name": "cpu_pytorch_bert",
        "backend": {
            "name": "pytorch",
            "version": "2.4.1",
            "_target_": "optimum_benchmark.backends.pytorch.backend.PyTorchBackend",
            "task": "feature-extraction",
            "library": "transformers",
            "model_type": "bert",
            "model": "BAAI/bge-base-en-v1.5",
            "device": "cpu",
            "device_ids": None,
            "seed": 42,
            "no_weights": False,
            "torch_dtype": "float32",
            "autocast_enabled": False,
            "torch_compile": False,
            "quantization_scheme": None,
            "quantization_config": {},
        }
        | (backend or {}),
        "scenario": {
            "name": "inference",
            "_target_": "optimum_benchmark.scenarios.inference.scenario.InferenceScenario",
            "iterations": 10,
            "duration": 10,
            "warmup_runs": 10,
            "input_shapes": {"batch_size": 64, "num_choices": 2, "sequence_length": 128},
            "new_tokens": None,
            "generate_kwargs": {},
        }
        | (scenario or {}),
        "launcher": {
            "name": "process",
            "_target_": "optimum_benchmark.launchers.process.launcher.ProcessLauncher",
        },
        "environment": {
            "cpu": " Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz",
            "cpu_count": 8,
            "cpu_ram_mb": 33164.890112,
            "system": "Linux",
            "machine": "x86_64",
            "platform": "Linux-5.15.0-1064-aws-x86_64-with-glibc2.31",
            "processor": "x86_64",
            "python_version": "3.10.14",
            "gpu": ["Tesla T4"],
            "gpu_vram_mb": 16106127360,
            "optimum_benchmark_version": "0.5.0.dev0",
            "transformers_version": "4.45.2",
            "timm_version": None,
        }
        | (environment or {}),
        "print_report": False,
        "log_report": True,
    }


def encoder_report() -> Tree:
    """An encoder's report."""
    return {
        "load_model": target(latency=latency(15.5)),
        "first_forward": target(latency=latency(12.25)),
        "forward": target(
            memory={"unit": "MB", "max_ram": 1449.189376, "max_allocated": None},
            latency=latency(11.477741526905447, 11.5, 11.25),
            throughput={"unit": "samples/s", "value": 5.648934083819028},
            energy={"unit": "kWh", "cpu": 5e-7, "ram": 1e-7, "gpu": 0, "total": 1e-6},
            efficiency={"unit": "samples/kWh", "value": 64_000_000},
        ),
    }


def generation_report() -> Tree:
    """A decoder's report, from a version that has no target `generate`."""
    memory = {
        "unit": "MB",
        "max_ram": 1449.189376,
        "max_global_vram": 9045.409792,
        "max_process_vram": 8118.075392,
        "max_reserved": 7583.301632,
        "max_allocated": 6813.98784,
    }
    return {
        "load_model": target(latency=latency(11.7544541015625)),
        "prefill": target(
            memory=memory,
            latency=latency(0.0325, 0.03125),
            throughput={"unit": "samples/s", "value": 30.8},
        ),
        "decode": target(
            memory=memory,
            latency=latency(1.457540771484375, 1.4597230224609374),
            throughput={"unit": "tokens/s", "value": 43.089241533217766},
        ),
        "per_token": target(latency=latency(0.023, 0.0235)),
    }


def generation_config() -> Tree:
    """The config of a decoder on one of several accelerators."""
    return config(
        backend={
            "model": "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4",
            "task": "text-generation",
            "device": "cuda",
            "device_ids": "3",
            "torch_dtype": "float16",
            "torch_compile": True,
            "quantization_scheme": "awq",
        },
        scenario={
            "input_shapes": {"batch_size": 1, "sequence_length": 64},
            "generate_kwargs": {"max_new_tokens": 64, "min_new_tokens": 64},
        },
        environment={"gpu": ["NVIDIA A100", "NVIDIA A100", "NVIDIA A100", "NVIDIA DGX Display"]},
    )
