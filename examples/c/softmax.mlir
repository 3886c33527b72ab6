// The softmax of each row, as JAX writes it.
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %most = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
  %mosts = stablehlo.broadcast_in_dim %most, dims = [0] : (tensor<2xf32>) -> tensor<2x4xf32>
  %shifted = stablehlo.subtract %x, %mosts : tensor<2x4xf32>
  %powers = stablehlo.exponential %shifted : tensor<2x4xf32>
  %sum = stablehlo.reduce(%powers init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<2xf32>) -> tensor<2x4xf32>
  %result = stablehlo.divide %powers, %sums : tensor<2x4xf32>
  return %result : tensor<2x4xf32>
}
