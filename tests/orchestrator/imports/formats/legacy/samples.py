"""The shapes that the origin project's JSON files have, cut down."""

from typing import Any

WHEN = "2025-03-06T17:45:26.506441"

DIRECT: dict[str, Any] = {
    "model": "prajjwal1/bert-tiny",
    "hardware": "cpu",
    "success": True,
    "batch_results": {
        "1": {
            "success": True,
            "batch_size": 1,
            "avg_latency_ms": 3.147125244140625,
            "throughput_items_per_second": 317.75030303030303,
            "memory_mb": 505.93359375,
            "latencies_ms": [2.961874008178711, 4.429817199707031],
            "device": "cpu",
            "timestamp": WHEN,
        },
        "2": {"success": False, "error": "CUDA out of memory. Tried to allocate 2 GiB"},
    },
    "timestamp": WHEN,
}

BATCH: dict[str, Any] = {
    "models": ["prajjwal1/bert-tiny", "google/t5-small"],
    "hardware": "cpu",
    "batch_sizes": "1",
    "timestamp": WHEN,
    "results": {
        "prajjwal1/bert-tiny": {
            "model": "prajjwal1/bert-tiny",
            "hardware": "cpu",
            "success": True,
            "command": "python run_direct_benchmark.py --model prajjwal1/bert-tiny",
            "benchmark_data": DIRECT,
            "summary": {"1": {"latency_ms": 3.147125244140625}},
        },
        "google/t5-small": {
            "model": "google/t5-small",
            "hardware": "cpu",
            "success": False,
            "error": "Command failed with exit code 1",
            "stderr": "INFO - Loading\nWARNING - slow\nwarming\nERROR - Failed to load model\n",
        },
    },
}

PROGRESS: dict[str, Any] = {
    "timestamp": "20250306_175653",
    "completed_benchmarks": [],
    "failed_benchmarks": [
        {
            "model_type": "bert",
            "hardware_type": "cpu",
            "error": "Command failed with exit code 1",
            "error_type": "execution_error",
            "stdout": "",
            "stderr": "WARNING - Improved hardware detection not available\n"
            "Traceback (most recent call last):\n"
            '  File "run.py", line 1439, in main\n'
            "TypeError: __init__() got an unexpected keyword argument 'db_only'\n",
            "timestamp": WHEN,
        }
    ],
    "skipped_benchmarks": [],
    "summary": {"total": 1, "completed": 0, "failed": 1, "skipped": 0},
}

BY_BATCH_SIZE: dict[str, Any] = {
    "model": "BERT",
    "model_key": "bert",
    "model_category": "embedding",
    "model_path": "bert-base-uncased",
    "hardware": "AMD ROCm",
    "hardware_key": "rocm",
    "timestamp": WHEN,
    "batch_sizes": {
        "4": {"throughput": 300, "latency_ms": 30, "memory_usage_mb": 148, "success": True},
        "8": {
            "success": False,
            "error_type": "timeout",
            "error_message": "Benchmark timed out after 600 seconds",
        },
    },
    "compatible": True,
}

BROWSER: dict[str, Any] = {
    "model_key": "vit",
    "model_name": "facebook/deit-tiny-patch16-224",
    "platform": "webgpu",
    "status": "success",
    "test_file": "web_platform_tests/vit/webgpu_test.html",
    "timestamp": WHEN,
    "platform_support": {"available": True, "simulated": True},
    "implementation_type": "REAL_WEBGPU",
    "is_simulation": True,
    "modality": "vision",
    "metrics": {
        "inference_time_ms": 80,
        "load_time_ms": 480,
        "memory_mb": 250,
        "throughput_items_per_second": 100.0,
    },
}

ROWS: list[Any] = [
    {
        "model_name": "bert-base-uncased",
        "model_family": "bert",
        "modality": "text",
        "hardware_type": "cuda",
        "device_name": "NVIDIA RTX 3090",
        "batch_size": 8,
        "precision": "fp16",
        "test_case": "embedding",
        "total_time_seconds": 25.3,
        "average_latency_ms": 19.1,
        "throughput_items_per_second": 316.5,
        "memory_peak_mb": 2048.5,
        "iterations": 100,
        "warmup_iterations": 10,
        "metrics": {"gpu_util_percent": 85.3},
    },
    {
        "model_name": "xclip",
        "hardware_type": "webgpu",
        "is_compatible": False,
        "error_message": "xclip is not compatible with webgpu",
        "average_latency_ms": None,
    },
]

