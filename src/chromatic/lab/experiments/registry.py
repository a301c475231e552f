"""The experiments by name."""

from __future__ import annotations

from chromatic.errors import InputError
from chromatic.lab.experiments import (
    fig_colors_needed,
    fig_filtered,
    fig_good_turing,
    fig_linear,
    fig_max_degree,
    fig_split,
    fig_submodular,
    fig_uniform,
    split_rates,
    table_datasets,
    table_graph,
    table_networks,
)
from chromatic.lab.experiments.frame import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        table_datasets,
        table_graph,
        table_networks,
        fig_linear,
        fig_split,
        fig_submodular,
        fig_good_turing,
        fig_max_degree,
        fig_filtered,
        fig_colors_needed,
        fig_uniform,
        split_rates,
    )
}


def experiment_of(name: str) -> Experiment:
    """An experiment by name.

    >>> experiment_of("table-graph").where
    'Table 1'
    """
    if name not in EXPERIMENTS:
        raise InputError(f"there is no experiment {name!r}; expected one of {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
