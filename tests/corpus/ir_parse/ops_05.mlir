module {
  func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>, %arg3: tensor<4xi1>, %arg4: tensor<2x3x4xf32>, %arg5: tensor<i32>, %arg6: tensor<2xi64>, %arg7: !stablehlo.token, %arg8: tuple<tensor<f32>, tensor<i32>>, %arg9: tensor<1x8x8x2xf32>, %arg10: tensor<3x3x2x4xf32>, %arg11: tensor<2x4x5xf32>, %arg12: tensor<4xcomplex<f32>>) {
    %r0 = stablehlo.after_all %arg7, %arg7 : !stablehlo.token
    %r1:2 = stablehlo.optimization_barrier %arg0, %arg5 : tensor<4xf32>, tensor<i32>
    stablehlo.optimization_barrier ()
    %r3 = stablehlo.replica_id : tensor<ui32>
    %r4 = stablehlo.cholesky %arg4, lower = true : tensor<2x3x4xf32>
    return
  }
}
