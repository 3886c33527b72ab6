// SPDX-License-Identifier: Apache-2.0
// Layouts on small shapes: canonical forms, sums element by element, conversions, text.
#include "tile/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t state = 88172645463325252u;
static uint32_t below(uint32_t n) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (uint32_t)(state >> 20) % n;
}

typedef struct fixture {
  hlo_arena_t arena;
  hlo_tile_layout_space_t space;
} fixture_t;

static void begin(fixture_t* f) {
  hlo_arena_init(&f->arena, 0);
  hlo_tile_layout_space_init(&f->space, &f->arena);
}
static void end(fixture_t* f) {
  assert_false(f->arena.failed);
  hlo_arena_deinit(&f->arena);
}

static int64_t count_of(uint32_t rank, const int64_t* dims) {
  int64_t count = 1;
  for (uint32_t i = 0; i < rank; ++i) count *= dims[i];
  return count;
}

static void index_at(uint32_t rank, const int64_t* dims, int64_t at, int64_t* out_index) {
  for (uint32_t i = rank; i-- > 0; at /= dims[i]) out_index[i] = at % dims[i];
}

// A random layout of up to 4 digits in each of up to 3 dimensions, in nested positions on every
// axis, perhaps replicated.
static const hlo_tile_layout_t* random_layout(fixture_t* f) {
  uint32_t rank = 1 + below(3), count = 0;
  int64_t dims[3] = {1, 1, 1}, next[HLO_AXIS_COUNT];
  hlo_layout_mode_t modes[HLO_TILE_LAYOUT_MAX_MODES];
  for (uint32_t i = 0; i < HLO_AXIS_COUNT; ++i) next[i] = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    for (uint32_t n = below(4); n > 0; --n) {
      int64_t extent = 1 + below(3);
      modes[count++] =
          (hlo_layout_mode_t){(int32_t)i, (hlo_axis_t)below(HLO_AXIS_COUNT), extent, dims[i], 1};
      dims[i] *= extent;
    }
  }
  if (below(3) == 0) {
    modes[count++] = (hlo_layout_mode_t){HLO_LAYOUT_MODE_REPLICATED,
                                         (hlo_axis_t)(HLO_AXIS_LANE + below(3)), 2, 0, 1};
  }
  // Positions are given out in random order, sometimes with gaps.
  bool is_done[HLO_TILE_LAYOUT_MAX_MODES] = {false};
  for (uint32_t n = 0; n < count; ++n) {
    uint32_t i = below(count);
    while (is_done[i]) i = (i + 1) % count;
    is_done[i] = true;
    int64_t* at = &next[modes[i].axis];
    modes[i].position = *at;
    *at *= modes[i].extent * (below(4) ? 1 : 2);
  }
  const hlo_tile_layout_t* made =
      hlo_tile_layout_make(&f->space, rank, dims, count, modes, (hlo_swizzle_t){0});
  assert_non_null(made);
  return made;
}

// The position of an element; of a replicated one, the first.
static void locate(const hlo_tile_layout_t* a, const int64_t* index, int64_t* out_position) {
  memset(out_position, 0, HLO_AXIS_COUNT * sizeof *out_position);
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    const hlo_layout_mode_t* mode = &a->modes[i];
    if (mode->dim == HLO_LAYOUT_MODE_REPLICATED) continue;
    out_position[mode->axis] += index[mode->dim] / mode->stride % mode->extent * mode->position;
  }
}

static int by_position(const void* a, const void* b) {
  return memcmp(a, b, HLO_AXIS_COUNT * sizeof(int64_t));
}

// Every position holds one element, and every element is in one position, or in one of each
// replica.
static void test_ownership(void** unused) {
  (void)unused;
  for (int round = 0; round < 100; ++round) {
    fixture_t f;
    begin(&f);
    const hlo_tile_layout_t* a = random_layout(&f);
    int64_t replicas = 1;
    for (uint32_t i = 0; i < a->mode_count; ++i) {
      if (a->modes[i].dim == HLO_LAYOUT_MODE_REPLICATED) replicas *= a->modes[i].extent;
    }
    const int64_t count = count_of(a->rank, a->dims) * replicas;
    int64_t(*positions)[HLO_AXIS_COUNT] =
        hlo_arena_array(&f.arena, (size_t)count, sizeof *positions);
    assert_non_null(positions);
    for (int64_t n = 0; n < count; ++n) {
      int64_t index[3], replica = n % replicas;
      index_at(a->rank, a->dims, n / replicas, index);
      locate(a, index, positions[n]);
      for (uint32_t i = 0; i < a->mode_count; ++i) {
        const hlo_layout_mode_t* mode = &a->modes[i];
        if (mode->dim != HLO_LAYOUT_MODE_REPLICATED) continue;
        positions[n][mode->axis] += replica % mode->extent * mode->position;
        replica /= mode->extent;
      }
    }
    qsort(positions, (size_t)count, sizeof *positions, by_position);
    for (int64_t n = 1; n < count; ++n) {
      assert_memory_not_equal(positions[n], positions[n - 1], sizeof *positions);
    }
    end(&f);
  }
}

