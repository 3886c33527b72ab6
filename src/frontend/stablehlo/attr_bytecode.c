// SPDX-License-Identifier: Apache-2.0
// Attributes that the dialects of StableHLO encode alike (see attr_bytecode.h).
// source : StableHLO StablehloBytecode, VhloBytecode (field orders are facts of the format)
#include "frontend/stablehlo/attr_bytecode.h"

#include "frontend/stablehlo/attrs.h"

hlo_status_t hlo_bc_read_string_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                     const hlo_attr_t** out) {
  hlo_bc_string_t string;
  HLO_TRY(hlo_bc_read_string(reader, c, &string));
  *out = hlo_attr_string(reader->module, string.text, string.length);
  return hlo_module_status(reader->module);
}

static hlo_status_t read_bounds(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_bc_attr_t* out) {
  uint32_t count;
  int64_t* bounds;
  HLO_TRY(hlo_bc_read_svarints(reader, c, &count, &bounds));
  *out = (hlo_bc_attr_t){.kind = HLO_BC_ATTR_BOUNDS,
                         .attr = hlo_attr_ints(reader->module, count, bounds)};
  return hlo_module_status(reader->module);
}

static hlo_status_t read_alias(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                               const hlo_attr_t** out) {
  uint32_t output_count, operand_count;
  int64_t *output_indices, *operand_indices, operand;
  HLO_TRY(hlo_bc_read_svarints(reader, c, &output_count, &output_indices));
  HLO_TRY(hlo_bc_svarint(c, &operand));
  HLO_TRY(hlo_bc_read_svarints(reader, c, &operand_count, &operand_indices));
  return hlo_make_output_operand_alias(reader->module, output_count, output_indices, operand,
                                       operand_count, operand_indices, out);
}

static hlo_status_t read_accuracy(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                  const hlo_attr_t** out) {
  double atol, rtol;
  int64_t ulps;
  const hlo_attr_t* mode;
  HLO_TRY(hlo_bc_read_float(reader, c, HLO_DTYPE_F64, &atol));
  HLO_TRY(hlo_bc_read_float(reader, c, HLO_DTYPE_F64, &rtol));
  HLO_TRY(hlo_bc_svarint(c, &ulps));
  HLO_TRY(hlo_bc_read_attr_of(reader, c, HLO_ATTR_KIND_ENUM, "result accuracy mode", &mode));
  return hlo_make_result_accuracy(reader->module, atol, rtol, ulps, mode, out);
}

// ---- meshes: axes of collectives are carried as StableHLO's text

static hlo_status_t read_sub_axis_info(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                       const hlo_attr_t** out) {
  int64_t pre_size, size;
  HLO_TRY(hlo_bc_svarint(c, &pre_size));
  HLO_TRY(hlo_bc_svarint(c, &size));
  return hlo_make_sub_axis_info(reader->module, pre_size, size, out);
}

static hlo_status_t read_axis_ref(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                  const hlo_bc_mesh_form_t* form, const hlo_attr_t** out) {
  const hlo_attr_t *name, *info;
  HLO_TRY(form->name(reader, c, &name));
  HLO_TRY(form->info(reader, c, &info));
  return hlo_make_axis_ref(reader->module, name, info, out);
}

static hlo_status_t read_mesh_axis(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                   const hlo_bc_mesh_form_t* form, const hlo_attr_t** out) {
  const hlo_attr_t* name;
  int64_t size;
  HLO_TRY(form->name(reader, c, &name));
  HLO_TRY(hlo_bc_svarint(c, &size));
  return hlo_make_mesh_axis(reader->module, name, size, out);
}

static hlo_status_t read_mesh(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                              const hlo_bc_mesh_form_t* form, const hlo_attr_t** out) {
  const hlo_attr_t *axes, *device_ids;
  HLO_TRY(hlo_bc_read_attr_of(reader, c, HLO_ATTR_KIND_ARRAY, "list of mesh axes", &axes));
  HLO_TRY(form->device_ids(reader, c, &device_ids));
  return hlo_make_mesh(reader->module, axes, device_ids, out);
}

static hlo_status_t read_replica_groups(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                        const hlo_bc_mesh_form_t* form, const hlo_attr_t** out) {
  const hlo_attr_t *mesh, *axes;
  HLO_TRY(hlo_bc_read_attr(reader, c, &mesh));
  HLO_TRY(form->axes(reader, c, &axes));
  return hlo_make_replica_group_mesh_axes(reader->module, mesh, axes, out);
}

// ---- by code

static hlo_status_t read_plain(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                               const hlo_bc_attr_codes_t* codes, uint64_t code,
                               const hlo_attr_t** out) {
  const hlo_bc_mesh_form_t* form = codes->mesh_form;
  if (code == 0) return codes->read_other(reader, c, code, out);
  if (code == codes->output_operand_alias) return read_alias(reader, c, out);
  if (code == codes->result_accuracy) return read_accuracy(reader, c, out);
  if (code == codes->sub_axis_info) return read_sub_axis_info(reader, c, out);
  if (code == codes->axis_ref) return read_axis_ref(reader, c, form, out);
  if (code == codes->mesh_axis) return read_mesh_axis(reader, c, form, out);
  if (code == codes->mesh) return read_mesh(reader, c, form, out);
  if (code == codes->replica_group_mesh_axes) return read_replica_groups(reader, c, form, out);
  return codes->read_other(reader, c, code, out);
}

hlo_status_t hlo_bc_read_coded_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                    const hlo_bc_attr_codes_t* codes, hlo_bc_attr_t* out) {
  uint64_t code;
  const hlo_attr_t* attr = NULL;
  HLO_TRY(hlo_bc_varint(c, &code));
  if (codes->bounds && code == codes->bounds) return read_bounds(reader, c, out);
  HLO_TRY(hlo_bc_read_enum(reader, c, code, codes->enums, codes->enum_count, &attr));
  if (!attr) HLO_TRY(read_plain(reader, c, codes, code, &attr));
  hlo_bc_set_attr(out, attr);
  return hlo_ok();
}
