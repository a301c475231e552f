"""The experiments by name."""

from __future__ import annotations

from chromatic.errors import InputError
from chromatic.lab.experiments import (
    fig_linear,
    fig_split,
    fig_submodular,
    fig_uniform,
    over_k,
    split_rates,
    table_datasets,
    table_graph,
    table_networks,
)
from chromatic.lab.experiments.frame import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        table_datasets.EXPERIMENT,
        table_graph.EXPERIMENT,
        table_networks.EXPERIMENT,
        fig_linear.EXPERIMENT,
        fig_split.EXPERIMENT,
        fig_submodular.EXPERIMENT,
        *over_k.EXPERIMENTS,
        fig_uniform.EXPERIMENT,
        split_rates.EXPERIMENT,
    )
}


ALL = "all"


def experiments_of(name: str) -> list[Experiment]:
    """Return an experiment by name, or all of them.

    >>> [experiment.where for experiment in experiments_of("table-graph")], len(experiments_of("all"))
    (['Table 1'], 12)
    """
    if name == ALL:
        return list(EXPERIMENTS.values())
    if name not in EXPERIMENTS:
        raise InputError(
            f"there is no experiment {name!r}; expected {ALL}, or one of {', '.join(EXPERIMENTS)}"
        )
    return [EXPERIMENTS[name]]