// The same map as other digits is the same layout.
static void test_canonical(void** unused) {
  (void)unused;
  for (int round = 0; round < 300; ++round) {
    fixture_t f;
    begin(&f);
    const hlo_tile_layout_t* a = random_layout(&f);
    hlo_layout_mode_t modes[HLO_TILE_LAYOUT_MAX_MODES];
    uint32_t count = 0;
    for (uint32_t i = a->mode_count; i-- > 0;) {
      hlo_layout_mode_t outer = a->modes[i], inner = outer;
      for (inner.extent = 2; outer.extent % inner.extent; ++inner.extent) {
      }
      outer.extent /= inner.extent;
      outer.stride *= inner.extent;
      outer.position *= inner.extent;
      modes[count++] = inner;
      modes[count++] = outer;
    }
    assert_ptr_equal(a, hlo_tile_layout_make(&f.space, a->rank, a->dims, count, modes, a->swizzle));
    hlo_relayout_t none = hlo_tile_layout_relayout(a, a);
    assert_int_equal(none.kind, HLO_RELAYOUT_NONE);
    end(&f);
  }
}

// A sum is where the first element of its line is.
static void test_reduce(void** unused) {
  (void)unused;
  for (int round = 0; round < 300; ++round) {
    fixture_t f;
    begin(&f);
    const hlo_tile_layout_t* a = random_layout(&f);
    uint32_t gone = below(a->rank);
    const hlo_tile_layout_t* reduced = hlo_tile_layout_reduce(&f.space, a, (uint64_t)1 << gone);
    assert_int_equal(reduced->rank, a->rank - 1);
    for (int64_t at = 0; at < count_of(a->rank, a->dims); ++at) {
      int64_t index[3], kept[3], expected[HLO_AXIS_COUNT], found[HLO_AXIS_COUNT];
      index_at(a->rank, a->dims, at, index);
      for (uint32_t i = 0; i < reduced->rank; ++i) kept[i] = index[i + (i >= gone)];
      locate(reduced, kept, found);
      index[gone] = 0;
      locate(a, index, expected);
      assert_memory_equal(expected, found, sizeof expected);
    }
    end(&f);
  }
}

static const hlo_tile_layout_t* parsed(fixture_t* f, const char* text) {
  const hlo_tile_layout_t* layout = NULL;
  hlo_status_t status = hlo_tile_layout_parse(&f->space, &text, &layout);
  assert_true(hlo_status_is_ok(status));
  return layout;
}

static void check_relayout(fixture_t* f, const char* from, const char* to, hlo_relayout_kind_t kind,
                           int64_t moved) {
  hlo_relayout_t relayout = hlo_tile_layout_relayout(parsed(f, from), parsed(f, to));
  assert_int_equal(relayout.kind, kind);
  assert_int_equal(relayout.moved, moved);
}

