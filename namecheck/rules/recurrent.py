"""Recurrent layers: a step for every row, features that become hidden ones (torch.nn.LSTM)."""

from __future__ import annotations

from namecheck.names import UNKNOWN, Contradiction, Unknown
from namecheck.rules.dim_map import joined, without_right
from namecheck.rules.meetings import check_one
from namecheck.rules.registry import rule
from namecheck.values import ANY_DIM, OPEN, Dim, Dims, Size, Tensor, new_dim, product

Flag = bool | Unknown


@rule
def recurs(
    input: Tensor,
    input_size: Size = UNKNOWN,
    hidden_size: Size = UNKNOWN,
    num_layers: Size = 1,
    batch_first: Flag = False,
    bidirectional: Flag = False,
) -> tuple[Dims, Dims]:
    """The input's dims with hidden features, and the last states (nn.RNN, nn.GRU)."""
    _check_input(input.dims, (2, 3), input_size)
    states = _states(input.dims, hidden_size, num_layers, batch_first, bidirectional)
    return _outputs(input.dims, hidden_size, bidirectional), states


@rule
def recurs_with_cells(
    input: Tensor,
    input_size: Size = UNKNOWN,
    hidden_size: Size = UNKNOWN,
    num_layers: Size = 1,
    batch_first: Flag = False,
    bidirectional: Flag = False,
    proj_size: Size = 0,
) -> tuple[Dims, tuple[Dims, Dims]]:
    """The input's dims with hidden features; the last states and cells (nn.LSTM)."""
    _check_input(input.dims, (2, 3), input_size)
    shown = UNKNOWN if proj_size is UNKNOWN else proj_size or hidden_size
    how = (num_layers, batch_first, bidirectional)
    states = _states(input.dims, shown, *how), _states(input.dims, hidden_size, *how)
    return _outputs(input.dims, shown, bidirectional), states


def _check_input(dims: Dims, ranks: tuple[int, int], input_size: Size) -> None:
    if dims.rank is not None and dims.rank not in ranks:
        raise Contradiction(
            "NC207",
            f"RNN: Expected input to be {ranks[0]}D or {ranks[1]}D, got {dims.rank}D instead: "
            f"{dims.show()}",
            help="Rows, features, and perhaps a batch.",
        )
    what = "the features of the input and the layer's"
    check_one("RNN", what, dims.from_right(1), new_dim(input_size), labels=False)


def _outputs(dims: Dims, hidden: Size, bidirectional: Flag) -> Dims:
    directions = UNKNOWN if isinstance(bidirectional, Unknown) else 1 + bidirectional
    return joined(without_right(dims, 1), Dims((new_dim(product((hidden, directions))),)))


def _states(dims: Dims, hidden: Size, layers: Size, batch_first: Flag, bidirectional: Flag) -> Dims:
    """A state for every layer and direction, and every one of the batch."""
    if dims.rank is None:
        return OPEN
    directions = UNKNOWN if isinstance(bidirectional, Unknown) else 1 + bidirectional
    front = Dim(None, product((layers, directions)))
    if dims.rank == 2:
        return Dims((front, new_dim(hidden)))
    batch = ANY_DIM if isinstance(batch_first, Unknown) else dims[0 if batch_first else 1]
    return Dims((front, batch, new_dim(hidden)))


@rule
def recurs_once(input: Tensor, input_size: Size = UNKNOWN, hidden_size: Size = UNKNOWN) -> Dims:
    """The input's batch, with hidden features (nn.RNNCell, nn.GRUCell)."""
    _check_input(input.dims, (1, 2), input_size)
    return joined(without_right(input.dims, 1), Dims((new_dim(hidden_size),)))


@rule
def recurs_once_with_cell(
    input: Tensor, input_size: Size = UNKNOWN, hidden_size: Size = UNKNOWN
) -> tuple[Dims, Dims]:
    """A state and a cell (nn.LSTMCell)."""
    state = recurs_once(input, input_size, hidden_size)
    return state, state
