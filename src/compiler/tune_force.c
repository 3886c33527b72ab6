// SPDX-License-Identifier: Apache-2.0
// Forced configurations (see tune_force.h).
#include "compiler/tune_force.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "ir/ops.h"

enum { MAX_FILE_BYTES = 1 << 20, KEY_LENGTH = 32, SHORTEST_KEY = 4 };

static const char kDigits[] = "0123456789abcdef";

// Reads one part, without its separator.
static hlo_status_t read_part(char* part, hlo_tune_force_t* out_force) {
  char* colon = strchr(part, ':');
  if (!colon || colon == part) {
    return hlo_invalid_argument("tune_force: '%.100s' is not of the form KERNELS:CONFIGURATION",
                                part);
  }
  *colon = 0;
  out_force->kernels = part;
  return hlo_kernel_config_parse(colon + 1, &out_force->config);
}

// Splits the text, which stays in use. Lines that begin with # are comments.
static hlo_status_t read_parts(char* text, hlo_arena_t* arena, hlo_tune_forces_t* out_forces) {
  uint32_t most = 1;
  for (const char* at = text; *at; ++at) most += *at == ';' || *at == '\n';
  out_forces->items = hlo_arena_array(arena, most, sizeof *out_forces->items);
  HLO_TRY(hlo_arena_status(arena));
  for (char *part = text, *next; part; part = next) {
    const size_t length = strcspn(part, ";\n");
    next = part[length] ? part + length + 1 : NULL;
    part[length] = 0;
    part += strspn(part, " ");
    if (!*part || *part == '#') continue;
    HLO_TRY(read_part(part, &out_forces->items[out_forces->count]));
    ++out_forces->count;
  }
  return hlo_ok();
}

hlo_status_t hlo_tune_forces_read(const char* option, hlo_arena_t* arena,
                                  hlo_tune_forces_t* out_forces) {
  *out_forces = (hlo_tune_forces_t){.count = 0};
  uint8_t* data = NULL;
  size_t size_bytes = strlen(option);
  const bool is_file = *option == '@';
  if (is_file) HLO_TRY(hlo_os_file_read(option + 1, MAX_FILE_BYTES, &data, &size_bytes));
  char* text = hlo_arena_strndup(arena, is_file ? (const char*)data : option, size_bytes);
  hlo_mem_free(data);
  HLO_TRY(hlo_arena_status(arena));
  return read_parts(text, arena, out_forces);
}

static bool has_op(const hlo_fusion_t* fusion, const char* wanted) {
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    const char* name = hlo_op_info(fusion->nodes[i]->op)->name;
    const char* dot = strchr(name, '.');
    if (strcmp(name, wanted) == 0 || (dot && strcmp(dot + 1, wanted) == 0)) return true;
  }
  return false;
}

static bool is_for(const hlo_tune_force_t* force, const char* key, const hlo_fusion_t* fusion) {
  const size_t length = strlen(force->kernels);
  const bool is_key = length >= SHORTEST_KEY && strspn(force->kernels, kDigits) == length;
  return strcmp(force->kernels, "*") == 0 ||
         (is_key && strncmp(force->kernels, key, length) == 0) || has_op(fusion, force->kernels);
}

const hlo_tune_force_t* hlo_tune_forces_find(const hlo_tune_forces_t* forces,
                                             const hlo_digest_t* key, const hlo_fusion_t* fusion) {
  char text[KEY_LENGTH + 1];
  snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, key->words[0], key->words[1]);
  for (uint32_t i = 0; i < forces->count; ++i) {
    if (is_for(&forces->items[i], text, fusion)) return &forces->items[i];
  }
  return NULL;
}
