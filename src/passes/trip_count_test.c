// SPDX-License-Identifier: Apache-2.0
// Compares trip counts with loops that are run step by step.
#include "passes/trip_count.h"

#include "ir/test_util.h"

enum { HIGHEST = 127, UNKNOWN = -1 };

static bool holds(const char* direction, int a, int b) {
  if (direction[0] == 'E') return a == b;
  if (direction[0] == 'N') return a != b;
  if (direction[1] == 'E' && a == b) return true;
  return direction[0] == 'L' ? a < b : a > b;
}

// The trip count of a loop of i8 (ui8), whose counter stays within -127 (0) to 127.
static int32_t expected_count(const char* direction, bool is_right, bool is_unsigned, int first,
                              int step, int limit, int32_t most) {
  const int lowest = is_unsigned ? 0 : -HIGHEST;
  int32_t count = 0;
  for (int at = first; at >= lowest && at <= HIGHEST; at += step, ++count) {
    if (!holds(direction, is_right ? limit : at, is_right ? at : limit)) return count;
    if (count == most) return UNKNOWN;
  }
  return UNKNOWN;
}

static int32_t found_count(const char* direction, bool is_right, bool is_unsigned, int first,
                           int step, int limit, int32_t most) {
  const char* type = is_unsigned ? "tensor<ui8>" : "tensor<i8>";
  hlo_strbuf_t text = {0};
  hlo_strbuf_printf(&text,
                    "func.func @main() -> %s {\n"
                    "  %%0 = stablehlo.constant dense<%d> : %s\n"
                    "  %%1 = stablehlo.while(%%i = %%0) : %s\n"
                    "  cond {\n"
                    "    %%c = stablehlo.constant dense<%d> : %s\n"
                    "    %%2 = stablehlo.compare %s, %s, %s : (%s, %s) -> tensor<i1>\n"
                    "    stablehlo.return %%2 : tensor<i1>\n"
                    "  } do {\n"
                    "    %%d = stablehlo.constant dense<%d> : %s\n"
                    "    %%3 = stablehlo.add %%d, %%i : %s\n"
                    "    stablehlo.return %%3 : %s\n"
                    "  }\n"
                    "  return %%1 : %s\n}\n",
                    type, first, type, type, limit, type, direction, is_right ? "%c" : "%i",
                    is_right ? "%i" : "%c", type, type, step, type, type, type, type);
  hlo_module_t* module = hlo_test_parse(hlo_strbuf_text(&text));
  const hlo_node_t* loop = hlo_module_entry(module)->body->first;
  while (loop->op != HLO_OP_while) loop = loop->next;
  const int32_t count = hlo_loop_trip_count(loop, most);
  hlo_module_release(module);
  hlo_strbuf_deinit(&text);
  return count;
}

static void test_counts(void** state) {
  (void)state;
  static const char* const directions[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
  static const int firsts[] = {0, 5, 126}, limits[] = {0, 6, 127}, steps[] = {-3, -1, 0, 1, 2, 100};
  static const int32_t limits_of_count[] = {0, 1, 6, 1000};
  for (uint32_t at = 0; at < 6 * 3 * 3 * 6 * 4 * 4; ++at) {
    uint32_t rest = at;
    const char* direction = directions[rest % 6];
    const int first = firsts[(rest /= 6) % 3], limit = limits[(rest /= 3) % 3];
    const int step = steps[(rest /= 3) % 6];
    const int32_t most = limits_of_count[(rest /= 6) % 4];
    const bool is_right = (rest /= 4) % 2, is_unsigned = rest / 2;
    if (is_unsigned && step < 0) continue;
    assert_int_equal(found_count(direction, is_right, is_unsigned, first, step, limit, most),
                     expected_count(direction, is_right, is_unsigned, first, step, limit, most));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
