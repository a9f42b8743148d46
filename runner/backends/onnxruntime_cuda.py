"""NVIDIA's GPUs as ONNX Runtime counts them, and NVML's word on which one works."""

import os
from collections.abc import MutableMapping
from functools import partial
from typing import Any

import onnxruntime

from runner.backends.onnxruntime_device import OnnxDevice
from runner.device_choice import VARIABLE, chosen_device
from runner.errors import Unavailable
from runner.measure.nvml import load_nvml, used_bytes

CUDA = "CUDAExecutionProvider"
ORDER, VISIBLE = "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"


def cuda_device(
    library: Any = onnxruntime,
    nvml: Any = None,
    environment: MutableMapping[str, str] = os.environ,
) -> OnnxDevice:
    """The GPU that the user chose by index or UUID, or the first that is visible.

    Its products are fp32 where the graph's are: TF32, which rounds them, is off.

    Raises:
        Unavailable: this build has no CUDA, NVML does not answer, or the choice fits no GPU.
    """
    available = library.get_available_providers()
    if CUDA not in available:
        raise Unavailable(
            f"onnxruntime has no {CUDA} here, only {', '.join(available)}",
            hint="install onnxruntime-gpu in place of onnxruntime: both fill the same folder",
        )
    # So that an index means what it means to NVML. CUDA reads it as it starts.
    environment.setdefault(ORDER, "PCI_BUS_ID")
    library.preload_dlls()
    nvml = nvml or load_nvml()
    gpus = _visible(nvml, environment.get(VISIBLE))
    index = _choose([uuid for uuid, _ in gpus], chosen_device("cuda", environment))
    uuid, name = gpus[index]
    options = {"device_id": str(index), "use_tf32": "0"}
    return OnnxDevice(
        "cuda",
        name,
        CUDA,
        options,
        memory="cuda",
        index=index,
        uuid=uuid,
        used_bytes=partial(used_bytes, uuid, nvml),
    )


def _visible(nvml: Any, listed: str | None) -> list[tuple[str, str]]:
    """UUID and name of each GPU that CUDA may see, in its order.

    Raises:
        Unavailable: NVML does not answer, or there is none.
    """
    try:
        nvml.nvmlInit()
        handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
    except Exception as error:  # NVML's own errors, whose module may be a stand-in
        raise Unavailable(f"NVML does not answer: {error}", hint="check the driver") from error
    everyone = [(nvml.nvmlDeviceGetUUID(gpu), nvml.nvmlDeviceGetName(gpu)) for gpu in handles]
    if listed is not None:
        uuids = [uuid for uuid, _ in everyone]
        entries = [entry.strip() for entry in listed.split(",") if entry.strip()]
        everyone = [everyone[_choose(uuids, entry)] for entry in entries]
    if not everyone:
        raise Unavailable("NVML finds no GPU that CUDA may see", hint=f"check {VISIBLE}")
    return everyone


def _choose(uuids: list[str], chosen: str | None) -> int:
    """The place of the GPU with that index, or with that beginning of a UUID; else the first."""
    if chosen is None:
        return 0
    if chosen.isdecimal() and int(chosen) < len(uuids):
        return int(chosen)
    matching = [i for i, uuid in enumerate(uuids) if uuid.startswith(chosen)]
    if len(matching) != 1:
        raise Unavailable(
            f"{chosen!r} is not one of the GPUs {', '.join(uuids)}",
            hint=f"name one by its index or UUID in {VARIABLE}",
        )
    return matching[0]
