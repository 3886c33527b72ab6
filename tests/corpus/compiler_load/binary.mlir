func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.add %x, %x : tensor<2x3xf32>
  %1 = stablehlo.subtract %x, %x : tensor<2x3xf32>
  %2 = stablehlo.multiply %x, %x : tensor<2x3xf32>
  %3 = stablehlo.divide %x, %x : tensor<2x3xf32>
  %4 = stablehlo.maximum %x, %x : tensor<2x3xf32>
  %5 = stablehlo.minimum %x, %x : tensor<2x3xf32>
  %6 = stablehlo.power %x, %x : tensor<2x3xf32>
  %7 = stablehlo.remainder %x, %x : tensor<2x3xf32>
  %8 = stablehlo.atan2 %x, %x : tensor<2x3xf32>

  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
