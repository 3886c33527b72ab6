// SPDX-License-Identifier: Apache-2.0
// Shardings of Shardy: their text, and what is not one.
#include "ir/sharding.h"

#include "base/mem.h"
#include "ir/test_util.h"

#define MESHES                                                       \
  "sdy.mesh @mesh = <[\"x\"=2, \"y\"=4, \"z\"=8]>\n"                 \
  "sdy.mesh @back = <[\"x\"=2, \"y\"=2], device_ids=[3, 2, 1, 0]>\n" \
  "sdy.mesh @one = <[], device_ids=[5]>\n"                           \
  "sdy.mesh @none = <[]>\n"

static const hlo_attr_t* opaque(hlo_module_t* module, const char* prefix, const char* text) {
  HLO_SCOPED_STRBUF whole = {0};
  hlo_strbuf_printf(&whole, "%s%s", prefix, text);
  return whole.failed ? NULL : hlo_attr_opaque(module, hlo_strbuf_text(&whole), whole.length);
}

static const hlo_sharding_t* parse(hlo_module_t* module, const char* text) {
  const hlo_sharding_t* sharding = NULL;
  hlo_test_check(hlo_sharding_parse(module, opaque(module, "#sdy.sharding", text), &sharding));
  return sharding;
}

// Every form is written as it was read.
static void test_text(void** state) {
  (void)state;
  static const char* const texts[] = {
      "<@mesh, []>",
      "<@mesh, [{}]>",
      "<@mesh, [{?}]>",
      "<@mesh, [{\"x\"}, {}, {\"y\", \"z\"}]>",
      "<@mesh, [{\"x\", ?}, {?}]>",
      "<@mesh, [{\"x\"}p0, {\"y\", ?}p3, {}p1, {?}p12]>",
      "<@mesh, [{\"z\":(1)2}, {\"z\":(2)4}]>",
      "<@mesh, [{\"z\":(4)2, \"x\", \"y\":(2)2, ?}p7]>",
      "<@mesh, [{}], replicated={\"x\"}>",
      "<@mesh, [{\"x\"}], replicated={\"y\", \"z\":(1)4}>",
      "<@mesh, [{\"x\"}], unreduced={\"y\"}>",
      "<@mesh, [{\"x\"}], unreduced=max{\"y\"}>",
      "<@mesh, [{\"x\"}], unreduced=min{\"y\", \"z\":(2)2}>",
      "<@mesh, [{\"x\"}], replicated={\"y\"}, unreduced={\"z\"}>",
      "<@back, [{\"y\"}, {\"x\"}]>",
      "<@one, []>",
      "<@none, [{}, {?}]>",
      "<mesh<[\"a\"=3, \"b\"=2]>, [{\"b\", \"a\"}]>",
      "<mesh<[\"a\"=2], device_ids=[1, 0]>, [{\"a\"}]>",
      "<mesh<[], device_ids=[7]>, []>",
  };
  hlo_module_t* module = hlo_test_parse(MESHES);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    const hlo_sharding_t* sharding = parse(module, texts[i]);
    const hlo_sharding_t* again = NULL;
    hlo_test_check(hlo_sharding_intern(module, sharding, &again));
    // Attributes are interned, so the same one is the same text.
    assert_ptr_equal(again->attr, opaque(module, "#sdy.sharding", texts[i]));
    assert_ptr_equal(again, sharding);
    const hlo_attr_t* list = hlo_sharding_list_attr(module, 1, &sharding);
    const hlo_sharding_t* only = NULL;
    hlo_test_check(hlo_sharding_parse(module, list, &only));
    assert_ptr_equal(only, sharding);
  }
  hlo_module_release(module);
}

