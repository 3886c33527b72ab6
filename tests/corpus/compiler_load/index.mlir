func.func @main(%x: tensor<4x3xf32>, %i: tensor<2xi32>) -> (tensor<2x3xf32>, tensor<4x3xf32>) {
  %0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<4x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  %g = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
  %j = stablehlo.constant dense<[[1], [0]]> : tensor<2x1xi32>
  %1 = "stablehlo.dynamic_gather"(%x, %j, %g) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x3xf32>
  %2 = stablehlo.tuple %x, %i : tuple<tensor<4x3xf32>, tensor<2xi32>>
  %3 = stablehlo.get_tuple_element %2[0] : (tuple<tensor<4x3xf32>, tensor<2xi32>>) -> tensor<4x3xf32>
  return %0, %3 : tensor<2x3xf32>, tensor<4x3xf32>
}
