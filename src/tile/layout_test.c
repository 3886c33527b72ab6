// SPDX-License-Identifier: Apache-2.0
// Layouts against brute force on small shapes: who owns which element, results of the algebra
// element by element, canonical forms, text.
#include "tile/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
    modes[count++] =
        (hlo_layout_mode_t){HLO_LAYOUT_MODE_REPLICATED, (hlo_axis_t)(HLO_AXIS_LANE + below(3)), 2, 0, 1};
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

static bool same_position(const int64_t* a, const int64_t* b) {
  return memcmp(a, b, HLO_AXIS_COUNT * sizeof *a) == 0;
}

// Every place holds one element, every element has as many places as it should.
static void check_ownership(const hlo_tile_layout_t* a) {
  int64_t count = count_of(a->rank, a->dims), owners[1000] = {0};
  assert_true(count < 1000);
  int64_t ends[HLO_AXIS_COUNT], places = 1;
  for (uint32_t i = 0; i < HLO_AXIS_COUNT; ++i) ends[i] = 1;
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    ends[a->modes[i].axis] += (a->modes[i].extent - 1) * a->modes[i].position;
  }
  for (uint32_t i = 0; i < HLO_AXIS_COUNT; ++i) places *= ends[i];
  for (int64_t p = 0; p < places; ++p) {
    int64_t position[HLO_AXIS_COUNT], index[HLO_TILE_LAYOUT_MAX_RANK];
    index_at(HLO_AXIS_COUNT, ends, p, position);
    if (!hlo_tile_layout_index(a, position, index)) continue;
    int64_t at = 0;
    for (uint32_t i = 0; i < a->rank; ++i) {
      assert_in_range(index[i], 0, a->dims[i] - 1);
      at = at * a->dims[i] + index[i];
    }
    ++owners[at];
  }
  for (int64_t at = 0; at < count; ++at) {
    int64_t index[HLO_TILE_LAYOUT_MAX_RANK], back[HLO_TILE_LAYOUT_MAX_RANK],
        position[HLO_AXIS_COUNT];
    assert_int_equal(owners[at], hlo_tile_layout_owner_count(a));
    index_at(a->rank, a->dims, at, index);
    hlo_tile_layout_locate(a, index, position);
    assert_true(hlo_tile_layout_index(a, position, back));
    assert_memory_equal(index, back, a->rank * sizeof *index);
  }
}

static void test_ownership(void** unused) {
  (void)unused;
  for (int round = 0; round < 400; ++round) {
    fixture_t f;
    begin(&f);
    const hlo_tile_layout_t* a = random_layout(&f);
    if (count_of(a->rank, a->dims) < 1000) check_ownership(a);
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
    assert_ptr_equal(a,
                     hlo_tile_layout_make(&f.space, a->rank, a->dims, count, modes, a->swizzle));
    hlo_relayout_t none = hlo_tile_layout_relayout(a, a);
    assert_int_equal(none.kind, HLO_RELAYOUT_NONE);
    end(&f);
  }
}

static void test_transpose_and_reshape(void** unused) {
  (void)unused;
  uint32_t reshaped = 0;
  for (int round = 0; round < 500; ++round) {
    fixture_t f;
    begin(&f);
    const hlo_tile_layout_t* a = random_layout(&f);
    int64_t permutation[3] = {0, 1, 2}, count = count_of(a->rank, a->dims);
    for (uint32_t i = a->rank; i-- > 1;) {
      uint32_t other = below(i + 1);
      int64_t kept = permutation[i];
      permutation[i] = permutation[other], permutation[other] = kept;
    }
    const hlo_tile_layout_t* transposed = hlo_tile_layout_transpose(&f.space, a, permutation);
    int64_t factor = 1 + below(4);
    int64_t dims[3] = {count / factor, 1, factor};
    const hlo_tile_layout_t* flat =
        count % factor ? NULL : hlo_tile_layout_reshape(&f.space, a, 3, dims);
    reshaped += flat != NULL;
    for (int64_t at = 0; at < count; ++at) {
      int64_t index[3], moved[3], expected[HLO_AXIS_COUNT], found[HLO_AXIS_COUNT];
      index_at(a->rank, a->dims, at, index);
      hlo_tile_layout_locate(a, index, expected);
      for (uint32_t i = 0; i < a->rank; ++i) moved[i] = index[permutation[i]];
      hlo_tile_layout_locate(transposed, moved, found);
      assert_true(same_position(expected, found));
      if (!flat) continue;
      index_at(3, dims, at, moved);
      hlo_tile_layout_locate(flat, moved, found);
      assert_true(same_position(expected, found));
    }
    if (flat) {
      assert_ptr_equal(hlo_tile_layout_reshape(&f.space, flat, a->rank, a->dims), a);
    }
    end(&f);
  }
  assert_true(reshaped > 100);
}

