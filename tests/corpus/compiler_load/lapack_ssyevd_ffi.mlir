func.func @main(%a0: tensor<3x3xf32>) -> (tensor<3x3xf32>) {
  %0:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%a0) {api_version = 4 : i32, backend_config = {uplo = 76 : ui8, mode = 86 : ui8, side = 76 : ui8, diag = 78 : ui8, trans_x = 78 : ui8}} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>, tensor<i32>)
  return %0#0 : tensor<3x3xf32>
}
