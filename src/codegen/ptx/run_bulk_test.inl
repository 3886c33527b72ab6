// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory and copies of boxes of matrices, for run_test.inl. A copy happens only
// when no thread can go on without it; what barriers order is known by vector clocks.
enum { PTX_MAPS_MAX = 8, PTX_BARRIERS_MAX = 32, PTX_BULK_MAX = 64, PTX_GRANULE = 16 };

// A matrix, as a comment of the text describes it.
typedef struct ptx_map {
  const uint8_t* base;
  uint32_t size, swizzle_bytes;
  long long rows, columns, box_rows, box_columns;
} ptx_map_t;

typedef struct ptx_barrier {
  uint64_t address;
  uint32_t arrivals, pending, phase;
  int64_t bytes;                                      // that are expected and did not come yet
  uint16_t arrived[PTX_AGENTS], ended[PTX_AGENTS];  // clocks of this phase and the last one
} ptx_barrier_t;

typedef struct ptx_box {
  const ptx_map_t* map;
  uint8_t* to;
  int32_t row, column;
  uint32_t barrier;
  uint16_t clocks[PTX_AGENTS];  // of the thread that started it
} ptx_box_t;

typedef struct ptx_bulk {
  uint32_t map_count, barrier_count, box_count;
  ptx_map_t maps[PTX_MAPS_MAX];
  ptx_barrier_t barriers[PTX_BARRIERS_MAX];
  ptx_box_t boxes[PTX_BULK_MAX];  // under way, oldest first
  struct {
    uint32_t epoch;
    uint16_t clocks[PTX_AGENTS];
  } * readers;  // of granules of which several threads read a byte
} ptx_bulk_t;

// Reads the comments after the one that says how the kernel is launched.
static ptx_bulk_t* ptx_prepare_bulk(hlo_arena_t* arena, const ptx_run_t* run, const char* text,
                                    const char* name) {
  ptx_bulk_t* bulk = hlo_arena_alloc_zeroed(arena, sizeof *bulk);
  char head[160], type[16];
  snprintf(head, sizeof head, "// %s: ", name);
  const char* line = strstr(text, head);
  line = line ? strchr(line, '\n') + 1 : "";
  unsigned number, buffer;
  ptx_map_t map = {0};
  while (sscanf(line,
                "// map %u: buffer %u as %15[^[][%lld, %lld], boxes of %lld x %lld, swizzle of %u",
                &number, &buffer, type, &map.rows, &map.columns, &map.box_rows, &map.box_columns,
                &map.swizzle_bytes) == 8) {
    map.base = (const uint8_t*)(uintptr_t)run->params[buffer];
    map.size = (uint32_t)hlo_dtype_size_bytes(hlo_dtype_from_hlo_name(type, strlen(type)));
    assert_true(number == bulk->map_count && number < PTX_MAPS_MAX);
    bulk->maps[bulk->map_count++] = map;
    line = strchr(line, '\n') + 1;
  }
  if (!bulk->map_count) return bulk;
  bulk->readers =
      hlo_arena_array(arena, run->near_bytes / PTX_GRANULE + 1, sizeof *bulk->readers);
  return bulk;
}

// A new block begins.
static void ptx_reset_bulk(ptx_run_t* run) {
  ptx_bulk_t* bulk = run->bulk;
  assert_int_equal(bulk->box_count, 0);
  bulk->barrier_count = 0;
  if (bulk->readers) memset(run->bytes, 0, run->near_bytes * sizeof *run->bytes);
}

// ---- clocks ------------------------------------------------------------------------------------

static void ptx_join(uint16_t* to, const uint16_t* from) {
  for (uint32_t i = 0; i < PTX_AGENTS; ++i) to[i] = from[i] > to[i] ? from[i] : to[i];
}

// Returns true if somebody else has read the byte without an order; notes a reader of it. clocks:
// NULL, only note it, as of this epoch's beginning.
static bool ptx_see_readers(ptx_run_t* run, size_t at, uint32_t agent, const uint16_t* clocks,
                            bool is_write) {
  if (!run->bulk->readers) return true;  // only waits of all threads order anything
  uint16_t* readers = run->bulk->readers[at / PTX_GRANULE].clocks;
  uint32_t* epoch = &run->bulk->readers[at / PTX_GRANULE].epoch;
  bool is_unordered = false;
  if (*epoch != run->epoch) {
    memset(readers, 0, PTX_AGENTS * sizeof *readers);
    *epoch = run->epoch;
  }
  if (!clocks) {
    readers[agent] = run->bytes[at].read_clock;
    return false;
  }
  for (uint32_t i = 0; i < run->thread_count; ++i) {
    is_unordered |= i != agent && readers[i] > clocks[i];
  }
  if (!is_write) readers[agent] = clocks[agent];
  return is_unordered;
}

// Lets threads know of each other what they have done.
static void ptx_join_threads(ptx_run_t* run, const bool* is_in) {
  uint16_t all[PTX_AGENTS] = {0};
  for (uint32_t i = 0; i < run->thread_count; ++i) {
    if (is_in[i]) ptx_join(all, run->threads[i].clocks);
  }
  for (uint32_t i = 0; i < run->thread_count; ++i) {
    if (!is_in[i]) continue;
    memcpy(run->threads[i].clocks, all, sizeof all);
    ++run->threads[i].clocks[i];
  }
}

// ---- barriers ----------------------------------------------------------------------------------

static uint32_t ptx_find_barrier(ptx_run_t* run, uint64_t address) {
  ptx_bulk_t* bulk = run->bulk;
  uint32_t i = 0;
  while (i < bulk->barrier_count && bulk->barriers[i].address != address) ++i;
  assert_true(address % 8 == 0 && i < PTX_BARRIERS_MAX);
  return i;
}

