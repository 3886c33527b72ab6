func.func @main(%x: tensor<4x4x2xi8>, %k: tensor<3x2x2xi8>) -> (tensor<2x4x2xi32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 2 : i64} : (tensor<4x4x2xi8>, tensor<3x2x2xi8>) -> tensor<2x4x2xi32>
  return %0 : tensor<2x4x2xi32>
}
