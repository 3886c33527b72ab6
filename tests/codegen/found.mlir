// Reduced modules that were compiled wrongly, found by random_modules.py and the tests of JAX.

// Sums down columns are kept in the result: it must not share the memory of an operand.
func.func @main(%x: tensor<400x1000xf32>, %y: tensor<1000xf32>) -> tensor<1000xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = "stablehlo.sort"(%y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<1000xf32>) -> tensor<1000xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<1000xf32>) -> tensor<400x1000xf32>
  %m = stablehlo.multiply %x, %b : tensor<400x1000xf32>
  %r = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<400x1000xf32>, tensor<f32>) -> tensor<1000xf32>
  return %r : tensor<1000xf32>
}
// -----
// Unsigned indices above the signed range.
func.func @main(%x: tensor<10xui16>, %w: tensor<300xui32>) -> (tensor<4xui16>, tensor<100xui32>, tensor<4xui16>) {
  %i = stablehlo.constant dense<[[18446744073709551615], [9223372036854775808], [9], [3]]> : tensor<4x1xui64>
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}
      : (tensor<10xui16>, tensor<4x1xui64>) -> tensor<4xui16>
  %1 = stablehlo.add %0, %0 : tensor<4xui16>
  %j = stablehlo.iota dim = 0 : tensor<100xui8>
  %c = stablehlo.constant dense<150> : tensor<100xui8>
  %k = stablehlo.add %j, %c : tensor<100xui8>
  %2 = "stablehlo.gather"(%w, %k) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}
      : (tensor<300xui32>, tensor<100xui8>) -> tensor<100xui32>
  %3 = stablehlo.add %2, %2 : tensor<100xui32>
  %l = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %4 = stablehlo.dynamic_slice %x, %l, sizes = [4] : (tensor<10xui16>, tensor<ui64>) -> tensor<4xui16>
  return %1, %3, %4 : tensor<4xui16>, tensor<100xui32>, tensor<4xui16>
}
// -----
// Runs of two elements of two bytes.
func.func @main(%x: tensor<5xi16>) -> tensor<4x2xi16> {
  %i = stablehlo.constant dense<[3, 0, 9, -1]> : tensor<4xi32>
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2>, indices_are_sorted = false}
      : (tensor<5xi16>, tensor<4xi32>) -> tensor<4x2xi16>
  return %0 : tensor<4x2xi16>
}
// -----
// An update as large as its operand is not in place already.
func.func @main(%x: tensor<3x8xbf16>, %y: tensor<3x8xbf16>, %u: tensor<3x2xbf16>, %i: tensor<i8>)
    -> (tensor<3x8xbf16>, tensor<3x8xbf16>) {
  %0 = stablehlo.dynamic_update_slice %y, %u, %i, %i
      : (tensor<3x8xbf16>, tensor<3x2xbf16>, tensor<i8>, tensor<i8>) -> tensor<3x8xbf16>
  %1 = stablehlo.multiply %x, %0 : tensor<3x8xbf16>
  %2 = stablehlo.dynamic_update_slice %x, %1, %i, %i
      : (tensor<3x8xbf16>, tensor<3x8xbf16>, tensor<i8>, tensor<i8>) -> tensor<3x8xbf16>
  return %2, %x : tensor<3x8xbf16>, tensor<3x8xbf16>
}
// -----
// Windows wholly outside of a concatenation, one after the other.
func.func @main(%x: tensor<1xf32>, %y: tensor<3xf32>, %i: tensor<f32>) -> tensor<6xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
  %1 = "stablehlo.reduce_window"(%0, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 1>, padding = dense<[[2, 0]]> : tensor<1x2xi64>}
      : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  %2 = "stablehlo.reduce_window"(%1, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 2>, padding = dense<[[0, 1]]> : tensor<1x2xi64>}
      : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  return %2 : tensor<6xf32>
}
// -----
// A window of one element includes the initial value.
func.func @main(%x: tensor<9xf64>) -> tensor<9xf64> {
  %i = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%x, %i) ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %m = stablehlo.minimum %a, %b : tensor<f64>
    stablehlo.return %m : tensor<f64>
  }) {window_dimensions = array<i64: 1>} : (tensor<9xf64>, tensor<f64>) -> tensor<9xf64>
  return %0 : tensor<9xf64>
}
// -----
// The operands of a concatenation inside a sum are distinguished at run time.
func.func @main(%x: tensor<17x33x100xf64>, %i: tensor<f64>) -> tensor<15x100xf64> {
  %0 = stablehlo.concatenate %x, %x, %x, %x, dim = 0 : (tensor<17x33x100xf64>, tensor<17x33x100xf64>,
      tensor<17x33x100xf64>, tensor<17x33x100xf64>) -> tensor<68x33x100xf64>
  %1 = stablehlo.cosine %0 : tensor<68x33x100xf64>
  %2 = stablehlo.reduce(%1 init: %i) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<68x33x100xf64>, tensor<f64>) -> tensor<100xf64>
  %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<100xf64>) -> tensor<15x100xf64>
  return %3 : tensor<15x100xf64>
}
// -----
// The first of several NaNs; a NaN that loses because the body does not test for it.
func.func @main(%x: tensor<257xf32>) -> (tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) {
  %one = stablehlo.constant dense<1.0> : tensor<257xf32>
  %more = stablehlo.add %x, %one : tensor<257xf32>
  %0 = stablehlo.sqrt %more : tensor<257xf32>
  %i = stablehlo.iota dim = 0 : tensor<257xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = "stablehlo.reduce"(%0, %i, %low, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
    %g = stablehlo.compare GT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %h = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %p = stablehlo.or %g, %h : tensor<i1>
    %q = stablehlo.compare EQ, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %r = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %s = stablehlo.and %q, %r : tensor<i1>
    %t = stablehlo.or %p, %s : tensor<i1>
    %u = stablehlo.select %p, %a, %c : tensor<i1>, tensor<f32>
    %v = stablehlo.select %t, %b, %d : tensor<i1>, tensor<i32>
    stablehlo.return %u, %v : tensor<f32>, tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<257xf32>, tensor<257xi32>, tensor<f32>, tensor<i32>)
      -> (tensor<f32>, tensor<i32>)
  %2:2 = "stablehlo.reduce"(%x, %i, %nan, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %q = stablehlo.compare EQ, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %r = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %s = stablehlo.and %q, %r : tensor<i1>
    %t = stablehlo.or %p, %s : tensor<i1>
    %u = stablehlo.select %p, %a, %c : tensor<i1>, tensor<f32>
    %v = stablehlo.select %t, %b, %d : tensor<i1>, tensor<i32>
    stablehlo.return %u, %v : tensor<f32>, tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<257xf32>, tensor<257xi32>, tensor<f32>, tensor<i32>)
      -> (tensor<f32>, tensor<i32>)
  return %1#0, %1#1, %2#0, %2#1 : tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>
}