SWEEP: dict[str, Any] = {
    "timestamp": "20250305_195321",
    "system_info": {
        "platform": "Linux-6.8.0-11-generic-x86_64-with-glibc2.39",
        "python_version": "3.12.3",
        "hostname": "host",
        "architecture": "x86_64",
        "cpu_count_physical": 4,
        "cpu_count_logical": 8,
        "total_memory_gb": 62.21421432495117,
        "cuda_devices": [{"name": "Quadro P4000"}],
        "openvino_version": "2025.0.0",
    },
    "benchmarks": {
        "embedding": {
            "bert-base-uncased": {
                "cuda": {
                    "status": "completed",
                    "model_name": "bert-base-uncased",
                    "model_class": "BertModel",
                    "family": "embedding",
                    "hardware": "cuda",
                    "benchmark_results": {
                        "batch_4_seq_128": {
                            "status": "completed",
                            "latencies": [0.25, 0.75],
                            "avg_latency": 0.5,
                            "throughput": 8,
                            "total_time": 1.0,
                            "iterations": 2,
                            "max_memory_allocated": 1.5,
                        },
                        "batch_8_seq_512": {
                            "status": "failed",
                            "error": "Benchmark failed: CUDA out of memory",
                        },
                    },
                    "timestamp": "2025-03-05T19:53:21.748271",
                    "model_load_time": 5.71,
                    "performance_summary": {"latency": {"mean": 0.5}, "memory": {}},
                },
                "cpu": {"status": "load_failed", "error": "Model loading returned None"},
            }
        }
    },
    "hardware_details": {"openvino_device_info": {"CPU": "Xeon E3-1535M v6"}},
}

FUNCTIONALITY: dict[str, Any] = {
    "stats": {"timestamp": "20250302_221840", "total_tests": 3, "hardware_platforms": ["cpu"]},
    "model_results": {"bert": {"cpu": False}, "llama": {"cpu": True}, "vit": {"cuda": True}},
    "detailed_results": [
        {
            "model": "bert",
            "hardware": "cpu",
            "success": False,
            "return_code": 1,
            "stdout": "",
            "stderr": '  File "test_hf_bert.py", line 801\n    def init_rocm(self):\n'
            "IndentationError: unexpected indent\n",
        },
        {
            "model": "llama",
            "hardware": "cpu",
            "success": True,
            "return_code": 0,
            "stdout": "LLAMA TEST RESULTS:\ninit: Success\ncpu_handler: Success (MOCK)\n",
            "stderr": "",
        },
    ],
}

SUITE: dict[str, Any] = {
    "timestamp": "20250302_221825",
    "models": {
        "bert": {"name": "prajjwal1/bert-tiny", "family": "embedding", "modality": "text"},
        "clip": {"name": "openai/clip-vit", "family": "multimodal", "modality": "multimodal"},
    },
    "functionality_verification": {
        "cpu": FUNCTIONALITY,
        "cuda": FUNCTIONALITY,
        "openvino": {"status": "error", "error": "openvino is not installed"},
    },
    "performance_benchmarks": {
        "embedding": SWEEP,
        "multimodal": {
            "status": "error",
            "error": "Traceback (most recent call last):\n"
            '  File "suite.py", line 45, in <module>\n'
            "NameError: name 'false' is not defined. Did you mean: 'False'?\n",
        },
    },
}

COMPATIBILITY: dict[str, Any] = {
    "timestamp": "20250302_201142",
    "hardware_types": ["cpu", "cuda"],
    "model_families": {
        "embedding": {
            "hardware_compatibility": {
                "cpu": {
                    "compatible": True,
                    "performance_rating": "medium",
                    "benchmark_results": [
                        {
                            "mean_latency": 1.1,
                            "mean_throughput": 12.2,
                            "timestamp": WHEN,
                            "model_name": "bert-base-uncased",
                        },
                        {"timestamp": WHEN, "model_name": "gpt2"},
                    ],
                },
                "cuda": {"compatible": False, "performance_rating": None, "benchmark_results": []},
            }
        }
    },
}

