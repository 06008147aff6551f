# SPDX-License-Identifier: Apache-2.0
"""The packs here keep to what is asked of everybody's. What needs a compiler is in tests/compiled."""

from ait_testing import Sample, conformance
from tests.ops.samples import SIZES, TABLE, M, N, samples

DIMS = {N: SIZES["n"], M: SIZES["m"]}
SAMPLES = {
    name: [Sample(s.inputs, s.given, {} if s.static else DIMS, s.loose) for s in samples(name)] for name in TABLE
}

test_attention = conformance("ait_ops_attention", SAMPLES, compile=False)
test_gemm = conformance("ait_ops_gemm", SAMPLES, compile=False)
test_norm = conformance("ait_ops_norm", SAMPLES, compile=False)
test_tensor = conformance("ait_ops_tensor", SAMPLES, compile=False)
test_backend_cpu = conformance("ait_backend_cpu", compile=False)
test_frontend_torch = conformance("ait_frontend_torch", compile=False)
test_tools = conformance("ait_tools", compile=False)
