"""Training a network: batches are slices of a CSR, each a function of the seed and the epoch alone."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from chromatic._files import replacing
from chromatic.errors import InputError, in_file
from chromatic.learn.inputs import Inputs
from chromatic.learn.networks import Network

PREDICTED_AT_ONCE = 8192

Show = Callable[[int, float], None]  # rows done since, and the loss


@dataclass(frozen=True)
class Training:
    """How a network is trained; the defaults are the paper's, without an early stop."""

    epochs: int = 5
    batch_size: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 1e-6
    patience: int | None = None  # epochs without a better loss on held-out rows; None: no early stop
    validation: float = 0.1  # the share of rows held out for that
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; expected 1 or more")
        if self.batch_size < 2:
            raise InputError("batch_size is 1; expected 2 or more, since batches are normalized")
        if self.patience is not None and (self.patience < 1 or not 0 < self.validation < 1):
            raise InputError(
                f"patience is {self.patience} with validation {self.validation}; expected 1 or more "
                "epochs, and a share between 0 and 1"
            )


@dataclass
class Progress:
    """Where a training is: what a checkpoint keeps beside the numbers of the network."""

    epoch: int = 0
    losses: tuple[float, ...] = ()  # of the training rows, a mean an epoch
    held_out: tuple[float, ...] = ()


def train(
    network: Network,
    inputs: Inputs,
    y: npt.NDArray[np.float32],
    how: Training,
    *,
    checkpoint: str | None = None,
    show: Show | None = None,
) -> Progress:
    """Train in place. With a checkpoint file, a training that was stopped goes on after its last epoch."""
    order = np.random.default_rng([how.seed, 0]).permutation(inputs.n_rows)
    n_held = max(1, int(how.validation * len(order))) if how.patience is not None else 0
    held, rows = np.sort(order[:n_held]), np.sort(order[n_held:])
    steps = Steps(network, how)
    progress = Progress()
    best: dict[str, Tensor] = {}
    if checkpoint is not None and os.path.exists(checkpoint):
        progress, best = _restore(checkpoint, network, steps, how)
    while progress.epoch < how.epochs and not _is_over(progress, how):
        loss = _epoch(network, steps, inputs, y, rows, how=how, epoch=progress.epoch, show=show)
        progress.epoch += 1
        progress.losses += (loss,)
        if n_held:
            progress.held_out += (_loss(predict(network, inputs, held), y[held]),)
            if progress.held_out[-1] == min(progress.held_out):
                best = {name: tensor.clone() for name, tensor in network.state_dict().items()}
        if checkpoint is not None:
            _keep(checkpoint, network, steps, how=how, progress=progress, best=best)
    if best:
        network.load_state_dict(best)
    network.zero_grad()  # gradients are as large as the network
    return progress


def predict(
    network: Network, inputs: Inputs, rows: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.float64]:
    """The probability of the label 1 of rows, or of all."""
    rows = np.arange(inputs.n_rows) if rows is None else rows
    out = np.empty(len(rows))
    at = 0
    network.eval()
    with torch.no_grad():
        for chosen, batch in inputs.batches(rows, PREDICTED_AT_ONCE):
            out[at : at + len(chosen)] = torch.sigmoid(network(batch).double()).cpu().numpy()
            at += len(chosen)
    return out


@contextlib.contextmanager
def seeded(*numbers: int) -> Iterator[None]:
    """Seed torch by these numbers for the block; the caller's random numbers stay as they were."""
    with torch.random.fork_rng():
        torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]))
        yield


