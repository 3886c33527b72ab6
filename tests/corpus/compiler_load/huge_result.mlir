func.func @main(%s: tensor<2xui64>, %x: tensor<f32>) -> (tensor<3x2xui32>, tensor<2x3xf32>) {
  %0:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x2xui32>)
  %1:2 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<9223372036854775807xui16>)
  %d = stablehlo.constant dense<[4294967296, 3]> : tensor<2xi64>
  %2 = stablehlo.rng %x, %x, %d, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
  %3 = stablehlo.rng %x, %x, %d, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
  return %0#1, %2 : tensor<3x2xui32>, tensor<2x3xf32>
}