static void ptx_end_phase(ptx_run_t* run, uint32_t number) {
  ptx_barrier_t* barrier = &run->bulk->barriers[number];
  if (barrier->pending || barrier->bytes) return;
  const uint32_t agent = run->thread_count + number;
  assert_true(agent < PTX_AGENTS);
  ++barrier->phase;
  barrier->pending = barrier->arrivals;
  barrier->arrived[agent] = (uint16_t)barrier->phase;
  memcpy(barrier->ended, barrier->arrived, sizeof barrier->ended);
}

static void ptx_arrive(ptx_run_t* run, uint32_t number, uint32_t thread, int64_t bytes) {
  ptx_barrier_t* barrier = &run->bulk->barriers[number];
  assert_true(number < run->bulk->barrier_count && barrier->pending > 0);
  ptx_join(barrier->arrived, run->threads[thread].clocks);
  ++run->threads[thread].clocks[thread];
  --barrier->pending;
  barrier->bytes += bytes;
  ptx_end_phase(run, number);
}

static bool ptx_try(ptx_run_t* run, const ptx_insn_t* insn, uint32_t thread) {
  const size_t offset = (size_t)thread * run->file_words;
  const uint32_t number = ptx_find_barrier(run, ptx_operand(insn, 1, offset));
  const uint64_t parity = ptx_operand(insn, 2, offset);
  const ptx_barrier_t* barrier = &run->bulk->barriers[number];
  assert_true(number < run->bulk->barrier_count && parity < 2);
  if ((barrier->phase & 1) == parity) return false;
  if (barrier->phase) ptx_join(run->threads[thread].clocks, barrier->ended);
  insn->registers[0][offset] = 1;
  return true;
}

// ---- copies ------------------------------------------------------------------------------------

static void ptx_start_box(ptx_run_t* run, const ptx_insn_t* insn, uint32_t thread) {
  const size_t offset = (size_t)thread * run->file_words;
  ptx_bulk_t* bulk = run->bulk;
  assert_true(bulk->box_count < PTX_BULK_MAX);
  ptx_box_t* box = &bulk->boxes[bulk->box_count++];
  const uint64_t map = ptx_operand(insn, 1, offset);
  assert_true(map < bulk->map_count);
  box->map = &bulk->maps[map];
  box->to = (uint8_t*)(uintptr_t)ptx_operand(insn, 0, offset);
  box->column = (int32_t)ptx_operand(insn, 2, offset);
  box->row = (int32_t)ptx_operand(insn, 3, offset);
  box->barrier = ptx_find_barrier(run, ptx_operand(insn, 4, offset));
  memcpy(box->clocks, run->threads[thread].clocks, sizeof box->clocks);
  assert_true((box->to - run->near) % 128 == 0 && (uintptr_t)box->map->base % 16 == 0);
  assert_true(box->map->columns * box->map->size % 16 == 0);
}

static void ptx_do_bulk(ptx_run_t* run, const ptx_insn_t* insn, uint32_t thread) {
  const size_t offset = (size_t)thread * run->file_words;
  if (strcmp(insn->parts[0], "cp") == 0) {
    ptx_start_box(run, insn, thread);
  } else if (ptx_has(insn, "init")) {
    const uint32_t number = ptx_find_barrier(run, ptx_operand(insn, 0, offset));
    const uint32_t arrivals = (uint32_t)insn->words[1];
    if (number == run->bulk->barrier_count) ++run->bulk->barrier_count;
    run->bulk->barriers[number] = (ptx_barrier_t){.address = ptx_operand(insn, 0, offset),
                                                  .arrivals = arrivals,
                                                  .pending = arrivals};
  } else {
    const uint32_t number = ptx_find_barrier(run, ptx_operand(insn, 1, offset));
    ptx_arrive(run, number, thread, ptx_has(insn, "expect_tx") ? (int64_t)insn->words[2] : 0);
  }
}

// Lets the oldest copy happen; false: none is under way. Elements outside of the matrix are zeros;
// units of 16 bytes are exchanged by the number of their line of 128.
static bool ptx_finish_bulk(ptx_run_t* run) {
  ptx_bulk_t* bulk = run->bulk;
  if (!bulk->box_count) return false;
  ptx_box_t box = bulk->boxes[0];
  const ptx_map_t* map = box.map;
  ptx_barrier_t* barrier = &bulk->barriers[box.barrier];
  const uint32_t agent = run->thread_count + box.barrier;
  memmove(bulk->boxes, bulk->boxes + 1, --bulk->box_count * sizeof box);
  box.clocks[agent] = (uint16_t)(barrier->phase + 1);
  for (long long i = 0; i < map->box_rows * map->box_columns; ++i) {
    const long long row = box.row + i / map->box_columns, column = box.column + i % map->box_columns;
    const bool is_inside = row >= 0 && row < map->rows && column >= 0 && column < map->columns;
    size_t at = (size_t)(box.to - run->near) + (size_t)i * map->size;
    if (map->swizzle_bytes) at ^= (at >> 7 << 4) & (map->swizzle_bytes - 16);
    ptx_see_agent(run, run->near + at, map->size, agent, box.clocks, true);
    memset(run->near + at, 0, map->size);
    if (is_inside) {
      memcpy(run->near + at, map->base + (row * map->columns + column) * map->size, map->size);
    }
  }
  barrier->bytes -= map->box_rows * map->box_columns * map->size;
  ptx_end_phase(run, box.barrier);
  return true;
}
