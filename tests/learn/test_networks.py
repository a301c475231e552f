import naive
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from chromatic.encoding.encoded import Encoded
from chromatic.errors import InputError
from chromatic.learn.bags import Entries, bag, bag_by_operations
from chromatic.learn.inputs import Inputs, Layout
from chromatic.learn.networks import ARCHITECTURES, Network, architecture, count_parameters

DIMS = np.array([4, 2, 1, 3])


def one_hot(values=True, n=9, seed=0):
    """Nine rows of seven columns, one row empty, and two dense columns of which one is wide."""
    random = np.random.default_rng(seed)
    there = random.random((n, 7)) < 0.4
    there[2] = False
    rows, columns = np.nonzero(there)
    indptr = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
    weights = random.normal(size=len(rows)) if values else None
    dense = np.column_stack((random.integers(0, 2, n), 50 * random.normal(size=n)))
    return Layout.of(Encoded(indptr, columns.astype(np.int32), weights, 7, dense)), Encoded(
        indptr, columns.astype(np.int32), weights, 7, dense
    )


def codes(n=9, seed=0):
    random = np.random.default_rng(seed)
    matrix = random.integers(0, DIMS, (n, len(DIMS)))
    rows, columns = np.nonzero(matrix)
    indptr = np.concatenate(([0], np.cumsum((matrix > 0).sum(axis=1))))
    encoded = Encoded(
        indptr, columns.astype(np.int32), matrix[rows, columns], len(DIMS), random.normal(size=(n, 1))
    )
    return Layout.of(encoded, DIMS), encoded


KINDS = {"values": one_hot, "ones": lambda: one_hot(values=False), "codes": codes}


def batch_of(inputs):
    (_, batch), *others = inputs.batches(np.arange(inputs.n_rows), 100)
    assert not others
    return batch


def rows_of(inputs):
    values = inputs.values if len(inputs.values) else np.ones(len(inputs.index))
    pieces = zip(inputs.indptr, inputs.indptr[1:], strict=False)
    return [list(zip(inputs.index[a:b].tolist(), values[a:b].tolist(), strict=True)) for a, b in pieces]


