func.func @main(%x: tensor<2x3xf32>, %p: tensor<2x3xi1>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.select %p, %x, %x : tensor<2x3xi1>, tensor<2x3xf32>
  %1 = stablehlo.compare LT, %x, %0, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %2 = stablehlo.clamp %x, %0, %x : tensor<2x3xf32>
  %3 = stablehlo.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %4 = stablehlo.convert %x : (tensor<2x3xf32>) -> tensor<2x3xi4>
  %5 = stablehlo.bitcast_convert %x : (tensor<2x3xf32>) -> tensor<2x3x4xi8>
  %6 = stablehlo.bitcast_convert %5 : (tensor<2x3x4xi8>) -> tensor<2x3xf32>
  %7 = stablehlo.reduce_precision %x, format = e5m2 : tensor<2x3xf32>
  %8 = stablehlo.bitcast_convert %5 : (tensor<2x3x4xi8>) -> tensor<2x3x4x2xi4>
  return %2, %6 : tensor<2x3xf32>, tensor<2x3xf32>
}
