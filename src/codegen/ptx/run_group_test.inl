// SPDX-License-Identifier: Apache-2.0
// Operations of the threads of a block, for run_test.inl: waits, exchanges, matrix fragments by
// the formulas of the PTX ISA reference, asynchronous copies that happen when they are waited for.
enum { PTX_WARP_THREADS = 32, PTX_COPIES_MAX = 512, PTX_MANY = UINT32_MAX, PTX_AGENTS = 320 };

typedef struct ptx_copy {
  uint8_t* to;
  const uint8_t* from;
  uint32_t bytes, batch;
} ptx_copy_t;

typedef struct ptx_thread {
  uint32_t at;  // the next line
  bool is_done;
  const ptx_insn_t* waits_at;  // NULL: it runs
  uint32_t batch, copy_count;
  ptx_copy_t copies[PTX_COPIES_MAX];  // that have not happened yet
  // The times that it knows of each thread, then of the copies of each barrier, whose phases are
  // their times.
  uint16_t clocks[PTX_AGENTS];
} ptx_thread_t;

// The last accesses of a byte of shared memory, by epoch: from one wait of all to the next. Within
// an epoch clocks order them.
typedef struct ptx_byte {
  uint32_t write_epoch, writer, read_epoch, reader;
  uint16_t write_clock, read_clock;
} ptx_byte_t;

static bool ptx_see_readers(ptx_run_t* run, size_t at, uint32_t agent, const uint16_t* clocks,
                            bool is_write);

// Sees an access by a thread, or a copy of a barrier, after what its clocks say.
static void ptx_see_agent(ptx_run_t* run, const uint8_t* address, uint32_t bytes, uint32_t agent,
                          const uint16_t* clocks, bool is_write) {
  assert_true(address >= run->near && address + bytes <= run->near + run->near_bytes);
  for (uint32_t i = 0; i < bytes; ++i) {
    const size_t at = (size_t)(address - run->near) + i;
    ptx_byte_t* byte = &run->bytes[at];
    const bool is_copied = byte->writer >= run->thread_count && byte->writer < PTX_AGENTS;
    const bool is_written = (byte->write_epoch == run->epoch || is_copied) &&
                            byte->writer != agent && byte->write_clock > clocks[byte->writer];
    const bool is_now = byte->read_epoch == run->epoch && byte->reader != agent;
    const bool is_read =
        is_now && (byte->reader == PTX_MANY ? ptx_see_readers(run, at, agent, clocks, is_write)
                                            : byte->read_clock > clocks[byte->reader]);
    run->race_count += is_written || (is_write && is_read);
    if (is_write) {
      byte->write_epoch = run->epoch;
      byte->writer = agent;
      byte->write_clock = clocks[agent];
    } else {
      if (is_read && byte->reader != PTX_MANY) {
        ptx_see_readers(run, at, byte->reader, NULL, false);
        ptx_see_readers(run, at, agent, clocks, false);
      }
      byte->reader = is_read ? PTX_MANY : agent;
      byte->read_epoch = run->epoch;
      byte->read_clock = clocks[agent];
    }
  }
}

static void ptx_see(ptx_run_t* run, const uint8_t* address, uint32_t bytes, uint32_t thread,
                    bool is_write) {
  ptx_see_agent(run, address, bytes, thread, run->threads[thread].clocks, is_write);
}

// ---- asynchronous copies -----------------------------------------------------------------------

// Finishes all but the last batches.
static void ptx_finish_copies(ptx_run_t* run, uint32_t number, uint32_t left) {
  ptx_thread_t* thread = &run->threads[number];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < thread->copy_count; ++i) {
    const ptx_copy_t copy = thread->copies[i];
    if (copy.batch + left < thread->batch) {
      ptx_see(run, copy.to, copy.bytes, number, true);
      memcpy(copy.to, copy.from, copy.bytes);
    } else {
      thread->copies[kept++] = copy;
    }
  }
  thread->copy_count = kept;
}

