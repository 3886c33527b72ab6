func.func @main(%x: tensor<3x4xbf16>, %y: tensor<4xbf16>) -> (tensor<3xbf16>) {
  %0 = stablehlo.dot %x, %y : (tensor<3x4xbf16>, tensor<4xbf16>) -> tensor<3xbf16>
  %1 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x4xbf16>, tensor<4xbf16>) -> tensor<3xf32>
  %2 = "stablehlo.einsum"(%x, %y) <{einsum_config = "ab,b->a"}> : (tensor<3x4xbf16>, tensor<4xbf16>) -> tensor<3xbf16>
  %3 = "stablehlo.unary_einsum"(%x) <{einsum_config = "ab->ba"}> : (tensor<3x4xbf16>) -> tensor<4x3xbf16>
  return %0 : tensor<3xbf16>
}
