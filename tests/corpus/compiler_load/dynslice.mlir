func.func @main(%x: tensor<2x3xf32>, %i: tensor<i32>, %u: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  %1 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<2x3xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  return %0, %1 : tensor<1x2xf32>, tensor<2x3xf32>
}