static void ptx_async(ptx_run_t* run, const ptx_insn_t* insn, uint32_t number) {
  ptx_thread_t* thread = &run->threads[number];
  const size_t offset = (size_t)number * run->file_words;
  if (strcmp(insn->parts[2], "commit_group") == 0) {
    ++thread->batch;
  } else if (strcmp(insn->parts[2], "wait_group") == 0) {
    ptx_finish_copies(run, number, (uint32_t)insn->words[0]);
  } else {
    assert_true(thread->copy_count < PTX_COPIES_MAX);
    const uint64_t to = ptx_operand(insn, 0, offset), from = ptx_operand(insn, 1, offset);
    const uint32_t bytes = (uint32_t)insn->words[2];
    assert_true(to % bytes == 0 && from % bytes == 0);
    thread->copies[thread->copy_count++] = (ptx_copy_t){
        (uint8_t*)(uintptr_t)to, (const uint8_t*)(uintptr_t)from, bytes, thread->batch};
  }
}

// ---- a warp ------------------------------------------------------------------------------------

static uint64_t* ptx_register_of(ptx_run_t* run, const ptx_insn_t* insn, uint32_t at,
                                 uint32_t thread) {
  return insn->registers[at] + (size_t)thread * run->file_words;
}

static void ptx_shuffle(ptx_run_t* run, const ptx_insn_t* insn, uint32_t first) {
  uint64_t words[PTX_WARP_THREADS];
  for (uint32_t i = 0; i < PTX_WARP_THREADS; ++i)
    words[i] = *ptx_register_of(run, insn, 1, first + i);
  for (uint32_t i = 0; i < PTX_WARP_THREADS; ++i) {
    *ptx_register_of(run, insn, 0, first + i) = ptx_low(words[i ^ insn->words[2]], 32);
  }
}

// Square i has rows at the addresses of threads 8 i to 8 i + 7.
static void ptx_load_squares(ptx_run_t* run, const ptx_insn_t* insn, uint32_t first) {
  enum { ROWS = 8, ROW_BYTES = 16 };
  const uint32_t squares = insn->operand_count - 1;
  const bool is_transposed = ptx_has(insn, "trans");
  for (uint32_t s = 0; s < squares; ++s) {
    uint8_t square[ROWS][ROW_BYTES];
    for (uint32_t row = 0; row < ROWS; ++row) {
      const uint64_t address = *ptx_register_of(run, insn, squares, first + ROWS * s + row);
      const uint8_t* from = (const uint8_t*)(uintptr_t)address;
      assert_true(address % ROW_BYTES == 0);
      ptx_see(run, from, ROW_BYTES, first + ROWS * s + row, false);
      memcpy(square[row], from, ROW_BYTES);
    }
    for (uint32_t lane = 0; lane < PTX_WARP_THREADS; ++lane) {
      const uint32_t row = lane / 4, column = lane % 4 * 2;
      uint16_t pair[2];
      for (uint32_t i = 0; i < 2; ++i) {
        const uint32_t r = is_transposed ? column + i : row;
        const uint32_t c = is_transposed ? row : column + i;
        memcpy(&pair[i], &square[r][2 * c], sizeof pair[i]);
      }
      *ptx_register_of(run, insn, s, first + lane) = pair[0] | (uint64_t)pair[1] << 16;
    }
  }
}

static double ptx_element(const char* type, uint64_t bits) {
  if (strcmp(type, "s8") == 0) return (int8_t)bits;
  if (strcmp(type, "u8") == 0) return (uint8_t)bits;
  if (strcmp(type, "tf32") == 0) bits &= UINT64_C(0xffffe000);
  const hlo_dtype_t dtype = strcmp(type, "f16") == 0    ? HLO_DTYPE_F16
                            : strcmp(type, "bf16") == 0 ? HLO_DTYPE_BF16
                            : strcmp(type, "tf32") == 0 ? HLO_DTYPE_F32
                            : strcmp(type, "e2m1") == 0 ? HLO_DTYPE_F4E2M1FN
                            : strcmp(type, "e4m3") == 0 ? HLO_DTYPE_F8E4M3FN
                                                        : HLO_DTYPE_F8E5M2;
  return hlo_dtype_load_double(dtype, &bits);
}