DIGEST: dict[str, Any] = {
    "timestamp": "20250303_051018",
    "system_info": {"platform": "Linux-6.8.0", "cpu": "x86_64", "cuda_available": True},
    "hardware_types": ["cpu"],
    "model_families": {
        "embedding": {
            "models_tested": ["bert-base-uncased", "roberta-base"],
            "hardware_results": {"cpu": {"latency_ms": [1780.2, 1057.4], "throughput": [4.9, 14]}},
        }
    },
    "performance_comparison": {"embedding": {}},
}

PLATFORMS: dict[str, Any] = {
    "init": "Success",
    "cpu_init": "Success (REAL)",
    "cpu_example": {
        "input": "a mock of a prompt",
        "output": "",
        "elapsed_time": 0.1,
        "implementation_type": "(REAL)",
        "platform": "CPU",
    },
    "cuda_init": "Success (REAL)",
    "cuda_transcription": {"text": "hello", "is_simulated": True, "total_time": 0.1001},
    "cuda_capabilities": {"device_name": "Quadro P4000", "memory_allocated_mb": 8.125},
    "openvino_init": "Failed OpenVINO initialization",
    "openvino_handler": "Success (REAL)",
    "apple_tests": "Apple Silicon not available",
    "qualcomm_init": "Success (MOCK) - SNPE SDK not installed",
    "metadata": {
        "timestamp": 1740730873.5,
        "torch_version": "2.4.0+cu121",
        "transformers_mocked": False,
        "test_model": "/tmp/wav2vec2_test_model",
        "python_version": "3.12.3 (main, Feb  4 2025, 14:48:35) [GCC 13.3.0]",
        "platform_status": {"cpu": "Ready (REAL)", "cuda": "Success (REAL) - Simulated"},
    },
}

CHECK: dict[str, Any] = {
    "test_file": "test_hf_llama.py",
    "elapsed_time": 0.19,
    "return_code": 1,
    "stdout": "",
    "stderr": '  File "test_hf_llama.py", line 1538\n    print("\n          ^\n'
    "SyntaxError: unterminated string literal (detected at line 1538)\n",
    "json_result": {"status": {"cpu": "UNKNOWN", "cuda": "UNKNOWN"}, "model_name": "Unknown"},
    "status_extracted_from_text": True,
}

REPORT: dict[str, Any] = {
    "metadata": {
        "timestamp": "2025-02-28T00:06:13.791846",
        "test_file": "skills/test_hf_wav2vec2.py",
        "model": "hf_wav2vec2",
        "execution_time": 2.43,
    },
    "results": PLATFORMS,
}

CHECKS: dict[str, Any] = {
    "timestamp": "2025-02-28T08:12:07.334785",
    "python_version": "3.12.3 (main, Feb  4 2025, 14:48:35) [GCC 13.3.0]",
    "command": "run_performance_tests.py --skills --filter wav2vec2",
    "skill_tests": {
        "test_hf_wav2vec2.py": {
            "test_file": "test_hf_wav2vec2.py",
            "elapsed_time": 5.2,
            "return_code": 0,
            "stdout": "Starting ...",
            "stderr": "",
            "json_result": PLATFORMS,
        },
        "test_hf_llama.py": CHECK,
    },
}

COLLECTION: dict[str, Any] = {
    "metadata": {"timestamp": "2025-02-28T00:09:16.917316", "test_files": ["skills/test_hf_t5.py"]},
    "results": {
        "skills/test_hf_t5.py": {
            "status": "Success",
            "execution_time": 0.1,
            "performance_metrics": {
                "cpu": {"cpu_tests": "Error: cannot access local variable 'sys'"},
                "cuda": {"cuda_init": "Success (MOCK)", "implementation_type": "MOCK"},
            },
        },
        "skills/test_hf_bert.py": {
            "status": "Success",
            "execution_time": 3.1,
            "performance_metrics": {},
        },
    },
}

CONTENT: dict[str, Any] = {
    "status": {
        "init": "Success",
        "cpu_init": "Success (REAL)",
        "cuda_tests": "CUDA not available",
        "qualcomm_init": "Failed Qualcomm initialization",
        "qualcomm_handler": "Success (MOCK)",
    },
    "examples": [
        {
            "input": "The quick brown fox",
            "output": {"embedding_shape": [1, 768]},
            "elapsed_time": 0.016,
            "implementation_type": "REAL",
            "platform": "OpenVINO",
        }
    ],
    "metadata": {"model_name": "bert-base-uncased", "torch_version": "2.4.0+cu121"},
}