@contextlib.contextmanager
def threads(n: int) -> Iterator[None]:
    """Let torch use n threads; more than one waste time on small batches, most of all beside other work."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def progress_bar(what: str, n_rows: int, wanted: bool = True) -> Iterator[Show | None]:
    """A bar of rows with the loss, on a terminal only."""
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    from rich import progress as parts
    from rich.console import Console

    columns = (
        "{task.description}",
        parts.BarColumn(),
        parts.TaskProgressColumn(),
        "loss {task.fields[loss]:.4f}",
    )
    with parts.Progress(
        *columns, parts.TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(what, total=n_rows, loss=float("nan"))
        yield lambda rows, loss: bar.update(task, advance=rows, loss=loss)


def _is_over(progress: Progress, how: Training) -> bool:
    if how.patience is None or not progress.held_out:
        return False
    return len(progress.held_out) - 1 - int(np.argmin(progress.held_out)) >= how.patience


class Steps:
    """Adam, and its lazy form for tables whose gradients are sparse, which decays no weight.

    The dense parameters and their gradients are views of one long vector each: to walk through a dozen
    small tensors takes longer than the arithmetic.
    """

    def __init__(self, network: Network, how: Training) -> None:
        lazy, lazy_blocks = network.tables.lazy
        sparse = [network.weights, network.embeddings] if lazy else []
        sparse += [network.blocks] if lazy_blocks else []
        dense = [p for p in network.parameters() if not any(p is table for table in sparse)]
        flat = torch.nn.Parameter(torch.cat([p.detach().flatten() for p in dense]))
        flat.grad = torch.zeros_like(flat)
        at = 0
        for parameter in dense:
            part = slice(at, at + parameter.numel())
            parameter.data = flat.data[part].view(parameter.shape)
            parameter.grad = flat.grad[part].view(parameter.shape)
            at = part.stop
        self.gradient = flat.grad
        fused = flat.device.type in ("cpu", "cuda")
        self.dense = torch.optim.Adam([flat], how.learning_rate, weight_decay=how.weight_decay, fused=fused)
        self.sparse = torch.optim.SparseAdam(sparse, how.learning_rate) if sparse else None

    def step(self, loss: Tensor) -> None:
        """Go down the gradient of a loss."""
        self.gradient.zero_()
        if self.sparse is not None:
            self.sparse.zero_grad()
        loss.backward()
        self.dense.step()
        if self.sparse is not None:
            self.sparse.step()

    @property
    def optimizers(self) -> list[torch.optim.Optimizer]:
        return [self.dense] if self.sparse is None else [self.dense, self.sparse]


def _epoch(
    network: Network,
    steps: Steps,
    inputs: Inputs,
    y: npt.NDArray[np.float32],
    rows: npt.NDArray[np.int64],
    *,
    how: Training,
    epoch: int,
    show: Show | None,
) -> float:
    """One pass over shuffled rows; the mean of the batches' losses, by rows."""
    order = rows[np.random.default_rng([how.seed, 1 + epoch]).permutation(len(rows))]
    device = network.bias.device
    network.train()
    total, done, shown, last = 0.0, 0, 0, time.monotonic()
    network.seed(how.seed, 1 + epoch)
    for chosen, batch in inputs.batches(order, how.batch_size):
        wanted = torch.from_numpy(y[chosen]).to(device)
        loss = functional.binary_cross_entropy_with_logits(network(batch), wanted)
        steps.step(loss)
        value = loss.item()
        total += value * len(chosen)
        done += len(chosen)
        if show is not None and (time.monotonic() - last > 0.2 or done == len(order)):
            show(done - shown, value)
            shown, last = done, time.monotonic()
    if not np.isfinite(total):
        raise InputError(
            "the loss is no number any more; expected a lower learning_rate, or smaller values"
        )
    return total / len(order)


def _loss(probabilities: npt.NDArray[np.float64], y: npt.NDArray[np.float32]) -> float:
    p = np.clip(probabilities, 1e-15, 1 - 1e-15)
    return float(-np.mean(np.where(y == 1, np.log(p), np.log1p(-p))))


def _keep(
    path: str,
    network: Network,
    steps: Steps,
    *,
    how: Training,
    progress: Progress,
    best: dict[str, Tensor],
) -> None:
    """Write all that the next epoch needs."""
    from safetensors.torch import save

    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    for i, optimizer in enumerate(steps.optimizers):
        for j, state in optimizer.state_dict()["state"].items():
            tensors |= {
                f"optimizer.{i}.{j}.{name}": torch.as_tensor(value) for name, value in state.items()
            }
    facts = {
        "identity": _identity(how, network),
        "epoch": progress.epoch,
        "losses": progress.losses,
        "held_out": progress.held_out,
    }
    # A fused Adam counts its steps in one tensor a parameter; safetensors wants memory of their own.
    tensors = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    data = save(tensors, {"chromatic": json.dumps(facts, sort_keys=True)})
    with replacing(path) as file:
        file.write(data)


def _restore(
    path: str, network: Network, steps: Steps, how: Training
) -> tuple[Progress, dict[str, Tensor]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            facts: dict[str, Any] = json.loads((file.metadata() or {}).get("chromatic", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, OSError) as error:
        raise in_file(path, None, f"is no checkpoint ({error}); delete it, or name another") from error
    if facts.get("identity") != _identity(how, network):
        raise in_file(path, None, "is of another training; delete it, or name another")
    network.load_state_dict(_under(tensors, "network."))
    for i, optimizer in enumerate(steps.optimizers):
        whole = optimizer.state_dict()
        states = _under(tensors, f"optimizer.{i}.")
        for key, tensor in states.items():
            place, name = key.split(".")
            # SparseAdam counts its steps in a plain number.
            value = int(tensor) if optimizer is steps.sparse and name == "step" else tensor
            whole["state"].setdefault(int(place), {})[name] = value
        optimizer.load_state_dict(whole)
    progress = Progress(int(facts["epoch"]), tuple(facts["losses"]), tuple(facts["held_out"]))
    return progress, _under(tensors, "best.")


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _identity(how: Training, network: Network) -> str:
    """What must not change between the parts of one training; it may be made longer."""
    sizes = {name: list(tensor.shape) for name, tensor in network.state_dict().items()}
    facts = {name: value for name, value in vars(how).items() if name != "epochs"}
    return json.dumps([facts, str(network.made), network.tables.lazy, sizes], sort_keys=True)
