"""What every runtime promises to the harness."""

from collections.abc import Mapping
from typing import Protocol

from runner.cell import Cell, Job
from runner.inputs import Inputs
from runner.record import Proof


class Query(Protocol):
    """One bound query: inputs are on the device, the shape is fixed."""

    def __call__(self) -> object:
        """Execute, wait until the device has finished, return the outputs."""
        ...


class Session(Protocol):
    """A loaded model, ready to take queries of any shape of its job."""

    @property
    def device_name(self) -> str:
        """The physical device that was found."""
        ...

    @property
    def parameters(self) -> int:
        """Parameters of the loaded model."""
        ...

    @property
    def threads(self) -> int | None:
        """Threads that one operator may use; None where the runtime doesn't tell."""
        ...

    @property
    def libraries(self) -> Mapping[str, str]:
        """Versions of the libraries that take part."""
        ...

    @property
    def timed_region(self) -> str:
        """What lies between the two clock readings of an iteration."""
        ...

    def bind(self, cell: Cell, inputs: Inputs) -> Query:
        """Move the inputs to the device and return the query over them."""
        ...

    def all_finite(self, outputs: object) -> bool:
        """Whether a query's outputs hold neither NaN nor infinity.

        Raises:
            Unsupported: there is nothing to check.
        """
        ...

    def prove(self) -> tuple[Proof, dict[str, str]]:
        """Whether the claimed device holds model and inputs, and the facts that show it."""
        ...

    def close(self) -> None:
        """Give back what the session holds."""
        ...


class RuntimeModule(Protocol):
    """A module of this package. Importing it imports the runtime."""

    def open_session(self, job: Job, threads: int) -> Session:
        """Build the job's model, fill its weights, move it to the device.

        Raises:
            Unsupported, Unavailable
        """
        ...

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Whether this runtime says by that error that memory ran out."""
        ...