static void test_reduce_and_broadcast(void** unused) {
  (void)unused;
  for (int round = 0; round < 300; ++round) {
    fixture_t f;
    begin(&f);
    const hlo_tile_layout_t* a = random_layout(&f);
    uint32_t gone = below(a->rank);
    const hlo_tile_layout_t* reduced = hlo_tile_layout_reduce(&f.space, a, (uint64_t)1 << gone);
    assert_int_equal(reduced->rank, a->rank - 1);
    int64_t mapping[3] = {0, 1, 2};
    for (uint32_t i = gone; i < reduced->rank; ++i) mapping[i] = i + 1;
    const hlo_tile_layout_t* wide =
        hlo_tile_layout_broadcast(&f.space, reduced, a->rank, a->dims, mapping);
    for (int64_t at = 0; at < count_of(a->rank, a->dims); ++at) {
      int64_t index[3], kept[3], expected[HLO_AXIS_COUNT], found[HLO_AXIS_COUNT];
      index_at(a->rank, a->dims, at, index);
      for (uint32_t i = 0; i < reduced->rank; ++i) kept[i] = index[mapping[i]];
      hlo_tile_layout_locate(wide, index, found);
      index[gone] = 0;  // the first element of the line has the place of the sum
      hlo_tile_layout_locate(a, index, expected);
      assert_true(same_position(expected, found));
      hlo_tile_layout_locate(reduced, kept, found);
      assert_true(same_position(expected, found));
    }
    // Back to the layout that was reduced: never more than putting one element in many places.
    assert_true(hlo_tile_layout_relayout(wide, a).kind <= HLO_RELAYOUT_BROADCAST);
    assert_ptr_equal(hlo_tile_layout_reduce(&f.space, wide, (uint64_t)1 << gone), reduced);
    end(&f);
  }
}

static void test_slice(void** unused) {
  (void)unused;
  uint32_t sliced = 0;
  for (int round = 0; round < 1000; ++round) {
    fixture_t f;
    begin(&f);
    const hlo_tile_layout_t* a = random_layout(&f);
    int64_t starts[3], sizes[3], base[HLO_AXIS_COUNT];
    for (uint32_t i = 0; i < a->rank; ++i) {
      starts[i] = below((uint32_t)a->dims[i]);
      sizes[i] = 1 + below((uint32_t)(a->dims[i] - starts[i]));
    }
    const hlo_tile_layout_t* box = NULL;
    hlo_status_t status = hlo_tile_layout_slice(&f.space, a, starts, sizes, base, &box);
    assert_int_equal(hlo_status_is_ok(status), box != NULL);
    hlo_status_release(status);
    sliced += box != NULL;
    for (int64_t at = 0; box && at < count_of(a->rank, sizes); ++at) {
      int64_t index[3], expected[HLO_AXIS_COUNT], found[HLO_AXIS_COUNT];
      index_at(a->rank, sizes, at, index);
      hlo_tile_layout_locate(box, index, found);
      for (uint32_t i = 0; i < HLO_AXIS_COUNT; ++i) found[i] += base[i];
      for (uint32_t i = 0; i < a->rank; ++i) index[i] += starts[i];
      hlo_tile_layout_locate(a, index, expected);
      assert_true(same_position(expected, found));
    }
    end(&f);
  }
  assert_true(sliced > 200);
}

static const hlo_tile_layout_t* parsed(fixture_t* f, const char* text) {
  const hlo_tile_layout_t* layout = NULL;
  hlo_status_t status = hlo_tile_layout_parse(&f->space, &text, &layout);
  assert_true(hlo_status_is_ok(status));
  return layout;
}

