// Scatters of several operands, of windows with batches, and with loops in their bodies.
func.func @main(%x: tensor<6x5xf32>, %y: tensor<6x5xi32>, %at: tensor<4x1xi32>, %u: tensor<4x5xf32>,
                %v: tensor<4x5xi32>) -> (tensor<6x5xf32>, tensor<6x5xi32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %at, %u, %v) ({
    ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
      %p = stablehlo.compare GT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %m = stablehlo.select %p, %a, %c : tensor<i1>, tensor<f32>
      %s = stablehlo.subtract %d, %b : tensor<i32>
      stablehlo.return %m, %s : tensor<f32>, tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}
      : (tensor<6x5xf32>, tensor<6x5xi32>, tensor<4x1xi32>, tensor<4x5xf32>, tensor<4x5xi32>) -> (tensor<6x5xf32>, tensor<6x5xi32>)
  return %0#0, %0#1 : tensor<6x5xf32>, tensor<6x5xi32>
}
// -----
func.func @main(%x: tensor<3x7x5xi32>, %at: tensor<3x4x1xui8>, %u: tensor<3x4x2xi32>) -> tensor<3x7x5xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.scatter"(%x, %at, %u) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %g:2 = stablehlo.while(%p = %a, %q = %b) : tensor<i32>, tensor<i32>
        cond {
          %c = stablehlo.compare NE, %q, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %r = stablehlo.remainder %p, %q : tensor<i32>
          stablehlo.return %q, %r : tensor<i32>, tensor<i32>
        }
      stablehlo.return %g#0 : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0],
      scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>,
      indices_are_sorted = false, unique_indices = false}
      : (tensor<3x7x5xi32>, tensor<3x4x1xui8>, tensor<3x4x2xi32>) -> tensor<3x7x5xi32>
  return %0 : tensor<3x7x5xi32>
}
// -----
// Implicit broadcasts, and shapes and amounts that are operands.
func.func @main(%x: tensor<4x1x5xf32>, %y: tensor<3x5xf32>, %z: tensor<3xf32>, %c: tensor<2xf32>, %d: tensor<f32>)
    -> (tensor<4x3x5xf32>, tensor<4x3x5xi1>, tensor<3x5xf32>, tensor<4x3x5xf32>, tensor<2xcomplex<f32>>, tensor<2x3x3xf32>, tensor<2x3xf32>) {
  %0 = chlo.broadcast_add %x, %y : (tensor<4x1x5xf32>, tensor<3x5xf32>) -> tensor<4x3x5xf32>
  %1 = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction LT>} : (tensor<4x1x5xf32>, tensor<3x5xf32>) -> tensor<4x3x5xi1>
  %2 = chlo.broadcast_subtract %y, %z {broadcast_dimensions = array<i64: 0>} : (tensor<3x5xf32>, tensor<3xf32>) -> tensor<3x5xf32>
  %3 = chlo.broadcast_select %1, %x, %y : (tensor<4x3x5xi1>, tensor<4x1x5xf32>, tensor<3x5xf32>) -> tensor<4x3x5xf32>
  %4 = chlo.broadcast_complex %c, %d : (tensor<2xf32>, tensor<f32>) -> tensor<2xcomplex<f32>>
  %5 = "stablehlo.broadcast"(%z) <{broadcast_sizes = array<i64: 2, 3>}> : (tensor<3xf32>) -> tensor<2x3x3xf32>
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %6 = "stablehlo.dynamic_broadcast_in_dim"(%z, %s) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<4x3x5xf32>, tensor<4x3x5xi1>, tensor<3x5xf32>, tensor<4x3x5xf32>, tensor<2xcomplex<f32>>, tensor<2x3x3xf32>, tensor<2x3xf32>
}
// -----
// Scans along a dimension, also backwards.
func.func @main(%x: tensor<3x4x5xf32>, %c: tensor<3x5xf32>, %n: tensor<i32>) -> (tensor<3x4x5xf32>, tensor<3x5xf32>, tensor<i32>) {
  %0:3 = chlo.scan (%x) inits (%c, %n) dimension = 1 attributes {is_reverse = true} {
    ^bb0(%a: tensor<3x5xf32>, %s: tensor<3x5xf32>, %i: tensor<i32>):
      %h = stablehlo.constant dense<0.5> : tensor<3x5xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %m = stablehlo.multiply %s, %h : tensor<3x5xf32>
      %t = stablehlo.subtract %a, %m : tensor<3x5xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %t, %t, %j : tensor<3x5xf32>, tensor<3x5xf32>, tensor<i32>
  } : (tensor<3x4x5xf32>, tensor<3x5xf32>, tensor<i32>) -> (tensor<3x4x5xf32>, tensor<3x5xf32>, tensor<i32>)
  return %0#0, %0#1, %0#2 : tensor<3x4x5xf32>, tensor<3x5xf32>, tensor<i32>
}
// -----
// Batch normalisation.
func.func @main(%x: tensor<3x4x5xf32>, %g: tensor<3x4x5xf32>, %s: tensor<5xf32>, %o: tensor<5xf32>, %m: tensor<5xf32>) -> (tensor<3x4x5xf32>, tensor<3x4x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<3x4x5xf32>, tensor<5xf32>, tensor<5xf32>) {
  %v = stablehlo.abs %m : tensor<5xf32>
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) {epsilon = 0.001 : f32, feature_index = 2 : i64} : (tensor<3x4x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<3x4x5xf32>
  %1:3 = "stablehlo.batch_norm_training"(%x, %s, %o) {epsilon = 0.001 : f32, feature_index = 2 : i64} : (tensor<3x4x5xf32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<3x4x5xf32>, tensor<5xf32>, tensor<5xf32>)
  %2:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) {epsilon = 0.001 : f32, feature_index = 2 : i64} : (tensor<3x4x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<3x4x5xf32>) -> (tensor<3x4x5xf32>, tensor<5xf32>, tensor<5xf32>)
  return %0, %1#0, %1#1, %1#2, %2#0, %2#1, %2#2 : tensor<3x4x5xf32>, tensor<3x4x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<3x4x5xf32>, tensor<5xf32>, tensor<5xf32>
}
// -----
func.func @main(%x: tensor<3x4x5xbf16>, %g: tensor<3x4x5xbf16>, %s: tensor<4xbf16>, %o: tensor<4xbf16>, %m: tensor<4xbf16>) -> (tensor<3x4x5xbf16>, tensor<3x4x5xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<3x4x5xbf16>, tensor<4xbf16>, tensor<4xbf16>) {
  %v = stablehlo.abs %m : tensor<4xbf16>
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) {epsilon = 0.001 : f32, feature_index = 1 : i64} : (tensor<3x4x5xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>) -> tensor<3x4x5xbf16>
  %1:3 = "stablehlo.batch_norm_training"(%x, %s, %o) {epsilon = 0.001 : f32, feature_index = 1 : i64} : (tensor<3x4x5xbf16>, tensor<4xbf16>, tensor<4xbf16>) -> (tensor<3x4x5xbf16>, tensor<4xbf16>, tensor<4xbf16>)
  %2:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) {epsilon = 0.001 : f32, feature_index = 1 : i64} : (tensor<3x4x5xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<3x4x5xbf16>) -> (tensor<3x4x5xbf16>, tensor<4xbf16>, tensor<4xbf16>)
  return %0, %1#0, %1#1, %1#2, %2#0, %2#1, %2#2 : tensor<3x4x5xbf16>, tensor<3x4x5xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<3x4x5xbf16>, tensor<4xbf16>, tensor<4xbf16>
}
// -----
// Constants of CHLO.
func.func @main(%x: tensor<2x3xbf16>) -> (tensor<2x3xbf16>, tensor<2xi8>) {
  %0 = "chlo.constant_like"(%x) {value = 2.5 : bf16} : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %1 = "chlo.constant"() {value = dense<[3, -4]> : tensor<2xi8>} : () -> tensor<2xi8>
  %2 = stablehlo.add %0, %x : tensor<2x3xbf16>
  return %2, %1 : tensor<2x3xbf16>, tensor<2xi8>
}
