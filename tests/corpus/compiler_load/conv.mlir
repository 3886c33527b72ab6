func.func @main(%x: tensor<1x4x4x2xf32>, %k: tensor<3x3x2x4xf32>) -> (tensor<1x7x2x4xf32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 2], pad = [[1, 1], [0, 2]], lhs_dilate = [2, 1], rhs_dilate = [1, 1], reverse = [true, false]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x7x2x4xf32>
  return %0 : tensor<1x7x2x4xf32>
}
