func.func @main(%x: tensor<2x3xf32>) -> (tensor<i1>) {
  check.expect_eq %x, %x : tensor<2x3xf32>
  check.expect_almost_eq %x, %x : tensor<2x3xf32>
  check.expect_close %x, %x, max_ulp_difference = 3 : tensor<2x3xf32>, tensor<2x3xf32>
  %0 = stablehlo.custom_call @check.eq(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<i1>
  return %0 : tensor<i1>
}
