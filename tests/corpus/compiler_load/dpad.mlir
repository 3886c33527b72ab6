func.func @main(%y: tensor<2x3xf32>, %s: tensor<f32>) -> (tensor<?x?xf32>) {
  %e = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %z = stablehlo.constant dense<0> : tensor<2xi32>
  %o = stablehlo.constant dense<1> : tensor<2xi32>
  %0 = stablehlo.dynamic_pad %y, %s, %e, %z, %o : (tensor<2x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
