# SPDX-License-Identifier: Apache-2.0
"""Calls: values, kinds of tensors, outputs, arguments, errors."""

from __future__ import annotations

import gc
import subprocess
import sys
import timeit
import weakref

import ml_dtypes
import numpy as np
import pytest
import torch

from ait_core.errors import AITError, DTypeError, FaultError, InputError, ShapeError
from ait_runtime.model import load
from tests.runtime.toy import toy_inputs, toy_reference, toy_weights


@pytest.fixture(scope="module")
def model(toy):
    return load(toy)


@pytest.mark.parametrize("batch, seq", [(2, 3), (1, 1), (64, 16), (0, 5)])
def test_matches_reference(model, batch, seq):
    inputs = toy_inputs(batch, seq)
    y, copy, total = model(**inputs)
    expected = toy_reference(inputs, toy_weights())
    np.testing.assert_allclose(y, expected[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(copy, y)
    np.testing.assert_allclose(total, expected[2], rtol=1e-4, atol=1e-4)
    assert total.shape == () and y.shape == (batch, seq, 4)


def test_torch_in_torch_out(model):
    inputs = toy_inputs()
    outputs = model(**{name: torch.from_numpy(array) for name, array in inputs.items()})
    assert all(type(o) is torch.Tensor for o in outputs)
    for ours, expected in zip(outputs, model(**inputs), strict=True):
        np.testing.assert_array_equal(ours.numpy(), expected)


def test_first_tensor_decides_the_kind(model):
    x, index, flat = toy_inputs().values()
    assert isinstance(model(x, torch.from_numpy(index), torch.from_numpy(flat))[0], np.ndarray)
    assert isinstance(model(torch.from_numpy(x), index, flat)[0], torch.Tensor)


def test_runtime_imports_no_torch(toy):
    code = (
        "import sys, numpy as np; from ait_runtime.model import load; "
        f"load({str(toy)!r})(np.ones((1, 1, 4), np.float32), np.zeros(1, np.int64), np.ones(1, np.float32)); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


DTYPES = {
    "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64, "i64": np.int64,
    "i32": np.int32, "i16": np.int16, "i8": np.int8, "u8": np.uint8, "boolean": np.bool_,
}  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype(build, tmp_path, name):
    dtype = np.dtype(DTYPES[name])
    defines = {"IDENTITY_DTYPE": f"DType::{name}", "IDENTITY_BYTES": str(dtype.itemsize)}
    model = load(build(tmp_path / "identity.so", "identity.cpp", defines))
    values = np.array([0, 1, 1, 0, 1]).astype(dtype)
    result = model(values)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, values)
    tensor = torch.tensor([0, 1, 1, 0, 1]).to(getattr(torch, dtype.name))
    result = model(tensor)
    assert result.dtype == tensor.dtype and torch.equal(result, tensor)
    wrong = np.zeros(3, np.float32 if name != "f32" else np.float64)
    with pytest.raises(DTypeError, match=f"'x' has dtype {wrong.dtype}; expected {dtype.name}"):
        model(wrong)
    with pytest.raises(DTypeError, match="uint16"):
        model(np.zeros(3, np.uint16))


def test_longlong_is_int64(model):
    x, index, flat = toy_inputs().values()
    np.testing.assert_array_equal(model(x, index.astype(np.longlong), flat)[0], model(x, index, flat)[0])


def unaligned(array):
    """The same values at an address that is no multiple of the item size."""
    raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
    raw[:] = np.frombuffer(array.tobytes(), np.uint8)
    return raw.view(array.dtype).reshape(array.shape)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[::-1].copy()[::-1],
        lambda x: x.astype(">f4"),
        unaligned,
        lambda x: torch.from_numpy(x).transpose(0, 2).contiguous().transpose(0, 2),
        lambda x: torch._neg_view(torch.from_numpy(-x)),
        lambda x: torch.nn.Parameter(torch.from_numpy(x), requires_grad=False),
    ],
)
def test_inputs_that_are_not_plain(model, change):
    inputs = toy_inputs()
    changed = dict(inputs, x=change(inputs["x"]))
    np.testing.assert_array_equal(np.asarray(model(**changed)[0]), model(**inputs)[0])