static void test_bitcast(void** unused) {
  (void)unused;
  fixture_t f;
  begin(&f);
  const hlo_tile_layout_t* words = parsed(&f, "<4x16 | 0:4/1 slot 1, 1:16/1 lane 1>");
  const hlo_tile_layout_t* bytes = hlo_tile_layout_bitcast(&f.space, words, 32, 8);
  assert_ptr_equal(bytes, parsed(&f, "<4x16x4 | 0:4/1 slot 1, 1:16/1 lane 4, 2:4/1 lane 1>"));
  assert_ptr_equal(hlo_tile_layout_bitcast(&f.space, bytes, 8, 32), words);
  assert_null(hlo_tile_layout_bitcast(&f.space, bytes, 8, 64));
  const int64_t dims[2] = {6, 4};
  const hlo_tile_layout_t* memory = hlo_tile_layout_row_major(&f.space, 2, dims);
  const hlo_tile_layout_t* wide = hlo_tile_layout_bitcast(&f.space, memory, 16, 64);
  assert_ptr_equal(wide, hlo_tile_layout_row_major(&f.space, 1, dims));
  assert_ptr_equal(hlo_tile_layout_bitcast(&f.space, wide, 64, 16), memory);
  end(&f);
}

static void test_swizzle(void** unused) {
  (void)unused;
  fixture_t f;
  begin(&f);
  // 64 rows of 8 words: a column would lie in one of 32 banks; with the XOR it is spread.
  const hlo_tile_layout_t* a = parsed(&f, "<64x8 | 0:64/1 address 8, 1:8/1 address 1 | xor 3 0 3>");
  bool is_taken[512] = {false};
  for (int64_t row = 0; row < 64; ++row) {
    uint32_t columns = 0;
    for (int64_t column = 0; column < 8; ++column) {
      int64_t index[2] = {row, column}, position[HLO_AXIS_COUNT], back[2];
      hlo_tile_layout_locate(a, index, position);
      int64_t address = position[HLO_AXIS_ADDRESS];
      assert_in_range(address, 0, 511);
      assert_false(is_taken[address]);
      is_taken[address] = true;
      columns |= 1u << (address % 8);
      assert_true(hlo_tile_layout_index(a, position, back));
      assert_memory_equal(index, back, sizeof index);
    }
    assert_int_equal(columns, 0xff);
  }
  uint32_t banks = 0;
  for (int64_t row = 0; row < 8; ++row) {
    int64_t index[2] = {row, 0}, position[HLO_AXIS_COUNT];
    hlo_tile_layout_locate(a, index, position);
    banks |= 1u << (position[HLO_AXIS_ADDRESS] % 8);
  }
  assert_int_equal(banks, 0xff);
  const int64_t dims[2] = {4, 4};
  assert_null(hlo_tile_layout_make(&f.space, 2, dims, 0, NULL, (hlo_swizzle_t){3, 0, 2}));
  end(&f);
}

