// SPDX-License-Identifier: Apache-2.0
// Recognition of attention, softmax(f(query * key)) * value, in plain ops: two products with a
// softmax between them. f is any elementwise function of a score, of its row and key, and of arrays
// that are broadcast to the scores: scales, biases, masks, soft caps. The probabilities may have
// factors before the second product (dropout). Dimensions may be in any order, and any of them may
// be batch dimensions of one product and free in the other (grouped heads).
#pragma once

#include "ir/module.h"

enum {
  HLO_ATTENTION_MAX_RANK = 10,    // of a value
  HLO_ATTENTION_MAX_AXES = 10,    // of the scores, without the keys
  HLO_ATTENTION_MAX_STEPS = 48,   // of f
  HLO_ATTENTION_MAX_ARRAYS = 16,  // that f reads
};

/// An array in memory with its distance between neighbours along each axis, in elements; 0 where it
/// is broadcast.
typedef struct hlo_attention_array {
  const hlo_value_t* value;
  int64_t batch[HLO_ATTENTION_MAX_AXES];  // axes besides rows and keys
  int64_t row, key;
  int64_t depth;  // the contracted dimension of query and key, the features of value and result
} hlo_attention_array_t;

/// The ops of f. Floats have the precision of f32, integers 32 bits.
typedef enum hlo_attention_op {
  HLO_ATTENTION_SCORE,     // the first product
  HLO_ATTENTION_SECOND,    // gradients: the product of cotangent and value
  HLO_ATTENTION_WEIGHT,    // the exponential of f less its maximum
  HLO_ATTENTION_ARRAY,     // element of arrays[array]
  HLO_ATTENTION_CONSTANT,  // `number`, or `integer`
  HLO_ATTENTION_ROW,       // the row's index plus `integer`
  HLO_ATTENTION_KEY,       // the same of the key
  HLO_ATTENTION_ADD,
  HLO_ATTENTION_SUBTRACT,
  HLO_ATTENTION_MULTIPLY,
  HLO_ATTENTION_DIVIDE,
  HLO_ATTENTION_MAXIMUM,
  HLO_ATTENTION_MINIMUM,
  HLO_ATTENTION_NEGATE,
  HLO_ATTENTION_ABS,
  HLO_ATTENTION_TANH,
  HLO_ATTENTION_EXP,
  HLO_ATTENTION_COMPARE,  // `direction`; the operands have the type `from`
  HLO_ATTENTION_SELECT,
  HLO_ATTENTION_AND,
  HLO_ATTENTION_OR,
  HLO_ATTENTION_NOT,
  HLO_ATTENTION_CONVERT,  // from the type `from`
} hlo_attention_op_t;

/// Types of steps.
typedef enum hlo_attention_type {
  HLO_ATTENTION_FLOAT,
  HLO_ATTENTION_INTEGER,
  HLO_ATTENTION_BOOLEAN,
} hlo_attention_type_t;

typedef struct hlo_attention_step {
  hlo_attention_op_t op;
  hlo_attention_type_t type, from;
  uint8_t operands[3];  // numbers of earlier steps
  uint8_t array;
  int64_t direction;  // an HLO_COMPARISON_DIRECTION
  int32_t integer;    // booleans: 0 or 1
  float number;
} hlo_attention_step_t;

typedef struct hlo_attention {
  uint32_t batch_count;
  int64_t batch[HLO_ATTENTION_MAX_AXES];  // extents
  int64_t rows, keys, depth, features;
  bool is_narrow;  // query, key and value are bf16, and the probabilities are rounded to bf16
  hlo_attention_array_t query, key, value, result;  // result: of `root`
  hlo_attention_array_t most, sum;  // the largest score of a row and key, the sum of exponentials
  bool has_masks;   // gradients: some steps select by more than an array of rows and keys
  bool has_factor;  // weights are a linear function of the exponentials, such as dropout
  uint8_t score;    // the step that is f
  uint8_t weight;   // the step of that function, which `scale` multiplies
  float scale;
  uint32_t array_count, step_count;
  hlo_attention_array_t arrays[HLO_ATTENTION_MAX_ARRAYS];
  hlo_attention_step_t steps[HLO_ATTENTION_MAX_STEPS];
  const hlo_value_t* root;
} hlo_attention_t;

