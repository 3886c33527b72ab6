// SPDX-License-Identifier: Apache-2.0
// Text and protos of shardings of GSPMD, and conversion from those of Shardy.
#include "ir/op_sharding.h"

#include "ir/test_util.h"

static char* text_of(const hlo_op_sharding_t* sharding) {
  hlo_strbuf_t text = {0};
  hlo_op_sharding_print(sharding, &text);
  hlo_test_check(hlo_strbuf_status(&text));
  return hlo_strbuf_take(&text);
}

static void expect_text(const hlo_op_sharding_t* sharding, const char* expected) {
  char* text = text_of(sharding);
  assert_string_equal(text, expected);
  hlo_mem_free(text);
}

// Text gives itself, or the normal form, also through a proto.
static void text_and_protos_lose_nothing(void** state) {
  (void)state;
  static const char* const rows[][2] = {
      {"{replicated}", NULL},
      {"{manual}", NULL},
      {"{unknown}", NULL},
      {"{unreduced}", NULL},
      {"{maximal device=3}", NULL},
      {"{maximal device=0}", NULL},
      {"{device=3}", "{maximal device=3}"},
      {"{devices=[2,4]<=[8]}", NULL},
      {"{devices=[2,4]<=[2,4]}", "{devices=[2,4]<=[8]}"},
      {"{devices=[2,4]<=[2,1,4]T(0,1,2)}", "{devices=[2,4]<=[8]}"},
      {"{devices=[4,2]<=[2,4]T(1,0)}", NULL},
      {"{devices=[4,2]<=[2,2,2]T(1,2,0)}", "{devices=[4,2]<=[2,4]T(1,0)}"},
      {"{devices=[2,2,2]<=[2,2,2]T(2,1,0)}", NULL},
      {"{devices=[2,2]0,1,2,3}", NULL},
      {"{devices=[2,2]3,1,2,0}", NULL},
      {"{devices=[1]0}", NULL},
      {"{devices=[1,1]<=[1]}", NULL},
      {"{devices=[2,1,4]<=[8] last_tile_dim_replicate}", NULL},
      {"{devices=[2,2]0,2,1,3 last_tile_dim_replicate}", NULL},
      {"{devices=[2,1]<=[2] last_tile_dim_replicate}", "{devices=[2]<=[2]}"},
      {"{devices=[1,1,8]<=[8] last_tile_dim_replicate}", "{replicated}"},
      {"{devices=[2,1,4]<=[8] last_tile_dims={replicated}}",
       "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"},
      {"{devices=[1,2,2,2]<=[8] last_tile_dims={manual, replicated}}", NULL},
      {"{devices=[2,2,2]<=[2,4]T(1,0) last_tile_dims={replicated, unreduced}}", NULL},
      {"{devices=[2,4]<=[8] last_tile_dims={manual}}", NULL},
      {"{{replicated}, {devices=[2]<=[2]}, {maximal device=1}}", NULL},
      {"{{replicated}, /*index=1*/{manual}}", "{{replicated}, {manual}}"},
      {"{}", NULL},
      {"{replicated metadata={op_name=\"a}b\\\"\" source_line=3}}", "{replicated}"},
      {"{devices=[2]<=[2] metadata={{op_name=\"a\"}, {op_name=\"b\"}}}", "{devices=[2]<=[2]}"},
      {"{replicated shard_as 3}", NULL},
      {"{devices=[2]<=[2] shard_like 12}", NULL},
      {" { devices=[ 2, 4 ] <= [ 8 ] } ", "{devices=[2,4]<=[8]}"},
      {"{mesh[x=2,y=4], [{x}, {y}]}", "{devices=[2,4]<=[8]}"},
      {"{mesh['x'=2,'y'=4], [{'y', 'x'}]}", "{devices=[8]<=[2,4]T(1,0)}"},
      {"{mesh[x=2,y=4], [{?}, {x, ?}], replicated={y}}",
       "{devices=[1,2,4]<=[8] last_tile_dim_replicate}"},
      {"{mesh[x=2,y=4], [{y:(2)2}]}", "{devices=[2,4]<=[4,2]T(1,0) last_tile_dim_replicate}"},
      {"{mesh[x=2,y=4], [{x}], unreduced={y}, metadata={{op_name=\"a\"}}}",
       "{devices=[2,4]<=[8] last_tile_dims={unreduced}}"},
      {"{mesh[x=2,y=4], [{y}], manual={x}}",
       "{devices=[4,2]<=[2,4]T(1,0) last_tile_dims={manual}}"},
      {"{mesh[x=2,y=2], device_ids=([2,2]T(1,0)), [{x}, {y}]}", "{devices=[2,2]<=[2,2]T(1,0)}"},
      {"{mesh[x=2,y=2], device_ids=(3,1,2,0), [{x}, {y}]}", "{devices=[2,2]3,1,2,0}"},
      {"{mesh[x=2], replicated}", "{replicated}"},
      {"{mesh[x=2], manual}", "{manual}"},
      {"{mesh[x=2], unreduced}", "{unreduced}"},
      {"{maximal_mesh[device_id=3]}", "{maximal device=3}"},
      {"{{mesh[x=2], [{x}]}, {replicated}}", "{{devices=[2]<=[2]}, {replicated}}"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    HLO_SCOPED_STRBUF proto = {0};
    hlo_op_sharding_t sharding, again;
    const char* expected = rows[i][1] ? rows[i][1] : rows[i][0];
    hlo_test_check(hlo_op_sharding_parse(rows[i][0], strlen(rows[i][0]), &arena, &sharding));
    expect_text(&sharding, expected);
    hlo_op_sharding_encode(&sharding, &proto);
    hlo_test_check(hlo_op_sharding_decode(proto.data, proto.length, &arena, &again));
    expect_text(&again, expected);
  }
}

static void faults_are_found(void** state) {
  (void)state;
  static const char* const rows[] = {
      "",
      "{",
      "replicated",
      "{nothing}",
      "{replicated} x",
      "{replicated manual}",
      "{last_tile_dim_replicate}",
      "{devices=[2,2]0,1,2}",
      "{devices=[2,2]0,1,2,2}",
      "{devices=[2,2]0,1,2,4}",
      "{devices=[0]<=[0]}",
      "{devices=[2,2]<=[2,3]}",
      "{devices=[2,2]<=[2,2]T(0,0)}",
      "{devices=[2,2]<=[2,2]T(0,2)}",
      "{devices=[2,2]<=[2,2]T(0)}",
      "{devices=[65536,65536]<=[4294967296]}",
      "{devices=[65536,2]<=[131072]}",
      "{devices=[2]<=[2] last_tile_dims={manual, manual}}",
      "{devices=[2]<=[2] last_tile_dims={unknown}}",
      "{devices=[2]<=[2] last_tile_dims={tiled}}",
      "{maximal device=0,1}",
      "{{replicated}, {{replicated}}}",
      "{{replicated} {replicated}}",
      "{{replicated}, /*",
      "{replicated metadata={op_name=\"}}",
      "{replicated shard_as x}",
      "{mesh[x=2]}",
      "{mesh[], [{}]}",
      "{mesh[x=2], [{y}]}",
      "{mesh[x=2], [{x}, {x}]}",
      "{mesh[x=4], [{x:(1)2, x:(1)4}]}",
      "{mesh[x=4], [{x:(3)2}]}",
      "{mesh[x=2], [{x}], manual={x}}",
      "{mesh[x=2], device_ids=(0,1,2), [{x}]}",
      "{mesh[x=2,y=2], device_ids=([2,2]T(0,0)), [{x}]}",
      "{mesh[x=65536,y=65536], [{x}]}",
      "{maximal_mesh[device_id=]}",
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    hlo_op_sharding_t sharding;
    hlo_status_t status = hlo_op_sharding_parse(rows[i], strlen(rows[i]), &arena, &sharding);
    if (hlo_status_code(status) != HLO_STATUS_INVALID_ARGUMENT) fail_msg("%s is accepted", rows[i]);
    hlo_status_release(status);
  }
}

// The bytes of a proto are those that XLA writes.
static void protos_have_the_numbers_of_xla(void** state) {
  (void)state;
  static const uint8_t expected[] = {0x08, 3, 0x1a, 3, 2, 1, 4, 0x30, 1, 0x4a, 1, 8, 0x52, 1, 0};
  const char* text = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}";
  HLO_SCOPED_ARENA arena = {0};
  HLO_SCOPED_STRBUF proto = {0};
  hlo_op_sharding_t sharding;
  hlo_test_check(hlo_op_sharding_parse(text, strlen(text), &arena, &sharding));
  hlo_op_sharding_encode(&sharding, &proto);
  assert_int_equal(proto.length, sizeof expected);
  assert_memory_equal(proto.data, expected, sizeof expected);
}