// Where element i of a lane's part is: of a, of b (depth first), of the sums.
static void ptx_place_a(uint32_t bits, uint32_t lane, uint32_t i, uint32_t* row, uint32_t* k) {
  const uint32_t group = lane / 4, in_group = lane % 4, per = 32 / bits;
  const uint32_t reg = i / per;  // 0: rows below 8; 1: rows from 8 on; 2, 3: the second half of k
  *row = group + 8 * (reg & 1);
  *k = in_group * per + i % per + 4 * per * (reg >> 1);
}

static void ptx_place_b(uint32_t bits, uint32_t lane, uint32_t i, uint32_t* k, uint32_t* column) {
  const uint32_t per = 32 / bits;
  *k = lane % 4 * per + i % per + 4 * per * (i / per);
  *column = lane / 4;
}

// The scale in a byte of a thread's word: a power of two, or a float without sign. After the word
// come the byte of the first one and the thread among four, in units of `threads`.
static double ptx_scale(ptx_run_t* run, const ptx_insn_t* insn, uint32_t at, uint32_t number,
                        uint32_t thread, uint32_t threads) {
  thread += (uint32_t)insn->words[at + 2] * threads;
  const uint64_t word = *ptx_register_of(run, insn, at, thread);
  const uint64_t byte = word >> 8 * (insn->words[at + 1] + number) & 0xff;
  assert_true(insn->words[at + 1] + number < 4);
  return ptx_has(insn, "ue4m3") ? ptx_element("e4m3", byte & 0x7f) : ldexp(1, (int)byte - 127);
}

static void ptx_multiply(ptx_run_t* run, const ptx_insn_t* insn, uint32_t first) {
  enum { ROWS = 16, COLUMNS = 8, STEPS = 64, SUMS = 4, LEFT = 4, RIGHT = 2 };
  const bool is_scaled = ptx_has(insn, "block_scale");
  const uint32_t types = insn->part_count - 4 - is_scaled;
  const char *left = insn->parts[types + 1], *right = insn->parts[types + 2];
  const bool is_float = insn->parts[types][0] == 'f';
  const uint32_t bits = strcmp(left, "tf32") == 0                               ? 32
                        : strcmp(left, "f16") == 0 || strcmp(left, "bf16") == 0 ? 16
                        : strcmp(left, "e2m1") == 0                             ? 4
                                                                                : 8;
  const uint32_t scales = ptx_has(insn, "scale_vec::4X") ? 4 : ptx_has(insn, "scale_vec::2X") ? 2 : 1;
  static double a[ROWS][STEPS], b[STEPS][COLUMNS];
  const uint32_t per = 32 / bits, steps = 8 * per;
  const uint64_t mask = bits == 32 ? UINT32_MAX : (UINT64_C(1) << bits) - 1;
  assert_int_equal(insn->operand_count, SUMS + LEFT + RIGHT + SUMS + (is_scaled ? 6 : 0));
  for (uint32_t lane = 0; lane < PTX_WARP_THREADS; ++lane) {
    uint32_t row, k, column;
    for (uint32_t i = 0; i < LEFT * per; ++i) {
      const uint64_t word = *ptx_register_of(run, insn, SUMS + i / per, first + lane);
      ptx_place_a(bits, lane, i, &row, &k);
      a[row][k] = ptx_element(left, word >> i % per * bits & mask);
    }
    for (uint32_t i = 0; i < RIGHT * per; ++i) {
      const uint64_t word = *ptx_register_of(run, insn, SUMS + LEFT + i / per, first + lane);
      ptx_place_b(bits, lane, i, &k, &column);
      b[k][column] = ptx_element(right, word >> i % per * bits & mask);
    }
  }
  for (uint32_t row = 0; is_scaled && row < ROWS; ++row) {
    for (uint32_t k = 0; k < steps; ++k) {
      const uint32_t number = k * scales / steps;
      a[row][k] *= ptx_scale(run, insn, SUMS + LEFT + RIGHT + SUMS, number,
                             first + row % 8 * 4 + row / 8, 2);
      if (row >= COLUMNS) continue;
      b[k][row] *= ptx_scale(run, insn, insn->operand_count - 3, number, first + row * 4, 1);
    }
  }
  for (uint32_t lane = 0; lane < PTX_WARP_THREADS; ++lane) {
    for (uint32_t i = 0; i < SUMS; ++i) {
      const uint32_t row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
      const uint64_t before = *ptx_register_of(run, insn, SUMS + LEFT + RIGHT + i, first + lane);
      double sum = is_float ? (double)ptx_f32(before) : (double)(int32_t)before;
      for (uint32_t k = 0; k < steps; ++k) sum += a[row][k] * b[k][column];
      *ptx_register_of(run, insn, i, first + lane) =
          is_float ? ptx_word(sum, 32) : (uint32_t)(int64_t)sum;
    }
  }
}

