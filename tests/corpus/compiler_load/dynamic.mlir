func.func @main(%y: tensor<2x3xf32>) -> (tensor<?x?xf32>) {
  %d = stablehlo.constant dense<[2, 2, 3]> : tensor<3xi32>
  %e = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %z = stablehlo.constant dense<0> : tensor<2xi32>
  %s = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dynamic_broadcast_in_dim %y, %d, dims = [1, 2] : (tensor<2x3xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>
  %1 = stablehlo.dynamic_reshape %y, %e : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %2 = stablehlo.dynamic_iota %e, dim = 0 : (tensor<2xi32>) -> tensor<?x?xi32>
  %3 = stablehlo.dynamic_pad %y, %s, %e, %z, %z : (tensor<2x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  %4 = stablehlo.real_dynamic_slice %y, %z, %e, %e : (tensor<2x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  %5 = stablehlo.get_dimension_size %y, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  %6 = stablehlo.add %1, %1 : tensor<?x?xf32>
  %7 = stablehlo.tanh %0 : tensor<?x?x?xf32>
  %8 = stablehlo.set_dimension_size %y, %5, dim = 1 : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x?xf32, #stablehlo.bounds<?, 3>>
  return %6 : tensor<?x?xf32>
}
