"""Recurrent layers: one step for each row; features become hidden features (torch.nn.LSTM)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from namecheck.core.dims import ANY_DIM, OPEN, Dim, Dims, Size, new_dim, product
from namecheck.core.names import UNKNOWN, Contradiction, Unknown
from namecheck.core.tensors import Many, Tensor
from namecheck.rules.arguments import Flag
from namecheck.rules.broadcasting import broadcast, check_one
from namecheck.rules.dim_map import joined, take_names, without_right
from namecheck.rules.products import linear, linear_natively
from namecheck.rules.registry import rule
from namecheck.rules.splits import chunk

# The initial state of a layer with cells: a state and a cell.
InitialStates = Sequence[Tensor | Unknown] | Unknown | None


@rule(memory="recurs")
def recurs(
    input: Tensor,
    input_size: Size = UNKNOWN,
    hidden_size: Size = UNKNOWN,
    num_layers: Size = 1,
    batch_first: Flag = False,
    bidirectional: Flag = False,
    hx: Tensor | Unknown | None = None,
) -> tuple[Dims, Dims]:
    """The input's dims with hidden features, and the last states (nn.RNN, nn.GRU)."""
    _check_input(input.dims, (2, 3), input_size)
    states = _states(input.dims, hidden_size, num_layers, batch_first, bidirectional)
    _check_state(hx, states)
    return _outputs(input.dims, hidden_size, bidirectional), states


@rule(memory="recurs")
def recurs_with_cells(
    input: Tensor,
    input_size: Size = UNKNOWN,
    hidden_size: Size = UNKNOWN,
    num_layers: Size = 1,
    batch_first: Flag = False,
    bidirectional: Flag = False,
    proj_size: Size = 0,
    hx: InitialStates = None,
) -> tuple[Dims, tuple[Dims, Dims]]:
    """The input's dims with hidden features; the last states and cells (nn.LSTM)."""
    _check_input(input.dims, (2, 3), input_size)
    shown = UNKNOWN if proj_size is UNKNOWN else proj_size or hidden_size
    how = (num_layers, batch_first, bidirectional)
    states = _states(input.dims, shown, *how), _states(input.dims, hidden_size, *how)
    _check_states(hx, states)
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
    check_one("RNN", what, dims.from_right(1), new_dim(input_size), by_label=False)


def _check_states(initial_states: InitialStates, states: tuple[Dims, Dims]) -> None:
    if isinstance(initial_states, (tuple, list)) and len(initial_states) == 2:
        for one, state in zip(initial_states, states, strict=True):
            _check_state(one, state)


def _check_state(initial: Tensor | Unknown | None, state: Dims) -> None:
    """Check an initial state: it has the dims of the final one."""
    if not isinstance(initial, Tensor):
        return
    if initial.dims.rank is None or state.rank is None:
        return
    if initial.dims.rank != state.rank:
        raise Contradiction(
            "NC207",
            f"RNN: Expected hidden state to be {state.rank}D, got {initial.dims.rank}D instead: "
            f"{initial.dims.show()}",
            help="There is a state for every layer, direction and element of the batch.",
        )
    for place, pair in enumerate(zip(initial.dims.prefix, state.prefix, strict=True)):
        check_one("RNN", f"dim {place} of the hidden state and of the layer's", *pair)


def _check_step(initial: Tensor | Unknown | None, state: Dims) -> None:
    """Check that the rows of the previous state match those of the input (recorded: nn.GRUCell)."""
    if isinstance(initial, Tensor) and initial.dims.min_rank:
        rows = joined(without_right(initial.dims, 1), Dims((Dim(None),)))
        broadcast(rows, state)
    _check_state(initial, state)


def _outputs(dims: Dims, hidden: Size, bidirectional: Flag) -> Dims:
    directions = UNKNOWN if isinstance(bidirectional, Unknown) else 1 + bidirectional
    return joined(without_right(dims, 1), Dims((new_dim(product((hidden, directions))),)))


def _states(dims: Dims, hidden: Size, count: Size, batch_first: Flag, bidirectional: Flag) -> Dims:
    """A state for every layer and direction, and for each element of the batch."""
    if dims.rank is None:
        return OPEN
    directions = UNKNOWN if isinstance(bidirectional, Unknown) else 1 + bidirectional
    front = new_dim(product((count, directions)))
    if dims.rank == 2:
        return Dims((front, new_dim(hidden)))
    batch = ANY_DIM if isinstance(batch_first, Unknown) else dims[0 if batch_first else 1]
    return Dims((front, batch, new_dim(hidden)))


