module {
  func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>, %arg3: tensor<4xi1>, %arg4: tensor<2x3x4xf32>, %arg5: tensor<i32>, %arg6: tensor<2xi64>, %arg7: !stablehlo.token, %arg8: tuple<tensor<f32>, tensor<i32>>, %arg9: tensor<1x8x8x2xf32>, %arg10: tensor<3x3x2x4xf32>, %arg11: tensor<2x4x5xf32>, %arg12: tensor<4xcomplex<f32>>) {
    %r0 = stablehlo.fft %arg12, type = IFFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %r1 = stablehlo.rng %arg2, %arg2, %arg6, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
    %r2 = stablehlo.reduce(%arg0 init: %arg2) applies stablehlo.maximum across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %r3 = func.call @main(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %r4 = stablehlo.composite "a.b" %arg0 {composite_attributes = {n = 1 : i64}, decomposition = @main} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}
