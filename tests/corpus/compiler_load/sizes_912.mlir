func.func @main(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<?xf32> {
 %e = stablehlo.constant dense<[5]> : tensor<1xi64>
 %f = stablehlo.constant dense<[2]> : tensor<1xi64>
 %a = stablehlo.dynamic_broadcast_in_dim %s, %e, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
 %b = stablehlo.dynamic_broadcast_in_dim %s, %f, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
 %q = stablehlo.constant dense<1.0> : tensor<2x4xf32>
 %0:3 = "stablehlo.batch_norm_training"(%q, %a, %b) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<?xf32>, tensor<?xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
 return %b : tensor<?xf32>
}
