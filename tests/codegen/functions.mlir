// Functions that are computed by formulas of other ops.
func.func @main(%x: tensor<37xf64>) -> (tensor<37xf64>, tensor<37xf64>, tensor<37xf64>, tensor<37xf64>, tensor<37xf64>) {
  %one = stablehlo.constant dense<1.5> : tensor<37xf64>
  %a = stablehlo.abs %x : tensor<37xf64>
  %q = stablehlo.add %a, %one : tensor<37xf64>
  %s = stablehlo.add %q, %a : tensor<37xf64>
  %n = stablehlo.ceil %a : tensor<37xf64>
  %r0 = chlo.lgamma %x : tensor<37xf64> -> tensor<37xf64>
  %r1 = chlo.digamma %x : tensor<37xf64> -> tensor<37xf64>
  %r2 = chlo.bessel_i1e %x : tensor<37xf64> -> tensor<37xf64>
  %r3 = chlo.zeta %s, %q : tensor<37xf64>, tensor<37xf64> -> tensor<37xf64>
  %r4 = chlo.polygamma %n, %q : tensor<37xf64>, tensor<37xf64> -> tensor<37xf64>
  return %r0, %r1, %r2, %r3, %r4 : tensor<37xf64>, tensor<37xf64>, tensor<37xf64>, tensor<37xf64>, tensor<37xf64>
}
// -----
func.func @main(%x: tensor<37xbf16>) -> (tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>) {
  %one = stablehlo.constant dense<1.5> : tensor<37xbf16>
  %a = stablehlo.abs %x : tensor<37xbf16>
  %q = stablehlo.add %a, %one : tensor<37xbf16>
  %s = stablehlo.add %q, %a : tensor<37xbf16>
  %n = stablehlo.ceil %a : tensor<37xbf16>
  %r0 = chlo.lgamma %x : tensor<37xbf16> -> tensor<37xbf16>
  %r1 = chlo.digamma %x : tensor<37xbf16> -> tensor<37xbf16>
  %r2 = chlo.bessel_i1e %x : tensor<37xbf16> -> tensor<37xbf16>
  %r3 = chlo.zeta %s, %q : tensor<37xbf16>, tensor<37xbf16> -> tensor<37xbf16>
  %r4 = chlo.polygamma %n, %q : tensor<37xbf16>, tensor<37xbf16> -> tensor<37xbf16>
  return %r0, %r1, %r2, %r3, %r4 : tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>
}
// -----
func.func @main(%x: tensor<3x11xcomplex<f64>>) -> (tensor<3x11xcomplex<f64>>, tensor<3x11xcomplex<f64>>, tensor<3x11xcomplex<f64>>, tensor<3x11xcomplex<f64>>, tensor<3x11xcomplex<f64>>, tensor<3x11xcomplex<f64>>) {
  %asin = chlo.asin %x : tensor<3x11xcomplex<f64>> -> tensor<3x11xcomplex<f64>>
  %acos = chlo.acos %x : tensor<3x11xcomplex<f64>> -> tensor<3x11xcomplex<f64>>
  %atan = chlo.atan %x : tensor<3x11xcomplex<f64>> -> tensor<3x11xcomplex<f64>>
  %asinh = chlo.asinh %x : tensor<3x11xcomplex<f64>> -> tensor<3x11xcomplex<f64>>
  %acosh = chlo.acosh %x : tensor<3x11xcomplex<f64>> -> tensor<3x11xcomplex<f64>>
  %atanh = chlo.atanh %x : tensor<3x11xcomplex<f64>> -> tensor<3x11xcomplex<f64>>
  return %asin, %acos, %atan, %asinh, %acosh, %atanh : tensor<3x11xcomplex<f64>>, tensor<3x11xcomplex<f64>>, tensor<3x11xcomplex<f64>>, tensor<3x11xcomplex<f64>>, tensor<3x11xcomplex<f64>>, tensor<3x11xcomplex<f64>>
}
