func.func @f() {
  %0 = stablehlo.constant dense<"0x0000803F0000004000004040"> : tensor<3xf32>
  %1 = stablehlo.constant dense<"0xFF01"> : tensor<10xi1>
  %2 = stablehlo.constant dense<[[(1.0, -2.0), (0x7FC00000, 3.0)]]> : tensor<1x2xcomplex<f32>>
  %3 = stablehlo.constant dense<> : tensor<0x4xui8>
  %4 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
  %5 = stablehlo.constant dense<"0x0F"> : tensor<8xi4>
  %6 = stablehlo.constant() <{value = dense<1> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 2.0:1>>
  %7 = chlo.constant dense<[1.5, 0x7E]> : tensor<2xf8E4M3FN>
  %8 = stablehlo.constant dense<true> : tensor<i1>
  %9 = stablehlo.constant dense_resource<blob> : tensor<2xi16>
  return
}
{-# dialect_resources: { builtin: { blob: "0x0200000001000200" } } #-}
