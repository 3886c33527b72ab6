func.func @main(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<?xf32> {
 %e = stablehlo.constant dense<[5]> : tensor<1xi64>
 %f = stablehlo.constant dense<[2]> : tensor<1xi64>
 %a = stablehlo.dynamic_broadcast_in_dim %s, %e, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
 %b = stablehlo.dynamic_broadcast_in_dim %s, %f, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
 %j = stablehlo.constant dense<[[1], [0]]> : tensor<2x1xi32>
 %0 = "stablehlo.gather"(%a, %j) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<?xf32>, tensor<2x1xi32>) -> tensor<2xf32>
 %1 = "stablehlo.scatter"(%x, %j, %a) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
 ^bb0(%l: tensor<f32>, %r: tensor<f32>):
 stablehlo.return %r : tensor<f32>
 }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<?xf32>) -> tensor<4xf32>
 return %b : tensor<?xf32>
}
