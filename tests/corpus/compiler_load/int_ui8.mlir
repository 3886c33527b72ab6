func.func @main(%x: tensor<4xui8>, %y: tensor<4xui8>) -> (tensor<4xui8>, tensor<4xui8>) {
  %0 = stablehlo.add %x, %y : tensor<4xui8>
  %1 = stablehlo.subtract %x, %y : tensor<4xui8>
  %2 = stablehlo.multiply %x, %y : tensor<4xui8>
  %3 = stablehlo.divide %x, %y : tensor<4xui8>
  %4 = stablehlo.maximum %x, %y : tensor<4xui8>
  %5 = stablehlo.minimum %x, %y : tensor<4xui8>
  %6 = stablehlo.power %x, %y : tensor<4xui8>
  %7 = stablehlo.remainder %x, %y : tensor<4xui8>
  %8 = stablehlo.and %x, %y : tensor<4xui8>
  %9 = stablehlo.or %x, %y : tensor<4xui8>
  %10 = stablehlo.xor %x, %y : tensor<4xui8>
  %11 = stablehlo.shift_left %x, %y : tensor<4xui8>
  %12 = stablehlo.shift_right_arithmetic %x, %y : tensor<4xui8>
  %13 = stablehlo.shift_right_logical %x, %y : tensor<4xui8>
  %a = stablehlo.not %x : tensor<4xui8>
  %b = stablehlo.popcnt %x : tensor<4xui8>
  %c = stablehlo.count_leading_zeros %x : tensor<4xui8>

  return %0, %a : tensor<4xui8>, tensor<4xui8>
}