// The mesh ["x"=2, "y"=4], of x the sharding of dimension 1, and of the second half of y that of 0.
static void protos_may_refer_to_axes(void** state) {
  (void)state;
  HLO_SCOPED_ARENA arena = {0};
  hlo_named_axis_t axes[] = {{.size = 2}, {.size = 4}};
  hlo_named_part_t part = {.pre_size = 2, .size = 2};
  hlo_named_ref_t refs[] = {{.axis = 0}, {.axis = 1, .part = &part}};
  hlo_named_dim_t dims[] = {{.axes = {&refs[1], 1}}, {.axes = {&refs[0], 1}, .is_closed = true}};
  int64_t ids[] = {0, 4, 1, 5, 2, 6, 3, 7}, iota_dims[] = {2, 4}, perm[] = {1, 0};
  hlo_named_iota_t iota = {{iota_dims, 2}, {perm, 2}};
  hlo_named_mesh_t mesh = {.axes = {axes, 2}};
  hlo_named_sharding_t named = {.mesh = &mesh, .dims = {dims, 2}};
  hlo_op_sharding_t sharding = {.named = &named}, read;
  for (int form = 0; form < 3; ++form) {
    HLO_SCOPED_STRBUF proto = {0};
    if (form == 1) mesh.device_ids = (hlo_wire_array_t){ids, 8};
    if (form == 2) mesh = (hlo_named_mesh_t){.axes = {axes, 2}, .iota = &iota};
    hlo_op_sharding_encode(&sharding, &proto);
    hlo_test_check(hlo_op_sharding_decode(proto.data, proto.length, &arena, &read));
    expect_text(&read, form == 0 ? "{devices=[2,2,2]<=[4,2]T(1,0) last_tile_dim_replicate}"
                                 : "{devices=[2,2,2]<=[8] last_tile_dim_replicate}");
  }
  refs[0].axis = 2;
  HLO_SCOPED_STRBUF proto = {0};
  hlo_op_sharding_encode(&sharding, &proto);
  hlo_status_t status = hlo_op_sharding_decode(proto.data, proto.length, &arena, &read);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  assert_non_null(strstr(hlo_status_message(status), "the mesh has no axis 2"));
  hlo_status_release(status);
}

