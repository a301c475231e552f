import _thread
import subprocess
import sys
import threading

import pytest

from chromatic import _room, _threads
from chromatic._threads import ordered_map


def test_results_come_in_order_and_the_first_error_of_an_item_ends_the_map():
    def halve(i):
        if i == 7:
            raise ValueError("seven")
        return i / 2

    before = []
    with pytest.raises(ValueError, match="seven"):
        for half in ordered_map(halve, range(20), threads=3):
            before.append(half)
    assert before == [i / 2 for i in range(7)]


def test_no_more_threads_are_started_than_there_are_items():
    seen = set()
    barrier = threading.Barrier(2)

    def note(i):
        seen.add(threading.get_ident())
        barrier.wait()

    list(ordered_map(note, range(2), threads=50))
    assert len(seen) == 2


def test_items_are_not_drawn_far_ahead():
    drawn = []
    results = ordered_map(abs, (drawn.append(i) or i for i in range(100)), threads=2)
    next(results)
    assert len(drawn) <= 3
    results.close()
    assert len(drawn) <= 3


def test_a_thread_that_cannot_start_is_a_lack_of_memory(monkeypatch):
    def refuse(*args):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    with pytest.raises(MemoryError):
        list(ordered_map(abs, [1], threads=2))


def test_a_thread_that_dies_before_it_begins_is_a_lack_of_memory(monkeypatch):
    monkeypatch.setattr(_threads, "PATIENCE", 0.001)
    monkeypatch.setattr(_thread, "start_new_thread", lambda *args: 0)
    with pytest.raises(MemoryError):
        list(ordered_map(abs, [1], threads=2))


def test_nobody_waits_for_a_thread_that_waits_for_one_that_ran_out_of_memory(monkeypatch):
    monkeypatch.setattr(_threads, "PATIENCE", 0.001)
    lock, began = threading.Lock(), threading.Event()

    def work(i):
        if i == 0:  # as a thread that wants the lock of the compiler
            began.set()
            with lock:
                return
        began.wait()
        raise MemoryError("no room")

    with lock, pytest.raises(MemoryError, match="no room"):
        list(ordered_map(work, range(2), threads=2))


def test_a_kernel_is_not_loaded_where_there_is_no_room_for_it(tmp_path):
    script = (
        "import resource, sys, numpy as np\n"
        "from chromatic.data.hashing import hash_bytes\n"
        "from chromatic._kernel import FOR_A_KERNEL\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, [used + FOR_A_KERNEL // 2] * 2)\n"
        "try:\n    hash_bytes(np.zeros(9, np.uint8))\n"
        "except MemoryError:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "refused\n", "")


def test_an_error_of_a_library_that_found_no_memory_is_told_by_what_it_handled():
    try:
        try:
            raise OSError("libllvm.so: failed to map segment from shared object")
        except OSError as error:
            raise OSError("could not find libllvm.so") from error
    except OSError as error:
        assert _room.is_lack_of_memory(error)
    assert not _room.is_lack_of_memory(OSError("could not find libllvm.so"))
    assert _room.is_lack_of_memory(SystemError("error return without exception set"))