static void test_fields(void** state) {
  (void)state;
  hlo_module_t* module = hlo_test_parse(MESHES);
  const hlo_sharding_t* s =
      parse(module,
            "<@mesh, [{\"x\", \"z\":(2)4, ?}p2, {}], replicated={\"z\":(1)2}, "
            "unreduced=max{\"y\"}>");
  assert_string_equal(s->mesh->name, "mesh");
  assert_int_equal(s->mesh->device_count, 64);
  assert_null(s->mesh->device_ids);
  assert_int_equal(s->rank, 2);
  assert_int_equal(s->dims[0].axes.count, 2);
  assert_int_equal(s->dims[0].axes.refs[0].axis, 0);
  assert_true(hlo_axis_ref_is_whole(s->mesh, s->dims[0].axes.refs[0]));
  assert_int_equal(s->dims[0].axes.refs[1].axis, 2);
  assert_int_equal(s->dims[0].axes.refs[1].pre_size, 2);
  assert_int_equal(s->dims[0].axes.refs[1].size, 4);
  assert_false(hlo_axis_ref_is_whole(s->mesh, s->dims[0].axes.refs[1]));
  assert_true(s->dims[0].is_open);
  assert_int_equal(s->dims[0].priority, 2);
  assert_int_equal(s->dims[1].axes.count, 0);
  assert_false(s->dims[1].is_open);
  assert_int_equal(s->dims[1].priority, -1);
  assert_int_equal(s->replicated.count, 1);
  assert_int_equal(s->unreduced.count, 1);
  assert_int_equal(s->unreduced_op, HLO_UNREDUCED_MAX);
  // Other spaces are the same sharding, once it is normal.
  const hlo_sharding_t* normal;
  const hlo_sharding_t* spaced = parse(module, "<@mesh,[ {\"x\" } ,{}]>");
  hlo_test_check(hlo_sharding_intern(module, spaced, &normal));
  assert_ptr_equal(normal, parse(module, "<@mesh, [{\"x\"}, {}]>"));
  hlo_module_release(module);
}

static void test_meshes(void** state) {
  (void)state;
  hlo_module_t* module = hlo_test_parse(MESHES);
  const hlo_mesh_t *back, *one, *again, *missing;
  hlo_test_check(hlo_mesh_find(module, "back", 4, &back));
  assert_int_equal(back->device_count, 4);
  assert_int_equal(back->device_ids[0], 3);
  assert_int_equal(hlo_mesh_axis_number(back, "y", 1), 1);
  assert_int_equal(hlo_mesh_axis_number(back, "z", 1), 2);
  assert_false(hlo_mesh_is_maximal(back));
  hlo_test_check(hlo_mesh_find(module, "one", 3, &one));
  assert_true(hlo_mesh_is_maximal(one));
  assert_int_equal(one->device_ids[0], 5);
  hlo_test_check(hlo_mesh_find(module, "back", 4, &again));
  assert_ptr_equal(back, again);
  hlo_test_check(hlo_mesh_find(module, "bac", 3, &missing));
  assert_null(missing);
  hlo_axis_refs_t axes;
  hlo_test_check(hlo_mesh_parse_axes(module, back,
                                     opaque(module, "#sdy<manual_axes", "{\"y\", \"x\"}>"), &axes));
  assert_int_equal(axes.count, 2);
  assert_int_equal(axes.refs[0].axis, 1);
  hlo_module_release(module);
}

static void test_lists(void** state) {
  (void)state;
  hlo_module_t* module = hlo_test_parse(MESHES);
  uint32_t count;
  const hlo_sharding_t* const* list;
  const hlo_attr_t* attr = opaque(module, "#sdy.sharding_per_value",
                                  "<[<@mesh, [{\"x\"}]>, <@back, []>, <@mesh, [{\"x\"}]>]>");
  hlo_test_check(hlo_sharding_parse_list(module, attr, &count, &list));
  assert_int_equal(count, 3);
  assert_ptr_equal(list[0], list[2]);
  assert_ptr_equal(list[0], parse(module, "<@mesh, [{\"x\"}]>"));
  assert_ptr_equal(hlo_sharding_list_attr(module, count, list), attr);
  const hlo_attr_t* empty = opaque(module, "#sdy.sharding_per_value", "<[]>");
  hlo_test_check(hlo_sharding_parse_list(module, empty, &count, &list));
  assert_int_equal(count, 0);
  assert_ptr_equal(hlo_sharding_list_attr(module, 0, NULL), empty);
  hlo_module_release(module);
}

