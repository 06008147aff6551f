// SPDX-License-Identifier: Apache-2.0
// OpenMP reductions that OpenMP does not have: extremes that let NaN through.
#pragma once

#include "ait/cpu/math.h"
#include "ait/cpu/types.h"

#define AIT_EXTREME_REDUCTION(type)                                                                             \
  AIT_PRAGMA(omp declare reduction(ait_max : type : omp_out = ait::max(omp_out, omp_in)) initializer(omp_priv = omp_orig)) \
  AIT_PRAGMA(omp declare reduction(ait_min : type : omp_out = ait::min(omp_out, omp_in)) initializer(omp_priv = omp_orig))

AIT_EXTREME_REDUCTION(float)
AIT_EXTREME_REDUCTION(double)
AIT_EXTREME_REDUCTION(bool)
AIT_EXTREME_REDUCTION(std::int32_t)
AIT_EXTREME_REDUCTION(std::int64_t)
