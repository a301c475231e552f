"""Every figure that `chromatic graph` shows, beside its definition in obvious Python."""

import json
from itertools import pairwise

import naive
import numpy as np
import pytest
from commands import chromatic
from hypothesis import given
from hypothesis import strategies as st
from naive import appendix

from chromatic.coloring import Request, color, transpose
from chromatic.coloring.uniform import GraphOfRows, color_uniform
from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.graph.association import above_chance
from chromatic.graph.stream import edges_of
from chromatic.graph.study import study

pytestmark = pytest.mark.kernels

lists = st.lists(st.lists(st.integers(0, 12), max_size=6), min_size=1, max_size=14)
deltas = st.sampled_from([0.5, 0.01, 0.0001])


def read(lists, vocabulary=None):
    known = {"dense_threshold": 2} if vocabulary is None else {"vocabulary": vocabulary}
    data = Reader().read(lists, **known)
    return data, [set(part.tolist()) for part in np.split(data.rows.codes, data.rows.indptr[1:-1])]


@given(lists, lists, st.integers(1, 4), deltas)
def test_the_study_is_the_appendix_row_by_row(lists, others, max_k, delta):
    data, rows = read(lists)
    n_features = data.rows.n_features
    code = {int(data.vocabulary.name(v)): v for v in range(n_features)}
    test = [{code.get(v, -1 - v) for v in row} for row in others]
    studied = study(data.rows, max_k, test=read(others, data.vocabulary)[0].rows, delta=delta)
    for k in range(1, max_k + 1):
        held = studied.held_out[k - 1].features.tolist()
        assert naive.held_out(naive.thinned(rows, n_features, k), held) is not None
        for series, without in ((studied.per_k, []), (studied.filtered, held)):
            expected = appendix.of_graph(rows, n_features, k, without, delta) | {"k": k}
            expected |= appendix.of_test_rows(test, rows, k, without)
            expected |= {"held_out": len(held)} if series is studied.filtered else {}
            assert {name: values[k - 1] for name, values in series.items()} == pytest.approx(expected)
    needed = studied.filtered["colors_needed"]
    assert studied.suggested_k == needed.index(min(needed)) + 1
    never = appendix.pairs_never_seen(rows, n_features)
    assert studied.pairs_never_seen == pytest.approx(never)


@given(lists, st.integers(1, 3), deltas, st.integers(1, 40))
def test_what_a_uniform_coloring_promises_is_the_theorem(lists, k, delta, spare):
    data, rows = read(lists)
    graph = GraphOfRows(data.rows, k, transpose(data.rows))
    n_held = len(graph.held.features)
    request = Request("uniform", graph.fewest_colors - 1 + spare, min_edge_count=k)
    _, how = color_uniform(data.rows, request, delta=delta)
    m = 2 * graph.held.max_degree + spare
    expected = appendix.of_uniform(rows, data.rows.n_features, k, graph.held.features.tolist(), (m, delta))
    assert how.told == pytest.approx({"steps": how.steps, "updates_at_once": how.at_once} | expected)
    assert (how.held_out, how.palette) == (n_held, m)


@given(lists, st.integers(1, 3), st.sampled_from([1, 3, 100]))
def test_pairs_above_chance_are_those_of_fisher_s_test(lists, k, most):
    data, rows = read(lists)
    counts = transpose(data.rows).counts
    found = above_chance(edges_of(data.rows, k), counts, data.rows.n_rows, most)
    every = appendix.above_chance(rows, data.rows.n_features)
    expected = [pair for pair in every if pair[2] >= k][:most]
    assert [pair.log_p for pair in found] == pytest.approx([pair[4] for pair in expected], abs=1e-9)
    # pairs that chance makes equally likely may change places by rounding
    by_ends = {pair[:2]: pair[2:] for pair in every}
    for pair in found:
        told = pair.rows, pair.lift, pair.log_p
        assert told == pytest.approx(by_ends[pair.feature, pair.other], abs=1e-9)


def test_pairs_do_not_depend_on_how_edges_come_in_blocks():
    random = np.random.default_rng(3)
    data, _ = read([np.unique((300 ** random.random(7)).astype(int)).tolist() for _ in range(2000)])
    counts, n = transpose(data.rows).counts, data.rows.n_rows
    [block] = edges_of(data.rows)
    cuts = [0, *np.flatnonzero(np.diff(block[0])) + 1, len(block[0])]
    parts = [tuple(part[a:b] for part in block) for a, b in pairwise(cuts)]
    whole = above_chance([block], counts, n, 20)
    assert above_chance(parts, counts, n, 20) == whole and len(whole) == 20
    assert [pair.log_p for pair in whole] == sorted(pair.log_p for pair in whole)
    # those that were passed over were no better
    every = above_chance([block], counts, n, len(block[0]))
    assert every[:20] == whole
    with pytest.raises(InputError, match="pairs is 0; expected 1 or more"):
        above_chance([block], counts, n, 0)


