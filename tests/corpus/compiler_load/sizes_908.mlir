func.func @main(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<?xf32> {
 %e = stablehlo.constant dense<[5]> : tensor<1xi64>
 %f = stablehlo.constant dense<[2]> : tensor<1xi64>
 %a = stablehlo.dynamic_broadcast_in_dim %s, %e, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
 %b = stablehlo.dynamic_broadcast_in_dim %s, %f, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
 %0 = func.call @main(%a, %s) : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
 return %b : tensor<?xf32>
}