static void check_relayout(fixture_t* f, const char* from, const char* to, hlo_relayout_kind_t kind,
                           int64_t moved) {
  hlo_relayout_t relayout = hlo_tile_layout_relayout(parsed(f, from), parsed(f, to));
  assert_string_equal(hlo_relayout_name(relayout.kind), hlo_relayout_name(kind));
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

static void test_kinds(void** unused) {
  (void)unused;
  fixture_t f;
  begin(&f);
  const int64_t dims[2] = {8, 32}, tile[2] = {2, 16};
  const hlo_tile_layout_t* splat = hlo_tile_layout_splat(&f.space, 2, dims);
  const hlo_tile_layout_t* plain = hlo_tile_layout_row_major(&f.space, 2, dims);
  const hlo_tile_layout_t* packed = NULL;
  assert_true(hlo_status_is_ok(
      hlo_tile_layout_packed(&f.space, 2, dims, tile, HLO_TILE_EDGE_REFUSE, &packed)));
  assert_int_equal(hlo_tile_layout_kind(splat), HLO_TILE_LAYOUT_SPLAT);
  assert_int_equal(hlo_tile_layout_kind(plain), HLO_TILE_LAYOUT_STRIDED);
  assert_int_equal(hlo_tile_layout_kind(packed), HLO_TILE_LAYOUT_TILED);
  const int64_t index[2] = {3, 17};
  int64_t position[HLO_AXIS_COUNT];
  hlo_tile_layout_locate(packed, index, position);
  assert_int_equal(position[HLO_AXIS_ADDRESS], 3 * 32 + 16 + 1);
  assert_int_equal(hlo_tile_layout_extent(packed, HLO_AXIS_ADDRESS), 256);
  assert_int_equal(hlo_tile_layout_extent(splat, HLO_AXIS_LANE), 1);
  end(&f);
}

static void expect_error(hlo_status_t status, const char* message) {
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  assert_string_equal(hlo_status_message(status), message);
  hlo_status_release(status);
}

// A size that does not divide is refused by name, or padded on request.
static void test_edges(void** unused) {
  (void)unused;
  fixture_t f;
  begin(&f);
  const int64_t dims[2] = {8, 30}, tile[2] = {2, 16}, none[2] = {2, 0}, padded[2] = {8, 32};
  const hlo_tile_layout_t *layout = NULL, *expected = NULL;
  expect_error(hlo_tile_layout_packed(&f.space, 2, dims, tile, HLO_TILE_EDGE_REFUSE, &layout),
               "dimension 1: 30 elements cannot be cut in tiles of 16");
  expect_error(hlo_tile_layout_packed(&f.space, 2, dims, none, HLO_TILE_EDGE_PAD, &layout),
               "dimension 1: 30 elements cannot be cut in tiles of 0");
  const int64_t huge[2] = {INT64_MAX, 30};
  expect_error(hlo_tile_layout_packed(&f.space, 2, huge, tile, HLO_TILE_EDGE_PAD, &layout),
               "dimension 0: 9223372036854775807 elements cannot be cut in tiles of 2");
  assert_true(hlo_status_is_ok(
      hlo_tile_layout_packed(&f.space, 2, dims, tile, HLO_TILE_EDGE_PAD, &layout)));
  assert_true(hlo_status_is_ok(
      hlo_tile_layout_packed(&f.space, 2, padded, tile, HLO_TILE_EDGE_REFUSE, &expected)));
  assert_ptr_equal(layout, expected);

  int64_t base[HLO_AXIS_COUNT];
  const int64_t outside[2] = {4, 0}, rows[2] = {6, 16}, torn[2] = {0, 8}, whole[2] = {2, 16};
  expect_error(hlo_tile_layout_slice(&f.space, layout, outside, rows, base, &layout),
               "dimension 0: 6 elements from 4 on are not within its size of 8");
  expect_error(hlo_tile_layout_slice(&f.space, layout, torn, whole, base, &layout),
               "dimension 1: 16 elements from 8 on are not whole tiles of 16");
  const hlo_tile_layout_t* swizzled =
      parsed(&f, "<64x8 | 0:64/1 address 8, 1:8/1 address 1 | xor 3 0 3>");
  expect_error(hlo_tile_layout_slice(&f.space, swizzled, outside, whole, base, &layout),
               "a slice of swizzled addresses");
  end(&f);
}

// ---- chains of changes

enum { CHAIN_ELEMENTS = 8 * 12 * 4 };

// The array after a chain of changes: the address of each element, row-major.
typedef struct view {
  uint32_t rank;
  int64_t dims[4], addresses[CHAIN_ELEMENTS];
} view_t;

// Element `at` of `to` is the one of `from` at `origin` plus the index of `at`, dimension i of
// which is dimension `permutation[i]` of `from`.
static void pick(const view_t* from, const int64_t* permutation, const int64_t* origin,
                 view_t* to) {
  for (int64_t at = 0; at < count_of(to->rank, to->dims); ++at) {
    int64_t index[4], source[4], flat = 0;
    index_at(to->rank, to->dims, at, index);
    for (uint32_t i = 0; i < to->rank; ++i) {
      source[permutation[i]] = index[i] + origin[permutation[i]];
    }
    for (uint32_t i = 0; i < from->rank; ++i) flat = flat * from->dims[i] + source[i];
    to->addresses[at] = from->addresses[flat];
  }
}

// Applies a chain's next step to the layout and to the view; returns the layout itself if no step
// is possible.
static const hlo_tile_layout_t* step_transpose(fixture_t* f, const hlo_tile_layout_t* a,
                                               view_t* view) {
  int64_t permutation[4] = {0, 1, 2, 3}, origin[4] = {0};
  view_t to = {.rank = view->rank};
  for (uint32_t i = view->rank; i-- > 1;) {
    uint32_t other = below(i + 1);
    int64_t kept = permutation[i];
    permutation[i] = permutation[other], permutation[other] = kept;
  }
  for (uint32_t i = 0; i < view->rank; ++i) to.dims[i] = view->dims[permutation[i]];
  pick(view, permutation, origin, &to);
  *view = to;
  return hlo_tile_layout_transpose(&f->space, a, permutation);
}

// Splits a dimension, joins two, or puts in or takes out one of size 1 (expand, collapse, squeeze).
static const hlo_tile_layout_t* step_reshape(fixture_t* f, const hlo_tile_layout_t* a,
                                             view_t* view) {
  int64_t dims[4] = {1, 1, 1, 1};
  uint32_t rank = 1 + below(4);
  int64_t count = count_of(view->rank, view->dims);
  for (uint32_t i = 0; i + 1 < rank; ++i) {
    int64_t size = 1 + below(6);
    dims[i] = count % size ? 1 : size;
    count /= dims[i];
  }
  dims[rank - 1] = count;
  const hlo_tile_layout_t* reshaped = hlo_tile_layout_reshape(&f->space, a, rank, dims);
  if (!reshaped) return a;
  view->rank = rank;
  memcpy(view->dims, dims, sizeof dims);
  return reshaped;
}

static const hlo_tile_layout_t* step_slice(fixture_t* f, const hlo_tile_layout_t* a, view_t* view) {
  static const int64_t same[4] = {0, 1, 2, 3};
  int64_t starts[4] = {0}, base[HLO_AXIS_COUNT];
  view_t to = {.rank = view->rank};
  for (uint32_t i = 0; i < view->rank; ++i) {
    to.dims[i] = below(3) ? view->dims[i] : 1 + below((uint32_t)view->dims[i]);
    starts[i] = below((uint32_t)(view->dims[i] - to.dims[i]) + 1);
  }
  const hlo_tile_layout_t* sliced = NULL;
  hlo_status_t status = hlo_tile_layout_slice(&f->space, a, starts, to.dims, base, &sliced);
  hlo_status_release(status);
  if (!sliced) return a;
  pick(view, same, starts, &to);
  // The layout of a slice begins at 0.
  int64_t first = base[HLO_AXIS_ADDRESS];
  for (int64_t at = 0; at < count_of(to.rank, to.dims); ++at) to.addresses[at] -= first;
  *view = to;
  return sliced;
}

static void check_view(const hlo_tile_layout_t* a, const view_t* view) {
  assert_int_equal(a->rank, view->rank);
  for (int64_t at = 0; at < count_of(view->rank, view->dims); ++at) {
    int64_t index[4], position[HLO_AXIS_COUNT];
    index_at(view->rank, view->dims, at, index);
    hlo_tile_layout_locate(a, index, position);
    assert_int_equal(position[HLO_AXIS_ADDRESS], view->addresses[at]);
  }
}

// Tiles, perhaps swizzled, then transposed, reshaped and sliced in random order: an element is
// where going through it step by step says.
static void test_chains(void** unused) {
  (void)unused;
  static const int64_t dims[3] = {8, 12, 4}, tiles[][3] = {{8, 12, 4}, {2, 3, 4}, {4, 4, 1}};
  uint32_t refused = 0;
  for (int round = 0; round < 400; ++round) {
    fixture_t f;
    begin(&f);
    const int64_t* tile = tiles[below(3)];
    hlo_swizzle_t swizzle = below(3) ? (hlo_swizzle_t){0} : (hlo_swizzle_t){2, 0, 3};
    const hlo_tile_layout_t* a = NULL;
    assert_true(hlo_status_is_ok(
        hlo_tile_layout_packed(&f.space, 3, dims, tile, HLO_TILE_EDGE_REFUSE, &a)));
    a = hlo_tile_layout_make(&f.space, 3, dims, a->mode_count, a->modes, swizzle);
    view_t view = {.rank = 3, .dims = {8, 12, 4}};
    for (int64_t at = 0; at < CHAIN_ELEMENTS; ++at) {
      int64_t index[3], address = 0;
      index_at(3, dims, at, index);
      for (uint32_t i = 0; i < 3; ++i) address = address * (dims[i] / tile[i]) + index[i] / tile[i];
      for (uint32_t i = 0; i < 3; ++i) address = address * tile[i] + index[i] % tile[i];
      view.addresses[at] = swizzle.bits ? address ^ (address >> 3 & 3) : address;
    }
    check_view(a, &view);
    for (uint32_t step = 0; step < 6; ++step) {
      const hlo_tile_layout_t* before = a;
      uint32_t what = below(3);
      a = what == 0   ? step_transpose(&f, a, &view)
          : what == 1 ? step_reshape(&f, a, &view)
                      : step_slice(&f, a, &view);
      refused += a == before;
      check_view(a, &view);
    }
    end(&f);
  }
  assert_in_range(refused, 100, 1600);
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
      cmocka_unit_test(test_ownership),
      cmocka_unit_test(test_canonical),
      cmocka_unit_test(test_transpose_and_reshape),
      cmocka_unit_test(test_reduce_and_broadcast),
      cmocka_unit_test(test_slice),
      cmocka_unit_test(test_bitcast),
      cmocka_unit_test(test_swizzle),
      cmocka_unit_test(test_relayout),
      cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_edges),
      cmocka_unit_test(test_chains),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_wrong_text),
  };
  return cmocka_run_group_tests_name("tile/layout", tests, NULL, NULL);
}
