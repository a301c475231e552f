"""Different names with one hash: refused in training, and unseen afterwards where names are kept."""

import naive
import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from chromatic import ChromaticEncoder, FrequencyEncoder, HashingEncoder
from chromatic.data import Reader
from chromatic.data.counting import Extent, count
from chromatic.data.names import Names
from chromatic.data.objects import batches_of
from chromatic.errors import InputError

SAME = "chromatic", "f00772753NkKLCOt", "f0118509KlGtgR3x"  # made by naive.with_hash
MESSAGE = "the features '(.*)' and '(.*)' have one 64-bit hash"


def test_the_names_have_one_hash():
    assert len({naive.xxh64(name.encode()) for name in SAME}) == 1


def test_rows_with_both_are_refused_by_their_names():
    with pytest.raises(InputError, match=MESSAGE) as caught:
        FrequencyEncoder().fit([["a", SAME[0]], [SAME[1]]])
    assert all(name in str(caught.value) for name in SAME[:2])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("apart", [False, True])
def test_files_with_both_are_refused_in_one_chunk_or_two(tmp_path, apart, threads):
    between = "".join(f"1 f{i} g{i}\n" for i in range(5000)) if apart else ""
    path = tmp_path / "rows.tokens"
    path.write_text(f"0 {SAME[0]} x\n{between}1 {SAME[2]} x\n")
    with pytest.raises(InputError, match=MESSAGE):
        Reader(format="tokens", chunk_size=1 << 14, n_jobs=threads).read(path)


def test_batches_that_are_counted_one_by_one_are_refused():
    batches = [next(iter(batches_of([["a", "b"], [name, "a"]]))) for name in SAME[:2]]
    extent = Extent.of(batches)
    count(tuple(batches[:1] * 2), extent=extent)
    with pytest.raises(InputError, match=MESSAGE):
        count(tuple(batches), extent=extent)


def test_a_number_s_digits_may_have_the_hash_of_a_name():
    """Integers are strings in the company of strings, and are held against them."""
    other = naive.with_hash(naive.xxh64(b"123"), b"%08d" % 5)
    integers, strings = (next(iter(batches_of([[token]]))) for token in (123, other))
    with pytest.raises(InputError, match=MESSAGE):
        count([integers, strings])


def test_the_columns_of_an_npz_file_are_refused(tmp_path):
    names = Names.pack(name.encode() for name in SAME[:2])
    save_npz(tmp_path / "matrix.npz", csr_array(np.eye(2)))
    arrays = dict(np.load(tmp_path / "matrix.npz"))
    np.savez(tmp_path / "matrix.npz", **arrays, name_offsets=names.offsets, name_bytes=names.data)
    with pytest.raises(InputError, match=MESSAGE):
        Reader().read(tmp_path / "matrix.npz")


@pytest.mark.parametrize("dense_threshold", [0.1, 2.0])
def test_a_new_name_with_a_known_hash_is_unseen(dense_threshold):
    X = [[SAME[0], f"b{i % 40}"] if i % 2 else [f"b{i % 40}"] for i in range(200)]
    encoder = ChromaticEncoder(8, dense_threshold=dense_threshold, min_gain=0.0, collisions="drop")
    encoder.fit(X, [0, 1] * 100)
    known = encoder.transform([[SAME[0]]])
    assert known.nnz == 1 and encoder.encode_one([SAME[0]]).tolist() == known.indices.tolist()
    assert encoder.transform([[SAME[1]], ["new"]]).nnz == 0
    assert encoder.encode_one([SAME[1]]).tolist() == []
    with pytest.raises(InputError, match="not among the features of this model"):
        encoder.locate(SAME[1])
    both = [SAME[1], SAME[0], SAME[2]]
    assert encoder.transform([both]).indices.tolist() == known.indices.tolist()
    assert encoder.encode_one(both).tolist() == known.indices.tolist()
    encoder.set_params(handle_unknown="error")
    for name in (SAME[1], "new"):
        for encode in (encoder.encode_one, lambda row: encoder.transform([row])):
            with pytest.raises(InputError, match="1 features of 1 rows were not seen in training"):
                encode([name])


def test_names_are_one_feature_for_those_who_know_hashes_only():
    X = [[SAME[0], f"b{i % 40}"] if i % 2 else [f"b{i % 40}"] for i in range(200)]
    encoder = ChromaticEncoder(8, dense_threshold=2.0, min_gain=0.0, names=False, collisions="drop")
    encoder.fit(X, [0, 1] * 100)
    known = encoder.transform([[SAME[0], "b1"]])
    for row in ([SAME[1], "b1"], ["b1", *SAME]):
        assert encoder.transform([row]).indices.tolist() == known.indices.tolist()
        assert encoder.encode_one(row).tolist() == known.indices.tolist()


def test_strings_of_one_hash_are_kept_apart_as_they_come():
    [batch] = batches_of([[SAME[0], "a", SAME[1]], [SAME[2], SAME[1], "a", SAME[2]]])
    names = [name.decode() for name in batch.tokens.names.tolist()]
    assert [names[i] for i in batch.ids] == [SAME[0], "a", SAME[1], SAME[2], SAME[1], "a"]
    assert HashingEncoder(8).fit_transform([list(SAME)]).sum() in (3, -3)