BY_SCRIPT: dict[str, Any] = {
    "test_hf_bert": {
        "init": "Success",
        "cpu_init": "Success",
        "openvino_tests": "Error: it has no attribute 'Runtime'",
        "apple_tests": "Apple Silicon not available",
    },
    "test_default_lm": "'transformers'",
}

BROWSERS: dict[str, Any] = {
    "timestamp": WHEN,
    "platform": "webgpu",
    "models_tested": ["bert", "vit"],
    "results": [
        BROWSER,
        {**BROWSER, "model_name": "google/vit-base-patch16-224", "modality": "vision"},
    ],
}

COMPARISON: dict[str, Any] = {
    "timestamp": "2025-03-02T12:00:00Z",
    "results_by_modality": {
        "text": [
            {
                "model": "bert-base-uncased",
                "webnn": {
                    "time_ms": 15.2,
                    "memory_mb": 35,
                    "success": True,
                    "implementation": "REAL_WEBNN",
                },
                "webgpu": {
                    "time_ms": None,
                    "memory_mb": None,
                    "success": False,
                    "implementation": None,
                    "error": "Unsupported model architecture",
                },
            }
        ],
        "audio": [
            {
                "model": "whisper-tiny",
                "webgpu": {"time_ms": 108.6, "success": True, "implementation": "unknown"},
            }
        ],
    },
    "implementation_types": {"audio": {"webgpu": "SIMULATED_WEBGPU_TRANSFORMERS_JS"}},
    "test_environment": {"test_hardware": "a processor, a graphics card"},
}

METHODS: dict[str, Any] = {
    "results": {
        "pipeline_cuda": {
            "model": "bert-base-uncased",
            "device": "cuda",
            "task": "fill-mask",
            "pipeline_success": True,
            "pipeline_avg_time": 0.0113,
            "pipeline_min_time": 0.0104,
            "pipeline_max_time": 0.012,
            "pipeline_load_time": 4.7,
            "pipeline_error_type": "none",
        },
        "openvino": {"success": True, "device": "openvino", "openvino_inference_time": 0.15},
        "from_pretrained_cpu": {
            "device": "cpu",
            "from_pretrained_success": False,
            "from_pretrained_error": "it is not a valid model identifier",
            "from_pretrained_traceback": "Traceback (most recent call last):\nOSError: not valid",
            "from_pretrained_error_type": "other",
        },
    },
    "examples": [],
    "performance": {"pipeline_cuda": {"avg_time": 0.0113, "num_runs": 3}, "openvino": {}},
    "hardware": {"cpu": True, "cuda": True, "cuda_version": "12.4"},
    "metadata": {"model": "bert-base-uncased", "timestamp": WHEN},
}

MODELS: dict[str, Any] = {
    "bert": {"name": "bert-base-uncased", "family": "embedding", "size": "base"},
    "vit": {"name": "google/vit-base-patch16-224", "family": "vision", "size": "base"},
}

SETTINGS: dict[str, Any] = {
    "batch_sizes": [1, 4, 8],
    "warmup_iterations": 5,
    "benchmark_iterations": 20,
    "model_families": {"audio": ["openai/whisper-tiny"]},
    "hardware_types": ["cpu", "cuda"],
}

DATABASE: dict[str, Any] = {"created": WHEN, "schema_version": "1.0", "schema": {"id": "int"}}

ALL: dict[str, Any] = {
    "legacy-direct": DIRECT,
    "legacy-batch": BATCH,
    "legacy-progress": PROGRESS,
    "legacy-by-batch-size": BY_BATCH_SIZE,
    "legacy-browser": BROWSER,
    "legacy-suite": SUITE,
    "legacy-sweep": SWEEP,
    "legacy-functionality": FUNCTIONALITY,
    "legacy-summary": DIGEST,
    "legacy-compatibility": COMPATIBILITY,
    "legacy-checks": CHECKS,
    "legacy-check-report": REPORT,
    "legacy-check": CHECK,
    "legacy-check-content": CONTENT,
    "legacy-checks-by-script": BY_SCRIPT,
    "legacy-browsers": BROWSERS,
    "legacy-comparison": COMPARISON,
    "legacy-methods": METHODS,
    "legacy-rows": ROWS,
    "legacy-settings": SETTINGS,
    "legacy-models": MODELS,
    "legacy-database": DATABASE,
}
