// SPDX-License-Identifier: Apache-2.0
// Everything a generated CPU translation unit needs: storage types, scalar math, reductions, SIMD vectors
// and threads.
//
// Compile with: -O3 -std=c++17 -fno-math-errno -fno-trapping-math -ffp-contract=fast -fopenmp
// (plus -mprefer-vector-width=512 where AVX-512 is on). No fast-math flag is assumed: NaN and inf keep their meaning.
#pragma once

#include "ait/cpu/math.h"
#include "ait/cpu/parallel.h"
#include "ait/cpu/reductions.h"
#include "ait/cpu/simd.h"
#include "ait/cpu/types.h"