/// Returns how many operands a step has.
uint32_t hlo_attention_operand_count(hlo_attention_op_t op);

/// A set of nodes, for outlining.
typedef struct hlo_attention_nodes {
  uint32_t count;
  const hlo_node_t* nodes[256];
} hlo_attention_nodes_t;

/// Returns true, and describes the computation, if `root` is the result of an attention, or a
/// transpose of it. *out_nodes (may be NULL) receives the nodes that compute it from the arrays;
/// nothing else uses their values of a row and a key unless `is_shared`.
/// threads: confined to the module
bool hlo_attention_match(const hlo_value_t* root, bool is_shared, hlo_attention_t* out_attention,
                         hlo_attention_nodes_t* out_nodes);
/// Returns a product's result after the transposes that alone use it.
hlo_value_t* hlo_attention_root(hlo_node_t* product);

/// The gradients of an attention from that of its result, by the maximum and the sum of each row,
/// which are arrays of `scores`: with the scores Q K and the products of the cotangent and the
/// values, g and w are elementwise functions, and the gradients are g K, g Q and w cotangent, sums
/// over keys, rows and rows.
typedef struct hlo_attention_gradient {
  hlo_attention_t scores;  // without `result`, `most`, `sum` and `root`
  hlo_attention_array_t cotangent;
  hlo_attention_array_t query, key, value;  // the results
  uint8_t gradient, weights;                // the steps g and w
  bool is_summed[HLO_ATTENTION_MAX_AXES];  // by batch axis: those of key and value are sums over it
} hlo_attention_gradient_t;

enum {
  HLO_ATTENTION_QUERY_GRADIENT,
  HLO_ATTENTION_KEY_GRADIENT,
  HLO_ATTENTION_VALUE_GRADIENT,
  HLO_ATTENTION_GRADIENTS
};

/// Returns true, and describes the computation, if `roots` are the gradients of query, key and
/// value, or transposes of them.
/// threads: confined to the module
bool hlo_attention_match_gradient(const hlo_value_t* const* roots, hlo_attention_gradient_t* out,
                                  hlo_attention_nodes_t* out_nodes);

/// A value with the axis of the scores that each of its dimensions runs along: equal numbers mean
/// equal axes, -1 a dimension of one element, HLO_ATTENTION_MAX_RANK one that is no axis.
typedef struct hlo_attention_view {
  const hlo_value_t* value;
  int8_t labels[HLO_ATTENTION_MAX_RANK];
} hlo_attention_view_t;

enum { HLO_ATTENTION_MAX_FACTORS = 8 };

/// Factors of a product: those above and below the line.
typedef struct hlo_attention_factors {
  bool is_negative;
  uint32_t counts[2];
  hlo_attention_view_t views[2][HLO_ATTENTION_MAX_FACTORS];
} hlo_attention_factors_t;

/// The gradients of an attention in a program, with all that they read. The sum `total` along the
/// keys equals `factors` times the sum over features of cotangent and result: it is found without
/// probabilities [Dao et al. 2022].
typedef struct hlo_attention_training {
  hlo_value_t* roots[HLO_ATTENTION_GRADIENTS];
  hlo_attention_gradient_t gradient;
  hlo_attention_view_t most, sum, total;  // results of reductions along keys
  hlo_attention_view_t weights, value, cotangent;
  int8_t key_label;
  hlo_node_t* forward;          // the product of weights and value; NULL: not computed
  hlo_attention_view_t result;  // root of `forward`
  hlo_attention_factors_t factors;
} hlo_attention_training_t;

/// Returns true, and describes the gradients, if `scores` is the first product of an attention and
/// all that follows from it is that attention's result and its gradients.
/// threads: confined to the module
bool hlo_attention_match_training(hlo_node_t* scores, hlo_attention_training_t* out);
