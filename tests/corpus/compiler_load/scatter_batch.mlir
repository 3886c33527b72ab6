func.func @main(%x: tensor<2x4xf32>, %i: tensor<2x3x1xi32>, %u: tensor<2x3xf32>) -> (tensor<2x4xf32>) {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %9 = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %9 : tensor<f32>
  }) : (tensor<2x4xf32>, tensor<2x3x1xi32>, tensor<2x3xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
