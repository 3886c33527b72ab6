// SPDX-License-Identifier: Apache-2.0
// Paths between all specs of a matrix on eight devices: none costs more than to gather everything
// and to slice, every step is one that the collectives can take, and well-known pairs take one
// step.
#include "base/tuning.h"
#include "ir/test_util.h"
#include "spmd/partition_impl.h"

static const char program[] =
    "module attributes {mhlo.num_partitions = 8 : i32} {\n"
    "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2, \"z\"=2]>\n"
    "  func.func @main(%v: tensor<8x8x8xf32>) -> tensor<8x8x8xf32> {\n"
    "    return %v : tensor<8x8x8xf32>\n"
    "  }\n"
    "}\n";

enum { SPECS_MAX = 256 };

typedef struct fixture {
  hlo_module_t* module;
  hlo_spmd_t spmd;
  hlo_partitioner_t p;
  const hlo_type_t* type;
  uint32_t count;
  const hlo_spec_t* specs[SPECS_MAX];
} fixture_t;

// Adds all specs whose next axis is at the end of any dimension.
static void add_specs(fixture_t* f, hlo_dim_axes_t* dims) {
  const hlo_spec_t* spec = hlo_spec_make(&f->spmd, 2, dims, 0);
  assert_non_null(spec);
  for (uint32_t i = 0; i < f->count; ++i) {
    if (f->specs[i] == spec) return;
  }
  assert_true(f->count < SPECS_MAX);
  f->specs[f->count++] = spec;
  for (uint8_t axis = 0; axis < 3; ++axis) {
    if (hlo_spec_axes(spec) & hlo_axis_bit(axis)) continue;
    for (uint32_t d = 0; d < 2; ++d) {
      dims[d].axes[dims[d].count++] = axis;
      add_specs(f, dims);
      --dims[d].count;
    }
  }
}

static void begin(fixture_t* f) {
  static const int64_t sizes[] = {1024, 1024};
  *f = (fixture_t){.module = hlo_test_parse(program)};
  hlo_test_check(hlo_spmd_init(&f->spmd, f->module, 8));
  f->p = (hlo_partitioner_t){.spmd = &f->spmd, .module = f->module, .grid = f->spmd.grid};
  f->type = hlo_type_tensor(f->module, HLO_DTYPE_F32, 2, sizes);
  hlo_dim_axes_t dims[2] = {{0}, {0}};
  add_specs(f, dims);
}

static void end(fixture_t* f) {
  hlo_spmd_deinit(&f->spmd);
  hlo_module_release(f->module);
}

static double parts(const fixture_t* f, const hlo_spec_t* spec) {
  return (double)hlo_grid_size(f->spmd.grid, spec->axes, hlo_spec_axis_count(spec));
}

static void test_no_path_is_worse_than_a_gather(void** state) {
  (void)state;
  fixture_t f;
  begin(&f);
  assert_int_equal(f.count, 1 + 3 * 2 + 6 * 3 + 6 * 4);  // of no axis, one, two and three
  for (uint32_t i = 0; i < f.count; ++i) {
    for (uint32_t k = 0; k < f.count; ++k) {
      hlo_reshard_path_t path;
      hlo_test_check(hlo_find_reshard_path(&f.p, f.type, f.specs[i], f.specs[k], 0, &path));
      const double whole = (double)hlo_type_size_bytes(f.type),
                   part = whole / parts(&f, f.specs[i]);
      double gathers = 0;
      for (uint32_t d = 0; d < 2; ++d) gathers += hlo_spec_parts(f.spmd.grid, f.specs[i], d) > 1;
      assert_true(path.bytes <= whole - part + gathers * HLO_TUNING_COLLECTIVE_BYTES + 3);
      assert_true(path.step_count ? path.steps[path.step_count - 1].to == f.specs[k] : i == k);
    }
  }
  end(&f);
}

static const hlo_spec_t* spec_of(fixture_t* f, const char* rows, const char* columns) {
  hlo_dim_axes_t dims[2] = {{0}, {0}};
  for (; *rows; ++rows) dims[0].axes[dims[0].count++] = (uint8_t)(*rows - 'x');
  for (; *columns; ++columns) dims[1].axes[dims[1].count++] = (uint8_t)(*columns - 'x');
  return hlo_spec_make(&f->spmd, 2, dims, 0);
}

static void test_steps(void** state) {
  (void)state;
  static const struct {
    const char *from[2], *to[2];
    uint32_t count;
    hlo_reshard_kind_t kinds[2];
  } cases[] = {
      {{"", ""}, {"x", "yz"}, 1, {HLO_RESHARD_SLICE}},
      {{"xy", ""}, {"x", ""}, 1, {HLO_RESHARD_GATHER}},
      {{"x", ""}, {"", "x"}, 1, {HLO_RESHARD_TRANSPOSE}},
      {{"x", "y"}, {"y", "x"}, 1, {HLO_RESHARD_PERMUTE}},
      {{"x", ""}, {"y", ""}, 1, {HLO_RESHARD_PERMUTE}},
      {{"x", ""}, {"yz", ""}, 2, {HLO_RESHARD_SLICE, HLO_RESHARD_PERMUTE}},
      {{"xy", ""}, {"y", "x"}, 2, {HLO_RESHARD_TRANSPOSE, HLO_RESHARD_TRANSPOSE}},
      {{"x", ""}, {"y", "x"}, 2, {HLO_RESHARD_TRANSPOSE, HLO_RESHARD_SLICE}},
  };
  fixture_t f;
  begin(&f);
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    hlo_reshard_path_t path;
    hlo_test_check(hlo_find_reshard_path(&f.p, f.type,
                                         spec_of(&f, cases[i].from[0], cases[i].from[1]),
                                         spec_of(&f, cases[i].to[0], cases[i].to[1]), 0, &path));
    assert_int_equal(path.step_count, cases[i].count);
    for (uint32_t k = 0; k < path.step_count; ++k) {
      assert_int_equal(path.steps[k].kind, cases[i].kinds[k]);
    }
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_path_is_worse_than_a_gather),
      cmocka_unit_test(test_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
