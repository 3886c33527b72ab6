// SPDX-License-Identifier: Apache-2.0
// Threads that wait for each other, for run_test.inl.

static void ptx_sync_warp(ptx_run_t* run, uint32_t first) {
  bool is_in[PTX_AGENTS] = {false};
  for (uint32_t i = 0; i < PTX_WARP_THREADS; ++i) is_in[first + i] = true;
  ptx_join_threads(run, is_in);
}

// Lets a warp whose threads all wait at one instruction do it.
static bool ptx_meet_warp(ptx_run_t* run, uint32_t first) {
  const ptx_insn_t* insn = run->threads[first].waits_at;
  const bool is_group = insn && strcmp(insn->parts[0], "wgmma") == 0;
  const uint32_t count = is_group ? 4 * PTX_WARP_THREADS : PTX_WARP_THREADS;
  if (is_group && first % count) return false;
  for (uint32_t i = 0; i < count; ++i) {
    if (first + i >= run->thread_count || run->threads[first + i].waits_at != insn) return false;
  }
  if (!insn || insn->form != PTX_WARP) return false;
  if (is_group) {
    ptx_multiply_group(run, insn, first);
  } else if (strcmp(insn->parts[0], "bar") == 0) {
    ptx_sync_warp(run, first);
  } else if (strcmp(insn->parts[0], "shfl") == 0) {
    ptx_shuffle(run, insn, first);
  } else if (strcmp(insn->parts[0], "tcgen05") == 0) {
    ptx_warp_tensor(run, insn, first);
  } else if (strcmp(insn->parts[0], "ldmatrix") == 0) {
    ptx_load_squares(run, insn, first);
  } else {
    ptx_multiply(run, insn, first);
  }
  for (uint32_t i = 0; i < count; ++i) run->threads[first + i].waits_at = NULL;
  return true;
}

// Lets threads go on that wait together at a barrier of the block, as many as it needs.
static bool ptx_meet_sync(ptx_run_t* run, const ptx_insn_t* insn) {
  const uint32_t needed = insn->operand_count > 1 ? (uint32_t)insn->words[1] : run->thread_count;
  bool is_in[PTX_AGENTS] = {false};
  uint32_t count = 0;
  for (uint32_t i = 0; i < run->thread_count; ++i) {
    const ptx_insn_t* own = run->threads[i].waits_at;
    is_in[i] = own && own->form == PTX_SYNC && own->words[0] == insn->words[0];
    count += is_in[i];
  }
  if (count < needed) return false;
  assert_int_equal(count, needed);
  for (uint32_t i = 0; i < run->thread_count; ++i) {
    if (is_in[i]) run->threads[i].waits_at = NULL;
  }
  if (run->bulk->map_count) ptx_join_threads(run, is_in);
  run->epoch += count == run->thread_count;
  return true;
}

// Lets go on whoever has met; false: nobody.
static bool ptx_meet(ptx_run_t* run) {
  bool moved = false;
  for (uint32_t first = 0; first < run->thread_count; first += PTX_WARP_THREADS) {
    moved |= ptx_meet_warp(run, first);
  }
  for (uint32_t i = 0; i < run->thread_count; ++i) {
    const ptx_insn_t* insn = run->threads[i].waits_at;
    if (!insn) continue;
    if (insn->form == PTX_SYNC) moved |= ptx_meet_sync(run, insn);
    if (insn->form != PTX_TRY || !ptx_try(run, insn, i)) continue;
    run->threads[i].waits_at = NULL;
    moved = true;
  }
  return moved;
}
