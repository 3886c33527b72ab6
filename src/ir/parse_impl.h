// SPDX-License-Identifier: Apache-2.0
// The state of parsing MLIR text, shared by lex.c and the parse*.c files (private to ir).
//
// Functions return false (or NULL) after a fault. The fault is in the diagnostics already, unless
// memory is exhausted or the fault follows from an earlier one (a value whose definition failed).
#pragma once

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/text_impl.h"

/// Kinds of tokens; the kind of a punctuation character is the character itself.
typedef enum hlo_token_kind {
  HLO_TOKEN_EOF = 256,
  HLO_TOKEN_ERROR,       // already reported
  HLO_TOKEN_WORD,        // stablehlo.add, tensor, x
  HLO_TOKEN_AT,          // @name, @"any name"
  HLO_TOKEN_PERCENT,     // %0, %name (without #1)
  HLO_TOKEN_HASH,        // #name, #dialect.name, #1
  HLO_TOKEN_BANG,        // !name, !dialect.name
  HLO_TOKEN_CARET,       // ^bb0
  HLO_TOKEN_INT,         // 12, 0x1F
  HLO_TOKEN_FLOAT,       // 1.5e3
  HLO_TOKEN_STRING,      // with quotes
  HLO_TOKEN_ARROW,       // ->
  HLO_TOKEN_SCOPE,       // ::
  HLO_TOKEN_META_BEGIN,  // {-#
  HLO_TOKEN_META_END,    // #-}
} hlo_token_kind_t;

typedef struct hlo_token {
  int kind;
  const char* start;
  size_t length;
} hlo_token_t;

/// Names in scopes: a hash table whose newest entries can be dropped.
typedef struct hlo_name_entry {
  const char* name;
  size_t length;
  uint64_t hash;
  uint32_t next;   // older entry of the bucket, + 1
  uint32_t count;  // values: number of results; aliases: nesting depth
  void* payload;   // hlo_value_t*, hlo_type_t*, hlo_attr_t*, resource text
  size_t number;   // locations: id; resources: length; other aliases: bytes of text after expansion
} hlo_name_entry_t;

typedef struct hlo_name_table {
  hlo_name_entry_t* entries;
  uint32_t* buckets;
  uint32_t count, capacity, bucket_count;
} hlo_name_table_t;

/// Adds a name, which hides an older entry of the same name. The entry is valid until the next
/// addition; NULL when memory is exhausted.
hlo_name_entry_t* hlo_names_add(hlo_name_table_t* table, const char* name, size_t length);
hlo_name_entry_t* hlo_names_find(const hlo_name_table_t* table, const char* name, size_t length);
void hlo_names_drop(hlo_name_table_t* table, uint32_t count);
void hlo_names_deinit(hlo_name_table_t* table);

enum { HLO_OP_CACHE_SIZE = 256 };

typedef struct hlo_parser {
  hlo_module_t* module;
  hlo_diag_t* diag;
  const char* file;  // in locations
  const char *text, *end;
  hlo_token_t token;    // the current one
  const char* cursor;   // after it
  const char* line_at;  // last position whose line was computed
  const char* line_start;
  uint32_t line;
  uint32_t depth, deepest;  // nesting depth now, and its maximum since the last reset of `deepest`
  bool unimplemented;       // the first fault was an op that is not in the table
  bool no_memory;           // outside the module's arena
  bool metadata_read, module_seen;
  hlo_elided_t elided;
  size_t alias_bytes;  // bytes of text of the aliases parsed so far, after expansion
  hlo_arena_t scratch;
  hlo_region_t* region;  // the region that nodes are appended to
  hlo_name_table_t values, attrs, types, locs, resources, funcs;
  uint16_t op_cache[HLO_OP_CACHE_SIZE];  // op + 1 by hash of its name
} hlo_parser_t;

// ---- lex.c

