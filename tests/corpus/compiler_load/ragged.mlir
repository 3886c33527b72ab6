func.func @main(%x: tensor<2x3x4xf32>, %g: tensor<2xi32>, %y: tensor<2x4x5xf32>) -> (tensor<2x3x5xf32>) {
  %0 = "chlo.ragged_dot"(%x, %y, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>, tensor<2xi32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}
