// SPDX-License-Identifier: Apache-2.0
// Every function of ait.h on the toy model, in C99.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ait/ait.h"

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      printf("line %d: %s\nlast error: %s\n", __LINE__, #condition, ait_last_error()); \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)

static void check_error(ait_status got, ait_status expected, const char* words) {
  if (got != expected || !strstr(ait_last_error(), words)) {
    printf("status %d, expected %d; \"%s\" lacks \"%s\"\n", got, expected, ait_last_error(), words);
    exit(1);
  }
}

static ait_tensor tensor(void* data, const int64_t* shape, int32_t rank, ait_dtype dtype) {
  ait_tensor t;
  t.data = data;
  t.shape = shape;
  t.rank = rank;
  t.dtype = dtype;
  return t;
}

int main(void) {
  CHECK(ait_abi_version() == AIT_ABI_VERSION && ait_device_type() == 1 && ait_weights_embedded() == 0);
  CHECK(strcmp(ait_manifest(), "{\"producer\": \"hand\"}") == 0 && strcmp(ait_last_error(), "") == 0);

  ait_model* model = NULL;
  ait_options options;
  memset(&options, 0, sizeof options);
  options.abi = 99;
  check_error(ait_create(&options, &model), AIT_ERROR_ABI, "version 99");
  options.abi = AIT_ABI_VERSION;
  options.device = 1;
  check_error(ait_create(&options, &model), AIT_ERROR_DEVICE, "device 1");
  options.device = 0;
  options.threads = 2;
  check_error(ait_create(&options, NULL), AIT_ERROR_INPUT, "null");
  options.weights_path = "x";
  options.weights_data = "x";
  check_error(ait_create(&options, &model), AIT_ERROR_INPUT, "several forms");
  options.weights_path = NULL;
  options.weights_bytes = 1;
  check_error(ait_create(&options, &model), AIT_ERROR_WEIGHTS, "cut short");
  CHECK(model == NULL);
  ait_destroy(model);
  options.weights_data = NULL;
  CHECK(ait_create(&options, &model) == AIT_OK && ait_threads(model) == 2);

  CHECK(ait_count(model, AIT_INPUTS) == 3 && ait_count(model, AIT_OUTPUTS) == 3 &&
        ait_count(model, AIT_CONSTANTS) == 3);
  CHECK(ait_count(model, AIT_DIMS) == 2 && ait_count(model, AIT_GROUPS) == 5 && ait_count(model, 17) == 0);
  ait_tensor_info info;
  CHECK(ait_describe(model, AIT_INPUTS, 0, &info) == AIT_OK && strcmp(info.name, "x") == 0 && info.dtype == AIT_F32);
  CHECK(info.rank == 3 && info.lo[0] == 0 && info.hi[0] == 64 && info.lo[2] == 4 && info.hi[2] == 4);
  CHECK(info.dim[0] == 0 && info.dim[1] == 1 && info.dim[2] == -1);
  CHECK(ait_describe(model, AIT_CONSTANTS, 2, &info) == AIT_OK && info.rank == 2 && info.hi[0] == 5 &&
        info.dim[1] == -1);
  check_error(ait_describe(model, AIT_OUTPUTS, 3, &info), AIT_ERROR_INPUT, "no number 3; the model has 3");
  check_error(ait_describe(model, AIT_DIMS, 0, &info), AIT_ERROR_INPUT, "no kind of tensor");
  ait_dim_info dim;
  CHECK(ait_describe_dim(model, 1, &dim) == AIT_OK && strcmp(dim.name, "seq") == 0 && dim.lo == 1 && dim.hi == 16);
  ait_group_info group;
  CHECK(ait_describe_group(model, 2, &group) == AIT_OK && strcmp(group.name, "lookup") == 0);

  // New weights: weight = 1 1 1 1, scale = 2, table row r = r.
  float weight[4] = {1, 1, 1, 1}, scale = 2, table[20];
  for (int i = 0; i < 20; ++i) table[i] = (float)(i / 4);
  const int64_t four[] = {4}, five_four[] = {5, 4};
  const char* names[] = {"weight", "scale", "table.rows"};
  ait_tensor weights[3];
  weights[0] = tensor(weight, four, 1, AIT_F32);
  weights[1] = tensor(&scale, NULL, 0, AIT_F32);
  weights[2] = tensor(table, five_four, 2, AIT_F32);
  check_error(ait_swap_weights(model), AIT_ERROR_WEIGHTS, "staged");
  check_error(ait_stage_weights(model, names, weights, 2, 0), AIT_ERROR_WEIGHTS,
              "'table.rows' (float32[5, 4]) is missing");
  check_error(ait_stage_weights_file(model, "/no/such/file", 0), AIT_ERROR_WEIGHTS, "/no/such/file");
  CHECK(ait_stage_weights(model, names, weights, 3, 0) == AIT_OK && ait_swap_weights(model) == AIT_OK);
  scale = -1;
  CHECK(ait_stage_weights(model, names + 1, weights + 1, 1, 1) == AIT_OK);
  weight[0] = 3;
  CHECK(ait_stage_weights(model, names, weights, 1, 1) == AIT_OK && ait_swap_weights(model) == AIT_OK);  // both stages
  float back_weight[4], back_scale = 0;
  void* places[3] = {back_weight, &back_scale, NULL};
  CHECK(ait_read_weights(model, places, 3) == AIT_OK && back_weight[0] == 3 && back_scale == -1);

  // y = x * weight * scale + table[index] + flat
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, flat[2] = {10, 20}, y[8], copy[8], total;
  int64_t index[2] = {3, 4};
  const int64_t x_shape[] = {2, 1, 4}, index_shape[] = {2}, flat_shape[] = {2};
  ait_tensor inputs[3], outputs[3];
  inputs[0] = tensor(x, x_shape, 3, AIT_F32);
  inputs[1] = tensor(index, index_shape, 1, AIT_I64);
  inputs[2] = tensor(flat, flat_shape, 1, AIT_F32);
  outputs[0] = tensor(y, x_shape, 3, AIT_F32);
  outputs[1] = tensor(copy, x_shape, 3, AIT_F32);
  outputs[2] = tensor(&total, NULL, 0, AIT_F32);
  int64_t first[3], second[3];
  int64_t* shapes[3] = {first, second, NULL};
  CHECK(ait_infer(model, inputs, 3, shapes) == AIT_OK && first[0] == 2 && second[2] == 4);
  ait_memory memory;
  CHECK(ait_memory_use(model, inputs, 3, &memory) == AIT_OK && memory.arena == 2 * 64 + 32 && memory.arena_held == 0);
  CHECK(ait_run(model, NULL, inputs, 3, outputs, 3) == AIT_OK);
  CHECK(y[0] == -3 + 3 + 10 && y[1] == -2 + 3 + 10 && y[7] == -8 + 4 + 20 && copy[7] == y[7]);
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += y[i];
  CHECK(fabsf(total - sum) < 1e-4f);
  CHECK(ait_synchronize(model, NULL) == AIT_OK);
  double seconds[5];
  CHECK(ait_profile(model, NULL, inputs, 3, outputs, 3, 3, seconds) == AIT_OK && seconds[0] == 0 && seconds[2] > 0);

  check_error(ait_run(model, NULL, inputs, 2, outputs, 3), AIT_ERROR_INPUT,
              "3 inputs (x, index, flat), but 2 were given");
  check_error(ait_run(model, NULL, NULL, 3, outputs, 3), AIT_ERROR_INPUT, "null");
  check_error(ait_run(NULL, NULL, inputs, 3, outputs, 3), AIT_ERROR_INPUT, "null");
  inputs[0].data = NULL;
  check_error(ait_run(model, NULL, inputs, 3, outputs, 3), AIT_ERROR_INPUT, "'x' has no memory");
  inputs[0].data = (char*)x + 1;
  check_error(ait_run(model, NULL, inputs, 3, outputs, 3), AIT_ERROR_INPUT, "not aligned");
  inputs[0].data = x;
  inputs[0].dtype = 77;
  check_error(ait_run(model, NULL, inputs, 3, outputs, 3), AIT_ERROR_DTYPE, "number 77; expected float32");
  inputs[0].dtype = AIT_F32;
  inputs[0].rank = -1;
  check_error(ait_run(model, NULL, inputs, 3, outputs, 3), AIT_ERROR_SHAPE, "-1 dims");
  inputs[0].rank = 3;
  inputs[0].shape = NULL;
  check_error(ait_run(model, NULL, inputs, 3, outputs, 3), AIT_ERROR_INPUT, "shape of input 'x' is null");
  inputs[0].shape = x_shape;
  outputs[0].data = x;
  check_error(ait_run(model, NULL, inputs, 3, outputs, 3), AIT_ERROR_INPUT, "overlaps");
  outputs[0].data = y;
  index[1] = 5;
  check_error(ait_run(model, NULL, inputs, 3, outputs, 3), AIT_ERROR_FAULT, "'lookup'");

  // Empty tensors need no memory.
  const int64_t no_x[] = {0, 1, 4}, none[] = {0};
  inputs[0] = tensor(NULL, no_x, 3, AIT_F32);
  inputs[1] = tensor(NULL, none, 1, AIT_I64);
  inputs[2] = tensor(NULL, none, 1, AIT_F32);
  outputs[0] = tensor(NULL, no_x, 3, AIT_F32);
  outputs[1] = tensor(NULL, no_x, 3, AIT_F32);
  CHECK(ait_run(model, NULL, inputs, 3, outputs, 3) == AIT_OK && total == 0);

  ait_destroy(model);
  puts("ok");
  return 0;
}
