// SPDX-License-Identifier: Apache-2.0
// The machine under the model: instruction set and cores. Compiled for the baseline, so that it can refuse safely.
#pragma once

namespace ait::runtime {

// Throws Error(AIT_ERROR_ISA) unless processor and operating system support every feature of `isa` ("avx2 fma ...").
// Asks Linux for the AMX tile state where the model needs it.
void require_isa(const char* isa);

// `asked`, or where it is 0: AIT_NUM_THREADS, else OMP_NUM_THREADS, else the cores this process may use.
int choose_threads(int asked);

}  // namespace ait::runtime
