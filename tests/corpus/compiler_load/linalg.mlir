func.func @main(%m: tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3x3xf64>) {
  %0 = stablehlo.cholesky %m, lower = true : tensor<2x3x3xf64>
  %1 = "stablehlo.triangular_solve"(%m, %m) <{left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x3x3xf64>, tensor<2x3x3xf64>) -> tensor<2x3x3xf64>
  return %0, %1 : tensor<2x3x3xf64>, tensor<2x3x3xf64>
}
