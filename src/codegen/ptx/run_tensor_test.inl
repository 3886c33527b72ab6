// SPDX-License-Identifier: Apache-2.0
// Tensor memory, for run_test.inl: products happen only when no thread can go on without them, in
// the order in which they were started; the form of operands and products is read by the formulas of
// the PTX ISA reference.
enum { PTX_TENSOR_ROWS = 128, PTX_TENSOR_COLUMNS = 512, PTX_TENSOR_FIRST = 64, PTX_STARTED_MAX = 64 };

// A product, or the arrival after those before it.
typedef struct ptx_started {
  const ptx_insn_t* insn;  // of the product; NULL: an arrival
  uint64_t left, right;
  uint32_t sums, form, thread, barrier;
  uint16_t clocks[PTX_AGENTS];  // of the thread that started it
} ptx_started_t;

typedef struct ptx_tensor {
  uint32_t columns;  // that are allocated; their addresses begin at PTX_TENSOR_FIRST
  uint32_t started_count;
  ptx_started_t started[PTX_STARTED_MAX];
  uint32_t words[PTX_TENSOR_ROWS][PTX_TENSOR_COLUMNS];
} ptx_tensor_t;

static uint32_t* ptx_tensor_word(ptx_run_t* run, uint32_t row, uint32_t column) {
  assert_true(column >= PTX_TENSOR_FIRST && column - PTX_TENSOR_FIRST < run->tensor->columns);
  return &run->tensor->words[row][column - PTX_TENSOR_FIRST];
}

// Starts a product of one thread, or its arrival.
static void ptx_start_tensor(ptx_run_t* run, const ptx_insn_t* insn, uint32_t thread) {
  const size_t offset = (size_t)thread * run->file_words;
  ptx_tensor_t* tensor = run->tensor;
  assert_true(tensor->started_count < PTX_STARTED_MAX);
  ptx_started_t* started = &tensor->started[tensor->started_count++];
  memcpy(started->clocks, run->threads[thread].clocks, sizeof started->clocks);
  started->thread = thread;
  started->insn = ptx_has(insn, "commit") ? NULL : insn;
  if (!started->insn) {
    started->barrier = ptx_find_barrier(run, ptx_operand(insn, 0, offset));
    return;
  }
  assert_int_equal(ptx_operand(insn, 4, offset) & 1, 1);  // it adds
  started->sums = (uint32_t)ptx_operand(insn, 0, offset);
  started->left = ptx_operand(insn, 1, offset);
  started->right = ptx_operand(insn, 2, offset);
  started->form = (uint32_t)ptx_operand(insn, 3, offset);
}

// The address of a byte of an operand's row, whose lines of 128 bytes are swizzled by their number.
static const uint8_t* ptx_tensor_operand(const ptx_run_t* run, uint64_t descriptor, uint32_t row,
                                         uint32_t byte) {
  assert_true(descriptor >> 61 == 2 && (descriptor >> 46 & 7) == 1 && (descriptor >> 49 & 7) == 0);
  const uint64_t eight_rows = (descriptor >> 32 & 0x3fff) << 4;
  uint64_t at = (descriptor & 0x3fff) << 4;
  at += row / 8 * eight_rows + row % 8 * 128 + byte;
  at ^= (at >> 7 & 7) << 4;
  const uintptr_t window = (uintptr_t)run->near & ~(uintptr_t)(PTX_WINDOW_BYTES - 1);
  return (const uint8_t*)(window + at);
}

static double ptx_tensor_element(ptx_run_t* run, const ptx_started_t* started, uint64_t descriptor,
                                 const char* type, uint32_t size, uint32_t row, uint32_t k) {
  const uint8_t* from = ptx_tensor_operand(run, descriptor, row, k * size);
  uint64_t bits = 0;
  ptx_see_agent(run, from, size, started->thread, started->clocks, false);
  memcpy(&bits, from, size);
  return ptx_element(type, bits);
}

