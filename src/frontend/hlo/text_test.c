// SPDX-License-Identifier: Apache-2.0
// HLO text and protos: both forms give the same verified module, and faults have a location.
#include "base/wire.h"
#include "frontend/hlo/hlo.h"
#include "frontend/hlo/hlo_test_util.h"
#include "ir/clone.h"
#include "ir/entry.h"

static void text_and_proto_are_equal(void** state) {
  (void)state;
  const char* const names[][2] = {
      {"loop.hlo", "loop.pb"},         {"layouts.hlo", "layouts.pb"}, {"ops.hlo", "ops.pb"},
      {"literals.hlo", "literals.pb"}, {"dots.hlo", "dots.pb"},       {"buffers.hlo", "buffers.pb"},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    hlo_module_t* text = hlo_test_load(names[i][0]);
    hlo_module_t* proto = hlo_test_load(names[i][1]);
    assert_true(hlo_module_equal(text, proto));
    hlo_module_release(text);
    hlo_module_release(proto);
  }
}

static void donated_inputs_and_places_are_kept(void** state) {
  (void)state;
  hlo_module_t* module = hlo_test_load("loop.hlo");
  hlo_func_t* entry = hlo_module_entry(module);
  assert_string_equal(entry->name, "main");
  const hlo_attr_t* alias = hlo_attr_dict_get(entry->arg_attrs[0], "tf.aliasing_output");
  assert_non_null(alias);
  assert_int_equal(alias->i, 1);
  hlo_strbuf_t place = {0};
  hlo_loc_format(module, entry->body->first->loc, &place);
  assert_non_null(strstr(hlo_strbuf_text(&place), "loop.hlo:29:3"));
  hlo_strbuf_deinit(&place);
  hlo_module_release(module);
}

static const char* layout_mode(hlo_module_t* module, bool is_result, uint32_t number) {
  const hlo_func_t* entry = hlo_module_entry(module);
  const hlo_attr_t* mode = is_result ? hlo_func_result_attr(entry, number, HLO_LAYOUT_MODE_ATTR)
                                     : hlo_func_argument_attr(entry, number, HLO_LAYOUT_MODE_ATTR);
  return mode ? mode->text : "";
}

// Layouts of the header, else those of parameters and root; also in protos with and without a
// configuration.
static void layouts_of_the_entry_are_kept(void** state) {
  (void)state;
  static const char* const headers[] = {
      ", entry_computation_layout={((f32[2,3]{0,1}, s32[]), pred[4,5]{0,1})->f32[3,2]{0,1}}", ""};
  for (int i = 0; i < 4; ++i) {
    hlo_strbuf_t text = {0}, proto = {0};
    hlo_strbuf_printf(&text,
                      "HloModule m%s\nENTRY e {\n  a = (f32[2,3]{0,1}, s32[]) parameter(0)\n"
                      "  b = pred[4,5]{%s} parameter(1)\n"
                      "  c = f32[2,3] get-tuple-element(a), index=0\n"
                      "  ROOT d = f32[3,2]{0,1} transpose(c), dimensions={1,0}\n}\n",
                      headers[i & 1], i & 1 ? "0,1" : "1,0");
    hlo_module_t *module = NULL, *again = NULL;
    hlo_test_check(hlo_frontend_load(text.data, text.length, "layouts", NULL, NULL, &module));
    hlo_test_check(i & 2 ? hlo_hlo_proto_write_with_config(module, &proto)
                         : hlo_hlo_proto_write(module, &proto));
    hlo_test_check(hlo_frontend_load(proto.data, proto.length, "layouts", NULL, NULL, &again));
    hlo_module_t* both[] = {module, again};
    for (int m = 0; m < 2; ++m) {
      assert_string_equal(layout_mode(both[m], false, 0), "{0,1}");
      assert_string_equal(layout_mode(both[m], false, 1), "");
      assert_string_equal(layout_mode(both[m], false, 2), "{0,1}");
      assert_string_equal(layout_mode(both[m], true, 0), "{0,1}");
      hlo_module_release(both[m]);
    }
    hlo_strbuf_deinit(&text);
    hlo_strbuf_deinit(&proto);
  }
}