def dense_logits(network, inputs, layout):
    """The paper's formulas in double precision, over the whole matrix and the whole concatenation."""
    x = torch.zeros(inputs.n_rows, inputs.n_embeddings, dtype=torch.double)
    for row, entries in enumerate(rows_of(inputs)):
        for j, value in entries:
            x[row, j] += value
    w, e = network.weights, network.embeddings
    logits = network.bias + (x @ w)[:, 0]
    weighted = x[:, :, None] * e
    products = (weighted.sum(1) ** 2 - (weighted**2).sum(1)) / 2
    made = network.made
    if made.pairs and not made.pooled:
        logits = logits + products.sum(1)
    if made.pooled:
        return logits + network.hidden(products)[:, 0]
    if made.hidden:
        of_field = torch.nn.functional.one_hot(torch.from_numpy(layout.fields).long(), layout.n_fields)
        side_by_side = torch.einsum("rjk,jf->rfk", weighted, of_field.double()).flatten(1)
        return logits + network.hidden(side_by_side @ network.blocks.view(-1, made.hidden[0]))[:, 0]
    return logits


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_network_and_its_gradient_agree_with_the_dense_formula(name, kind):
    torch.manual_seed(0)
    layout, encoded = KINDS[kind]()
    inputs = layout.inputs(encoded)
    network = Network(architecture(name), layout.fields, layout.n_fields, dropout=0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_()
    twin = Network(architecture(name), layout.fields, layout.n_fields, dropout=0).double()
    twin.load_state_dict(network.state_dict())
    logits_of_kernels = network(batch_of(inputs))
    expected = dense_logits(twin, inputs, layout)
    torch.testing.assert_close(logits_of_kernels.double(), expected, rtol=1e-4, atol=1e-4)
    y = torch.arange(inputs.n_rows) % 2
    for logits in (logits_of_kernels, expected):
        torch.nn.functional.binary_cross_entropy_with_logits(logits, y.to(logits.dtype)).backward()
    for (what, ours), theirs in zip(network.named_parameters(), twin.parameters(), strict=True):
        if ours.numel():
            torch.testing.assert_close(ours.grad.double(), theirs.grad, rtol=1e-3, atol=1e-4, msg=what)


@pytest.mark.kernels
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lazy", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_kernels_and_operations_agree_in_sums_and_gradients(name, lazy, kind):
    layout, encoded = KINDS[kind]()
    lazy = lazy[0], lazy[1] and kind != "codes"  # blocks that several embeddings share are never lazy
    networks = []
    for way in (bag, bag_by_operations):
        torch.manual_seed(0)
        network = Network(architecture(name), layout.fields, layout.n_fields)
        tables = network.tables.__class__(**(vars(network.tables) | {"lazy": lazy}))
        entries = Entries.of(batch_of(layout.inputs(encoded)), layout.fields, torch.device("cpu"))
        sums = way(tables, entries)
        loss = sum(((i + 1) * s * torch.arange(1, len(s) + 1)[(...,) + (None,) * (s.dim() - 1)]).sum()
                   for i, s in enumerate(sums))  # fmt: skip
        loss.backward()
        networks.append((sums, network))
    (ours, network), (theirs, twin) = networks
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    for (what, a), b in zip(network.named_parameters(), twin.parameters(), strict=True):
        if b.grad is not None and b.numel():
            left, right = (g.to_dense() if g.is_sparse else g for g in (a.grad, b.grad))
            assert a.grad.is_sparse == b.grad.is_sparse, what
            torch.testing.assert_close(left, right, rtol=1e-4, atol=1e-4, msg=what)


@pytest.mark.kernels
@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_those_of_their_definition(kind):
    torch.manual_seed(0)
    layout, encoded = KINDS[kind]()
    inputs = layout.inputs(encoded)
    network = Network(architecture("deepfm", 3, (2,)), layout.fields, layout.n_fields)
    _, products, first = bag(
        network.tables, Entries.of(batch_of(inputs), layout.fields, torch.device("cpu"))
    )
    embeddings, rows = network.embeddings.tolist(), rows_of(inputs)
    assert np.allclose(products.tolist(), naive.pairwise_products(rows, embeddings), atol=1e-4)
    side_by_side = naive.concatenation(rows, embeddings, layout.fields.tolist(), layout.n_fields)
    weights = network.blocks.detach().numpy().reshape(-1, 2)
    assert np.allclose(first.tolist(), np.array(side_by_side) @ weights, atol=1e-4)


@pytest.mark.kernels
@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=8),
    size=st.integers(1, 9),
    weighted=st.booleans(),
    data=st.data(),
)
def test_batches_are_the_rows_of_the_order(lengths, size, weighted, data):
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    index = np.array(
        data.draw(st.lists(st.integers(0, 5), min_size=sum(lengths), max_size=sum(lengths))), np.int32
    )
    values = np.arange(len(index) if weighted else 0, dtype=np.float32)
    order = np.array(data.draw(st.permutations(range(len(lengths)))))
    seen = []
    for rows, batch in Inputs(indptr, index, values, 6).batches(order, size):
        arrays = [array.tolist() for array in (batch.unique, batch.indptr, batch.local, batch.values)]
        assert tuple(arrays) == naive.gather(indptr, index, values, rows)
        assert len(rows) > 1 or len(order) == 1 or size == 1
        seen += rows.tolist()
    assert seen == order.tolist()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_parameters_are_counted_without_making_the_network(name):
    for layout, _ in (one_hot(), codes()):
        network = Network(architecture(name), layout.fields, layout.n_fields)
        assert count_parameters(network.made, len(layout.fields), layout.n_fields) == network.n_parameters


def test_layers_over_codes_depend_on_the_fields_and_not_on_the_codes():
    layout, _ = codes()
    assert layout.n_fields == 4  # three with codes, and the dense column
    wider = Layout(5, (40, 20, 1, 30), (1.0,))
    blocks = [Network(architecture("wd"), x.fields, x.n_fields).blocks.shape for x in (layout, wider)]
    assert blocks[0] == blocks[1] == (4, 256)


def test_codes_outside_of_their_field_are_refused():
    layout, encoded = codes()
    for added in (3, -1, 0.5):
        wrong = Encoded(encoded.indptr, encoded.columns, encoded.values + added, 4, encoded.dense)
        with pytest.raises(InputError, match="within its field"):
            layout.inputs(wrong)


@pytest.mark.parametrize(
    "given", [("mlp", None, None), ("wd", 0, None), ("wd", None, ()), ("fm", None, (4,)), ("nfm", 4, (0,))]
)
def test_sizes_that_make_no_network_are_refused(given):
    with pytest.raises(InputError, match="expected"):
        architecture(*given)