// Shardings of Shardy, and their tiles.
static void axes_become_tiles(void** state) {
  (void)state;
  static const char* const rows[][2] = {
      {"<@a, [{}, {}]>", "{replicated}"},
      {"<@a, [{\"x\"}, {\"y\"}]>", "{devices=[2,4]<=[8]}"},
      {"<@a, [{\"y\"}, {\"x\"}]>", "{devices=[4,2]<=[2,4]T(1,0)}"},
      {"<@a, [{\"x\", \"y\"}]>", "{devices=[8]<=[8]}"},
      {"<@a, [{\"y\", \"x\"}]>", "{devices=[8]<=[2,4]T(1,0)}"},
      {"<@a, [{\"x\", ?}p1, {?}]>", "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"},
      {"<@a, [{}, {\"y\"}]>", "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"},
      {"<@a, [{\"y\":(1)2}, {\"y\":(2)2}]>",
       "{devices=[2,2,2]<=[2,4]T(1,0) last_tile_dim_replicate}"},
      {"<@a, [{\"y\":(2)2}]>", "{devices=[2,4]<=[4,2]T(1,0) last_tile_dim_replicate}"},
      {"<@a, [{\"x\"}], unreduced={\"y\"}>", "{devices=[2,4]<=[8] last_tile_dims={unreduced}}"},
      {"<@a, [{}], unreduced={\"x\", \"y\"}>", "{unreduced}"},
      {"<@a, [{}], unreduced={\"x\"}>",
       "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={replicated, unreduced}}"},
      {"<@a, [{\"y\"}], replicated={\"x\"}>",
       "{devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"},
      {"<@a, []>", "{replicated}"},
      {"<@b, [{\"x\"}]>", "{devices=[4]3,1,2,0}"},
      {"<@c, [{\"x\"}, {\"y\"}]>", "{devices=[2,2]<=[2,2]T(1,0)}"},
      {"<@one, [{\"x\"}]>", "{replicated}"},
      {"<@device, []>", "{maximal device=5}"},
  };
  hlo_module_t* module = hlo_test_parse(
      "module {\n  sdy.mesh @a = <[\"x\"=2, \"y\"=4]>\n"
      "  sdy.mesh @b = <[\"x\"=4], device_ids=[3, 1, 2, 0]>\n"
      "  sdy.mesh @c = <[\"x\"=2, \"y\"=2], device_ids=[0, 2, 1, 3]>\n"
      "  sdy.mesh @one = <[\"x\"=1]>\n  sdy.mesh @device = <[], device_ids=[5]>\n"
      "  func.func @main() {\n    return\n  }\n}\n");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    HLO_SCOPED_STRBUF text = {0};
    hlo_strbuf_printf(&text, "#sdy.sharding%s", rows[i][0]);
    const hlo_sharding_t* sharding;
    hlo_op_sharding_t made;
    hlo_test_check(hlo_sharding_parse(
        module, hlo_attr_opaque(module, hlo_strbuf_text(&text), text.length), &sharding));
    hlo_test_check(hlo_op_sharding_from_sharding(sharding, NULL, &arena, &made));
    expect_text(&made, rows[i][1]);
  }
  hlo_module_release(module);
}