// Writes a ShapeProto of f32[8,128], optionally with a layout of tiles (8,128) and (2,1).
static void put_shape(hlo_strbuf_t* out, uint32_t number, bool is_tiled) {
  const int64_t dims[] = {8, 128}, order[] = {1, 0}, small_tile[] = {2, 1};
  const size_t shape = hlo_wire_begin(out, number);
  hlo_wire_put_int(out, 2, 11);
  hlo_wire_put_packed_int64(out, 3, dims, 2);
  const size_t layout = hlo_wire_begin(out, 5);
  hlo_wire_put_packed_int64(out, 1, order, 2);
  for (int i = 0; is_tiled && i < 2; ++i) {
    const size_t tile = hlo_wire_begin(out, 6);
    hlo_wire_put_packed_int64(out, 1, i == 0 ? dims : small_tile, 2);
    hlo_wire_end(out, tile);
  }
  hlo_wire_end(out, layout);
  hlo_wire_end(out, shape);
}

// Writes the HloModuleProto of a program that returns its parameter.
static void put_module(hlo_strbuf_t* out) {
  hlo_wire_put_string(out, 1, "m");
  const size_t computation = hlo_wire_begin(out, 3);
  hlo_wire_put_string(out, 1, "e");
  const size_t instruction = hlo_wire_begin(out, 2);
  hlo_wire_put_string(out, 1, "x");
  hlo_wire_put_string(out, 2, "parameter");
  put_shape(out, 3, false);
  hlo_wire_put_int(out, 35, 1);
  hlo_wire_end(out, instruction);
  hlo_wire_put_int(out, 5, 1);
  hlo_wire_put_int(out, 6, 1);
  hlo_wire_end(out, computation);
  const size_t shape = hlo_wire_begin(out, 4);
  put_shape(out, 1, true);
  put_shape(out, 2, false);
  hlo_wire_end(out, shape);
  hlo_wire_put_int(out, 6, 1);
}

static void tiles_of_the_entry_are_kept(void** state) {
  (void)state;
  hlo_strbuf_t bytes[2] = {{0}, {0}};
  hlo_strbuf_puts(&bytes[0],
                  "HloModule m, entry_computation_layout={(f32[8,128]{1,0:T(8,128)(2,1)})->"
                  "f32[8,128]{1,0}}\nENTRY e {\n  ROOT a = f32[8,128] parameter(0)\n}\n");
  put_module(&bytes[1]);
  for (int i = 0; i < 2; ++i) {
    hlo_module_t* module = NULL;
    hlo_test_check(hlo_frontend_load(bytes[i].data, bytes[i].length, "tiles", NULL, NULL, &module));
    assert_string_equal(layout_mode(module, false, 0), "{1,0:T(8,128)(2,1)}");
    assert_string_equal(layout_mode(module, true, 0), "");
    hlo_module_release(module);
    hlo_strbuf_deinit(&bytes[i]);
  }
}

static void check_host_memory(hlo_module_t* module, bool has_other_space) {
  const hlo_func_t* entry = hlo_module_entry(module);
  static const bool is_host[2][3] = {{true, true, false}, {false, true, false}};
  const char* const modes[2][3] = {{"", "{0,1}", ""}, {"", "", has_other_space ? "{0:S(1)}" : ""}};
  for (uint32_t i = 0; i < 6; ++i) {
    const bool is_result = i >= 3;
    const hlo_attr_t* kind = is_result ? hlo_func_result_attr(entry, i % 3, HLO_MEMORY_KIND_ATTR)
                                       : hlo_func_argument_attr(entry, i % 3, HLO_MEMORY_KIND_ATTR);
    assert_string_equal(kind ? kind->text : "", is_host[is_result][i % 3] ? "pinned_host" : "");
    assert_string_equal(layout_mode(module, is_result, i % 3), modes[is_result][i % 3]);
  }
}

