func.func @main(%a0: tensor<4x3xf32>) -> (tensor<4x3xf32>) {
  %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%a0) {api_version = 4 : i32, backend_config = {uplo = 76 : ui8, mode = 86 : ui8, side = 76 : ui8, diag = 78 : ui8, trans_x = 78 : ui8}} : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>)
  return %0#0 : tensor<4x3xf32>
}