static void manual_axes_are_a_subgroup(void** state) {
  (void)state;
  HLO_SCOPED_ARENA arena = {0};
  const hlo_mesh_axis_t axes[] = {{"x", 2}, {"y", 4}};
  const hlo_mesh_t mesh = {.axis_count = 2, .axes = axes, .device_count = 8};
  const hlo_axis_ref_t x = {0, 1, 2}, y = {1, 1, 4}, both[] = {x, y};
  const hlo_axis_refs_t manual = {1, &x}, all = {2, both};
  const hlo_dim_sharding_t dims[] = {{.axes = {1, &y}}, {.axes = {0, NULL}}};
  const hlo_sharding_t s = {.mesh = &mesh, .rank = 2, .dims = dims};
  const hlo_sharding_t none = {.mesh = &mesh, .rank = 1, .dims = &dims[1]};
  hlo_op_sharding_t made;
  hlo_test_check(hlo_op_sharding_from_sharding(&s, &manual, &arena, &made));
  expect_text(&made, "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dims={manual}}");
  hlo_test_check(hlo_op_sharding_from_sharding(&none, &manual, &arena, &made));
  expect_text(&made, "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={replicated, manual}}");
  hlo_test_check(hlo_op_sharding_from_sharding(&none, &all, &arena, &made));
  expect_text(&made, "{manual}");
}

