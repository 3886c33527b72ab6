// SPDX-License-Identifier: Apache-2.0
// Tables of MLIR text: pretty forms of ops, struct attributes and their flattened fields.
#include <string.h>

#include "ir/text_impl.h"

static const char* const kFormats[HLO_OP_COUNT] = {
#define HLO_ASM(op, form) [HLO_OP_##op] = form,
#include "ir/asm.def"
#undef HLO_ASM
};

const char* hlo_asm_format(hlo_op_t op) {
  enum { OPERANDS_MAX = 3 };
  static const char* const forms[2][OPERANDS_MAX] = {
      // of StableHLO, of CHLO
      {"% @ : ^same", "% , % @ : ^same", "% , % , % @ : ^same"},
      {"% @ : ^arrow", "% , % @ : ^arrow"}};
  if ((unsigned)op >= HLO_OP_COUNT) return NULL;
  const hlo_op_info_t* info = hlo_op_info(op);
  if (kFormats[op]) return kFormats[op];
  if (info->infer == HLO_INFER_BROADCAST) return "% , % @ : ^fn";
  const bool has_form = info->operand_count >= 1 && info->operand_count <= OPERANDS_MAX;
  if (!(info->traits & HLO_TRAIT_ELEMENTWISE) || !has_form) return NULL;
  const bool is_chlo = strncmp(info->name, "chlo.", 5) == 0;
  return forms[is_chlo][info->operand_count - 1];
}

bool hlo_asm_next_word(const char** cursor, const char** out_word, size_t* out_length) {
  const char* word = *cursor;
  if (*word == 0) return false;
  size_t length = strcspn(word, " ");
  *out_word = word;
  *out_length = length;
  *cursor = word + length + (word[length] == ' ');
  return true;
}

