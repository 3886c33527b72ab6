// One step of the wave equation on a ring: the next heights follow from those of two steps. They
// take the memory of the heights before, and the heights now stay where they are.
func.func @main(%before: tensor<4096xf32>, %now: tensor<4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
  %last = stablehlo.slice %now [4095:4096] : (tensor<4096xf32>) -> tensor<1xf32>
  %most = stablehlo.slice %now [0:4095] : (tensor<4096xf32>) -> tensor<4095xf32>
  %left = stablehlo.concatenate %last, %most, dim = 0 : (tensor<1xf32>, tensor<4095xf32>) -> tensor<4096xf32>
  %first = stablehlo.slice %now [0:1] : (tensor<4096xf32>) -> tensor<1xf32>
  %rest = stablehlo.slice %now [1:4096] : (tensor<4096xf32>) -> tensor<4095xf32>
  %right = stablehlo.concatenate %rest, %first, dim = 0 : (tensor<4095xf32>, tensor<1xf32>) -> tensor<4096xf32>
  %speed = stablehlo.constant dense<0.25> : tensor<4096xf32>
  %two = stablehlo.constant dense<2.0> : tensor<4096xf32>
  %sides = stablehlo.add %left, %right : tensor<4096xf32>
  %twice = stablehlo.multiply %two, %now : tensor<4096xf32>
  %bend = stablehlo.subtract %sides, %twice : tensor<4096xf32>
  %force = stablehlo.multiply %speed, %bend : tensor<4096xf32>
  %drift = stablehlo.subtract %twice, %before : tensor<4096xf32>
  %next = stablehlo.add %drift, %force : tensor<4096xf32>
  return %now, %next : tensor<4096xf32>, tensor<4096xf32>
}
