func.func @f() -> tensor<2xi16> {
  %0 = stablehlo.constant dense_resource<blob> : tensor<2xi16>
  return %0 : tensor<2xi16>
}
{-#
  dialect_resources: {
    builtin: {
      blob: "0x020000000100FFFF"
    }
  }
#-}
