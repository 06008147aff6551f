# SPDX-License-Identifier: Apache-2.0
"""Many threads on one model, weights swapped under them."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ait_runtime.model import load
from tests.runtime.toy import toy_inputs, toy_reference, toy_weights


def test_many_threads_many_shapes(toy):
    model = load(toy, threads=1)
    cases = []
    for i in range(40):  # more shapes than plans are kept
        inputs = toy_inputs(1 + i, 1 + i % 16, seed=i)
        cases.append((inputs, toy_reference(inputs, toy_weights())[0]))
    barrier = threading.Barrier(8)

    def work(thread: int) -> int:
        barrier.wait()
        wrong = 0
        for i in range(100):
            inputs, expected = cases[(thread * 7 + i) % len(cases)]
            wrong += not np.allclose(model(**inputs)[0], expected, rtol=1e-5, atol=1e-5)
        return wrong

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 0
    memory = model.peak_memory()
    assert memory.arena <= memory.arena_held <= 8 * memory.arena


def test_errors_belong_to_their_thread(toy):
    model = load(toy, threads=1)

    def work(size: int) -> bool:
        for _ in range(100):
            try:
                model(**dict(toy_inputs(), x=np.zeros((size, 3, 4), np.float32)))
            except Exception as error:
                if f"is {size};" not in str(error):
                    return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(100, 108)))


def test_swap_while_running(toy):
    """Every run sees one complete set: the old or the new, never a mixture."""
    model = load(toy, threads=1)
    inputs = toy_inputs(64, 16)
    sets = [toy_weights(0), toy_weights(1)]
    expected = []
    for weights in sets:
        model.set_weights(weights)
        expected.append(model(**inputs)[0])
    assert not np.array_equal(*expected)
    done = threading.Event()

    def work(_: int) -> tuple[int, set[int]]:
        runs, seen = 0, set()
        while not done.is_set() or runs < 100:
            y = model(**inputs)[0]
            which = [i for i in (0, 1) if np.array_equal(y, expected[i])]
            assert which, "outputs of neither set"
            seen.update(which)
            runs += 1
        return runs, seen

    with ThreadPoolExecutor(4) as pool:
        results = [pool.submit(work, i) for i in range(4)]
        for i in range(200):
            model.set_weights(sets[i % 2])
            time.sleep(1e-3)  # lets the others run
        done.set()
        seen = set().union(*(r.result()[1] for r in results))
    assert seen == {0, 1}


def test_swaps_do_not_pile_up(toy):
    """Old sets are freed: a thousand large ones would show."""
    model = load(toy)
    before = resident()
    for i in range(20_000):
        model.set_weights(toy_weights(i % 2) if i < 2 else {"scale": np.float32(i)}, partial=i >= 2)
    assert resident() - before < 4 << 20


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
