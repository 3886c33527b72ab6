// SPDX-License-Identifier: Apache-2.0
// Describes a kernel in a few words, for `--emit=fusion`.
#include <inttypes.h>

#include "codegen/loops/kernel_impl.h"

static void describe_loops(const hlo_kernel_t* kernel, hlo_strbuf_t* out) {
  switch (kernel->kind) {
    case HLO_KERNEL_POINTS:
      hlo_strbuf_puts(out, "one element at a time");
      if (kernel->space_count > 1) hlo_strbuf_puts(out, " from reductions");
      break;
    case HLO_KERNEL_LANES: hlo_strbuf_printf(out, "lanes of %u", kernel->lanes); break;
    case HLO_KERNEL_TRANSPOSE:
      hlo_strbuf_printf(out, "squares of %u by %u, transposed in registers", kernel->lanes,
                        kernel->lanes);
      break;
    case HLO_KERNEL_INTERLEAVED:
      hlo_strbuf_printf(out, "lanes of %u, interleaved", kernel->lanes);
      break;
    case HLO_KERNEL_VECTOR: hlo_strbuf_puts(out, "one vector"); break;
  }
  hlo_strbuf_printf(out, ", %u loop%s", kernel->loop_count, kernel->loop_count == 1 ? "" : "s");
  if (kernel->segment_count > 1) hlo_strbuf_printf(out, ", %u segments", kernel->segment_count);
  if (kernel->is_sweep) hlo_strbuf_puts(out, ", sweeping rows");
  if (kernel->is_streamed) hlo_strbuf_puts(out, ", stored past the caches");
  if (kernel->cut == HLO_KERNEL_CUT_REDUCTION) hlo_strbuf_puts(out, ", reduction cut");
}

void hlo_kernel_describe(const hlo_kernel_t* kernel, hlo_strbuf_t* out) {
  if (kernel->form) {
    kernel->form->print(kernel, out);
  } else {
    describe_loops(kernel, out);
  }
  for (uint32_t phase = 0; phase < hlo_kernel_phase_count(kernel); ++phase) {
    const uint64_t chunks = hlo_kernel_chunk_count(kernel, phase);
    if (chunks > 1) hlo_strbuf_printf(out, "%s%" PRIu64 " chunks", phase ? " then " : ", ", chunks);
  }
}