// -----

// Two outputs of one kernel; the first may share memory with an input of the second.
func.func @main(%v11: tensor<i8>, %v19: tensor<ui32>, %v32: tensor<2x547xi8>, %v33: tensor<2x547xi1>, %v35: tensor<i8>, %v5: tensor<547x1xi8>, %v7: tensor<547x1xi8>, %v10: tensor<547x1xui32>, %v18: tensor<547xi64>, %v45: tensor<547xi8>) -> (tensor<ui32>, tensor<547xi8>, tensor<1x547xi8>) {
  %v12 = stablehlo.constant dense<0> : tensor<ui32>
  %v13:2 = "stablehlo.reduce"(%v7, %v10, %v11, %v12) ({
  ^bb0(%av13: tensor<i8>, %bv13: tensor<ui32>, %cv13: tensor<i8>, %dv13: tensor<ui32>):
    %gv13 = stablehlo.compare GT, %av13, %cv13 : (tensor<i8>, tensor<i8>) -> tensor<i1>
    %qv13 = stablehlo.compare EQ, %av13, %cv13 : (tensor<i8>, tensor<i8>) -> tensor<i1>
    %rv13 = stablehlo.compare LT, %bv13, %dv13 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %sv13 = stablehlo.and %qv13, %rv13 : tensor<i1>
    %tv13 = stablehlo.or %gv13, %sv13 : tensor<i1>
    %xv13 = stablehlo.select %gv13, %av13, %cv13 : tensor<i1>, tensor<i8>
    %yv13 = stablehlo.select %tv13, %bv13, %dv13 : tensor<i1>, tensor<ui32>
    stablehlo.return %xv13, %yv13 : tensor<i8>, tensor<ui32>
  }) {dimensions = array<i64: 1>} : (tensor<547x1xi8>, tensor<547x1xui32>, tensor<i8>, tensor<ui32>) -> (tensor<547xi8>, tensor<547xui32>)
  %v14 = "stablehlo.reshape"(%v13#0) : (tensor<547xi8>) -> tensor<547xi8>
  %v15 = "stablehlo.reshape"(%v13#1) : (tensor<547xui32>) -> tensor<547xui32>
  %v16 = "stablehlo.not"(%v15) : (tensor<547xui32>) -> tensor<547xui32>
  %v20 = stablehlo.constant dense<0> : tensor<i64>
  %v21:2 = "stablehlo.reduce"(%v16, %v18, %v19, %v20) ({
  ^bb0(%av21: tensor<ui32>, %bv21: tensor<i64>, %cv21: tensor<ui32>, %dv21: tensor<i64>):
    %gv21 = stablehlo.compare LT, %av21, %cv21 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %qv21 = stablehlo.compare EQ, %av21, %cv21 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %rv21 = stablehlo.compare LT, %bv21, %dv21 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %sv21 = stablehlo.and %qv21, %rv21 : tensor<i1>
    %tv21 = stablehlo.or %gv21, %sv21 : tensor<i1>
    %xv21 = stablehlo.select %gv21, %av21, %cv21 : tensor<i1>, tensor<ui32>
    %yv21 = stablehlo.select %tv21, %bv21, %dv21 : tensor<i1>, tensor<i64>
    stablehlo.return %xv21, %yv21 : tensor<ui32>, tensor<i64>
  }) {dimensions = array<i64: 0>} : (tensor<547xui32>, tensor<547xi64>, tensor<ui32>, tensor<i64>) -> (tensor<ui32>, tensor<i64>)
  %v22 = "stablehlo.reshape"(%v21#0) : (tensor<ui32>) -> tensor<ui32>
  %v30 = "stablehlo.transpose"(%v5) {permutation = array<i64: 1, 0>} : (tensor<547x1xi8>) -> tensor<1x547xi8>
  %v31 = "stablehlo.concatenate"(%v30, %v30) {dimension = 0 : i64} : (tensor<1x547xi8>, tensor<1x547xi8>) -> tensor<2x547xi8>
  %v34 = "stablehlo.select"(%v33, %v31, %v32) : (tensor<2x547xi1>, tensor<2x547xi8>, tensor<2x547xi8>) -> tensor<2x547xi8>
  %v36 = "stablehlo.reduce"(%v34, %v35) ({
  ^bb0(%av37: tensor<i8>, %bv37: tensor<i8>):
    %cv37 = stablehlo.and %av37, %bv37 : tensor<i8>
    stablehlo.return %cv37 : tensor<i8>
  }) {dimensions = array<i64: 0>} : (tensor<2x547xi8>, tensor<i8>) -> tensor<547xi8>
  %v38 = "stablehlo.subtract"(%v36, %v14) : (tensor<547xi8>, tensor<547xi8>) -> tensor<547xi8>
  %v46 = "stablehlo.and"(%v38, %v45) : (tensor<547xi8>, tensor<547xi8>) -> tensor<547xi8>
  return %v22, %v46, %v30 : tensor<ui32>, tensor<547xi8>, tensor<1x547xi8>
}
// -----
// The last operand of a concatenation is not read for elements of another one.
func.func @main(%a: tensor<200xui32>, %b: tensor<1xui32>, %i: tensor<1xui16>) -> tensor<1xui32> {
  %limit = stablehlo.constant dense<200> : tensor<1xui16>
  %k = stablehlo.remainder %i, %limit : tensor<1xui16>
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<200xui32>, tensor<1xui32>) -> tensor<201xui32>
  %1 = "stablehlo.gather"(%0, %k) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}
      : (tensor<201xui32>, tensor<1xui16>) -> tensor<1xui32>
  return %1 : tensor<1xui32>
}
// -----
// A small array in a register, indexed by values of other lanes.
func.func @main(%a: tensor<4x5xf32>, %i: tensor<4xi32>, %p: tensor<i1>) -> tensor<4xf32> {
  %one = stablehlo.constant dense<1.5> : tensor<4xf32>
  %x = stablehlo.slice %a [0:1, 0:4] : (tensor<4x5xf32>) -> tensor<1x4xf32>
  %y = stablehlo.reshape %x : (tensor<1x4xf32>) -> tensor<4xf32>
  %0 = "stablehlo.if"(%p) ({
    %s = stablehlo.add %y, %one : tensor<4xf32>
    stablehlo.return %s : tensor<4xf32>
  }, {
    stablehlo.return %one : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %z = stablehlo.constant dense<0> : tensor<4xi32>
  %four = stablehlo.constant dense<4> : tensor<4xi32>
  %n = stablehlo.compare LT, %i, %z : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %j = stablehlo.add %i, %four : tensor<4xi32>
  %k = stablehlo.select %n, %j, %i : tensor<4xi1>, tensor<4xi32>
  %r = stablehlo.reshape %k : (tensor<4xi32>) -> tensor<4x1xi32>
  %1 = "stablehlo.gather"(%0, %r) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}
      : (tensor<4xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
// -----
// Chunks without elements of the second operand, which begins in the middle of a vector.
func.func @main(%x: tensor<199997xui32>) -> tensor<399994xui32> {
  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<199997xui32>, tensor<199997xui32>) -> tensor<399994xui32>
  return %0 : tensor<399994xui32>
}
// -----
// A loop in one branch carries a value in its register; the other branch still reads it.
func.func @main(%i: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %four = stablehlo.constant dense<4.0> : tensor<f32>
  %n = stablehlo.add %x, %x : tensor<f32>
  %r = "stablehlo.case"(%i) ({
    %l:3 = stablehlo.while(%k = %one, %m = %n, %s = %x) : tensor<f32>, tensor<f32>, tensor<f32>
    cond {
      %c = stablehlo.compare LT, %k, %four, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %k1 = stablehlo.add %k, %one : tensor<f32>
      %s1 = stablehlo.add %s, %m : tensor<f32>
      stablehlo.return %k1, %m, %s1 : tensor<f32>, tensor<f32>, tensor<f32>
    }
    %a = stablehlo.add %l#2, %l#1 : tensor<f32>
    stablehlo.return %a : tensor<f32>
  }, {
    %l:2 = stablehlo.while(%k = %one, %s = %x) : tensor<f32>, tensor<f32>
    cond {
      %c = stablehlo.compare LT, %k, %four, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %k1 = stablehlo.add %k, %one : tensor<f32>
      %s1 = stablehlo.multiply %s, %n : tensor<f32>
      stablehlo.return %k1, %s1 : tensor<f32>, tensor<f32>
    }
    stablehlo.return %l#1 : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return %r : tensor<f32>
}
// -----
// Single elements that leave a loop and need an address afterwards, for library calls.
func.func @main(%n: tensor<i64>, %x: tensor<20xf32>) -> tensor<i64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %sum = %zero) : tensor<i64>, tensor<i64>
  cond {
    %ten = stablehlo.constant dense<10> : tensor<i64>
    %c = stablehlo.compare LT, %i, %ten : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %s = stablehlo.add %sum, %one : tensor<i64>
    %k = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %k, %s : tensor<i64>, tensor<i64>
  }
  check.expect_eq_const %r#0, dense<10> : tensor<i64>
  check.expect_eq_const %r#1, dense<10> : tensor<i64>
  return %r#1 : tensor<i64>
}
// -----
// A sum that is only read in a window's padding, at a position known at run time.
func.func @main(%a: tensor<64x2xi32>, %b: tensor<2x16xi32>, %one: tensor<i32>, %row: tensor<i64>, %column: tensor<i64>) -> tensor<19x4xi32> {
  %last = stablehlo.constant dense<13> : tensor<i64>
  %start = stablehlo.maximum %row, %last : tensor<i64>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x2xi32>, tensor<2x16xi32>) -> tensor<64x16xi32>
  %1 = "stablehlo.reduce_window"(%0, %one) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %xy = stablehlo.multiply %x, %y : tensor<i32>
    stablehlo.return %xy : tensor<i32>
  }) {window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>, padding = dense<[[0, 2], [2, 1]]> : tensor<2x2xi64>} : (tensor<64x16xi32>, tensor<i32>) -> tensor<32x9xi32>
  %2 = stablehlo.dynamic_slice %1, %start, %column, sizes = [19, 4] : (tensor<32x9xi32>, tensor<i64>, tensor<i64>) -> tensor<19x4xi32>
  return %2 : tensor<19x4xi32>
}
// -----
// A fusion that is split: a sum in one part and its broadcast over a table in the other.
func.func @main(%a0: tensor<101xi1>, %a1: tensor<101xi32>, %a2: tensor<100xi32>, %a3: tensor<100xi32>, %a4: tensor<101xi32>, %a5: tensor<101xi1>, %a6: tensor<101xi32>, %a7: tensor<101xi32>, %a8: tensor<101xi1>) -> tensor<100xf32> {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.constant dense<0> : tensor<100xi32>
  %2 = stablehlo.constant dense<0> : tensor<101xi32>
  %3 = stablehlo.constant dense<101> : tensor<100xi32>
  %4 = stablehlo.constant dense<1> : tensor<100xi32>
  %5 = stablehlo.compare NE, %2, %2 : (tensor<101xi32>, tensor<101xi32>) -> tensor<101xi1>
  %6 = stablehlo.and %a5, %5 : tensor<101xi1>
  %7 = stablehlo.select %6, %a6, %a4 : tensor<101xi1>, tensor<101xi32>
  %8 = stablehlo.remainder %7, %a7 : tensor<101xi32>
  %9 = stablehlo.compare NE, %8, %2 : (tensor<101xi32>, tensor<101xi32>) -> tensor<101xi1>
  %10 = stablehlo.compare NE, %a8, %a0 : (tensor<101xi1>, tensor<101xi1>) -> tensor<101xi1>
  %11 = stablehlo.and %10, %9 : tensor<101xi1>
  %12 = stablehlo.add %8, %a7 : tensor<101xi32>
  %13 = stablehlo.select %11, %12, %8 : tensor<101xi1>, tensor<101xi32>
  %14 = stablehlo.reduce(%a2 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<100xi32>, tensor<i32>) -> tensor<i32>
  %15 = stablehlo.iota dim = 0 : tensor<101xi32>
  %16 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<i32>) -> tensor<101xi32>
  %17 = stablehlo.compare GE, %15, %16 : (tensor<101xi32>, tensor<101xi32>) -> tensor<101xi1>
  %18 = stablehlo.select %17, %a1, %13 : tensor<101xi1>, tensor<101xi32>
  %19 = stablehlo.convert %18 : (tensor<101xi32>) -> tensor<101xf32>
  %20 = stablehlo.compare LT, %a3, %1 : (tensor<100xi32>, tensor<100xi32>) -> tensor<100xi1>
  %21 = stablehlo.add %a3, %3 : tensor<100xi32>
  %22 = stablehlo.select %20, %21, %a3 : tensor<100xi1>, tensor<100xi32>
  %23 = stablehlo.broadcast_in_dim %22, dims = [0] : (tensor<100xi32>) -> tensor<100x1xi32>
  %24 = "stablehlo.gather"(%19, %23) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<101xf32>, tensor<100x1xi32>) -> tensor<100xf32>
  %25 = stablehlo.subtract %a3, %4 : tensor<100xi32>
  %26 = stablehlo.compare LT, %25, %1 : (tensor<100xi32>, tensor<100xi32>) -> tensor<100xi1>
  %27 = stablehlo.add %25, %3 : tensor<100xi32>
  %28 = stablehlo.select %26, %27, %25 : tensor<100xi1>, tensor<100xi32>
  %29 = stablehlo.broadcast_in_dim %28, dims = [0] : (tensor<100xi32>) -> tensor<100x1xi32>
  %30 = "stablehlo.gather"(%19, %29) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<101xf32>, tensor<100x1xi32>) -> tensor<100xf32>
  %31 = stablehlo.add %24, %30 : tensor<100xf32>
  %32 = stablehlo.constant dense<1.000000e+00> : tensor<100xf32>
  %33 = stablehlo.add %31, %32 : tensor<100xf32>
  %34 = stablehlo.constant dense<5.000000e-01> : tensor<100xf32>
  %35 = stablehlo.multiply %34, %33 : tensor<100xf32>
  return %35 : tensor<100xf32>
}
// -----
// A sum is one operand of a concatenation, and was read before its rows for elements of the other.
func.func @main(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>, %c: tensor<1xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %first = stablehlo.minimum %i, %zero : tensor<i32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4xf32>
  %1 = stablehlo.concatenate %c, %0, dim = 0 : (tensor<1xf32>, tensor<4xf32>) -> tensor<5xf32>
  %2 = stablehlo.dynamic_slice %1, %first, sizes = [2] : (tensor<5xf32>, tensor<i32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
// -----
// Tiles are stored before the other parts of pairs are read: not in the memory of an operand.
func.func @main(%x: tensor<33x17xcomplex<f64>>, %y: tensor<33x17xcomplex<f64>>, %i: tensor<ui32>, %z: tensor<33x17xcomplex<f64>>) -> tensor<33x17xcomplex<f64>> {
  %0 = "stablehlo.dynamic_update_slice"(%x, %y, %i, %i) : (tensor<33x17xcomplex<f64>>, tensor<33x17xcomplex<f64>>, tensor<ui32>, tensor<ui32>) -> tensor<33x17xcomplex<f64>>
  %1 = stablehlo.negate %0 : tensor<33x17xcomplex<f64>>
  %2 = stablehlo.multiply %1, %z : tensor<33x17xcomplex<f64>>
  return %2 : tensor<33x17xcomplex<f64>>
}
// -----
// Lanes over both dimensions of arrays that are values of the program: each lane indexes them.
func.func @main(%a: tensor<5xf32>, %b: tensor<5xf32>) -> (tensor<5x5xf32>, tensor<3x7xbf16>, tensor<9x4xf64>) {
  %0 = stablehlo.sine %a : tensor<5xf32>
  %1 = stablehlo.cosine %b : tensor<5xf32>
  %2 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<5xf32>) -> tensor<5x5xf32>
  %3 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<5xf32>) -> tensor<5x5xf32>
  %4 = stablehlo.subtract %2, %3 : tensor<5x5xf32>
  %5 = stablehlo.exponential %4 : tensor<5x5xf32>
  %6 = stablehlo.iota dim = 0 : tensor<3xbf16>
  %7 = stablehlo.sine %6 : tensor<3xbf16>
  %8 = stablehlo.iota dim = 0 : tensor<7xbf16>
  %9 = stablehlo.cosine %8 : tensor<7xbf16>
  %10 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<3xbf16>) -> tensor<3x7xbf16>
  %11 = stablehlo.broadcast_in_dim %9, dims = [1] : (tensor<7xbf16>) -> tensor<3x7xbf16>
  %12 = stablehlo.divide %10, %11 : tensor<3x7xbf16>
  %13 = stablehlo.iota dim = 0 : tensor<4xf64>
  %14 = stablehlo.sine %13 : tensor<4xf64>
  %15 = stablehlo.iota dim = 0 : tensor<9x4xf64>
  %16 = stablehlo.broadcast_in_dim %14, dims = [1] : (tensor<4xf64>) -> tensor<9x4xf64>
  %17 = stablehlo.atan2 %16, %15 : tensor<9x4xf64>
  return %5, %12, %17 : tensor<5x5xf32>, tensor<3x7xbf16>, tensor<9x4xf64>
}
// -----
// Chains of element computations with more values than a tiling has room for.
func.func @main(%arg0: tensor<2x3x4xui16>) -> tensor<5x6x7xui16> {
  %0 = stablehlo.slice %arg0 [0:1, 0:3, 0:4] : (tensor<2x3x4xui16>) -> tensor<1x3x4xui16>
  %1 = stablehlo.slice %arg0 [1:2, 0:3, 0:4] : (tensor<2x3x4xui16>) -> tensor<1x3x4xui16>
  %2 = call @_flip(%1) : (tensor<1x3x4xui16>) -> tensor<1x3x4xui16>
  %3 = stablehlo.constant dense<2> : tensor<ui16>
  %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<ui16>) -> tensor<1x3x4xui16>
  %5 = stablehlo.multiply %4, %0 : tensor<1x3x4xui16>
  %6 = stablehlo.subtract %5, %2 : tensor<1x3x4xui16>
  %7 = stablehlo.slice %6 [0:1, 0:3, 0:4] : (tensor<1x3x4xui16>) -> tensor<1x3x4xui16>
  %8 = stablehlo.concatenate %6, %arg0, dim = 0 : (tensor<1x3x4xui16>, tensor<2x3x4xui16>) -> tensor<3x3x4xui16>
  %9 = stablehlo.slice %8 [1:2, 0:3, 0:4] : (tensor<3x3x4xui16>) -> tensor<1x3x4xui16>
  %10 = call @_flip(%9) : (tensor<1x3x4xui16>) -> tensor<1x3x4xui16>
  %11 = stablehlo.constant dense<2> : tensor<ui16>
  %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<ui16>) -> tensor<1x3x4xui16>
  %13 = stablehlo.multiply %12, %7 : tensor<1x3x4xui16>
  %14 = stablehlo.subtract %13, %10 : tensor<1x3x4xui16>
  %15 = stablehlo.concatenate %14, %8, dim = 0 : (tensor<1x3x4xui16>, tensor<3x3x4xui16>) -> tensor<4x3x4xui16>
  %16 = stablehlo.slice %15 [3:4, 0:3, 0:4] : (tensor<4x3x4xui16>) -> tensor<1x3x4xui16>
  %17 = stablehlo.slice %15 [2:3, 0:3, 0:4] : (tensor<4x3x4xui16>) -> tensor<1x3x4xui16>
  %18 = call @_flip(%17) : (tensor<1x3x4xui16>) -> tensor<1x3x4xui16>
  %19 = stablehlo.constant dense<2> : tensor<ui16>
  %20 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<ui16>) -> tensor<1x3x4xui16>
  %21 = stablehlo.multiply %20, %16 : tensor<1x3x4xui16>
  %22 = stablehlo.subtract %21, %18 : tensor<1x3x4xui16>
  %23 = stablehlo.concatenate %15, %22, dim = 0 : (tensor<4x3x4xui16>, tensor<1x3x4xui16>) -> tensor<5x3x4xui16>
  %24 = stablehlo.slice %23 [0:5, 0:1, 0:4] : (tensor<5x3x4xui16>) -> tensor<5x1x4xui16>
  %25 = stablehlo.slice %23 [0:5, 1:3, 0:4] : (tensor<5x3x4xui16>) -> tensor<5x2x4xui16>
  %26 = call @_flip_0(%25) : (tensor<5x2x4xui16>) -> tensor<5x2x4xui16>
  %27 = stablehlo.constant dense<2> : tensor<ui16>
  %28 = stablehlo.broadcast_in_dim %27, dims = [] : (tensor<ui16>) -> tensor<5x1x4xui16>
  %29 = stablehlo.multiply %28, %24 : tensor<5x1x4xui16>
  %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2] : (tensor<5x1x4xui16>) -> tensor<5x2x4xui16>
  %31 = stablehlo.subtract %30, %26 : tensor<5x2x4xui16>
  %32 = stablehlo.concatenate %31, %23, dim = 1 : (tensor<5x2x4xui16>, tensor<5x3x4xui16>) -> tensor<5x5x4xui16>
  %33 = stablehlo.slice %32 [0:5, 4:5, 0:4] : (tensor<5x5x4xui16>) -> tensor<5x1x4xui16>
  %34 = stablehlo.slice %32 [0:5, 3:4, 0:4] : (tensor<5x5x4xui16>) -> tensor<5x1x4xui16>
  %35 = call @_flip_1(%34) : (tensor<5x1x4xui16>) -> tensor<5x1x4xui16>
  %36 = stablehlo.constant dense<2> : tensor<ui16>
  %37 = stablehlo.broadcast_in_dim %36, dims = [] : (tensor<ui16>) -> tensor<5x1x4xui16>
  %38 = stablehlo.multiply %37, %33 : tensor<5x1x4xui16>
  %39 = stablehlo.subtract %38, %35 : tensor<5x1x4xui16>
  %40 = stablehlo.concatenate %32, %39, dim = 1 : (tensor<5x5x4xui16>, tensor<5x1x4xui16>) -> tensor<5x6x4xui16>
  %41 = stablehlo.slice %40 [0:5, 0:6, 0:1] : (tensor<5x6x4xui16>) -> tensor<5x6x1xui16>
  %42 = stablehlo.slice %40 [0:5, 0:6, 1:3] : (tensor<5x6x4xui16>) -> tensor<5x6x2xui16>
  %43 = call @_flip_2(%42) : (tensor<5x6x2xui16>) -> tensor<5x6x2xui16>
  %44 = stablehlo.constant dense<2> : tensor<ui16>
  %45 = stablehlo.broadcast_in_dim %44, dims = [] : (tensor<ui16>) -> tensor<5x6x1xui16>
  %46 = stablehlo.multiply %45, %41 : tensor<5x6x1xui16>
  %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2] : (tensor<5x6x1xui16>) -> tensor<5x6x2xui16>
  %48 = stablehlo.subtract %47, %43 : tensor<5x6x2xui16>
  %49 = stablehlo.concatenate %48, %40, dim = 2 : (tensor<5x6x2xui16>, tensor<5x6x4xui16>) -> tensor<5x6x6xui16>
  %50 = stablehlo.slice %49 [0:5, 0:6, 5:6] : (tensor<5x6x6xui16>) -> tensor<5x6x1xui16>
  %51 = stablehlo.slice %49 [0:5, 0:6, 4:5] : (tensor<5x6x6xui16>) -> tensor<5x6x1xui16>
  %52 = call @_flip_3(%51) : (tensor<5x6x1xui16>) -> tensor<5x6x1xui16>
  %53 = stablehlo.constant dense<2> : tensor<ui16>
  %54 = stablehlo.broadcast_in_dim %53, dims = [] : (tensor<ui16>) -> tensor<5x6x1xui16>
  %55 = stablehlo.multiply %54, %50 : tensor<5x6x1xui16>
  %56 = stablehlo.subtract %55, %52 : tensor<5x6x1xui16>
  %57 = stablehlo.concatenate %49, %56, dim = 2 : (tensor<5x6x6xui16>, tensor<5x6x1xui16>) -> tensor<5x6x7xui16>
  return %57 : tensor<5x6x7xui16>
}
func.func private @_flip(%arg0: tensor<1x3x4xui16>) -> tensor<1x3x4xui16> {
  %0 = stablehlo.reverse %arg0, dims = [0] : tensor<1x3x4xui16>
  return %0 : tensor<1x3x4xui16>
}
func.func private @_flip_0(%arg0: tensor<5x2x4xui16>) -> tensor<5x2x4xui16> {
  %0 = stablehlo.reverse %arg0, dims = [1] : tensor<5x2x4xui16>
  return %0 : tensor<5x2x4xui16>
}
func.func private @_flip_1(%arg0: tensor<5x1x4xui16>) -> tensor<5x1x4xui16> {
  %0 = stablehlo.reverse %arg0, dims = [1] : tensor<5x1x4xui16>
  return %0 : tensor<5x1x4xui16>
}
func.func private @_flip_2(%arg0: tensor<5x6x2xui16>) -> tensor<5x6x2xui16> {
  %0 = stablehlo.reverse %arg0, dims = [2] : tensor<5x6x2xui16>
  return %0 : tensor<5x6x2xui16>
}
func.func private @_flip_3(%arg0: tensor<5x6x1xui16>) -> tensor<5x6x1xui16> {
  %0 = stablehlo.reverse %arg0, dims = [2] : tensor<5x6x1xui16>
  return %0 : tensor<5x6x1xui16>
}
// -----
// A broadcast that is overwritten in place and recomputed by its update.
func.func @main(%0: tensor<i1>, %1: tensor<ui16>, %2: tensor<ui16>, %3: tensor<4x2xi1>) -> tensor<4x2xi1> {
  %4 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i1>) -> tensor<4x2xi1>
  %5 = stablehlo.compare LE, %3, %4, UNSIGNED : (tensor<4x2xi1>, tensor<4x2xi1>) -> tensor<4x2xi1>
  %6 = stablehlo.dynamic_update_slice %4, %5, %1, %2 : (tensor<4x2xi1>, tensor<4x2xi1>, tensor<ui16>, tensor<ui16>) -> tensor<4x2xi1>
  return %6 : tensor<4x2xi1>
}
// -----
// An argument of one element that is read as another type beside a loop that reads it.
func.func @main(%a: tensor<1xf64>, %b: tensor<1xf64>) -> (tensor<1x32xi2>, tensor<1xf64>, tensor<1xf64>) {
  %r105 = "stablehlo.bitcast_convert"(%a) : (tensor<1xf64>) -> tensor<1x32xi2>
  %r67 = "stablehlo.reduce_precision"(%a) {exponent_bits = 8 : i32, mantissa_bits = 7 : i32} : (tensor<1xf64>) -> tensor<1xf64>
  %r53 = "chlo.zeta"(%a, %b) : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
  return %r105, %r67, %r53 : tensor<1x32xi2>, tensor<1xf64>, tensor<1xf64>
}
// -----
// Bytes that four full vectors hold but four of the shorter ones for 12 results do not: they cannot be gathered.
func.func @main(%x: tensor<3x4x10xi8>) -> tensor<3x4x1xi8> {
  %0 = stablehlo.slice %x [0:3, 0:4, 0:1] : (tensor<3x4x10xi8>) -> tensor<3x4x1xi8>
  return %0 : tensor<3x4x1xi8>
}
// -----
// A padded convolution whose window is so short that it was multiplied as a narrow product, which reads in place.
func.func @main(%x: tensor<1x1x6xf32>, %w: tensor<3x1x3xf32>) -> tensor<1x3x6xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x6xf32>, tensor<3x1x3xf32>) -> tensor<1x3x6xf32>
  return %0 : tensor<1x3x6xf32>
}