#define FIELD(name) \
  { #name, HLO_ATTR_##name }
static const hlo_struct_field_t kGather[] = {
    FIELD(offset_dims),           FIELD(collapsed_slice_dims),
    FIELD(operand_batching_dims), FIELD(start_indices_batching_dims),
    FIELD(start_index_map),       FIELD(index_vector_dim),
};
static const hlo_struct_field_t kScatter[] = {
    FIELD(update_window_dims),           FIELD(inserted_window_dims),
    FIELD(input_batching_dims),          FIELD(scatter_indices_batching_dims),
    FIELD(scatter_dims_to_operand_dims), FIELD(index_vector_dim),
};
static const hlo_struct_field_t kConv[] = {
    FIELD(input_batch_dimension),           FIELD(input_feature_dimension),
    FIELD(input_spatial_dimensions),        FIELD(kernel_input_feature_dimension),
    FIELD(kernel_output_feature_dimension), FIELD(kernel_spatial_dimensions),
    FIELD(output_batch_dimension),          FIELD(output_feature_dimension),
    FIELD(output_spatial_dimensions),
};
static const hlo_struct_field_t kRaggedDot[] = {
    FIELD(lhs_ragged_dimensions),      FIELD(lhs_batching_dimensions),
    FIELD(rhs_batching_dimensions),    FIELD(lhs_contracting_dimensions),
    FIELD(rhs_contracting_dimensions), FIELD(rhs_group_dimensions),
};
static const hlo_struct_field_t kDot[] = {
    FIELD(lhs_batching_dimensions),
    FIELD(rhs_batching_dimensions),
    FIELD(lhs_contracting_dimensions),
    FIELD(rhs_contracting_dimensions),
};
static const hlo_struct_field_t kAlgorithm[] = {
    FIELD(lhs_precision_type),
    FIELD(rhs_precision_type),
    FIELD(accumulation_type),
    FIELD(lhs_component_count),
    FIELD(rhs_component_count),
    FIELD(num_primitive_operations),
    FIELD(allow_imprecise_accumulation),
};
static const hlo_struct_field_t kChannel[] = {
    {"handle", HLO_ATTR_channel_id},
    {"type", HLO_ATTR_channel_type},
};
#undef FIELD

#define ROW(name, mnemonic, all, fields) \
  { name, mnemonic, all, sizeof(fields) / sizeof(*fields), fields }
enum { CONV_ROW = 2 };
static const hlo_struct_attr_t kStructs[] = {
    ROW("dimension_numbers", "stablehlo.gather", false, kGather),
    ROW("scatter_dimension_numbers", "stablehlo.scatter", false, kScatter),
    ROW("dimension_numbers", "stablehlo.conv", true, kConv),
    ROW("ragged_dot_dimension_numbers", "chlo.ragged_dot", false, kRaggedDot),
    ROW("dot_dimension_numbers", "stablehlo.dot", false, kDot),
    ROW("algorithm", "stablehlo.dot_algorithm", true, kAlgorithm),
    ROW("channel_handle", "stablehlo.channel_handle", true, kChannel),
};
#undef ROW
enum { STRUCT_COUNT = sizeof kStructs / sizeof *kStructs };

// An op has a struct if it has the first field and belongs to the struct's dialect.
static bool op_has(hlo_op_t op, const hlo_struct_attr_t* info) {
  const char* dot = strchr(info->mnemonic, '.');
  return hlo_op_attr_slot(op, info->fields[0].id) >= 0 &&
         strncmp(hlo_op_info(op)->name, info->mnemonic, (size_t)(dot - info->mnemonic) + 1) == 0;
}

// Returns the i-th struct attribute of an op, or NULL.
static const hlo_struct_attr_t* op_struct(hlo_op_t op, unsigned i) {
  for (unsigned k = 0; k < STRUCT_COUNT; ++k) {
    if (op_has(op, &kStructs[k]) && i-- == 0) return &kStructs[k];
  }
  return NULL;
}

const hlo_struct_attr_t* hlo_op_struct_named(hlo_op_t op, const char* name, size_t length) {
  for (unsigned k = 0; k < STRUCT_COUNT; ++k) {
    if (hlo_text_same(kStructs[k].name, name, length) && op_has(op, &kStructs[k])) {
      return &kStructs[k];
    }
  }
  return NULL;
}

const hlo_struct_attr_t* hlo_struct_by_mnemonic(const char* mnemonic, size_t length) {
  for (unsigned k = 0; k < STRUCT_COUNT; ++k) {
    if (hlo_text_same(kStructs[k].mnemonic, mnemonic, length)) return &kStructs[k];
  }
  return NULL;
}

const hlo_struct_attr_t* hlo_op_struct_of(hlo_op_t op, hlo_attr_id_t id) {
  const hlo_struct_attr_t* info;
  for (unsigned i = 0; (info = op_struct(op, i)); ++i) {
    for (unsigned f = 0; f < info->field_count; ++f) {
      if (info->fields[f].id == id) return info;
    }
  }
  return NULL;
}

bool hlo_struct_is_conv(const hlo_struct_attr_t* info) {
  return info == &kStructs[CONV_ROW];
}

const hlo_conv_part_t hlo_conv_parts[3] = {
    {{HLO_ATTR_input_batch_dimension, HLO_ATTR_input_feature_dimension},
     HLO_ATTR_input_spatial_dimensions,
     "bf"},
    {{HLO_ATTR_kernel_input_feature_dimension, HLO_ATTR_kernel_output_feature_dimension},
     HLO_ATTR_kernel_spatial_dimensions,
     "io"},
    {{HLO_ATTR_output_batch_dimension, HLO_ATTR_output_feature_dimension},
     HLO_ATTR_output_spatial_dimensions,
     "bf"},
};

const hlo_window_part_t hlo_window_parts[HLO_WINDOW_PART_COUNT] = {
    {"stride", HLO_ATTR_window_strides},   {"pad", HLO_ATTR_padding},
    {"lhs_dilate", HLO_ATTR_lhs_dilation}, {"rhs_dilate", HLO_ATTR_rhs_dilation},
    {"reverse", HLO_ATTR_window_reversal},
};

#define LIST_PREFIX "#sdy<axis_ref_list"
#define LISTS_PREFIX "#sdy<list_of_axis_ref_lists"
static const hlo_axes_notation_t kAxes[] = {
    {HLO_OP_sdy_all_gather, HLO_ATTR_gathering_axes, LISTS_PREFIX, '['},
    {HLO_OP_sdy_all_slice, HLO_ATTR_slicing_axes, LISTS_PREFIX, '['},
    {HLO_OP_sdy_all_to_all, HLO_ATTR_params, "#sdy<all_to_all_param_list", '['},
    {HLO_OP_sdy_all_reduce, HLO_ATTR_reduction_axes, LIST_PREFIX, '{'},
    {HLO_OP_sdy_reduce_scatter, HLO_ATTR_reduce_scatter_axes, LISTS_PREFIX, '['},
    {HLO_OP_sdy_sharded_to_unreduced, HLO_ATTR_axes, LISTS_PREFIX, '['},
    {HLO_OP_sdy_replicated_to_unreduced, HLO_ATTR_axes, LIST_PREFIX, '{'},
};

const hlo_axes_notation_t* hlo_axes_notation(hlo_op_t op) {
  for (size_t i = 0; i < sizeof kAxes / sizeof *kAxes; ++i) {
    if (kAxes[i].op == op) return &kAxes[i];
  }
  return NULL;
}

const char* const hlo_direction_names[] = {"NONE", "FORWARD", "BACKWARD", "BOTH"};
const char* const hlo_reduction_names[] = {"sum", "max", "min"};

const char* hlo_attr_text_name(hlo_attr_id_t id) {
  return id == HLO_ATTR_operand_segment_sizes ? "operandSegmentSizes" : hlo_attr_name(id);
}

hlo_attr_id_t hlo_attr_from_text_name(const char* name, size_t length) {
  if (hlo_text_same("operandSegmentSizes", name, length)) return HLO_ATTR_operand_segment_sizes;
  return hlo_attr_from_name(name, length);
}

static bool is_word(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool hlo_text_is_bare(const char* text, size_t length) {
  if (length == 0 || !is_word((unsigned char)text[0])) return false;
  for (size_t i = 1; i < length; ++i) {
    unsigned char c = (unsigned char)text[i];
    if (!is_word(c) && !(c >= '0' && c <= '9') && c != '$' && c != '.') return false;
  }
  return true;
}
