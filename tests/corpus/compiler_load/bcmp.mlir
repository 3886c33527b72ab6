func.func @main(%y: tensor<2x3xf32>, %s: tensor<f32>) -> (tensor<2x3xi1>) {
  %e = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %z = stablehlo.constant dense<0> : tensor<2xi32>
  %o = stablehlo.constant dense<1> : tensor<2xi32>
  %0 = chlo.broadcast_compare %y, %s {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  %1 = chlo.broadcast_select %0, %y, %s : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xi1>
}