// Rows: factors of tiles as "size/stride of dimension", and "" for orders that are no transposed
// array.
static void tiles_have_factors(void** state) {
  (void)state;
  static const char* const rows[][2] = {
      {"{devices=[2,4]<=[8]}", "2/4@0 4/1@1 "},
      {"{devices=[4,2]<=[2,4]T(1,0)}", "4/1@0 2/4@1 "},
      {"{devices=[8]<=[2,4]T(1,0)}", "4/1@0 2/4@0 "},
      {"{devices=[2,2,2]<=[2,4]T(1,0) last_tile_dim_replicate}", "2/2@0 2/1@1 2/4@2 "},
      {"{devices=[2,2]0,2,1,3}", "2/1@0 2/2@1 "},
      {"{devices=[4]0,2,1,3}", "2/1@0 2/2@0 "},
      {"{devices=[2,3]<=[2,3]T(1,0)}", ""},
      {"{devices=[3,2]<=[2,3]T(1,0)}", "3/1@0 2/3@1 "},
      {"{devices=[12]<=[3,4]T(1,0)}", "4/1@0 3/4@0 "},
      {"{devices=[4]3,1,2,0}", ""},
      {"{devices=[4]0,3,2,1}", ""},
      {"{devices=[6]0,1,2,3,5,4}", ""},
      {"{devices=[1,1]0}", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    HLO_SCOPED_STRBUF text = {0};
    hlo_op_sharding_t sharding;
    const int64_t* devices;
    hlo_tile_factors_t factors;
    hlo_test_check(hlo_op_sharding_parse(rows[i][0], strlen(rows[i][0]), &arena, &sharding));
    hlo_test_check(hlo_op_sharding_devices(&sharding, &arena, &devices));
    const bool found = hlo_tile_factors_find(&sharding, devices, &factors);
    for (uint32_t f = 0; found && f < factors.count; ++f) {
      hlo_strbuf_printf(&text, "%lld/%lld@%u ", (long long)factors.items[f].size,
                        (long long)factors.items[f].stride, factors.items[f].dim);
    }
    assert_string_equal(hlo_strbuf_text(&text), rows[i][1]);
    assert_int_equal(found, rows[i][1][0] || i + 1 == sizeof rows / sizeof *rows);
  }
}

// Rows: what a device has of an array of 3 dimensions, as "part/parts" of each; errors as such.
static void devices_have_places(void** state) {
  (void)state;
  static const struct {
    const char* sharding;
    int64_t device;
    const char* expected;
  } rows[] = {
      {"{replicated}", 5, "0/1 0/1 0/1 "},
      {"{maximal device=2}", 2, "0/1 0/1 0/1 "},
      {"{manual}", 3, "0/1 0/1 0/1 "},
      {"{devices=[2,1,4]<=[8]}", 6, "1/2 0/1 2/4 "},
      {"{devices=[4,2,1]<=[2,4]T(1,0)}", 6, "2/4 1/2 0/1 "},
      {"{devices=[2,1,1,4]<=[8] last_tile_dim_replicate}", 6, "1/2 0/1 0/1 "},
      {"{devices=[1,2,1,2,2]<=[8] last_tile_dims={manual, replicated}}", 5, "0/1 1/2 0/1 "},
      {"{devices=[4,1,1]3,1,2,0}", 3, "0/4 0/1 0/1 "},
      {"{devices=[4,1,1]<=[4]}", 4, "the sharding has no device 4"},
      {"{devices=[1,1,1,4]<=[4] last_tile_dims={unreduced}}", 1, "the parts are partial sums"},
      {"{unreduced}", 0, "the parts are partial sums"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    HLO_SCOPED_STRBUF text = {0};
    hlo_op_sharding_t sharding;
    int64_t parts[3], at[3];
    hlo_test_check(
        hlo_op_sharding_parse(rows[i].sharding, strlen(rows[i].sharding), &arena, &sharding));
    hlo_status_t status = hlo_op_sharding_place(&sharding, rows[i].device, 3, parts, at);
    for (int d = 0; hlo_status_is_ok(status) && d < 3; ++d) {
      hlo_strbuf_printf(&text, "%lld/%lld ", (long long)at[d], (long long)parts[d]);
    }
    if (!hlo_status_is_ok(status)) hlo_strbuf_printf(&text, "%s", hlo_status_message(status));
    assert_string_equal(hlo_strbuf_text(&text), rows[i].expected);
    hlo_status_release(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_and_protos_lose_nothing),
      cmocka_unit_test(faults_are_found),
      cmocka_unit_test(protos_have_the_numbers_of_xla),
      cmocka_unit_test(protos_may_refer_to_axes),
      cmocka_unit_test(axes_become_tiles),
      cmocka_unit_test(manual_axes_are_a_subgroup),
      cmocka_unit_test(tiles_have_factors),
      cmocka_unit_test(devices_have_places),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
