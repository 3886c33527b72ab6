func.func @main(%y: tensor<2x3xf32>, %s: tensor<f32>) -> (tensor<?x?xf32>) {
  %e = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %z = stablehlo.constant dense<0> : tensor<2xi32>
  %o = stablehlo.constant dense<1> : tensor<2xi32>
  %0 = stablehlo.dynamic_broadcast_in_dim %s, %e, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x?xf32>
  %2 = stablehlo.transpose %0, dims = [1, 0] : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %3 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [0] : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %4 = stablehlo.concatenate %0, %0, dim = 0 : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %5 = stablehlo.reduce(%0 init: %s) applies stablehlo.add across dimensions = [0] : (tensor<?x?xf32>, tensor<f32>) -> tensor<?xf32>
  %6 = stablehlo.pad %0, %s, low = [1, 1], high = [0, 0], interior = [0, 0] : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  %7 = stablehlo.reverse %0, dims = [0] : tensor<?x?xf32>
  %8 = stablehlo.convert %0 : (tensor<?x?xf32>) -> tensor<?x?xi32>
  %9 = stablehlo.slice %0 [0:1, 0:2] : (tensor<?x?xf32>) -> tensor<1x2xf32>
  return %0 : tensor<?x?xf32>
}
