// SPDX-License-Identifier: Apache-2.0
// Calls a compiled model: one float32 input [batch, 16], one float32 output [batch, 4].
#include <cstdio>
#include <vector>

#include "ait/ait.hpp"

int main(int, char** argv) try {
  const ait::Model model(argv[1]);
  std::vector<float> x(2 * 16, 1.f), y(2 * 4);
  model.run({{x.data(), {2, 16}, AIT_F32}}, {{y.data(), {2, 4}, AIT_F32}});
  std::printf("%.4f %.4f\n", y[0], y[4]);
} catch (const ait::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
