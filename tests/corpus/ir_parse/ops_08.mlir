module {
  func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>, %arg3: tensor<4xi1>, %arg4: tensor<2x3x4xf32>, %arg5: tensor<i32>, %arg6: tensor<2xi64>, %arg7: !stablehlo.token, %arg8: tuple<tensor<f32>, tensor<i32>>, %arg9: tensor<1x8x8x2xf32>, %arg10: tensor<3x3x2x4xf32>, %arg11: tensor<2x4x5xf32>, %arg12: tensor<4xcomplex<f32>>) {
    check.expect_close %arg0, %arg1, max_ulp_difference = 18446744073709551615, min_ulp_difference = 1 : tensor<4xf32>, tensor<4xf32>
    %r1 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}]> : tensor<4xf32>
    %r2 = "stablehlo.gather"(%arg4, %arg6) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], collapsed_slice_dims = [0], operand_batching_dims = [], start_index_map = [0, 1]>, slice_sizes = array<i64: 1, 3, 4>}> : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<3x4xf32>
    %r3 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> {a.b} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}
