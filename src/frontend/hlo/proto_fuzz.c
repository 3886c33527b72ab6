// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of HLO protos: it accepts or refuses any bytes, and accepted modules can be
// verified.
#include "base/wire_fuzz.inl"
#include "frontend/hlo/hlo.h"
#include "ir/infer.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_hlo_proto_read(data, size, NULL, &module);
  if (hlo_status_is_ok(status)) {
    hlo_diag_t diag;
    hlo_diag_init(&diag, "fuzz.pb", NULL, 0);
    hlo_status_release(hlo_module_verify(module, &diag));
    hlo_diag_deinit(&diag);
    hlo_module_release(module);
  }
  hlo_status_release(status);
  return 0;
}