@rule(memory="fresh", aligns="matched")
def recurs_once(
    input: Tensor,
    input_size: Size = UNKNOWN,
    hidden_size: Size = UNKNOWN,
    hx: Tensor | Unknown | None = None,
) -> Dims:
    """The input's batch, with hidden features (nn.RNNCell)."""
    _check_input(input.dims, (1, 2), input_size)
    state = joined(without_right(input.dims, 1), Dims((new_dim(hidden_size),)))
    _check_step(hx, state)
    return state


@rule(memory="fresh", aligns="matched")
def recurs_once_gated(
    input: Tensor,
    input_size: Size = UNKNOWN,
    hidden_size: Size = UNKNOWN,
    hx: Tensor | Unknown | None = None,
) -> Dims:
    """The input's batch, with the features of the previous state (nn.GRUCell)."""
    return _kept_state(hx, recurs_once(input, input_size, hidden_size, hx))


def _kept_state(initial: Tensor | Unknown | None, state: Dims) -> Dims:
    """The gated state: a gate keeps part of the previous state, and so its names."""
    if initial is None:
        return state
    if not isinstance(initial, Tensor):
        return state.rename([UNKNOWN if name is None else name for name in state.names])
    return broadcast(state, initial.dims)


@rule(memory="fresh")
def recurs_once_with_cell(
    input: Tensor,
    input_size: Size = UNKNOWN,
    hidden_size: Size = UNKNOWN,
    hx: InitialStates = None,
) -> tuple[Dims, Dims]:
    """A state and a cell, with the features of the previous cell (nn.LSTMCell)."""
    state = recurs_once(input, input_size, hidden_size)
    for initial in hx if isinstance(hx, (tuple, list)) else ():
        _check_step(initial, state)
    if hx is None:
        return state, state
    cell = hx[1] if isinstance(hx, (tuple, list)) and len(hx) == 2 else UNKNOWN
    kept = _kept_state(cell, state)
    return kept, kept


@rule(memory="unknown")
def recurs_by_weights(
    input: Tensor,
    previous: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Dims:
    """The products of the state and of the input with their weights, unified (rnn_tanh_cell)."""
    return broadcast(linear(previous, w_hh, b_hh), linear(input, w_ih, b_ih))


@rule
def recurs_by_weights_natively(
    input: Tensor,
    previous: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Dims:
    """As `recurs_by_weights`; torch 2.12 adds to the product of the state in place."""
    of_state = linear_natively(previous, w_hh, b_hh)
    return take_names(of_state, broadcast(of_state, linear_natively(input, w_ih, b_ih)))


@rule(memory="unknown")
def recurs_by_gates(
    input: Tensor,
    previous: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Dims:
    """One of three gates, unified with the previous state, part of which it keeps (gru_cell)."""
    gates = recurs_by_weights(input, previous, w_ih, w_hh, b_ih, b_hh)
    return broadcast(previous.dims, _gate(gates, 3))


@rule
def recurs_by_gates_natively(
    input: Tensor,
    previous: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Dims:
    """As `recurs_by_gates`; torch 2.12 adds to the product of the state in place."""
    gates = recurs_by_weights_natively(input, previous, w_ih, w_hh, b_ih, b_hh)
    return broadcast(previous.dims, _gate(gates, 3))


@rule(memory="unknown")
def recurs_by_gates_with_cell(
    input: Tensor,
    previous_states: Sequence[Tensor] | Many,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Dims, Dims]:
    """A state and a cell: one of four gates, unified with the previous cell (lstm_cell)."""
    return _state_and_cell(
        previous_states,
        lambda state: recurs_by_weights(input, state, w_ih, w_hh, b_ih, b_hh),
    )


@rule
def recurs_by_gates_with_cell_natively(
    input: Tensor,
    previous_states: Sequence[Tensor] | Many,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Dims, Dims]:
    """As `recurs_by_gates_with_cell`; torch 2.12 adds to the product of the state in place."""
    return _state_and_cell(
        previous_states,
        lambda state: recurs_by_weights_natively(input, state, w_ih, w_hh, b_ih, b_hh),
    )


def _state_and_cell(
    previous_states: Sequence[Tensor] | Many, gates_of: Callable[[Tensor], Dims]
) -> tuple[Dims, Dims]:
    """The state and the cell, which keep a part of the previous cell; gates depend on the state."""
    if isinstance(previous_states, Many):
        return OPEN, OPEN
    if len(previous_states) != 2:
        raise Contradiction(
            "NC206", "lstm_cell expects two hidden states", help="Give a state and a cell."
        )
    state, previous_cell = previous_states
    kept = broadcast(_gate(gates_of(state), 4), previous_cell.dims)
    return kept, kept


def _gate(gates: Dims, count: int) -> Dims:
    """One of so many gates, which are parts of the last dim."""
    if gates.rank is None:
        return OPEN
    parts = chunk(Tensor(gates), count, -1)
    return parts.each.dims if isinstance(parts, Many) else parts[0]