// The byte of an operand of four warps at a row and a step's byte: rows of 128 bytes whose units of
// 16 are exchanged by the low bits of the row.
static const uint8_t* ptx_described(const ptx_run_t* run, uint64_t descriptor, uint32_t row,
                                    uint32_t byte) {
  assert_true(descriptor >> 62 == 1 && (descriptor >> 49 & 7) == 0);
  const uint64_t eight_rows = (descriptor >> 32 & 0x3fff) << 4;
  uint64_t at = (descriptor & 0x3fff) << 4;
  at += row / 8 * eight_rows + row % 8 * 128 + byte;
  at ^= (at >> 7 & 7) << 4;
  const uintptr_t window = (uintptr_t)run->near & ~(uintptr_t)(PTX_WINDOW_BYTES - 1);
  return (const uint8_t*)(window + at);
}

static void ptx_multiply_group(ptx_run_t* run, const ptx_insn_t* insn, uint32_t first) {
  enum { STEP_BYTES = 32, WARPS = 4 };
  uint32_t columns = 0, steps = 0;
  assert_int_equal(sscanf(insn->parts[4], "m64n%uk%u", &columns, &steps), 2);
  assert_int_equal(insn->list_count, columns / 2);
  const char* type = insn->parts[6];
  const uint32_t size = STEP_BYTES / steps;
  for (uint32_t thread = 0; thread < WARPS * PTX_WARP_THREADS; ++thread) {
    const uint32_t lane = thread % PTX_WARP_THREADS, warp = thread / PTX_WARP_THREADS;
    const uint64_t left = *ptx_register_of(run, insn, 1, first + thread);
    const uint64_t right = *ptx_register_of(run, insn, 2, first + thread);
    for (uint32_t i = 0; i < columns / 2; ++i) {
      const uint32_t row = 16 * warp + lane / 4 + 8 * (i % 4 / 2);
      const uint32_t column = 8 * (i / 4) + lane % 4 * 2 + i % 2;
      uint64_t* to = ptx_register_of(run, insn, 0, first + thread) + i;
      double sum = (double)ptx_f32(*to);
      for (uint32_t k = 0; k < steps; ++k) {
        const uint8_t* a = ptx_described(run, left, row, k * size);
        const uint8_t* b = ptx_described(run, right, column, k * size);
        uint64_t x = 0, y = 0;
        ptx_see(run, a, size, first + thread, false);
        ptx_see(run, b, size, first + thread, false);
        memcpy(&x, a, size);
        memcpy(&y, b, size);
        sum += ptx_element(type, x) * ptx_element(type, y);
      }
      *to = ptx_word(sum, 32);
    }
  }
}
