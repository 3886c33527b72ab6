// A filter of audio blocks of 480 samples: each sample becomes the mean of itself and the three
// samples before it. The state is the last three samples of the block before.
func.func @main(%before: tensor<3xf32>, %block: tensor<480xf32>) -> (tensor<3xf32>, tensor<480xf32>) {
  %all = stablehlo.concatenate %before, %block, dim = 0 : (tensor<3xf32>, tensor<480xf32>) -> tensor<483xf32>
  %x0 = stablehlo.slice %all [0:480] : (tensor<483xf32>) -> tensor<480xf32>
  %x1 = stablehlo.slice %all [1:481] : (tensor<483xf32>) -> tensor<480xf32>
  %x2 = stablehlo.slice %all [2:482] : (tensor<483xf32>) -> tensor<480xf32>
  %x3 = stablehlo.slice %all [3:483] : (tensor<483xf32>) -> tensor<480xf32>
  %s0 = stablehlo.add %x0, %x1 : tensor<480xf32>
  %s1 = stablehlo.add %x2, %x3 : tensor<480xf32>
  %sum = stablehlo.add %s0, %s1 : tensor<480xf32>
  %quarter = stablehlo.constant dense<0.25> : tensor<480xf32>
  %mean = stablehlo.multiply %sum, %quarter : tensor<480xf32>
  %after = stablehlo.slice %all [480:483] : (tensor<483xf32>) -> tensor<3xf32>
  return %after, %mean : tensor<3xf32>, tensor<480xf32>
}
