func.func @main(%x: tensor<4xi64>, %y: tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>) {
  %0 = stablehlo.add %x, %y : tensor<4xi64>
  %1 = stablehlo.subtract %x, %y : tensor<4xi64>
  %2 = stablehlo.multiply %x, %y : tensor<4xi64>
  %3 = stablehlo.divide %x, %y : tensor<4xi64>
  %4 = stablehlo.maximum %x, %y : tensor<4xi64>
  %5 = stablehlo.minimum %x, %y : tensor<4xi64>
  %6 = stablehlo.power %x, %y : tensor<4xi64>
  %7 = stablehlo.remainder %x, %y : tensor<4xi64>
  %8 = stablehlo.and %x, %y : tensor<4xi64>
  %9 = stablehlo.or %x, %y : tensor<4xi64>
  %10 = stablehlo.xor %x, %y : tensor<4xi64>
  %11 = stablehlo.shift_left %x, %y : tensor<4xi64>
  %12 = stablehlo.shift_right_arithmetic %x, %y : tensor<4xi64>
  %13 = stablehlo.shift_right_logical %x, %y : tensor<4xi64>
  %a = stablehlo.not %x : tensor<4xi64>
  %b = stablehlo.popcnt %x : tensor<4xi64>
  %c = stablehlo.count_leading_zeros %x : tensor<4xi64>

  return %0, %a : tensor<4xi64>, tensor<4xi64>
}
