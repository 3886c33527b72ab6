func.func @main(%y: tensor<2x3xf32>, %s: tensor<f32>) -> (tensor<2x?xf32, #stablehlo.bounds<?, 3>>) {
  %e = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %z = stablehlo.constant dense<0> : tensor<2xi32>
  %o = stablehlo.constant dense<1> : tensor<2xi32>
  %5 = stablehlo.get_dimension_size %y, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  %0 = stablehlo.set_dimension_size %y, %5, dim = 1 : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x?xf32, #stablehlo.bounds<?, 3>>
  return %0 : tensor<2x?xf32, #stablehlo.bounds<?, 3>>
}
