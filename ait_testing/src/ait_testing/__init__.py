# SPDX-License-Identifier: Apache-2.0
"""The conformance kit: what every pack must pass, in one line of a pack's own tests::

    from ait_testing import conformance

    test_pack = conformance("my_pack", samples={"my_pack.op": [((array,), {"attribute": 1})]})
"""

from ait_testing.compare import difference
from ait_testing.samples import Sample
from ait_testing.suite import Check, ConformanceError, check_plugin, checks, conformance

__all__ = ["Check", "ConformanceError", "Sample", "check_plugin", "checks", "conformance", "difference"]