static void expect_error(hlo_module_t* module, const char* prefix, const char* text,
                         const char* message) {
  const hlo_sharding_t* sharding = NULL;
  hlo_status_t status = hlo_sharding_parse(module, opaque(module, prefix, text), &sharding);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  if (!strstr(hlo_status_message(status), message)) {
    fail_msg("%s: '%s' has no '%s'", text, hlo_status_message(status), message);
  }
  hlo_status_release(status);
}

static void test_errors(void** state) {
  (void)state;
  static const char* const rows[][2] = {
      {"", "expected < at"},
      {"<mesh, []>", "expected < at"},
      {"<mesh<\"x\"=2>, []>", "expected [ at"},
      {"<mesh<[\"x\"]>, []>", "expected = at"},
      {"<mesh<[\"x\"=]>, []>", "a number"},
      {"<mesh<[\"x\"=0]>, []>", "1 to 2^31 devices"},
      {"<mesh<[\"x\"=65536, \"y\"=65536]>, []>", "1 to 2^31 devices"},
      {"<mesh<[\"x\"=99999999999999999999]>, []>", "a smaller number"},
      {"<mesh<[\"x\"=2, \"x\"=2]>, []>", "another name"},
      {"<mesh<[\"x\"=2], device_ids=[0]>, []>", "expected , at"},
      {"<mesh<[\"x\"=2], device_ids=[0, 2]>, []>", "each device of the mesh once"},
      {"<mesh<[\"x\"=2], device_ids=[1, 1]>, []>", "each device of the mesh once"},
      {"<mesh<[\"x\"=2], device_ids=[0, 1, 1]>, []>", "expected ] at"},
      {"<mesh<[\"x\"=99999], device_ids=[0]>, []>", "as many devices"},
      {"<mesh<[\"x\"=2], ids=[0, 1]>, []>", "device_ids"},
      {"<@other, []>", "no mesh @other"},
      {"<@mesh>", "expected , at"},
      {"<@mesh, {}>", "expected [ at"},
      {"<@mesh, [\"x\"]>", "expected { at"},
      {"<@mesh, [{\"x\"}", "expected , at"},
      {"<@mesh, [{\"x}]>", "a closing quote"},
      {"<@mesh, [{x}]>", "expected \" at"},
      {"<@mesh, [{\"w\"}]>", "no axis 'w'"},
      {"<@mesh, [{?, \"x\"}]>", "expected } at"},
      {"<@mesh, [{\"x\" \"y\"}]>", "expected , at"},
      {"<@mesh, [{\"x\"}, {\"x\"}]>", "an axis only once"},
      {"<@mesh, [{\"x\", \"x\"}]>", "an axis only once"},
      {"<@mesh, [{\"z\"}, {\"z\":(2)2}]>", "an axis only once"},
      {"<@mesh, [{\"z\":(1)4}, {\"z\":(2)2}]>", "an axis only once"},
      {"<@mesh, [{\"x\"}], replicated={\"x\"}>", "an axis only once"},
      {"<@mesh, [{}], replicated={\"x\"}, unreduced={\"x\"}>", "an axis only once"},
      {"<@mesh, [{\"z\":(3)2}]>", "a part that divides the axis"},
      {"<@mesh, [{\"z\":(2)8}]>", "a part that divides the axis"},
      {"<@mesh, [{\"z\":(0)2}]>", "a part that divides the axis"},
      {"<@mesh, [{\"z\":(2)0}]>", "a part that divides the axis"},
      {"<@mesh, [{\"z\":2}]>", "expected ( at"},
      {"<@mesh, [{\"z\":(2]>", "expected ) at"},
      {"<@mesh, [{}p]>", "a number"},
      {"<@mesh, [{}p4294967296]>", "a smaller priority"},
      {"<@mesh, [{}], reduced={\"x\"}>", "unreduced"},
      {"<@mesh, [{}], unreduced=mean{\"x\"}>", "expected { at"},
      {"<@mesh, [{}], replicated={?}>", "expected \" at"},
      {"<@mesh, [{}], replicated=\"x\">", "expected { at"},
  };
  hlo_module_t* module = hlo_test_parse(MESHES);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    expect_error(module, "#sdy.sharding", rows[i][0], rows[i][1]);
  }
  expect_error(module, "#sdy.mesh", "<[\"x\"=2]>", "#sdy.sharding");
  expect_error(module, "#sdy.sharding_per_value", "<[<@mesh, []>, <@mesh, []>]>", "one sharding");
  expect_error(module, "#sdy.sharding_per_value", "<[<@mesh, []> <@mesh, []>]>", "expected , at");
  const hlo_sharding_t* sharding;
  hlo_status_t status = hlo_sharding_parse(module, NULL, &sharding);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  hlo_status_release(status);
  status = hlo_sharding_parse(module, hlo_attr_string(module, "x", 1), &sharding);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  hlo_status_release(status);
  hlo_module_release(module);
}