static void test_relayout(void** unused) {
  (void)unused;
  fixture_t f;
  begin(&f);
  const char* rows = "<16x16 | 0:16/1 slot 1, 1:16/1 lane 1>";
  check_relayout(&f, rows, "<16x16 | 0:16/1 time 1, 1:16/1 lane 1>", HLO_RELAYOUT_RENAME, 1);
  check_relayout(&f, rows, "<16x16 | 0:16/1 lane 1, 1:16/1 slot 1>", HLO_RELAYOUT_SHUFFLE, 256);
  check_relayout(&f, rows, "<16x16 | 0:16/1 address 16, 1:16/1 address 1>", HLO_RELAYOUT_MEMORY, 1);
  check_relayout(&f, rows, "<16x16 | 0:16/1 core 1, 1:16/1 lane 1>", HLO_RELAYOUT_MEMORY, 1);
  check_relayout(&f, rows, "<16x16 | 0:16/1 device 1, 1:16/1 lane 1>", HLO_RELAYOUT_EXCHANGE, 1);
  check_relayout(&f, "<16x16 | 0:16/1 slot 0, 1:16/1 slot 0>", rows, HLO_RELAYOUT_BROADCAST, 1);
  check_relayout(&f, rows, "<16x16 | 0:16/1 slot 0, 1:16/1 lane 1>", HLO_RELAYOUT_IMPOSSIBLE, 1);
  check_relayout(&f, "<16 | 0:16/1 slot 0, *:16 lane 1>", "<16 | 0:16/1 lane 1>", HLO_RELAYOUT_NONE,
                 1);
  check_relayout(&f, "<16 | 0:16/1 lane 1>", "<16 | 0:16/1 lane 1, *:4 core 1>",
                 HLO_RELAYOUT_MEMORY, 1);
  check_relayout(&f, "<6 | 0:2/3 lane 1, 0:3/1 slot 1>", "<6 | 0:3/2 lane 1, 0:2/1 slot 1>",
                 HLO_RELAYOUT_MEMORY, 1);
  check_relayout(&f, "<4 | 0:4/1 lane 1>", "<8 | 0:8/1 lane 1>", HLO_RELAYOUT_IMPOSSIBLE, 1);
  // An element 2^20 steps of 2^46 away has moved.
  check_relayout(&f, "<35184372088832 | 0:35184372088832/1 address 70368744177664>",
                 "<35184372088832 | 0:33554432/1048576 slot 0, 0:1048576/1 address 70368744177664>",
                 HLO_RELAYOUT_MEMORY, 1);
  end(&f);
}

static void test_splats(void** unused) {
  (void)unused;
  fixture_t f;
  begin(&f);
  assert_true(hlo_tile_layout_is_splat(parsed(&f, "<8x32 | 0:8/1 slot 0, 1:32/1 slot 0>")));
  assert_true(hlo_tile_layout_is_splat(parsed(&f, "<8 | 0:8/1 slot 0, *:16 lane 1>")));
  assert_false(hlo_tile_layout_is_splat(parsed(&f, "<8x32 | 0:8/1 slot 0, 1:32/1 lane 1>")));
  const int64_t dims[2] = {4, 4};
  assert_null(hlo_tile_layout_make(&f.space, 2, dims, 0, NULL, (hlo_swizzle_t){3, 0, 2}));
  end(&f);
}

static void test_text(void** unused) {
  (void)unused;
  for (int round = 0; round < 200; ++round) {
    fixture_t f;
    begin(&f);
    const hlo_tile_layout_t* a = random_layout(&f);
    hlo_strbuf_t text = {0};
    hlo_tile_layout_print(a, &text);
    assert_ptr_equal(parsed(&f, hlo_strbuf_text(&text)), a);
    hlo_strbuf_deinit(&text);
    end(&f);
  }
  fixture_t f;
  begin(&f);
  const char* swizzled = "<64x8 | 0:64/1 address 8, 1:8/1 address 1 | xor 3 0 3>";
  hlo_strbuf_t text = {0};
  hlo_tile_layout_print(parsed(&f, swizzled), &text);
  assert_string_equal(hlo_strbuf_text(&text), swizzled);
  hlo_strbuf_deinit(&text);
  end(&f);
}

static void test_wrong_text(void** unused) {
  (void)unused;
  static const char* const wrong[] = {"",
                                      "<4 | 0:4/1 address 1 | xor 3>",
                                      "<4 | 0:4/1 address 1 | xor 99 0 3>",
                                      "<4",
                                      "<4>",
                                      "<4 | 0:2/1 lane 1>",
                                      "<4 | 0:4/1 moon 1>",
                                      "<4 | 0:4 lane 1>",
                                      "<4 | 0:4/1 lane>",
                                      "<4y4>",
                                      "<99999999999999999999>",
                                      "<4 | 77:4/1 lane 1>"};
  fixture_t f;
  begin(&f);
  for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    const char* text = wrong[i];
    const hlo_tile_layout_t* layout = NULL;
    hlo_status_t status = hlo_tile_layout_parse(&f.space, &text, &layout);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
    hlo_status_release(status);
    assert_null(layout);
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_canonical),  cmocka_unit_test(test_reduce),
      cmocka_unit_test(test_ownership),  cmocka_unit_test(test_relayout),
      cmocka_unit_test(test_splats),     cmocka_unit_test(test_text),
      cmocka_unit_test(test_wrong_text),
  };
  return cmocka_run_group_tests_name("tile/layout", tests, NULL, NULL);
}
