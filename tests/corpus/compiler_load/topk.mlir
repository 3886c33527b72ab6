func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x2xf32>) {
  %0:2 = chlo.top_k(%x, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  return %0#0 : tensor<2x2xf32>
}
