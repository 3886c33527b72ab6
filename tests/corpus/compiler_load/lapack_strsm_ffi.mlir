func.func @main(%a0: tensor<3x3xf32>, %a1: tensor<3x2xf32>) -> (tensor<3x2xf32>) {
  %0 = stablehlo.custom_call @lapack_strsm_ffi(%a0, %a1) {api_version = 4 : i32, backend_config = {uplo = 76 : ui8, side = 76 : ui8, diag = 78 : ui8, trans_x = 78 : ui8}} : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
