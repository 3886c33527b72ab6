func.func @main(%x: tensor<2x3xf32>, %s: tensor<f32>) -> (tensor<4x2x5xf32>, tensor<4x4xf32>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xf32>
  %2 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %3 = stablehlo.slice %x [0:2:1, 1:3:2] : (tensor<2x3xf32>) -> tensor<2x1xf32>
  %4 = stablehlo.pad %x, %s, low = [1, -1], high = [0, 2], interior = [1, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x4xf32>
  %5 = stablehlo.concatenate %x, %1, dim = 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %6 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
  %7 = stablehlo.broadcast_in_dim %3, dims = [1, 2] : (tensor<2x1xf32>) -> tensor<4x2x5xf32>
  %8 = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %9 = "stablehlo.broadcast"(%x) <{broadcast_sizes = array<i64: 2>}> : (tensor<2x3xf32>) -> tensor<2x2x3xf32>
  return %7, %4 : tensor<4x2x5xf32>, tensor<4x4xf32>
}