// "S(5)" in layouts of the entry is host memory; other memory spaces are kept, to be refused.
static void host_memory_of_the_entry_is_kept(void** state) {
  (void)state;
  static const char text[] =
      "HloModule m, entry_computation_layout={(f32[8]{0:S(5)}, f32[2,4]{0,1:S(5)}, f32[8]{0})->"
      "(f32[8]{0}, f32[8]{0:S(5)}, f32[8]{0:S(1)})}\nENTRY e {\n"
      "  a = f32[8]{0:S(5)} parameter(0)\n  b = f32[2,4]{0,1:S(5)} parameter(1)\n"
      "  c = f32[8]{0} parameter(2)\n"
      "  ROOT t = (f32[8], f32[8], f32[8]) tuple(c, a, c)\n}\n";
  hlo_module_t *module = NULL, *again[2] = {NULL, NULL};
  hlo_test_check(hlo_frontend_load(text, strlen(text), "host", NULL, NULL, &module));
  check_host_memory(module, true);
  hlo_strbuf_t written[2] = {{0}, {0}};
  hlo_func_set_result_attr(hlo_module_entry(module), 2, HLO_LAYOUT_MODE_ATTR, NULL);
  hlo_test_check(hlo_hlo_proto_write(module, &written[0]));
  hlo_test_check(hlo_hlo_text_print(module, NULL, &written[1]));
  for (int i = 0; i < 2; ++i) {
    hlo_test_check(
        hlo_frontend_load(written[i].data, written[i].length, "host", NULL, NULL, &again[i]));
    check_host_memory(again[i], false);
    hlo_module_release(again[i]);
    hlo_strbuf_deinit(&written[i]);
  }
  hlo_module_release(module);
}

// Compares the groups of one all-reduce as rows of numbers.
static void check_groups(const char* notation, const char* wanted) {
  hlo_strbuf_t text = {0}, found = {0};
  hlo_strbuf_printf(&text,
                    "HloModule m\nadd {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                    " ROOT c = f32[] add(a, b)\n}\nENTRY e {\n p = f32[] parameter(0)\n"
                    " ROOT r = f32[] all-reduce(p), replica_groups=%s, to_apply=add\n}\n",
                    notation);
  hlo_module_t* module = NULL;
  hlo_test_check(hlo_frontend_load(text.data, text.length, "groups", NULL, NULL, &module));
  const hlo_node_t* node = hlo_module_entry(module)->body->first;
  const hlo_attr_t* groups = hlo_node_attr(node, HLO_ATTR_replica_groups);
  assert_non_null(groups);
  for (uint32_t i = 0; i < groups->rows * groups->cols; ++i) {
    hlo_strbuf_printf(&found, "%s%lld", i == 0 ? "" : (i % groups->cols ? " " : " | "),
                      (long long)groups->values[i]);
  }
  assert_string_equal(hlo_strbuf_text(&found), wanted);
  hlo_strbuf_deinit(&found);
  hlo_strbuf_deinit(&text);
  hlo_module_release(module);
}

static void groups_have_three_notations(void** state) {
  (void)state;
  check_groups("{{0,2},{1,3}}", "0 2 | 1 3");
  check_groups("{{0,2,1},{3}}", "0 2 1 | 3 -1 -1");
  check_groups("[2,2]<=[4]", "0 1 | 2 3");
  check_groups("[2,2]<=[2,2]T(1,0)", "0 2 | 1 3");
  check_groups("mesh['x'=2,'y'=3] {'y'}", "0 1 2 | 3 4 5");
  check_groups("mesh['x'=2,'y'=3] {'x'}", "0 3 | 1 4 | 2 5");
  check_groups("mesh['x'=2,'y'=2] {'y','x'}", "0 1 2 3");
  check_groups("mesh['x'=4] {'x':(2)2,'x':(1)2}", "0 2 1 3");
  check_groups("mesh['x'=8] {'x':(2)2}", "0 2 | 1 3 | 4 6 | 5 7");
  check_groups("mesh['x'=2,'y'=2], device_ids=(3,1,2,0) {'x'}", "3 2 | 1 0");
  check_groups("mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)) {'y'}", "0 2 | 1 3");
}