void hlo_lex_start(hlo_parser_t* p, const char* text, size_t length);
void hlo_lex_advance(hlo_parser_t* p);
/// Continues at `at`, which becomes the current token.
void hlo_lex_seek(hlo_parser_t* p, const char* at);
/// Reports a fault and returns false.
bool hlo_parse_fault(hlo_parser_t* p, const char* at, const char* format, ...) HLO_PRINTF(3, 4);
/// Reports "expected WHAT, found TOKEN" and returns false.
bool hlo_parse_expected(hlo_parser_t* p, const char* what);
void hlo_parse_location(hlo_parser_t* p, const char* at, uint32_t* out_line, uint32_t* out_col);
/// Consumes the token if it has that kind.
bool hlo_accept(hlo_parser_t* p, int kind);
bool hlo_expect(hlo_parser_t* p, int kind);
static inline bool hlo_at(const hlo_parser_t* p, int kind) {
  return p->token.kind == kind;
}
bool hlo_at_word(const hlo_parser_t* p, const char* word);
bool hlo_accept_word(hlo_parser_t* p, const char* word);
bool hlo_expect_word(hlo_parser_t* p, const char* word);
/// Consumes the text from the current token, which must be an opening bracket, to the matching
/// bracket. Returns it, with blanks collapsed, in scratch memory.
char* hlo_take_balanced(hlo_parser_t* p, size_t* out_length);
/// Skips such text; `out_end` is after the closing bracket.
bool hlo_skip_balanced(hlo_parser_t* p, const char* at, const char** out_end);
/// Consumes the current STRING or AT token and returns its decoded content in scratch memory.
char* hlo_take_text(hlo_parser_t* p, size_t* out_length);
/// Counts nesting; reports a fault and returns false past HLO_TEXT_DEPTH_MAX. Pair with --p->depth.
bool hlo_parse_enter(hlo_parser_t* p);

// ---- Lists in scratch memory

/// Makes room for one more item of an array in scratch memory; false when memory is exhausted.
#define HLO_GROW(p, items, count, capacity) HLO_ARENA_GROW(&(p)->scratch, items, count, capacity)

// ---- Numbers

/// Parses a decimal or hexadecimal 64-bit integer with optional sign.
bool hlo_parse_int(hlo_parser_t* p, int64_t* out_value);
/// Parses "[1, 2]" into scratch memory.
bool hlo_parse_int_list(hlo_parser_t* p, int64_t** out_values, uint32_t* out_count);
/// Converts the digits (decimal or 0x) at [text, end) to 64 bits; false on overflow or anything
/// else.
bool hlo_text_to_u64(const char* text, const char* end, uint64_t* out_value);
double hlo_text_to_double(const char* text, const char* end);
/// Checks that sign and magnitude fit the integer type, and wraps to it; false if they do not fit.
bool hlo_int_fits(hlo_dtype_t dtype, bool negative, uint64_t magnitude, int64_t* out_value);

// ---- parse_type.c

const hlo_type_t* hlo_parse_any_type(hlo_parser_t* p);
/// Parses i32, f8E4M3FN, index, complex<f32>. False without a fault if the token starts no such
/// type.
bool hlo_parse_scalar_type(hlo_parser_t* p, hlo_dtype_t* out_dtype, bool* out_is_index);
/// Parses "(types)" or one type into scratch memory.
bool hlo_parse_result_types(hlo_parser_t* p, const hlo_type_t*** out_types, uint32_t* out_count);
/// Parses "T, U" until no comma follows.
bool hlo_parse_type_list(hlo_parser_t* p, const hlo_type_t*** out_types, uint32_t* out_count);
/// Parses "(T, U)".
bool hlo_parse_type_parens(hlo_parser_t* p, const hlo_type_t*** out_types, uint32_t* out_count);

// ---- parse_attr.c, parse_literal.c

const hlo_attr_t* hlo_parse_any_attr(hlo_parser_t* p);
/// Parses "{a = 1, b}" and calls `set` for each entry; the value of a key alone is UNIT.
typedef bool (*hlo_attr_setter_t)(hlo_parser_t* p, void* context, const char* at, const char* key,
                                  size_t key_length, const hlo_attr_t* value);
bool hlo_parse_attr_entries(hlo_parser_t* p, hlo_attr_setter_t set, void* context);
const hlo_attr_t* hlo_parse_dict(hlo_parser_t* p);
/// Parses a struct attribute after its mnemonic, "<...>", to a DICT of fields.
const hlo_attr_t* hlo_parse_struct(hlo_parser_t* p, const hlo_struct_attr_t* info);
/// Parses "[b, 0, f]x[0, i, o]->[b, 0, f]" to a DICT of the nine fields.
const hlo_attr_t* hlo_parse_conv_dims(hlo_parser_t* p);
const hlo_attr_t* hlo_parse_enum_case(hlo_parser_t* p, hlo_enum_kind_t kind);
/// Parse "dense<...> : type" and "dense_resource<...> : type".
const hlo_attr_t* hlo_parse_dense(hlo_parser_t* p);
const hlo_attr_t* hlo_parse_dense_resource(hlo_parser_t* p);
/// Returns `attr` in the form that attrs.def declares for `id`, or NULL with a fault at `at`.
const hlo_attr_t* hlo_attr_to_form(hlo_parser_t* p, const char* at, hlo_attr_id_t id,
                                   const hlo_attr_t* attr);
