# SPDX-License-Identifier: Apache-2.0
"""Times the CPU GEMM and attention kernels beside torch in one run: python benchmarks/cpu_kernels/bench.py [--threads 2].

Best of many repetitions, alternating between the two. `peak` is the share of what the same number of cores reach in a loop of
fp32 FMAs on registers (bf16 dot products may do twice as many).
"""

import argparse
import ctypes
import math
import pathlib
import subprocess
import tempfile
import time

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).parents[2]
PACKAGES = ("ait_backend_cpu", "ait_ops_gemm", "ait_ops_attention")
FLAGS = ["-O3", "-std=c++17", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fopenmp", "-fPIC", "-shared",
         "-march=native", "-mprefer-vector-width=512"]  # fmt: skip
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
LINEAR = [(m, n, k) for m in (1, 32, 128, 1024) for n, k in ((1152, 384), (384, 384), (1536, 384), (384, 1536))]
# batch, heads, key/value heads, queries, keys, head size, causal
ATTENTION = [(1, 12, 12, 32, 32, 32, 0), (1, 12, 12, 128, 128, 32, 0), (8, 12, 12, 128, 128, 32, 0), (1, 12, 12, 512, 512, 64, 0),
             (1, 16, 4, 1024, 1024, 64, 1), (1, 12, 12, 1, 512, 64, 0), (1, 32, 8, 1, 2048, 128, 0)]  # fmt: skip


def compile_kernels(folder: pathlib.Path) -> ctypes.CDLL:
    """Compiles kernels.cpp for this machine."""
    target = folder / "kernels.so"
    includes = [f"-I{ROOT / p / 'src' / p / 'include'}" for p in PACKAGES]
    subprocess.run(
        ["g++", *FLAGS, *includes, str(pathlib.Path(__file__).with_name("kernels.cpp")), "-o", str(target)], check=True
    )
    return ctypes.CDLL(str(target))


def best_times(ours, theirs, budget: float = 0.4) -> tuple[float, float]:
    """Best seconds of each of two calls, measured in turn for about `budget` seconds after warming up."""
    best = [math.inf, math.inf]
    end = time.perf_counter() + budget
    rounds = 0
    while rounds < 4 or time.perf_counter() < end:
        for i, call in enumerate((ours, theirs)):
            call()
            start = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - start)
        rounds += 1
    return best[0], best[1]


def pointer(tensor: torch.Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def buffer(count: int) -> torch.Tensor:
    return torch.empty(count, dtype=torch.uint8)


def report(label: str, ours: float, theirs: float, flops: float, peak: float) -> None:
    gflops = flops / ours / 1e9
    print(f"{label:58s} {ours * 1e6:9.1f} us {gflops:7.0f} GFLOP/s {gflops / peak:6.0%} peak   torch {theirs * 1e6:9.1f} us"
          f"   x{theirs / ours:.2f}", flush=True)  # fmt: skip


def bench_linear(library: ctypes.CDLL, name: str, gelu: bool, threads: int, peak: float) -> None:
    size = ctypes.c_int64
    for m, n, k in LINEAR:
        x, weight, bias = (torch.randn(*shape).to(DTYPES[name]) for shape in ((m, k), (n, k), (n,)))
        out = torch.empty(m, n, dtype=DTYPES[name])
        packed = buffer(getattr(library, f"packed_bytes_{name}")(size(k), size(n)))
        workspace = buffer(getattr(library, f"linear_workspace_{name}")(size(n), size(k), threads))
        getattr(library, f"pack_{name}")(pointer(packed), pointer(weight), size(k), size(n), threads)
        operands = map(pointer, (x, packed, bias, out))
        call = getattr(library, f"linear_{name}")
        arguments = (size(m), size(n), size(k), *operands, gelu, pointer(workspace), threads)

        def reference(x=x, weight=weight, bias=bias):
            y = F.linear(x, weight, bias)
            return F.gelu(y) if gelu else y

        call(*arguments)
        torch.testing.assert_close(out, reference(), atol=0.08, rtol=0.05)
        ours, theirs = best_times(lambda c=call, a=arguments: c(*a), reference)
        report(f"linear{'+gelu' if gelu else ''} {name} M={m} N={n} K={k}", ours, theirs, 2 * m * n * k, peak)


def bench_attention(library: ctypes.CDLL, name: str, threads: int, peak: float) -> None:
    size = ctypes.c_int64
    for b, h, kv_h, q_len, kv_len, d, causal in ATTENTION:
        q, k, v = (
            torch.randn(*s).to(DTYPES[name]) for s in ((b, h, q_len, d), (b, kv_h, kv_len, d), (b, kv_h, kv_len, d))
        )
        out = torch.empty_like(q)
        workspace = buffer(getattr(library, f"attention_workspace_{name}")(size(d), threads))
        arguments = (*map(size, (b, h, kv_h, q_len, kv_len, d)), ctypes.c_float(1 / math.sqrt(d)), causal,
                     *map(pointer, (q, k, v, out, workspace)), threads)  # fmt: skip
        call = getattr(library, f"attention_{name}")

        def reference(q=q, k=k, v=v, causal=causal, grouped=h != kv_h):
            return F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal), enable_gqa=grouped)

        call(*arguments)
        torch.testing.assert_close(out, reference(), atol=0.03, rtol=0.05)
        ours, theirs = best_times(lambda c=call, a=arguments: c(*a), reference)
        flops = 4 * b * h * q_len * kv_len * d / (2 if causal else 1)
        report(
            f"attention {name} B={b} H={h}/{kv_h} {q_len}x{kv_len} D={d}{' causal' if causal else ''}",
            ours,
            theirs,
            flops,
            peak,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--dtype", choices=DTYPES, action="append", help="repeatable; default all")
    parser.add_argument("--gelu", action="store_true", help="fuse GELU after the linear layers")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        library = compile_kernels(pathlib.Path(folder))
        for name in ("packed_bytes", "linear_workspace", "attention_workspace"):
            for dtype in DTYPES:
                getattr(library, f"{name}_{dtype}").restype = ctypes.c_int64
        library.peak_gflops.restype = ctypes.c_double
        peak = library.peak_gflops() * options.threads
        print(f"fp32 FMA peak of {options.threads} cores: {peak:.0f} GFLOP/s; torch {torch.__version__}")
        for dtype in options.dtype or DTYPES:
            bench_linear(library, dtype, options.gelu, options.threads, peak)
            bench_attention(library, dtype, options.threads, peak)


if __name__ == "__main__":
    main()