// More of anything than there is room for.
static void test_limits(void** state) {
  (void)state;
  hlo_module_t* module = hlo_test_parse(MESHES);
  HLO_SCOPED_STRBUF axes = {0}, dims = {0};
  hlo_strbuf_puts(&axes, "<mesh<[");
  for (uint32_t i = 0; i < 65; ++i) hlo_strbuf_printf(&axes, "%s\"a%u\"=1", i ? ", " : "", i);
  hlo_strbuf_puts(&axes, "]>, []>");
  expect_error(module, "#sdy.sharding", hlo_strbuf_text(&axes), "at most 64 axes");
  hlo_strbuf_puts(&dims, "<@mesh, [");
  for (uint32_t i = 0; i <= HLO_RANK_MAX; ++i) hlo_strbuf_puts(&dims, i ? ", {}" : "{}");
  hlo_strbuf_puts(&dims, "]>");
  expect_error(module, "#sdy.sharding", hlo_strbuf_text(&dims), "dimensions");
  hlo_module_release(module);
}

static hlo_status_t use_all(hlo_module_t* module) {
  const hlo_sharding_t *one, *other;
  const hlo_sharding_t* const* list;
  const hlo_mesh_t* mesh;
  uint32_t count;
  HLO_TRY(hlo_mesh_find(module, "back", 4, &mesh));
  const hlo_attr_t* attr = opaque(module, "#sdy.sharding_per_value",
                                  "<[<@mesh, [{\"x\"}], replicated={\"y\"}>, <mesh<[\"a\"=2], "
                                  "device_ids=[1, 0]>, [{\"a\"}]>]>");
  const hlo_attr_t* spaced = opaque(module, "#sdy.sharding", "<@back,[{\"x\"}]>");
  if (!attr || !spaced) return hlo_status_out_of_memory(1);
  HLO_TRY(hlo_sharding_parse_list(module, attr, &count, &list));
  HLO_TRY(hlo_sharding_parse(module, spaced, &one));
  HLO_TRY(hlo_sharding_intern(module, one, &other));
  if (hlo_sharding_list_attr(module, count, list)) return hlo_ok();
  return hlo_status_out_of_memory(1);
}

// Any allocation may fail: the error is reported, and nothing leaks.
static void test_memory_failures(void** state) {
  (void)state;
  bool is_done = false;
  for (uint64_t n = 1; !is_done; ++n) {
    hlo_module_t* module = hlo_test_parse(MESHES);
    // An arena that is nearly full, so that allocations of it fail as well.
    while (module->arena.end - module->arena.next > 64) (void)hlo_arena_alloc(&module->arena, 16);
    hlo_mem_fail_nth(n);
    hlo_status_t status = use_all(module);
    is_done = !hlo_mem_failed();
    hlo_mem_fail_nth(0);
    assert_int_equal(hlo_status_code(status),
                     is_done ? HLO_STATUS_OK : HLO_STATUS_RESOURCE_EXHAUSTED);
    hlo_status_release(status);
    hlo_module_release(module);
    assert_in_range(n, 1, 1000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_fields),
      cmocka_unit_test(test_meshes),
      cmocka_unit_test(test_lists),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_memory_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