/// Returns the kind of enum that an attribute's form names, or HLO_ENUM_KIND_COUNT.
hlo_enum_kind_t hlo_form_enum(hlo_attr_form_t form);

// ---- parse_loc.c

/// Parses "loc(...)" if it is present.
bool hlo_parse_optional_loc(hlo_parser_t* p, hlo_loc_t* loc);
/// Consumes the alias "#name" or "!name" at the current token and returns its payload. NULL with a
/// fault if it is unknown or if nested aliases expand to too much text.
const void* hlo_parse_alias(hlo_parser_t* p, const hlo_name_table_t* table);
/// Parses "#name = ..." or "!name = ..." at the top level.
bool hlo_parse_alias_definition(hlo_parser_t* p);
/// Parses the "{-# ... #-}" section, ahead of the module so that dense_resource finds its data.
bool hlo_parse_metadata(hlo_parser_t* p);
void hlo_read_metadata_ahead(hlo_parser_t* p);

// ---- parse_op.c

/// An op while it is parsed.
typedef struct hlo_op_state {
  hlo_op_t op;
  const hlo_op_info_t* info;
  const char* at;  // its name
  hlo_loc_t loc;
  uint32_t operand_count, operand_capacity;
  hlo_value_t** operands;
  const char** operand_at;
  uint32_t operand_at_capacity;
  uint32_t result_count;
  const hlo_type_t** result_types;
  const hlo_attr_t** attrs;  // by slot
  uint32_t extra_count, extra_key_capacity, extra_capacity;
  const char** extra_keys;
  const hlo_attr_t** extras;
  uint32_t region_count, region_capacity;
  hlo_region_t** regions;
  bool applied;  // "applies" created the region: its nodes get the op's location
} hlo_op_state_t;

/// Parses an op's name, a WORD or STRING token; reports a fault if the table lacks it.
bool hlo_parse_op_name(hlo_parser_t* p, hlo_op_t* out_op);
bool hlo_parse_operand(hlo_parser_t* p, hlo_op_state_t* op);
/// Parses "%a, %b" until no comma follows; accepts an empty list.
bool hlo_parse_operands(hlo_parser_t* p, hlo_op_state_t* op);
/// Checks the operands' types against the written ones.
bool hlo_check_operand_types(hlo_parser_t* p, hlo_op_state_t* op, uint32_t count,
                             const hlo_type_t* const* types);
bool hlo_op_set_results(hlo_parser_t* p, hlo_op_state_t* op, uint32_t count,
                        const hlo_type_t* const* types);
bool hlo_op_set_attr(hlo_op_state_t* op, hlo_attr_id_t id, const hlo_attr_t* value);
/// Sets the flattened fields of a struct attribute from its DICT.
bool hlo_op_set_struct(hlo_parser_t* p, hlo_op_state_t* op, const char* at,
                       const hlo_struct_attr_t* info, const hlo_attr_t* value);
/// Parses "{...}" if it is present: the op's own and its discardable attributes.
bool hlo_parse_op_dict(hlo_parser_t* p, hlo_op_state_t* op);
/// Parses "(types) -> types".
bool hlo_parse_signature(hlo_parser_t* p, hlo_op_state_t* op);
/// Adds an empty region to the op.
hlo_region_t* hlo_op_add_region(hlo_parser_t* p, hlo_op_state_t* op);
/// Parses "{ ... }". Binds `names` to the region's arguments if given; otherwise the region may
/// start with "^bb0(...)".
bool hlo_parse_region(hlo_parser_t* p, hlo_region_t* region, uint32_t name_count,
                      const hlo_token_t* names);
/// Parses "%name: type" and adds the argument to the region; returns its name.
bool hlo_parse_region_arg(hlo_parser_t* p, hlo_region_t* region, hlo_token_t* out_name);
/// Parses one node at module level.
bool hlo_parse_node(hlo_parser_t* p);
/// Skips the rest of the faulty op that starts at `start`; false if parsing cannot continue.
bool hlo_parse_recover(hlo_parser_t* p, const char* start);

// ---- parse_pretty.c, parse_notation.c

bool hlo_parse_pretty(hlo_parser_t* p, hlo_op_state_t* op);
bool hlo_parse_notation(hlo_parser_t* p, hlo_op_state_t* op, const char* name, size_t length);