static void epsilons_have_exponents(void** state) {
  (void)state;
  static const char text[] =
      "HloModule m\nENTRY e {\n  x = f32[2,3] parameter(0)\n  s = f32[3] parameter(1)\n"
      "  ROOT n = f32[2,3] batch-norm-inference(x, s, s, s, s), epsilon=-1.5e+18, "
      "feature_index=1\n}\n";
  hlo_module_t* module = NULL;
  hlo_test_check(hlo_frontend_load(text, sizeof text - 1, "norm", NULL, NULL, &module));
  const hlo_attr_t* epsilon =
      hlo_node_attr(hlo_module_entry(module)->body->first, HLO_ATTR_epsilon);
  assert_non_null(epsilon);
  assert_true(epsilon->f == -1.5e+18f);
  hlo_module_release(module);
}

static void faults_say_where(void** state) {
  (void)state;
  static const struct {
    const char *text, *message;
    hlo_status_code_t code;
  } cases[] = {
      {"HloModule m\nENTRY e {\n  a = f32[] frob()\n}\n", "x.hlo:3:3: instruction a: the op frob",
       HLO_STATUS_UNIMPLEMENTED},
      {"HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n  b = ((f32[]), f32[]) "
       "frob-start(a)\n}\n",
       "x.hlo:4:3: instruction b: the op frob-start", HLO_STATUS_UNIMPLEMENTED},
      {"HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n  b = f32[] negate-start(a)\n}\n",
       "x.hlo:4:3: instruction b: the shape is not a tuple of operands and results",
       HLO_STATUS_INVALID_ARGUMENT},
      {"HloModule m\nENTRY e {\n  a = f32[] negate(b)\n}\n", "x.hlo:3:20: no earlier instruction b",
       HLO_STATUS_INVALID_ARGUMENT},
      {"HloModule m\nENTRY e {\n  a = f32[3]{0} constant({1,2})\n}\n",
       "2 elements, its shape has 3", HLO_STATUS_INVALID_ARGUMENT},
      {"HloModule m\nENTRY e {\n  a = f32[1152921504606846976,64]{1,0} parameter(0)\n}\n",
       "too many elements", HLO_STATUS_INVALID_ARGUMENT},
      {"HloModule m\nENTRY e {\n  a = q17[] parameter(0)\n}\n", "element type q17",
       HLO_STATUS_UNIMPLEMENTED},
      {"HloModule m\nENTRY e {\n  a = f32[] parameter(0), zap=1\n}\n", "attribute zap",
       HLO_STATUS_UNIMPLEMENTED},
      {"HloModule m\nENTRY e {\n  a = f32[] call(), to_apply=e\n}\n", "no earlier computation e",
       HLO_STATUS_INVALID_ARGUMENT},
      {"HloModule m\nENTRY e {\n", "expected a name", HLO_STATUS_INVALID_ARGUMENT},
      {"HloModule m\nENTRY e {\n  a = b(f32[2], f32[2]) parameter(0)\n}\n",
       "the shape of the buffer is not an array", HLO_STATUS_INVALID_ARGUMENT},
      {"HloModule m\nENTRY e {\n  a = b((f32[2])) parameter(0)\n}\n",
       "the shape of the buffer is not an array", HLO_STATUS_INVALID_ARGUMENT},
      {"HloModule m\nENTRY e {\n  a = b(f32[2]) constant({1,2})\n}\n",
       "the literal does not match its shape", HLO_STATUS_INVALID_ARGUMENT},
      {"HloModule m", "no computation", HLO_STATUS_INVALID_ARGUMENT},
      {"HloModule m, entry_computation_layout={(f32[], f32[])->f32[]}\nENTRY e {\n"
       "  a = f32[] parameter(0)\n}\n",
       "the parameters do not match the entry computation", HLO_STATUS_INVALID_ARGUMENT},
      {"HloModule m, entry_computation_layout={(f32[])->(f32[], f32[])}\nENTRY e {\n"
       "  a = f32[] parameter(0)\n}\n",
       "the results do not match the entry computation", HLO_STATUS_INVALID_ARGUMENT},
      {"HloModule m, entry_computation_layout={(f32[2,3]{0,0})->f32[2,3]}\nENTRY e {\n"
       "  a = f32[2,3] parameter(0)\n}\n",
       "parameter 0 of the entry computation: layout {0,0} is no order",
       HLO_STATUS_INVALID_ARGUMENT},
      {"HloModule m, entry_computation_layout={f32[]->f32[]}\n", "expected parameters",
       HLO_STATUS_INVALID_ARGUMENT},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    hlo_module_t* module = NULL;
    hlo_status_t status =
        hlo_frontend_load(cases[i].text, strlen(cases[i].text), "x.hlo", NULL, NULL, &module);
    assert_int_equal(hlo_status_code(status), cases[i].code);
    if (!strstr(hlo_status_message(status), cases[i].message)) {
      fail_msg("\"%s\" does not say \"%s\"", hlo_status_message(status), cases[i].message);
    }
    hlo_status_release(status);
  }
}

