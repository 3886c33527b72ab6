module {
  func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>, %arg3: tensor<4xi1>, %arg4: tensor<2x3x4xf32>, %arg5: tensor<i32>, %arg6: tensor<2xi64>, %arg7: !stablehlo.token, %arg8: tuple<tensor<f32>, tensor<i32>>, %arg9: tensor<1x8x8x2xf32>, %arg10: tensor<3x3x2x4xf32>, %arg11: tensor<2x4x5xf32>, %arg12: tensor<4xcomplex<f32>>) {
    %r0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
    %r1 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xi32>
    %r2 = stablehlo.abs %arg0 {note = "x"} : tensor<4xf32>
    %r3 = stablehlo.complex %arg0, %arg1 : tensor<4xcomplex<f32>>
    %r4 = stablehlo.compare LT, %arg0, %arg1, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    return
  }
}