class Producer:
    """A DLPack producer without a namespace of its own."""

    def __init__(self, tensor, old: bool = False) -> None:
        self.tensor, self.old, self.exports = tensor, old, 0

    def __dlpack__(self, **arguments):
        if self.old and arguments:
            raise TypeError("unexpected keyword argument")
        self.exports += 1
        return self.tensor.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_dlpack(model, old, strided, library):
    inputs = toy_inputs()
    expected = model(**inputs)[0]
    x = inputs["x"]
    if strided:
        x = np.asfortranarray(np.repeat(x, 2, axis=2))[:, :, ::2]
    source = torch.from_numpy(x) if library == "torch" else x
    producer = Producer(source, old)
    count = sys.getrefcount(source)
    for _ in range(3):
        y = model(producer, inputs["index"], inputs["flat"])[0]
    assert producer.exports == 3 and isinstance(y, np.ndarray)
    np.testing.assert_array_equal(y, expected)
    assert sys.getrefcount(source) == count


def test_dlpack_memory_lives_until_the_call_ends(identity):
    released = []

    class Once:
        """Its memory is known to the capsule only."""

        def __init__(self):
            self.array = np.arange(100_000, dtype=np.float32)
            weakref.finalize(self.array, released.append, True)

        def __dlpack__(self, **_):
            array, self.array = self.array, None
            return array.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    y = load(identity)(Once())
    gc.collect()
    assert released == [True]
    np.testing.assert_array_equal(y, np.arange(100_000, dtype=np.float32))


class Namespaced(Producer):
    """A producer of the array API: its namespace makes the outputs."""

    def __array_namespace__(self):
        return Namespaced

    @staticmethod
    def from_dlpack(other):
        return Namespaced(torch.from_dlpack(other))


def test_outputs_of_another_library(identity):
    y = load(identity)(Namespaced(torch.arange(5.0)))
    gc.collect()
    assert isinstance(y, Namespaced) and torch.equal(y.tensor, torch.arange(5.0))


def test_torch_subclass(identity):
    class Mine(torch.Tensor):
        pass

    y = load(identity)(torch.arange(5.0).as_subclass(Mine))
    assert type(y) is torch.Tensor and torch.equal(y, torch.arange(5.0))


def test_no_copy_of_contiguous_inputs(identity):
    """A copy of 256 MB would show in the peak memory of the process."""
    code = (
        "import resource, numpy as np; from ait_runtime.model import load; "
        f"m = load({str(identity)!r}); x = np.ones(64 << 20, np.float32); out = np.ones_like(x); "
        "m(x[:8], out=out[:8]); "
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; m(x, out=out); "
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_out(model):
    inputs = toy_inputs()
    expected = model(**inputs)
    out = tuple(np.full_like(e, 7) for e in expected)
    result = model(**inputs, out=out)
    assert all(r is o for r, o in zip(result, out, strict=True))
    for o, e in zip(out, expected, strict=True):
        np.testing.assert_array_equal(o, e)
    mixed = [torch.zeros(2, 3, 4), np.zeros((2, 3, 4), np.float32), torch.zeros(())]
    for o, e in zip(model(**inputs, out=mixed), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(o), e)


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: np.zeros(4, np.float32), ShapeError, r"'y' has shape \[4\]; these inputs give \[3\]"),
        (lambda: np.zeros((3, 1), np.float32), ShapeError, "'y' has 2 dims; expected 1"),
        (lambda: np.zeros(3, np.float64), DTypeError, "'y' has dtype float64; expected float32"),
        (lambda: np.zeros(6, np.float32)[::2], InputError, "'y' cannot be written to"),
        (lambda: np.broadcast_to(np.float32(0), 3), InputError, "'y' cannot be written to"),
        (lambda: np.frombuffer(bytes(12), np.float32), InputError, "'y' cannot be written to"),
        (lambda: torch.zeros(3, requires_grad=True), InputError, "requires grad"),
        (lambda: [1.0, 2.0, 3.0], InputError, "1 outputs, but out= has 3"),
        (lambda: bytearray(12), InputError, "'y' is of type bytearray"),
    ],
)
def test_unfit_out(identity, make, error, text):
    with pytest.raises(error, match=text):
        load(identity)(np.ones(3, np.float32), out=make())


def test_overlap_is_refused(identity, model):
    x = np.ones(4, np.float32)
    with pytest.raises(InputError, match="'y' overlaps the input 'x'"):
        load(identity)(x, out=x)
    y = np.zeros((2, 3, 4), np.float32)
    with pytest.raises(InputError, match="'copy' overlaps the output 'y'"):
        model(**toy_inputs(), out=(y, y, np.zeros((), np.float32)))


def cut(name, slices):
    def change(inputs):
        inputs[name] = inputs[name][slices]

    return change


