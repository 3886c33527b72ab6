// SPDX-License-Identifier: Apache-2.0
// Prints verdicts (see verdict.h).
#include "codegen/body/verdict.h"

#include <string.h>

static const char* const kTexts[] = {
    [HLO_REASON_NONE] = "loops compute it",
#define HLO_REASON(id, text) [HLO_REASON_##id] = text,
#include "codegen/body/verdict.def"
#undef HLO_REASON
};

void hlo_verdict_print(const hlo_verdict_t* verdict, hlo_strbuf_t* out) {
  static const char found[] = "{found}", limit[] = "{limit}";
  if (verdict->node) hlo_strbuf_printf(out, "%s: ", hlo_op_info(verdict->node->op)->name);
  const char* text = kTexts[verdict->reason];
  for (const char* at; (at = strchr(text, '{')); text = at) {
    hlo_strbuf_printf(out, "%.*s", (int)(at - text), text);
    if (strncmp(at, found, sizeof found - 1) == 0) {
      hlo_strbuf_printf(out, "%.6g", verdict->found);
      at += sizeof found - 1;
    } else {
      hlo_strbuf_printf(out, "%.6g", verdict->limit);
      at += sizeof limit - 1;
    }
  }
  hlo_strbuf_puts(out, text);
}

hlo_status_t hlo_verdict_error(const hlo_verdict_t* verdict, hlo_status_code_t code,
                               uint32_t fusion_index) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_verdict_print(verdict, &text);
  return hlo_status_create(code, "fusion %u: %s", fusion_index, hlo_strbuf_text(&text));
}
