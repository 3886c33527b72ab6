func.func @main(%y: tensor<2x3xf32>, %s: tensor<f32>) -> (tensor<1x?x?x1xf32>) {
  %e = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %z = stablehlo.constant dense<0> : tensor<2xi32>
  %o = stablehlo.constant dense<1> : tensor<2xi32>
  %x = stablehlo.constant dense<1.0> : tensor<1x4x4x1xf32>
  %k = stablehlo.constant dense<1.0> : tensor<2x2x1x1xf32>
  %p = stablehlo.constant dense<1> : tensor<2x2xi32>
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x4x4x1xf32>, tensor<2x2x1x1xf32>, tensor<2x2xi32>) -> tensor<1x?x?x1xf32>
  return %0 : tensor<1x?x?x1xf32>
}
