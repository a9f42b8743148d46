"""How many tokens a cell asks for."""

from runner.cell import Cell
from runner.errors import Unsupported


def tokens_to_generate(cell: Cell) -> int:
    """The new tokens that the cell asks of each sample.

    Raises:
        Unsupported: it asks for none.
    """
    if cell.new_tokens is None:
        raise Unsupported(f"generation needs new_tokens, and {cell.id} has none")
    return cell.new_tokens
