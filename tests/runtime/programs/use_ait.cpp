// SPDX-License-Identifier: Apache-2.0
// Two models in one process by ait.hpp, from many threads, with weights swapped under them.
// Arguments: the toy without its weights inside, the identity model, a weights file of the toy.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "ait/ait.hpp"

#define CHECK(condition) \
  if (!(condition)) std::printf("line %d: %s\n", __LINE__, #condition), std::exit(1)

int main(int, char** argv) try {
  const ait::Model toy(argv[1]), identity(argv[2], "", 1);
  CHECK(toy.manifest() == "{\"producer\": \"hand\"}" && identity.manifest() == "{}");
  CHECK(toy.count(AIT_CONSTANTS) == 3 && std::strcmp(toy.describe(AIT_OUTPUTS, 2).name, "total") == 0);

  std::vector<float> in{1, 2, 3}, out(3);
  identity.run({{in.data(), {3}, AIT_F32}}, {{out.data(), {3}, AIT_F32}});
  CHECK(in == out);

  float weight[4] = {1, 1, 1, 1}, table[20] = {};
  std::atomic<bool> done{false}, wrong{false};
  const auto set = [&](float scale) {
    toy.set_weights({{"weight", {weight, {4}, AIT_F32}},
                     {"scale", {&scale, {}, AIT_F32}},
                     {"table.rows", {table, {5, 4}, AIT_F32}}});
  };
  set(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int run = 0; run < 100 || !done; ++run) {
        const std::int64_t batch = 1 + (t * 5 + run) % 50;
        std::vector<float> x(static_cast<std::size_t>(batch) * 4, 1.f), flat(static_cast<std::size_t>(batch)),
            y(x.size()), copy(x.size());
        std::vector<std::int64_t> index(static_cast<std::size_t>(batch));
        float total = 0;
        const std::vector<ait::Tensor> inputs{
            {x.data(), {batch, 1, 4}, AIT_F32}, {index.data(), {batch}, AIT_I64}, {flat.data(), {batch}, AIT_F32}};
        if (toy.infer(inputs)[0] != std::vector<std::int64_t>{batch, 1, 4}) wrong = true;
        toy.run(inputs,
                {{y.data(), {batch, 1, 4}, AIT_F32}, {copy.data(), {batch, 1, 4}, AIT_F32}, {&total, {}, AIT_F32}});
        for (const float v : y)
          if (v != y[0] || (v != 2 && v != 3)) wrong = true;
      }
    });
  for (int i = 0; i < 200; ++i) set(i % 2 ? 2.f : 3.f);
  done = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(!wrong);

  toy.set_weights(argv[3]);
  toy.synchronize();
  try {
    identity.run({{in.data(), {3}, AIT_F64}}, {{out.data(), {3}, AIT_F32}});
    CHECK(false);
  } catch (const ait::Error& error) {
    CHECK(error.status == AIT_ERROR_DTYPE && std::strstr(error.what(), "expected float32"));
  }
  try {
    ait::Model("/no/such/model.so");
    CHECK(false);
  } catch (const ait::Error& error) {
    CHECK(error.status == AIT_ERROR_ABI && std::strstr(error.what(), "/no/such/model.so"));
  }
  std::puts("ok");
} catch (const std::exception& error) {
  std::printf("unexpected: %s\n", error.what());
  return 1;
}