// Protos have OpSharding messages where text has braces; XLA reads those of the entry also from the
// module.
static void shardings_are_kept_in_protos(void** state) {
  (void)state;
  static const char text[] =
      "HloModule m, num_partitions=4\nENTRY e {\n"
      "  a = f32[8,4] parameter(0), sharding={devices=[2,2]<=[2,2]T(1,0)}\n"
      "  b = f32[4] parameter(1), sharding={replicated}\n"
      "  c = f32[8,4] negate(a), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}\n"
      "  ROOT t = (f32[8,4], f32[4]) tuple(c, b), sharding={{devices=[1,4]<=[4]}, {maximal "
      "device=2}}\n}\n";
  HLO_SCOPED_STRBUF proto = {0};
  hlo_module_t *module = NULL, *again = NULL;
  hlo_test_check(hlo_frontend_load(text, strlen(text), "x.hlo", NULL, NULL, &module));
  hlo_test_check(hlo_hlo_proto_write_with_config(module, &proto));
  hlo_test_check(hlo_frontend_load(proto.data, proto.length, "x.pb", NULL, NULL, &again));
  assert_true(hlo_module_equal(module, again));
  const hlo_func_t* entry = hlo_module_entry(again);
  assert_string_equal(hlo_func_result_attr(entry, 1, "mhlo.sharding")->text, "{maximal device=2}");
  assert_string_equal(hlo_func_argument_attr(entry, 0, "mhlo.sharding")->text,
                      "{devices=[2,2]<=[2,2]T(1,0)}");
  hlo_module_release(module);
  hlo_module_release(again);
}

// Any prefix of the samples is accepted or refused without a crash.
static void truncated_input_is_refused(void** state) {
  (void)state;
  static char buffer[1 << 16];
  const char* const names[] = {"loop.hlo", "loop.pb", "layouts.pb"};
  for (int i = 0; i < 3; ++i) {
    size_t size = hlo_test_read_file(names[i], buffer, sizeof buffer);
    for (size_t length = 0; length < size; ++length) {
      hlo_module_t* module = NULL;
      hlo_frontend_options_t options = {.format =
                                            i == 0 ? HLO_FORMAT_HLO_TEXT : HLO_FORMAT_HLO_PROTO};
      hlo_status_t status = hlo_frontend_load(buffer, length, names[i], &options, NULL, &module);
      if (hlo_status_is_ok(status)) hlo_module_release(module);
      hlo_status_release(status);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_and_proto_are_equal),
      cmocka_unit_test(donated_inputs_and_places_are_kept),
      cmocka_unit_test(layouts_of_the_entry_are_kept),
      cmocka_unit_test(tiles_of_the_entry_are_kept),
      cmocka_unit_test(host_memory_of_the_entry_is_kept),
      cmocka_unit_test(groups_have_three_notations),
      cmocka_unit_test(epsilons_have_exponents),
      cmocka_unit_test(faults_say_where),
      cmocka_unit_test(shardings_are_kept_in_protos),
      cmocka_unit_test(truncated_input_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
