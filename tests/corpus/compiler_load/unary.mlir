func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.abs %x : tensor<2x3xf32>
  %1 = stablehlo.cbrt %x : tensor<2x3xf32>
  %2 = stablehlo.ceil %x : tensor<2x3xf32>
  %3 = stablehlo.cosine %x : tensor<2x3xf32>
  %4 = stablehlo.exponential %x : tensor<2x3xf32>
  %5 = stablehlo.exponential_minus_one %x : tensor<2x3xf32>
  %6 = stablehlo.floor %x : tensor<2x3xf32>
  %7 = stablehlo.log %x : tensor<2x3xf32>
  %8 = stablehlo.log_plus_one %x : tensor<2x3xf32>
  %9 = stablehlo.logistic %x : tensor<2x3xf32>
  %10 = stablehlo.negate %x : tensor<2x3xf32>
  %11 = stablehlo.round_nearest_afz %x : tensor<2x3xf32>
  %12 = stablehlo.round_nearest_even %x : tensor<2x3xf32>
  %13 = stablehlo.rsqrt %x : tensor<2x3xf32>
  %14 = stablehlo.sign %x : tensor<2x3xf32>
  %15 = stablehlo.sine %x : tensor<2x3xf32>
  %16 = stablehlo.sqrt %x : tensor<2x3xf32>
  %17 = stablehlo.tan %x : tensor<2x3xf32>
  %18 = stablehlo.tanh %x : tensor<2x3xf32>

  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
