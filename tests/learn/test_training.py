import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array
from sklearn.utils.estimator_checks import check_estimator

from chromatic.errors import InputError
from chromatic.learn import training
from chromatic.learn.classifier import NetworkClassifier
from chromatic.learn.networks import ARCHITECTURES


@pytest.fixture(scope="module")
def rows():
    """Rows of forty columns, whose labels follow from pairs of them."""
    random = np.random.default_rng(0)
    x = csr_array(random_array((3000, 40), density=0.1, rng=random) > 0, dtype=np.float32)
    effects = random.normal(size=40)
    logits = x @ effects + 2 * (x[:, [0]].toarray()[:, 0] > 0) * (x @ effects)
    return x, (logits + 0.3 * random.normal(size=3000) > 0).astype(int)


def loss_of(network, x, y):
    p = network.predict_proba(x)[np.arange(len(y)), y]
    return -np.log(p).mean()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_beats_the_base_rate_on_other_rows(name, rows):
    x, y = rows
    network = NetworkClassifier(name, epochs=15, batch_size=64, learning_rate=0.01).fit(x[:2000], y[:2000])
    rate = y[:2000].mean()
    base = -np.log(np.where(y[2000:], rate, 1 - rate)).mean()
    assert loss_of(network, x[2000:], y[2000:]) < 0.8 * base


def test_codes_and_one_hot_columns_of_the_same_categories_learn_alike():
    random = np.random.default_rng(0)
    dims = np.array([5, 4, 3])
    codes = random.integers(0, dims, (2000, 3))
    y = (codes[:, 0] + codes[:, 1] + random.normal(size=2000) > 3.5).astype(int)
    starts = np.concatenate(([0], np.cumsum(dims - 1)))
    one_hot = np.zeros((2000, 9), np.float32)
    for field in range(3):
        there = codes[:, field] > 0
        one_hot[there, starts[field] + codes[there, field] - 1] = 1
    options = {"epochs": 10, "learning_rate": 0.01}
    by_codes = NetworkClassifier("fm", field_dims=dims, **options).fit(codes, y)
    by_columns = NetworkClassifier("fm", **options).fit(csr_array(one_hot), y)
    assert by_codes.n_parameters_ == by_columns.n_parameters_
    assert np.allclose(
        by_codes.predict_proba(codes), by_columns.predict_proba(csr_array(one_hot)), atol=1e-5
    )


@pytest.mark.parametrize("updates", ["dense", "lazy"])
def test_the_seed_decides_everything(rows, updates):
    x, y = rows
    networks = [NetworkClassifier("wd", epochs=2, updates=updates, random_state=s) for s in (1, 1, 2)]
    torch.manual_seed(5)
    first, same, other = (network.fit(x, y).predict_proba(x) for network in networks)
    assert (first == same).all() and (first != other).any()
    torch.manual_seed(5)
    before = torch.rand(1)
    torch.manual_seed(5)
    networks[0].fit(x, y)
    assert torch.rand(1) == before  # the caller's random numbers are left alone


@pytest.mark.parametrize("updates", ["dense", "lazy"])
def test_a_training_that_was_stopped_goes_on_as_if_it_had_not_been(rows, tmp_path, updates, monkeypatch):
    x, y = rows
    whole = NetworkClassifier("deepfm", epochs=4, updates=updates).fit(x, y)
    checkpoint = str(tmp_path / "training.safetensors")
    part = NetworkClassifier("deepfm", epochs=2, updates=updates, checkpoint=checkpoint).fit(x, y)
    epochs = []
    run = training._epoch
    monkeypatch.setattr(
        training,
        "_epoch",
        lambda *args, **options: epochs.append(options["epoch"]) or run(*args, **options),
    )
    rest = part.set_params(epochs=4).fit(x, y)
    assert epochs == [2, 3]
    assert (rest.predict_proba(x) == whole.predict_proba(x)).all()
    assert rest.losses_ == whole.losses_
    with pytest.raises(InputError, match="another training"):
        rest.set_params(learning_rate=0.1).fit(x, y)


def test_an_early_stop_keeps_the_best_epoch():
    random = np.random.default_rng(0)
    x, y = csr_array(np.eye(300, dtype=np.float32)), random.integers(0, 2, 300)  # nothing to learn
    network = NetworkClassifier("fm", epochs=50, learning_rate=0.1, batch_size=32, patience=2).fit(x, y)
    losses = network.held_out_losses_
    assert network.n_iter_ == len(losses) < 50
    assert int(np.argmin(losses)) == len(losses) - 3


def test_arrays_and_matrices_of_the_same_numbers_are_predicted_alike(rows):
    x, y = rows
    for fitted in (NetworkClassifier("fm", epochs=1).fit(z, y) for z in (x, x.toarray())):
        assert np.allclose(fitted.predict_proba(x), fitted.predict_proba(x.toarray()))


def test_saving_and_loading_keep_the_predictions(rows, tmp_path):
    x, y = rows
    names = np.array(["bad", "good"])[y]
    path = tmp_path / "network.safetensors"
    network = NetworkClassifier("nfm", epochs=1, hidden=(8, 4)).fit(x, names)
    network.save(path)
    loaded = NetworkClassifier.load(path)
    assert (loaded.predict_proba(x) == network.predict_proba(x)).all()
    assert (loaded.predict(x) == network.predict(x)).all()
    assert loaded.get_params() == network.get_params()
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="no saved network"):
        NetworkClassifier.load(path)
    with pytest.raises(InputError, match="no such file"):
        NetworkClassifier.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"architecture": "mlp"}, "expected one of lr, fm, nfm, deepfm, wd"),
        ({"batch_size": 1}, "expected 2 or more"),
        ({"epochs": 0}, "expected 1 or more"),
        ({"dropout": 1.0}, "below 1"),
        ({"updates": "eager"}, "auto, dense or lazy"),
        ({"device": "abacus"}, "device is 'abacus'"),
        ({"patience": 0}, "patience is 0"),
        ({"field_dims": [2] * 50}, "50 field_dims"),
        ({"field_dims": [1] * 40}, "within its field"),
    ],
)
def test_bad_parameters_are_told(rows, parameters, message):
    with pytest.raises(InputError, match=message):
        NetworkClassifier(**parameters).fit(*rows)


def test_labels_that_are_not_binary_are_refused(rows):
    x, _ = rows
    with pytest.raises(InputError, match="Only binary classification"):
        NetworkClassifier().fit(x, np.arange(3000) % 3)
    with pytest.raises(InputError, match="both classes"):
        NetworkClassifier().fit(x, np.ones(3000))


def test_a_loss_that_is_no_number_is_told(rows):
    x, y = rows
    with pytest.raises(InputError, match="lower learning_rate"):
        NetworkClassifier("fm", learning_rate=1e30, epochs=3).fit(x, y)


def test_the_classifier_has_the_manners_of_scikit_learn():
    network = NetworkClassifier("wd", epochs=30, batch_size=32, learning_rate=0.02)
    results = check_estimator(network, on_fail=None)
    failed = [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")]
    assert len(results) > 40 and failed == []
