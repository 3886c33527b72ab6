func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xi1>) {
  %0 = chlo.is_pos_inf %x : tensor<2x3xf32> -> tensor<2x3xi1>
  return %0 : tensor<2x3xi1>
}
