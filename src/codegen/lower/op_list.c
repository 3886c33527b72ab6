// SPDX-License-Identifier: Apache-2.0
// Lists of collectives (see op_list.h).
#include "codegen/lower/op_list.h"

#include <string.h>

// Returns the length of the first name of a list.
static size_t name_length(const char* list) {
  return strcspn(list, ",");
}

static bool is_name_of(const char* name, size_t length, hlo_op_t op) {
  const char* full = hlo_op_info(op)->name;
  const char* dot = strchr(full, '.');
  const char* own = dot ? dot + 1 : full;
  return strlen(own) == length && memcmp(own, name, length) == 0;
}

static bool is_all(const char* name, size_t length) {
  return length == 3 && memcmp(name, "all", 3) == 0;
}

static bool is_collective_name(const char* name, size_t length) {
  for (hlo_op_t op = 0; op < HLO_OP_COUNT; ++op) {
    if (hlo_op_has(op, HLO_TRAIT_COLLECTIVE) && is_name_of(name, length, op)) return true;
  }
  return is_all(name, length);
}

bool hlo_op_list_has(const char* list, hlo_op_t op) {
  while (list && *list) {
    const size_t length = name_length(list);
    if (is_all(list, length) || is_name_of(list, length, op)) return true;
    list += length + (list[length] == ',');
  }
  return false;
}

hlo_status_t hlo_op_list_check(const char* option, const char* list) {
  while (list && *list) {
    const size_t length = name_length(list);
    if (!is_collective_name(list, length)) {
      return hlo_invalid_argument(
          "option %s: '%.*s' is no collective, expected names such as all_reduce, or all", option,
          (int)length, list);
    }
    list += length + (list[length] == ',');
  }
  return hlo_ok();
}