static void ptx_multiply_tensor(ptx_run_t* run, const ptx_started_t* started) {
  enum { STEP_BYTES = 32, STEPS = 32 };
  static const char* const types[2][2] = {{"f16", "bf16"}, {"e4m3", "e5m2"}};
  const uint32_t form = started->form, columns = (form >> 17 & 63) * 8;
  const bool is_short = ptx_has(started->insn, "kind::f8f6f4");
  const uint32_t size = is_short ? 1 : 2, steps = STEP_BYTES / size;
  const uint32_t left_type = form >> 7 & 7, right_type = form >> 10 & 7;
  static double b[256][STEPS];
  assert_true(ptx_has(started->insn, is_short ? "kind::f8f6f4" : "kind::f16"));
  // Sums of f32, nothing negated or transposed, 128 rows.
  assert_int_equal(form & ~(0x3fu << 17 | 7u << 7 | 7u << 10), 1u << 4 | 8u << 24);
  assert_true(left_type < 2 && right_type < 2 && columns % 16 == 0 && columns <= 256 && columns);
  assert_int_equal(started->sums >> 16, 0);
  for (uint32_t column = 0; column < columns; ++column) {
    for (uint32_t k = 0; k < steps; ++k) {
      b[column][k] = ptx_tensor_element(run, started, started->right, types[is_short][right_type],
                                        size, column, k);
    }
  }
  for (uint32_t row = 0; row < PTX_TENSOR_ROWS; ++row) {
    double a[STEPS];
    for (uint32_t k = 0; k < steps; ++k) {
      a[k] = ptx_tensor_element(run, started, started->left, types[is_short][left_type], size, row,
                                k);
    }
    for (uint32_t column = 0; column < columns; ++column) {
      uint32_t* word = ptx_tensor_word(run, row, started->sums + column);
      double sum = (double)ptx_f32(*word);
      for (uint32_t k = 0; k < steps; ++k) sum += a[k] * b[column][k];
      *word = (uint32_t)ptx_word(sum, 32);
    }
  }
}

// Lets the oldest product, or arrival, happen; false: none is under way.
static bool ptx_finish_tensor(ptx_run_t* run) {
  ptx_tensor_t* tensor = run->tensor;
  if (!tensor->started_count) return false;
  const ptx_started_t started = tensor->started[0];
  memmove(tensor->started, tensor->started + 1, --tensor->started_count * sizeof started);
  if (started.insn) {
    ptx_multiply_tensor(run, &started);
  } else {
    ptx_arrive(run, started.barrier, started.thread, 0);
  }
  return true;
}

// Allocates, frees or accesses the rows of a warp.
static void ptx_warp_tensor(ptx_run_t* run, const ptx_insn_t* insn, uint32_t first) {
  ptx_tensor_t* tensor = run->tensor;
  const size_t offset = (size_t)first * run->file_words;
  if (ptx_has(insn, "alloc")) {
    uint8_t* to = (uint8_t*)(uintptr_t)ptx_operand(insn, 0, offset);
    const uint32_t address = PTX_TENSOR_FIRST, columns = (uint32_t)insn->words[1];
    assert_true(!tensor->columns && columns >= 32 && columns <= PTX_TENSOR_COLUMNS &&
                (columns & (columns - 1)) == 0);
    tensor->columns = columns;
    ptx_see(run, to, sizeof address, first, true);
    memcpy(to, &address, sizeof address);
    return;
  }
  if (ptx_has(insn, "dealloc")) {
    assert_int_equal(ptx_operand(insn, 0, offset), PTX_TENSOR_FIRST);
    assert_int_equal(insn->words[1], tensor->columns);
    assert_int_equal(tensor->started_count, 0);
    tensor->columns = 0;
    return;
  }
  const bool is_load = ptx_has(insn, "ld");
  for (uint32_t lane = 0; lane < PTX_WARP_THREADS; ++lane) {
    const uint32_t thread = first + lane, row = first % PTX_TENSOR_ROWS + lane;
    const uint32_t address = (uint32_t)*ptx_register_of(run, insn, is_load, thread);
    assert_int_equal(address >> 16, first % PTX_TENSOR_ROWS);
    for (uint32_t i = 0; i < insn->list_count; ++i) {
      uint64_t* own = ptx_register_of(run, insn, !is_load, thread) + i;
      uint32_t* word = ptx_tensor_word(run, row, (address & 0xffff) + i);
      if (is_load) {
        *own = *word;
      } else {
        *word = (uint32_t)*own;
      }
    }
  }
}