def put(name, value):
    return lambda inputs: inputs.update({name: value})


X = np.zeros((2, 3, 4), np.float32)


@pytest.mark.parametrize(
    "change, error, text",
    [
        (
            put("x", np.zeros((65, 3, 4), np.float32)),
            ShapeError,
            r"'x': dim 0 \('batch'\) is 65; the model was compiled for 0 to 64",
        ),
        (
            put("x", np.zeros((2, 0, 4), np.float32)),
            ShapeError,
            r"'x': dim 1 \('seq'\) is 0; the model was compiled for 1 to 16",
        ),
        (put("index", np.zeros(1, np.int64)), ShapeError, r"'index': dim 0 \('batch'\) is 1, but input 'x' has 2"),
        (put("flat", np.zeros(7, np.float32)), ShapeError, "'flat': dim 0 is 7; expected 6"),
        (put("x", np.zeros((2, 3, 5), np.float32)), ShapeError, "'x': dim 2 is 5; expected 4"),
        (put("x", X[0]), ShapeError, "'x' has 2 dims; expected 3"),
        (put("x", X.astype(np.float64)), DTypeError, "'x' has dtype float64; expected float32"),
        (put("x", X.astype("M8[s]")), DTypeError, "datetime64"),
        (put("x", X.tolist()), InputError, "'x' is of type list; expected a NumPy array"),
        (put("x", torch.zeros(2, 3, 4, requires_grad=True)), InputError, r"requires grad.*detach"),
        (put("x", torch.zeros(2, 3, 4, device="meta")), AITError, r"is on device meta, but the model runs on the CPU"),
        (put("x", torch.zeros(2, 3, 4).to_sparse()), InputError, r"layout torch.sparse_coo"),
        (put("extra", X), InputError, r"3 inputs \(x, index, flat\), but 'extra' is none of them"),
        (lambda inputs: inputs.pop("index"), InputError, "'index' is missing"),
        (lambda inputs: [inputs.pop("index"), inputs.pop("x")], InputError, "'x', 'index' are missing"),
    ],
)
def test_unfit_inputs(model, change, error, text):
    inputs = toy_inputs()
    change(inputs)
    with pytest.raises(error, match=text):
        model(**inputs)
    model(**toy_inputs())  # still usable


def test_positional_arguments(model):
    x, index, flat = toy_inputs().values()
    with pytest.raises(InputError, match="4 were given by position"):
        model(x, index, flat, flat)
    with pytest.raises(InputError, match="'x' is given twice"):
        model(x, index, flat, x=x)


def test_requires_grad_without_grad_mode(identity):
    with torch.no_grad():
        assert load(identity)(torch.ones(3, requires_grad=True)).tolist() == [1, 1, 1]


def test_default_device_of_torch_does_not_matter(identity):
    x = torch.ones(3)
    with torch.device("meta"):
        assert load(identity)(x).tolist() == [1, 1, 1]


def test_empty_tensors(identity):
    model = load(identity)
    assert model(np.zeros(0, np.float32)).shape == (0,)
    assert model(torch.zeros(0)).shape == (0,)
    assert model(Namespaced(torch.zeros(0))).tensor.shape == (0,)


def test_numpy_scalars_are_0d_tensors(model):
    with pytest.raises(ShapeError, match="'x' has 0 dims"):
        model(np.float32(1), np.zeros(1, np.int64), np.zeros(1, np.float32))


@pytest.mark.parametrize("index", [-1, 5, 2**40])
def test_fault(model, index):
    inputs = toy_inputs()
    with pytest.raises(FaultError, match=r"'lookup' \(tensor.gather \+ tensor.add\) met an index that is out of range"):
        model(**dict(inputs, index=np.array([0, index])))
    np.testing.assert_allclose(model(**inputs)[0], toy_reference(inputs, toy_weights())[0], rtol=1e-6, atol=1e-6)


def test_a_size_that_no_machine_has(identity):
    big = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (2**40 + 1,), (0,))
    with pytest.raises((ShapeError, MemoryError)):
        load(identity)(big)


def test_call_overhead(identity, capsys):
    """Printed, not asserted: the machine may be busy."""
    model = load(identity)
    with capsys.disabled():
        for x in (np.ones(8, np.float32), torch.ones(8)):
            seconds = min(timeit.repeat(lambda x=x: model(x), number=2000, repeat=5)) / 2000
            print(f"\n  overhead of a call with {type(x).__module__}: {seconds * 1e6:.2f} us", end="")