def some_rows(n, seed):
    random = np.random.default_rng(seed)
    return [np.unique((30 ** random.random(5)).astype(int)).tolist() for _ in range(n)]


def test_the_command_shows_no_figure_without_a_definition(tmp_path):
    lists, others = some_rows(60, 0), some_rows(20, 1)
    for name, rows in (("train", lists), ("test", others)):
        lines = ["1 " + " ".join(f"{v}:1" for v in row) for row in rows]
        (tmp_path / f"{name}.svm").write_text("\n".join(lines))
    asked = "--coloring uniform --min-edge-count 2 --max-k 3 --delta 0.3 --pairs 4 --compare --json"
    command = ["graph", "train.svm", "--test", "test.svm", "--dense-threshold", "2", *asked.split()]
    done = chromatic(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    data, rows = read(lists)
    n_features, code = data.rows.n_features, {}
    code = {int(data.vocabulary.name(v)): v for v in range(n_features)}
    known = [{code[v] for v in row if v in code} for row in others]
    studied = study(data.rows, 3, delta=0.3, test=read(others, data.vocabulary)[0].rows)
    held = studied.held_out[1].features.tolist()
    coloring, how = color_uniform(data.rows, Request("uniform", min_edge_count=2))
    pairs = sum(len(row) * (len(row) - 1) / 2 for row in rows)
    first = appendix.of_graph(rows, n_features, 1)
    expected = {
        "rows": 60,
        "dense_features": 0,
        "sparse_features": len({v for row in lists for v in row}),
        "avg_nnz": sum(map(len, rows)) / 60,
        "max_nnz": max(map(len, rows)),
        "pairs_per_row": pairs / 60,
        "min_edge_count": 2,
        "colors": how.palette + len(held),
        "color_lower_bound": 1,
        "forced": 0,
        "conflicts": 0,
        "steps": how.steps,
        "updates_at_once": how.at_once,
        **appendix.of_uniform(rows, n_features, 2, held, (how.palette, 0.3)),
        "test_rows": 20,
        "collisions": appendix.collisions(known, coloring.colors.tolist()),
        "unseen_features": sum(v not in code for row in others for v in row),
        **{name: first[name] for name in ("edges", "avg_degree", "max_degree")},
        "pairs_never_seen": appendix.pairs_never_seen(rows, n_features),
        "suggested_k": studied.suggested_k,
    }
    apart = {name: told.pop(name) for name in ("per_k", "filtered", "time_split", "pairs", "colorings")}
    assert told.pop("coloring_seconds") > 0
    assert told == pytest.approx(expected)
    assert (apart["per_k"], apart["filtered"]) == (studied.per_k, studied.filtered)
    assert apart["time_split"] == pytest.approx(appendix.time_split(rows))
    names = {v: name for name, v in code.items()}
    for pair, (u, v, both, lift, log_p) in zip(
        apart["pairs"], [p for p in appendix.above_chance(rows, n_features) if p[2] >= 2], strict=False
    ):
        assert (pair["feature"], pair["other"], pair["rows"]) == (str(names[u]), str(names[v]), both)
        assert pair["lift"] == pytest.approx(lift)
        assert pair["p_value"] == pytest.approx(min(1, np.exp(log_p)))
        assert pair["log10_p_value"] == pytest.approx(min(0, log_p / np.log(10)))
    for price in apart["colorings"][:2]:
        order = {"order": price["order"]}
        colors, n_colors, *_ = naive.greedy(rows, n_features, price["coloring"], 10**6, **order)
        assert (price["colors"], price["min_edge_count"]) == (n_colors, 1)
        assert price["collisions"] == pytest.approx(appendix.collisions(known, colors))
    assert [price["order"] for price in apart["colorings"]][:3] == ["degree", "count", None]


@given(lists, st.sampled_from(["first-fit", "balanced"]), st.sampled_from(["proper", 3]))
def test_colors_by_degree_are_those_of_the_graph(lists, strategy, palette):
    data, rows = read(lists)
    coloring = color(data.rows, Request(strategy, palette, order="degree"))
    limit = 10**6 if palette == "proper" else palette
    colors, n_colors, forced, conflicts = naive.greedy(
        rows, data.rows.n_features, strategy, limit, order="degree"
    )
    assert coloring.colors.tolist() == colors
    assert (coloring.n_colors, coloring.forced, coloring.conflicts) == (n_colors, forced, conflicts)
